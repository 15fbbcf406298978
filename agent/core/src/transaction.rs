//! What there is to say about a transaction: what it is, how far it is, how it ended. Data only; the host crate runs it.

use serde::{Deserialize, Serialize};

use crate::os::boot_mark::BootMark;
use crate::os::goal::OsChange;
use crate::step::Step;

/// What a transaction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Purpose {
    /// To reach another configuration.
    Update,
    /// To reach the configuration before the current one.
    Rollback,
    /// To make the machine agree with its configuration again.
    Repair,
}

impl Purpose {
    /// The purpose as a noun.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Update => "update",
            Self::Rollback => "rollback",
            Self::Repair => "repair",
        }
    }
}

/// Which of its two ends an open transaction is heading for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Direction {
    /// The new configuration.
    Forward,
    /// The old one, because the way to the new one failed.
    Back,
}

/// A transaction that has begun and not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Open {
    /// What it is for.
    pub purpose: Purpose,
    /// Where it is heading.
    pub direction: Direction,
    /// The configuration before.
    pub from: String,
    /// The configuration after.
    pub to: String,
    /// How to get from one to the other.
    pub steps: Vec<Step>,
    /// How to get back.
    pub undo: Vec<Step>,
    /// The boot in which it began.
    pub boot: BootMark,
    /// When it began, in seconds since 1970.
    pub began: u64,
    /// Why it goes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether the new operating system was there to be booted and was not: then it is not tried again by itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub target_failed: bool,
    /// Whether it goes back for nothing that is wrong with the new configuration: it was withdrawn, or the moment was bad.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub blameless: bool,
    /// What happens to the operating system, where something does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os: Option<OsChange>,
    /// The boot after which it goes on: everything else is done, and the restart is all that is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awaits_end_of: Option<BootMark>,
}

impl Open {
    /// Whether the restart is all that is missing, and has not happened yet.
    pub fn awaits_restart(&self, now: &BootMark) -> bool {
        self.awaits_end_of.as_ref().is_some_and(|mark| mark.lasts(now))
    }
}

/// A restart that was ordered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderedRestart {
    /// The boot that was to end.
    pub boot: BootMark,
    /// When, in seconds since 1970.
    pub ordered: u64,
    /// Why.
    pub rationale: String,
}

/// A configuration that was reached and that the machine has yet to prove itself in after a restart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Trial {
    /// The configuration.
    pub config: String,
    /// The boot before the restart that it takes effect with.
    pub before: BootMark,
    /// Whether the operating system changed with it.
    pub os: bool,
    /// When it was reached, in seconds since 1970.
    pub since: u64,
}

/// A configuration that was tried here and given up: it is not tried again by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rejected {
    /// The configuration.
    pub config: String,
    /// Why.
    pub reason: String,
    /// When, in seconds since 1970.
    pub at: u64,
}

/// A transaction that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finished {
    /// What it was for.
    pub purpose: Purpose,
    /// The configuration before.
    pub from: String,
    /// The configuration it was to lead to.
    pub to: String,
    /// How it ended.
    pub ending: Ending,
    /// When it began, in seconds since 1970.
    pub began: u64,
    /// When it ended.
    pub ended: u64,
    /// The boot in which it ended.
    pub boot: BootMark,
    /// Whether the machine has to restart for it to take effect.
    pub reboot: bool,
    /// Steps that are not for this kind of machine, and were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<Step>,
    /// How many files, links and directories changed.
    pub changed: usize,
    /// What became of the boot loader afterwards, where it was to be updated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_loader: Option<String>,
}

impl Finished {
    /// Whether the machine still has to restart for it to take effect.
    pub fn awaits_restart(&self, now: &BootMark) -> bool {
        self.reboot && self.boot.lasts(now)
    }
}

/// How a transaction ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ending", rename_all = "camelCase")]
pub enum Ending {
    /// The machine has the new configuration.
    Applied,
    /// The machine has the old configuration.
    Undone {
        /// Why.
        reason: String,
    },
    /// Everything is in place but the operating system, which the next restart brings. Until then the transaction is
    /// open, and whether it is applied or undone is decided by what is booted.
    AwaitsReboot {
        /// Why the machine goes back to the old configuration, where it does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

/// Parts of a transaction, in the order in which they happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// Everything that can be checked is, before anything is changed.
    Check,
    /// The intent is made durable.
    Begin,
    /// The next deployment of the operating system is made ready.
    Stage,
    /// What the operating system had is kept aside.
    Preserve,
    /// Files, units, links, keys, passwords and the record of the configuration.
    Write,
    /// What was kept aside of files that are no longer configured goes.
    Tidy,
    /// Whether units start at boot.
    Units,
    /// Services are told.
    Services,
    /// The end is made durable.
    Commit,
    /// Images are pulled ahead of need; of no transaction.
    Pull,
}

/// How far a transaction is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// Where it is heading.
    pub direction: Direction,
    /// What begins now.
    pub phase: Phase,
    /// What of it, where there is more than one thing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
}
