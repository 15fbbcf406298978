//! `ostler hand-back`.

use std::path::Path;

use anyhow::Result;
use ostler_core::protocol::{Handed, Reply, Request};

use super::asking::{Asks, connect, inquire, unexpected};
use super::console::Console;
use super::proposal::fail;
use super::trouble::{ANSWER_LOST, DAEMON_RUNS, NO_ANSWER};
use super::{Heard, Outcome};
use crate::cli::HandBackOptions;
use crate::show;

/// Leaves the machine to the machine-config-daemon.
pub fn hand_back<A: Asks>(
    options: &HandBackOptions,
    console: &mut Console<'_>,
    open: impl FnOnce(Option<&Path>) -> Result<A>,
    hear: impl FnOnce(Option<&Path>) -> Heard,
) -> Result<Outcome> {
    let root = options.machine.root.as_deref();
    // A daemon of ours would take the machine over again at once.
    if !matches!(hear(root).account, Ok(None)) {
        return Err(DAEMON_RUNS.into_error());
    }
    let mut asks = connect(open, root)?;
    let mut handed = match inquire(&mut asks, &Request::HandBack { check: true }, console)? {
        Reply::HandedBack(handed) => handed,
        Reply::Failed(failure) => return Ok(fail(failure, console)),
        _ => return Err(unexpected().context(NO_ANSWER)),
    };
    if options.consent.dry_run {
        console.tell(&show::can_be_handed_back(&handed))?;
    } else {
        if !console.confirm(&question(&handed), options.consent.yes)? {
            return Ok(Outcome::Failed);
        }
        let request = Request::HandBack { check: false };
        let reply = console.following(|progress| asks.ask(&request, progress));
        handed = match reply.map_err(|error| error.context(ANSWER_LOST))? {
            Reply::HandedBack(handed) => handed,
            Reply::Failed(failure) => return Ok(fail(failure, console)),
            _ => return Err(unexpected().context(ANSWER_LOST)),
        };
        console.tell(&show::handed_back(&handed))?;
    }
    console.document(&handed)?;
    Ok(Outcome::Success)
}

fn question(handed: &Handed) -> String {
    format!("Hand this machine, in {}, back to machine-config-daemon?", show::printable(&handed.config))
}

#[cfg(test)]
mod tests;
