//! `ostler abandon`.

use std::path::Path;

use anyhow::Result;
use ostler_core::protocol::{Class, Request};

use super::Outcome;
use super::asking::{Asks, change, connect};
use super::console::Console;
use super::proposal::conclude;
use crate::cli::AbandonOptions;
use crate::course::Course;
use crate::show::CourseDocument;

const WARNING: &str = "The transaction is closed where it is. What can be put back is put back; the rest stays as it is until another \
    configuration is applied.\n";

/// Closes what can be neither finished nor undone. A transaction that stays open is never less than unsettled.
pub fn abandon<A: Asks>(
    options: &AbandonOptions,
    console: &mut Console<'_>,
    open: impl FnOnce(Option<&Path>) -> Result<A>,
) -> Result<Outcome> {
    let mut asks = connect(open, options.machine.root.as_deref())?;
    if !options.yes {
        console.tell(WARNING)?;
    }
    if !console.confirm("Abandon the transaction?", options.yes)? {
        return Ok(Outcome::Failed);
    }
    let course = change(&mut asks, &Request::Abandon, console)?;
    if course == Course::Nothing {
        console.tell("Nothing to do: no transaction is open. ")?;
    }
    conclude(&course, &CourseDocument::new(&course), console);
    Ok(match &course {
        Course::Failed(failure) if failure.unchanged && failure.class == Class::Refusal => Outcome::Refused,
        Course::Failed(_) => Outcome::Unsettled,
        course => Outcome::from(course),
    })
}

#[cfg(test)]
mod tests;
