//! `ostler status`.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use ostler_core::protocol::{Reply, Request};

use super::Outcome;
use super::asking::{Asks, connect, inquire, unexpected};
use super::console::Console;
use super::proposal::fail;
use super::trouble::NO_ANSWER;
use crate::account::client::AskError;
use crate::account::{self, Account};
use crate::cli::StatusOptions;
use crate::show::{self, StatusDocument};

/// What the daemon says, and when it was asked.
#[derive(Debug)]
pub struct Heard {
    /// Nothing where there is no daemon.
    pub account: Result<Option<Account>, AskError>,
    /// In seconds since 1970.
    pub now: u64,
}

impl Heard {
    /// From the daemon of this root, or of the machine.
    pub fn from_daemon(root: Option<&Path>) -> Self {
        let account = account::client::ask(&account::socket(root));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Self { account, now }
    }
}

/// Says how the machine is.
pub fn status<A: Asks>(
    options: &StatusOptions,
    console: &mut Console<'_>,
    open: impl FnOnce(Option<&Path>) -> Result<A>,
    hear: impl FnOnce(Option<&Path>) -> Heard,
) -> Result<Outcome> {
    let root = options.machine.root.as_deref();
    // The daemon first, and told at once: the applier answers only when it has ended what it is at.
    let heard = hear(root);
    console.tell(&show::daemon(&heard.account, heard.now))?;
    let mut asks = connect(open, root)?;
    let status = match inquire(&mut asks, &Request::Status, console)? {
        Reply::Status(status) => status,
        Reply::Failed(failure) => return Ok(fail(failure, console)),
        _ => return Err(unexpected().context(NO_ANSWER)),
    };
    let document = StatusDocument::new(&status, &heard.account);
    console.tell(&show::status(&status))?;
    console.document(&document)?;
    Ok(if document.settled { Outcome::Success } else { Outcome::Different })
}

#[cfg(test)]
mod tests;
