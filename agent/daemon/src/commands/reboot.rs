//! `ostler reboot`.

use std::path::Path;

use anyhow::Result;
use ostler_core::protocol::{Reply, Request};

use super::Outcome;
use super::asking::{Asks, connect, inquire, unexpected};
use super::console::Console;
use super::proposal::fail;
use super::trouble::NO_ANSWER;
use crate::cli::RebootOptions;
use crate::show;

/// Restarts the machine, with everything that has to be ready for it.
pub fn reboot<A: Asks>(
    options: &RebootOptions,
    console: &mut Console<'_>,
    open: impl FnOnce(Option<&Path>) -> Result<A>,
) -> Result<Outcome> {
    let mut asks = connect(open, None)?;
    let request = |check| Request::Reboot { check, soft: options.soft };
    let mut restart = match inquire(&mut asks, &request(true), console)? {
        Reply::Restart(restart) => restart,
        Reply::Failed(failure) => return Ok(fail(failure, console)),
        _ => return Err(unexpected().context(NO_ANSWER)),
    };
    console.tell(&show::restart(&restart))?;
    if !options.consent.dry_run {
        if !console.confirm("Restart?", options.consent.yes)? {
            return Ok(Outcome::Failed);
        }
        restart = match inquire(&mut asks, &request(false), console)? {
            Reply::Restart(restart) => restart,
            Reply::Failed(failure) => return Ok(fail(failure, console)),
            _ => return Err(unexpected().context(NO_ANSWER)),
        };
        console.tell(&show::restart(&restart))?;
    }
    console.document(&restart)?;
    Ok(Outcome::Success)
}

#[cfg(test)]
mod tests;
