//! `ostler drift`.

use std::path::Path;

use anyhow::Result;
use ostler_core::drift::Drift;
use ostler_core::protocol::{Reply, Request};

use super::Outcome;
use super::asking::{Asks, change, connect, inquire, unexpected};
use super::console::Console;
use super::proposal::{conclude, fail};
use super::trouble::NO_ANSWER;
use crate::cli::DriftOptions;
use crate::course::Course;
use crate::show::{self, CourseDocument, DriftDocument};

/// Says how the machine differs from its configuration, and puts it right if asked.
pub fn drift<A: Asks>(
    options: &DriftOptions,
    console: &mut Console<'_>,
    open: impl FnOnce(Option<&Path>) -> Result<A>,
) -> Result<Outcome> {
    let mut asks = connect(open, options.machine.root.as_deref())?;
    let drift = match inquire(&mut asks, &Request::Drift, console)? {
        Reply::Drift(drift) => drift,
        Reply::Failed(failure) => return Ok(fail(failure, console)),
        _ => return Err(unexpected().context(NO_ANSWER)),
    };
    console.tell(&show::drift(&drift))?;
    if options.repair {
        let course = repair(&mut asks, options.yes, &drift, console)?;
        return Ok(conclude(&course, &CourseDocument::new(&course).with_drift(&drift), console));
    }
    console.document(&DriftDocument::new(&drift))?;
    Ok(if drift.is_empty() { Outcome::Success } else { Outcome::Different })
}

fn repair(asks: &mut impl Asks, yes: bool, drift: &[Drift], console: &mut Console<'_>) -> Result<Course> {
    if drift.is_empty() {
        return Ok(Course::Nothing);
    }
    console.tell(&show::repair_notice(drift))?;
    if console.confirm("Repair?", yes)? { change(asks, &Request::Repair, console) } else { Ok(Course::Declined) }
}

#[cfg(test)]
mod tests;
