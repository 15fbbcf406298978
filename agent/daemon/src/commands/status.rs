//! `ostler status`.

use std::path::Path;

use anyhow::Result;
use ostler_core::protocol::{Reply, Request};

use super::Outcome;
use super::asking::{Asks, connect, inquire, unexpected};
use super::console::Console;
use super::proposal::fail;
use super::trouble::NO_ANSWER;
use crate::cli::StatusOptions;
use crate::show::{self, StatusDocument};

/// Says how the machine is.
pub fn status<A: Asks>(
    options: &StatusOptions,
    console: &mut Console<'_>,
    open: impl FnOnce(Option<&Path>) -> Result<A>,
) -> Result<Outcome> {
    let mut asks = connect(open, options.machine.root.as_deref())?;
    let status = match inquire(&mut asks, &Request::Status, console)? {
        Reply::Status(status) => status,
        Reply::Failed(failure) => return Ok(fail(failure, console)),
        _ => return Err(unexpected().context(NO_ANSWER)),
    };
    let document = StatusDocument::new(&status);
    console.tell(&show::status(&status))?;
    console.document(&document)?;
    Ok(if document.settled { Outcome::Success } else { Outcome::Different })
}

#[cfg(test)]
mod tests;
