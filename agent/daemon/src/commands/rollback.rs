//! `ostler rollback`.

use std::path::Path;

use anyhow::Result;
use ostler_core::plan::{Assessment, assess, undo};
use ostler_core::protocol::{Forecast, Observation, Request, Rules};
use ostler_core::refusal::Refusal;
use ostler_core::transaction::{Ending, Finished};

use super::asking::{Asks, change, connect, look, observed, recorded};
use super::console::Console;
use super::proposal::{Proposal, Requests, conclude, fail, refuse};
use super::trouble::{INTERRUPTED, NO_PREVIOUS};
use super::{Outcome, unreadable};
use crate::cli::{ConsentOptions, RollbackOptions};
use crate::course::Course;
use crate::input;
use crate::show::{self, CourseDocument};

/// Goes back to the configuration before the current one.
pub fn rollback<A: Asks>(
    options: &RollbackOptions,
    console: &mut Console<'_>,
    open: impl FnOnce(Option<&Path>) -> Result<A>,
) -> Result<Outcome> {
    let rules = input::rules(&options.rules)?;
    let mut asks = connect(open, options.machine.root.as_deref())?;
    go_back(rules, &mut asks, options.consent, console)
}

fn go_back(rules: Rules, asks: &mut impl Asks, consent: ConsentOptions, console: &mut Console<'_>) -> Result<Outcome> {
    let observation = match look(asks, console)? {
        Ok(Observation { awaiting: Some(config), .. }) => return withdraw(&config, asks, consent, console),
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
    let request = |check| Request::Rollback { check, rules: rules.clone() };
    let requests = Requests { check: request(true), act: request(false) };
    let proposal = Proposal { observed, desired, assessment, live: observation.live, question: "Roll back?" };
    proposal.pursue(asks, &requests, consent, console)
}

/// What has not taken effect yet is taken back: that needs neither a plan nor a restart.
fn withdraw(config: &str, asks: &mut impl Asks, consent: ConsentOptions, console: &mut Console<'_>) -> Result<Outcome> {
    console.tell(&show::withdrawal(config))?;
    let course = if consent.dry_run {
        Course::Checked(Forecast::default())
    } else if console.confirm("Take it back?", consent.yes)? {
        change(asks, &Request::Withdraw, console)?
    } else {
        Course::Declined
    };
    let outcome = conclude(&course, &CourseDocument::new(&course), console);
    // To be undone is what was asked for here.
    let undone = matches!(&course, Course::Finished(Finished { ending: Ending::Undone { .. }, .. }));
    Ok(if undone { Outcome::Success } else { outcome })
}

#[cfg(test)]
mod tests;
