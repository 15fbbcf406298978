//! `ostler drift`.

use std::path::Path;

use anyhow::Result;
use ostler_core::drift::Drift;
use ostler_core::drift::policy::{DriftPolicy, PolicyError};
use ostler_core::protocol::{Reply, Request};

use super::Outcome;
use super::asking::{Asks, change, connect, inquire, unexpected};
use super::console::Console;
use super::proposal::{conclude, fail};
use super::trouble::NO_ANSWER;
use crate::account;
use crate::cli::DriftOptions;
use crate::course::Course;
use crate::duty::drift::policy;
use crate::show::{self, CourseDocument, DriftDocument};

/// Says how the machine differs from its configuration, and puts it right if asked.
pub fn drift<A: Asks>(
    options: &DriftOptions,
    console: &mut Console<'_>,
    open: impl FnOnce(Option<&Path>) -> Result<A>,
    policy: impl FnOnce(Option<&Path>) -> (DriftPolicy, Option<PolicyError>),
) -> Result<Outcome> {
    let mut asks = connect(open, options.machine.root.as_deref())?;
    let drift = match inquire(&mut asks, &Request::Drift, console)? {
        Reply::Drift(drift) => drift,
        Reply::Failed(failure) => return Ok(fail(failure, console)),
        _ => return Err(unexpected().context(NO_ANSWER)),
    };
    let (policy, trouble) = policy(options.machine.root.as_deref());
    if let Some(trouble) = trouble {
        console.tell(&show::policy_trouble(&trouble))?;
    }
    console.tell(&show::drift(&drift, &policy))?;
    if options.repair {
        let course = repair(&mut asks, options.yes, &drift, console)?;
        let outcome = conclude(&course, &CourseDocument::new(&course).with_drift(&drift, &policy), console);
        let repaired = outcome == Outcome::Success && !drift.is_empty();
        let left = if repaired { still_differs(&mut asks, console)? } else { Vec::new() };
        if left.is_empty() {
            return Ok(outcome);
        }
        console.tell(&show::not_repaired(&left))?;
        return Ok(Outcome::Different);
    }
    console.document(&DriftDocument::new(&drift, &policy))?;
    Ok(if drift.is_empty() { Outcome::Success } else { Outcome::Different })
}

/// A repair goes on past what it cannot write, and cannot bring another image: what is left is looked for.
fn still_differs(asks: &mut impl Asks, console: &mut Console<'_>) -> Result<Vec<Drift>> {
    match inquire(asks, &Request::Drift, console)? {
        Reply::Drift(drift) => Ok(drift),
        _ => Err(unexpected().context(NO_ANSWER)),
    }
}

/// The policy below a root, or of the machine, as far as the daemon knows of an annotation.
pub fn drift_policy(root: Option<&Path>) -> (DriftPolicy, Option<PolicyError>) {
    let account = account::client::ask(&account::socket(root)).ok().flatten();
    let annotation = account.and_then(|account| account.drift_policy);
    policy::in_force(root.unwrap_or(Path::new("/")), annotation.as_deref())
}

fn repair(asks: &mut impl Asks, yes: bool, drift: &[Drift], console: &mut Console<'_>) -> Result<Course> {
    // That there is nothing to repair is recorded too: what a damaged record or an abandoned change left open is settled by it.
    let consent = if drift.is_empty() {
        true
    } else {
        console.tell(&show::repair_notice(drift))?;
        console.confirm("Repair?", yes)?
    };
    if consent { change(asks, &Request::Repair { only: Vec::new() }, console) } else { Ok(Course::Declined) }
}

#[cfg(test)]
mod tests;
