//! `ostler recover`.

use std::path::Path;

use anyhow::Result;
use ostler_core::protocol::Request;

use super::Outcome;
use super::asking::{Asks, change, connect};
use super::console::Console;
use super::proposal::conclude;
use crate::cli::RecoverOptions;
use crate::course::Course;
use crate::show::CourseDocument;

/// Finishes or undoes what was interrupted. Nobody is asked: the machine cannot be left between two configurations.
pub fn recover<A: Asks>(
    options: &RecoverOptions,
    console: &mut Console<'_>,
    open: impl FnOnce(Option<&Path>) -> Result<A>,
) -> Result<Outcome> {
    let mut asks = connect(open, options.machine.root.as_deref())?;
    let course = change(&mut asks, &Request::Recover, console)?;
    if course == Course::Nothing {
        console.tell("Nothing to do: no transaction is open. ")?;
    }
    Ok(conclude(&course, &CourseDocument::new(&course), console))
}

#[cfg(test)]
mod tests;
