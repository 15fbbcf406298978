//! `ostler rollback`.

use std::path::{Path, PathBuf};

use anyhow::Result;
use ostler_core::plan::{Assessment, assess, undo};
use ostler_core::protocol::{Destination, Forecast, Observation, Prepare, Reply, Request, Rules};
use ostler_core::refusal::Refusal;
use ostler_core::transaction::{Ending, Finished};

use super::asking::{Asks, connect, inquire, look, observed, recorded, unexpected};
use super::console::Console;
use super::proposal::{Proposal, Requests, act, conclude, fail, refuse};
use super::trouble::{INTERRUPTED, NO_ANSWER, NO_PREVIOUS};
use super::{Outcome, unreadable};
use crate::account;
use crate::cli::{ConsentOptions, RollbackOptions};
use crate::course::Course;
use crate::input;
use crate::show::{self, CourseDocument};

/// What an agent that runs says of itself, as far as it matters here.
#[derive(Debug, Default)]
pub struct RunningAgent {
    /// What it is to reach.
    pub desired: Option<String>,
    /// By which rules it plans, where it tells.
    pub rules: Option<Rules>,
}

/// The agent of the machine.
pub trait Agent {
    /// What it says of itself; nothing where none runs.
    fn running(&self) -> Option<RunningAgent>;
    /// Asks it to look at the machine.
    fn wake(&self);
}

/// The agent of a root directory, or of the machine.
#[derive(Debug)]
pub struct LocalAgent {
    socket: PathBuf,
}

impl LocalAgent {
    /// Of this root.
    pub fn of(root: Option<&Path>) -> Self {
        Self { socket: account::socket(root) }
    }
}

impl Agent for LocalAgent {
    fn running(&self) -> Option<RunningAgent> {
        let account = account::client::ask(&self.socket).ok().flatten()?;
        Some(RunningAgent { desired: account.desired.map(|desired| desired.config), rules: account.rules })
    }

    /// One that does not hear it finds the hold when it looks next.
    fn wake(&self) {
        let _ = account::client::wake(&self.socket);
    }
}

/// Goes back to the configuration before the current one, or releases the hold that this left.
pub fn rollback<A: Asks>(
    options: &RollbackOptions,
    console: &mut Console<'_>,
    open: impl FnOnce(Option<&Path>) -> Result<A>,
    agent: &impl Agent,
) -> Result<Outcome> {
    let rules = input::rules(&options.rules)?;
    let mut asks = connect(open, options.machine.root.as_deref())?;
    let outcome = if options.release {
        release(&mut asks, console)
    } else {
        go_back(rules, &mut asks, options.consent, agent.running(), console)
    };
    agent.wake();
    outcome
}

fn release(asks: &mut impl Asks, console: &mut Console<'_>) -> Result<Outcome> {
    let hold = match inquire(asks, &Request::ReleaseRollback, console)? {
        Reply::RollbackHold(hold) => Some(hold),
        Reply::Nothing => None,
        Reply::Failed(failure) => return Ok(fail(failure, console)),
        _ => return Err(unexpected().context(NO_ANSWER)),
    };
    console.tell(&show::released(hold.as_ref()))?;
    console.document(&serde_json::json!({"released": hold}))?;
    Ok(Outcome::Success)
}

/// With an agent, which names the configuration that it is to reach, the rollback is its to make, and what is shown is
/// planned by its rules.
fn go_back(
    rules: Rules,
    asks: &mut impl Asks,
    consent: ConsentOptions,
    agent: Option<RunningAgent>,
    console: &mut Console<'_>,
) -> Result<Outcome> {
    let alone = agent.is_none();
    let RunningAgent { desired, rules: of_agent } = agent.unwrap_or_default();
    let rules = of_agent.unwrap_or(rules);
    let hold = Some(Request::HoldRollback { desired });
    let observation = match look(asks, console)? {
        Ok(Observation { awaiting: Some(config), .. }) => {
            let request = alone.then_some(Request::Withdraw);
            return withdraw(&config, (hold.as_ref(), request.as_ref()), asks, consent, console);
        }
        Ok(observation) if observation.interrupted => return Err(INTERRUPTED.into_error()),
        Ok(observation) => observation,
        Err(failure) => return Ok(fail(failure, console)),
    };
    let previous = observation.previous.clone().ok_or_else(|| NO_PREVIOUS.into_error())?;
    let (observed, previous) = match (observed(&observation)?, recorded(previous)?) {
        (Ok(observed), Ok(previous)) => (observed, previous),
        (Err(error), _) => {
            let refusal = unreadable(error, |name, source| Refusal::UnreadableCurrent { name, source })?;
            return refuse(&refusal, console);
        }
        (_, Err(error)) => {
            let refusal = unreadable(error, |name, source| Refusal::UnreadableTarget { name, source })?;
            return refuse(&refusal, console);
        }
    };
    let desired = rules.desired(previous)?;
    let assessment = Assessment { verdict: undo(&observed, &desired), ..assess(&observed, &desired) };
    let requests = Requests { prepare: Prepare { to: Destination::Previous, rules }, applies: alone, hold };
    let proposal = Proposal { observed, desired, assessment, live: observation.live, question: "Roll back?" };
    proposal.pursue(asks, &requests, consent, console)
}

/// What has not taken effect yet is taken back: that needs neither a plan nor a restart.
fn withdraw(
    config: &str,
    (hold, request): (Option<&Request>, Option<&Request>),
    asks: &mut impl Asks,
    consent: ConsentOptions,
    console: &mut Console<'_>,
) -> Result<Outcome> {
    console.tell(&show::withdrawal(config))?;
    let (course, hold) = if consent.dry_run {
        (Course::Checked(Forecast::default()), None)
    } else if console.confirm("Take it back?", consent.yes)? {
        act(asks, hold, request, console)?
    } else {
        (Course::Declined, None)
    };
    let outcome = conclude(&course, &CourseDocument::new(&course).with_hold(hold.as_ref()), console);
    // To be undone is what was asked for here.
    let undone = matches!(&course, Course::Finished(Finished { ending: Ending::Undone { .. }, .. }));
    Ok(if undone { Outcome::Success } else { outcome })
}

#[cfg(test)]
mod tests;
