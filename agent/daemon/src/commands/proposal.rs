//! A change that is shown, checked, agreed to and carried out: what `apply` and `rollback` have in common.

use anyhow::Result;
use ostler_core::desired::Desired;
use ostler_core::observed::Observed;
use ostler_core::plan::Assessment;
use ostler_core::protocol::{Failure, Reply, Request};
use ostler_core::refusal::Refusal;

use super::Outcome;
use super::asking::{Asks, change, inquire, unexpected};
use super::console::Console;
use super::trouble::NO_ANSWER;
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
    /// To only look.
    pub check: Request,
    /// To act.
    pub act: Request,
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
        let course = self.course(asks, requests, consent, console)?;
        let plan = PlanDocument::new(&self.observed, &self.desired, &self.assessment);
        Ok(conclude(&course, &CourseDocument::new(&course).with_plan(plan), console))
    }

    fn course(
        &self,
        asks: &mut impl Asks,
        requests: &Requests,
        consent: ConsentOptions,
        console: &mut Console<'_>,
    ) -> Result<Course> {
        let plan = match &self.assessment.verdict {
            Err(_) => return Ok(Course::Refused),
            Ok(plan) if plan.steps.is_empty() => return Ok(Course::Nothing),
            Ok(plan) => plan,
        };
        let forecast = match inquire(asks, &requests.check, console)? {
            Reply::Checked(forecast) => forecast,
            Reply::Nothing => return Ok(Course::Nothing),
            Reply::Failed(failure) => return Ok(Course::Failed(failure)),
            _ => return Err(unexpected().context(NO_ANSWER)),
        };
        console.tell(&show::forecast(&forecast, self.live))?;
        if self.live {
            console.tell(&show::not_done_here(plan))?;
        }
        if consent.dry_run {
            return Ok(Course::Checked(forecast));
        }
        if !console.confirm(self.question, consent.yes)? {
            return Ok(Course::Declined);
        }
        change(asks, &requests.act, console)
    }
}

/// Tells how it went. The exit code tells it too, so it stands even when an answer can no longer be written.
pub fn conclude(course: &Course, document: &CourseDocument<'_>, console: &mut Console<'_>) -> Outcome {
    let told = match course {
        Course::Failed(failure) => console.complain(&show::failure(failure)),
        other => console.tell(&show::course(other)),
    };
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
