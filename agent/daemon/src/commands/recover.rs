//! `ostler recover`.

use std::path::Path;

use anyhow::Result;
use ostler_core::protocol::Request;
use ostler_core::transaction::{Ending, Finished};

use super::Outcome;
use super::asking::{Asks, change, connect};
use super::console::Console;
use super::proposal::conclude;
use super::trouble::{OPEN_UNKNOWN, UNREACHABLE};
use crate::cli::RecoverOptions;
use crate::course::Course;
use crate::show::CourseDocument;

/// Finishes or undoes what was interrupted. Nobody is asked: the machine cannot be left between two configurations.
pub fn recover<A: Asks>(
    options: &RecoverOptions,
    console: &mut Console<'_>,
    open: impl FnOnce(Option<&Path>) -> Result<A>,
) -> Result<Outcome> {
    let mut asks = connect(open, options.machine.root.as_deref()).map_err(|error| {
        let unreachable = error.downcast_ref() == Some(&UNREACHABLE);
        if unreachable { error.context(OPEN_UNKNOWN) } else { error }
    })?;
    let course = change(&mut asks, &Request::Recover, console)?;
    if course == Course::Nothing {
        console.tell("Nothing to do: no transaction is open. ")?;
    }
    conclude(&course, &CourseDocument::new(&course), console);
    Ok(outcome(&course))
}

/// Only a transaction that is closed lets workloads start: nothing that is open, or may be, counts as less than unsettled.
const fn outcome(course: &Course) -> Outcome {
    match course {
        Course::Nothing => Outcome::Success,
        Course::Finished(Finished { ending: Ending::Applied, .. }) => Outcome::Success,
        Course::Finished(Finished { ending: Ending::Undone { .. } | Ending::Abandoned { .. }, .. }) => Outcome::Failed,
        Course::Finished(Finished { ending: Ending::AwaitsReboot { .. }, .. }) => Outcome::Unsettled,
        Course::Failed(_) | Course::Refused | Course::Checked(_) | Course::Declined | Course::Delegated => {
            Outcome::Unsettled
        }
    }
}

#[cfg(test)]
mod tests;
