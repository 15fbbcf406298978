//! A change that is shown, checked, agreed to and carried out: what `apply` and `rollback` have in common.

use anyhow::Result;
use ostler_core::desired::Desired;
use ostler_core::observed::Observed;
use ostler_core::plan::Assessment;
use ostler_core::protocol::{Class, Failure, Prepare, Prepared, Reply, Request};
use ostler_core::refusal::Refusal;
use ostler_core::rollback::RollbackHold;

use super::Outcome;
use super::asking::{Asks, change, inquire, unexpected};
use super::console::Console;
use super::trouble::{ANSWER_LOST, NO_ANSWER};
use crate::cli::ConsentOptions;
use crate::course::Course;
use crate::show::{self, CourseDocument, PlanDocument};

/// A change that may be made.
pub struct Proposal {
    /// Where the machine is.
    pub observed: Observed,
    /// Where it shall be.
    pub desired: Desired,
    /// How it would get there.
    pub assessment: Assessment,
    /// Whether this is a running machine.
    pub live: bool,
    /// What is asked before.
    pub question: &'static str,
}

/// What to ask the applier for.
pub struct Requests {
    pub prepare: Prepare,
    /// Whether this command applies what was prepared; else the agent does.
    pub applies: bool,
    /// To remember a rollback before it begins.
    pub hold: Option<Request>,
}

/// How a change went, and the hold that it leaves.
pub type Pursued = (Course, Option<RollbackHold>);

/// Acts, after what has to be remembered first. Without a request the agent acts.
pub fn act(
    asks: &mut impl Asks,
    hold: Option<&Request>,
    request: Option<&Request>,
    console: &mut Console<'_>,
) -> Result<Pursued> {
    let ask = |hold| console.following(|progress| asks.ask(hold, progress)).map_err(|error| error.context(ANSWER_LOST));
    let hold = match hold.map(ask).transpose()? {
        None | Some(Reply::Nothing) => None,
        Some(Reply::RollbackHold(hold)) => Some(hold),
        Some(Reply::Failed(failure)) => return Ok((Course::Failed(failure), None)),
        Some(_) => return Err(unexpected().context(ANSWER_LOST)),
    };
    let course = match request {
        Some(request) => change(asks, request, console)?,
        None => Course::Delegated,
    };
    Ok((course, hold))
}

impl Proposal {
    /// Shows it, and carries it out if it can be and everybody agrees.
    pub fn pursue(
        &self,
        asks: &mut impl Asks,
        requests: &Requests,
        consent: ConsentOptions,
        console: &mut Console<'_>,
    ) -> Result<Outcome> {
        console.tell(&show::plan(&self.observed, &self.desired, &self.assessment, false))?;
        let (course, hold) = self.course(asks, requests, consent, console)?;
        let plan = PlanDocument::new(&self.observed, &self.desired, &self.assessment);
        Ok(conclude(&course, &CourseDocument::new(&course).with_plan(plan).with_hold(hold.as_ref()), console))
    }

    fn course(
        &self,
        asks: &mut impl Asks,
        requests: &Requests,
        consent: ConsentOptions,
        console: &mut Console<'_>,
    ) -> Result<Pursued> {
        let plan = match &self.assessment.verdict {
            Err(_) => return Ok((Course::Refused, None)),
            Ok(plan) if plan.steps.is_empty() => return Ok((Course::Nothing, None)),
            Ok(plan) => plan,
        };
        let prepared = match inquire(asks, &Request::Prepare(requests.prepare.clone()), console)? {
            Reply::Prepared(prepared) if prepared.steps == plan.steps => prepared,
            Reply::Prepared(_) => return Ok((Course::Failed(changed()), None)),
            Reply::Nothing => return Ok((Course::Nothing, None)),
            Reply::Failed(failure) | Reply::Unreconcilable(failure) => return Ok((Course::Failed(failure), None)),
            _ => return Err(unexpected().context(NO_ANSWER)),
        };
        let Prepared { ticket, forecast, .. } = *prepared;
        console.tell(&show::forecast(&forecast, self.live))?;
        if self.live && requests.applies {
            console.tell(&show::not_done_here(plan))?;
        }
        if consent.dry_run {
            return Ok((Course::Checked(forecast), None));
        }
        if !console.confirm(self.question, consent.yes)? {
            return Ok((Course::Declined, None));
        }
        let apply = requests.applies.then_some(Request::Apply { ticket });
        act(asks, requests.hold.as_ref(), apply.as_ref(), console)
    }
}

/// The plan that was shown is not the one that would be made now.
fn changed() -> Failure {
    Failure {
        class: Class::Transient,
        reasons: vec!["cannot apply the plan above: the machine has changed since it was made".to_owned()],
        remedy: Some("try again".to_owned()),
        unchanged: true,
    }
}

/// Tells how it went. The exit code tells it too, so it stands even when an answer can no longer be written.
pub fn conclude(course: &Course, document: &CourseDocument<'_>, console: &mut Console<'_>) -> Outcome {
    let told = match course {
        Course::Failed(failure) => console.complain(&show::failure(failure)),
        other => console.tell(&show::course(other)),
    };
    let told = told.and_then(|()| document.hold().map_or(Ok(()), |hold| console.tell(&show::held(hold))));
    if let Err(error) = told.and_then(|()| console.document(document)) {
        show::error(&error);
    }
    course.into()
}

/// Tells that a configuration cannot even be parsed.
pub fn refuse(refusal: &Refusal, console: &mut Console<'_>) -> Result<Outcome> {
    console.tell(&show::refusal(refusal))?;
    console.document(&CourseDocument::new(&Course::Refused).with_plan(PlanDocument::unreadable(refusal)))?;
    Ok(Outcome::Refused)
}

/// Tells that the machine could not even be asked.
pub fn fail(failure: Failure, console: &mut Console<'_>) -> Outcome {
    let course = Course::Failed(failure);
    conclude(&course, &CourseDocument::new(&course), console)
}
