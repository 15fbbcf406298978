//! Errors that are not the input's: what happened, what to do about it, and the exit code.

use std::fmt;

use anyhow::Error;

use super::Outcome;

/// An error with an exit code and a remedy of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// What happened.
    pub what: &'static str,
    /// What a person can do about it.
    pub remedy: Option<&'static str>,
    /// How the command ends.
    pub outcome: Outcome,
}

impl Trouble {
    /// As an error without a cause.
    pub fn into_error(self) -> Error {
        Error::msg(self)
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }
}

/// The applier could not be reached: nothing was asked of it.
pub const UNREACHABLE: Trouble = Trouble {
    what: "the applier cannot be reached; nothing was changed",
    remedy: Some("run the command as root; \"systemctl status ostler-applier\" tells how the service is"),
    outcome: Outcome::Failed,
};

/// Nobody can say whether a transaction is open.
pub const OPEN_UNKNOWN: Trouble = Trouble {
    what: "cannot tell whether a transaction is open: the applier cannot be reached",
    remedy: UNREACHABLE.remedy,
    outcome: Outcome::Unsettled,
};

/// There is no such root directory.
pub const NO_ROOT: Trouble = Trouble {
    what: "--root cannot be used",
    remedy: Some("give a directory that holds the root of a machine"),
    outcome: Outcome::BadInput,
};

/// A question that changes nothing got no answer.
pub const NO_ANSWER: Trouble = Trouble {
    what: "the applier gave no answer; nothing was changed",
    remedy: Some("try again; \"journalctl -u ostler-applier\" tells what happened to it"),
    outcome: Outcome::Failed,
};

/// The connection broke while the machine was being changed.
pub const ANSWER_LOST: Trouble = Trouble {
    what: "the applier's answer was lost, and with it whether the machine has changed",
    remedy: Some("\"ostler status\" tells how the machine is, \"ostler recover\" finishes or undoes what is open"),
    outcome: Outcome::Unsettled,
};

/// The connection broke while the boot loader was being written.
pub const BOOTLOADER_UNKNOWN: Trouble = Trouble {
    what: "the applier's answer was lost, and with it whether the boot loader is whole",
    remedy: Some(
        "do not restart the machine; what was begun goes on by itself, and \"ostler bootloader status\" tells how it ended",
    ),
    outcome: Outcome::Unsettled,
};

/// A transaction has to be recovered before another can begin.
pub const INTERRUPTED: Trouble = Trouble {
    what: "a transaction was interrupted",
    remedy: Some(
        "run \"ostler recover\" first, or \"ostler abandon\" if it fails for good; \"ostler status\" tells what it was",
    ),
    outcome: Outcome::Unsettled,
};

/// A change has to come to its end before another can begin.
pub const AWAITS_REBOOT: Trouble = Trouble {
    what: "the last change waits for the machine to restart",
    remedy: Some("run \"ostler reboot\", or take the change back with \"ostler rollback\""),
    outcome: Outcome::Failed,
};

/// Whoever looks after the machine would take it over again.
pub const DAEMON_RUNS: Trouble = Trouble {
    what: "ostler's own daemon looks after this machine; nothing was changed",
    remedy: Some("stop it first: systemctl disable --now ostler"),
    outcome: Outcome::Failed,
};

/// Nobody can be asked.
pub const NO_TERMINAL: Trouble = Trouble {
    what: "this would change the machine, and there is no terminal to ask at; nothing was changed",
    remedy: Some("give --yes to do it without being asked"),
    outcome: Outcome::BadInput,
};

/// There is nowhere to roll back to.
pub const NO_PREVIOUS: Trouble = Trouble {
    what: "there is no configuration to go back to: none was applied before the current one, or it is no longer kept",
    remedy: Some("\"ostler apply --to FILE\" leads to any configuration"),
    outcome: Outcome::BadInput,
};

/// The machine's own record cannot be read.
pub const BAD_RECORD: Trouble = Trouble {
    what: "a configuration that the machine has recorded cannot be used; nothing was changed",
    remedy: Some("\"ostler status\" tells which records are damaged"),
    outcome: Outcome::Failed,
};
