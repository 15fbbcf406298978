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
    /// What of the change asks for a restart, each in a few words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restart_for: Vec<String>,
}

impl Open {
    /// Whether the restart is all that is missing, and has not happened yet.
    pub fn awaits_restart(&self, now: &BootMark) -> bool {
        self.awaits_end_of.as_ref().is_some_and(|mark| mark.lasts(now))
    }
}

/// A restart that the machine needs and has not had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OwedRestart {
    /// The configuration that takes effect with it.
    pub config: String,
    /// What of that asks for it, each in a few words.
    pub reasons: Vec<String>,
    /// When it became due, in seconds since 1970.
    pub since: u64,
    /// The boot that has to end.
    pub boot: BootMark,
}

impl OwedRestart {
    /// The restart that an open transaction waits for.
    pub fn of(open: &Open, now: &BootMark) -> Option<Self> {
        let boot = open.awaits_end_of.clone().filter(|mark| mark.lasts(now))?;
        let config = match open.direction {
            Direction::Forward => open.to.clone(),
            Direction::Back => open.from.clone(),
        };
        Some(Self { config, reasons: open.restart_for.clone(), since: open.began, boot })
    }

    /// Whether it has not happened.
    pub fn is_due(&self, now: &BootMark) -> bool {
        self.boot.lasts(now)
    }

    /// The configuration and what of it asks for the restart.
    pub fn cause(&self) -> String {
        if self.reasons.is_empty() {
            self.config.clone()
        } else {
            format!("{} ({})", self.config, self.reasons.join(", "))
        }
    }
}

/// Why a machine restarts into this configuration, for the journal: in the machine-config-daemon's words, and with all that
/// needs the restart.
pub fn restart_rationale(config: Option<&str>, owed: &[OwedRestart]) -> String {
    let Some(last) = owed.last() else {
        return "Reboot requested; no configuration waits for it".to_owned();
    };
    let causes: Vec<String> = owed.iter().map(OwedRestart::cause).collect();
    let into = config.unwrap_or(&last.config);
    format!("Node will reboot into config {into}; restart needed by {}", causes.join(", "))
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
    /// How many files and links of the configuration changed; the records of it do not count.
    pub changed: usize,
    /// What became of the boot loader afterwards, where it was to be updated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_loader: Option<String>,
    /// Services and units that the undo could not bring back to their old configuration. Its files are in place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub service_failures: Vec<ServiceFailure>,
    /// Temporary files and empty directories that the undo could not remove.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leftovers: Vec<String>,
}

/// An operation on a unit that failed and was passed over, because an undo always ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceFailure {
    /// The unit; `systemd` for the service manager itself.
    pub unit: String,
    /// As systemctl calls it: `restart`, `reload`, `enable`, `disable`, `preset` or `daemon-reload`.
    pub action: String,
    /// Why it failed.
    pub cause: String,
}

impl std::fmt::Display for ServiceFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot {} {}: {}", self.action, self.unit, self.cause)
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
    /// A person closed it where neither end could be reached. The next change puts right what it left.
    Abandoned {
        /// Why neither end could be reached.
        reason: String,
        /// How the machine differs from both configurations, and what could not be put back: a line each.
        differs: Vec<String>,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_journal_names_every_cause_of_a_restart_and_makes_none_up() {
        let owed = |config: &str, reasons: &[&str]| OwedRestart {
            config: config.to_owned(),
            reasons: reasons.iter().map(|&reason| reason.to_owned()).collect(),
            since: 1,
            boot: BootMark::default(),
        };
        let two = [owed("a", &["/etc/motd", "unit b.service"]), owed("c", &[])];
        for (config, owed, expected) in [
            (Some("b"), &two[..1], "Node will reboot into config b; restart needed by a (/etc/motd, unit b.service)"),
            (None, &two[..], "Node will reboot into config c; restart needed by a (/etc/motd, unit b.service), c"),
            (Some("b"), &[], "Reboot requested; no configuration waits for it"),
        ] {
            assert_eq!(restart_rationale(config, owed), expected);
        }
    }
}
