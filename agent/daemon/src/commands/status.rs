//! `ostler status`.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use ostler_core::protocol::{Reply, Request};
use ostler_core::status::Status;
use ostler_core::verdict::{Agent, Verdict};

use super::Outcome;
use super::asking::{Asks, connect, inquire, unexpected};
use super::console::Console;
use super::proposal::fail;
use super::trouble::NO_ANSWER;
use crate::account::client::AskError;
use crate::account::{self, Account};
use crate::cli::StatusOptions;
use crate::show::{self, StatusDocument};

/// The links that start the agent at boot.
const ENABLED: [&str; 2] = [
    "/etc/systemd/system/multi-user.target.wants/ostler.service",
    "/usr/lib/systemd/system/multi-user.target.wants/ostler.service",
];

/// What the agent says, and when it was asked.
#[derive(Debug)]
pub struct Heard {
    /// Nothing where no agent runs.
    pub account: Result<Option<Account>, AskError>,
    /// Whether one is to run.
    pub enabled: bool,
    /// In seconds since 1970.
    pub now: u64,
}

impl Heard {
    /// From the agent of this root, or of the machine. A directory starts no agent.
    pub fn from_agent(root: Option<&Path>) -> Self {
        let account = account::client::ask(&account::socket(root));
        let enabled = root.is_none() && ENABLED.iter().any(|link| Path::new(link).is_symlink());
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Self { account, enabled, now }
    }

    fn agent(&self) -> Agent<'_> {
        match &self.account {
            Ok(Some(account)) => account.report.as_ref().map_or(Agent::Starting, Agent::Running),
            Ok(None) if self.enabled => Agent::Stopped,
            Ok(None) => Agent::Absent,
            Err(error) => Agent::Silent { reason: error.to_string() },
        }
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
    let heard = hear(root);
    let status = match connect(open, root).and_then(|mut asks| inquire(&mut asks, &Request::Status, console)) {
        Ok(Reply::Status(status)) => *status,
        other => {
            // The agent is shown even where the machine itself cannot be read.
            console.tell(&show::agent(&heard))?;
            return match other? {
                Reply::Failed(failure) => Ok(fail(failure, console)),
                _ => Err(unexpected().context(NO_ANSWER)),
            };
        }
    };
    tell(&status, &heard, console)
}

fn tell(status: &Status, heard: &Heard, console: &mut Console<'_>) -> Result<Outcome> {
    let verdict = Verdict::new(status, &heard.agent());
    console.tell(&show::verdict(&verdict, heard.now))?;
    console.tell(&show::agent(heard))?;
    console.tell(&show::status(status))?;
    console.document(&StatusDocument::new(status, &verdict, heard))?;
    Ok(verdict.state().into())
}

#[cfg(test)]
mod tests;
