//! Why a transaction could not be, in the three classes that say what to do next.

use std::io;

use ostler_core::certificates::{self, GivenError};
use ostler_core::disruption::PolicyFileError;
use ostler_core::ignition::ContentsError;
use ostler_core::machine_config::ConfigError;
use ostler_core::os::backend::Backend;
use ostler_core::os::goal::{Impossible, Mismatch};
use ostler_core::os::preflight::{self, Finding, Severity, Verdict};
use ostler_core::protocol::Class;
use ostler_core::refusal::Refusal;

use crate::accounts::{AccountsError, ShadowError, UnknownOwner};
use crate::batch::BatchError;
use crate::disk::{ForeignLink, PathError, RootPath, disk_errors, is_full};
use crate::journal::JournalError;
use crate::machine::ManagerError;
use crate::originals::{OriginalsError, PackageError};
use crate::os::OsError;
use crate::systemd::offline::OfflineError;

/// What kept a transaction from its end, or from beginning. Never holds contents.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Trouble {
    /// Core refuses the target.
    #[error(transparent)]
    Refused(Box<Refusal>),
    /// The rules sent along cannot be read.
    #[error("the node disruption policy cannot be used")]
    Policy(#[from] PolicyFileError),
    /// The target cannot be read.
    #[error("the target cannot be used")]
    Target(#[from] ConfigError),
    /// The current configuration could not be restored if the change failed.
    #[error("there would be no way back to the current configuration {config:?}")]
    NoWayBack {
        /// The current configuration.
        config: String,
        /// Why.
        source: Box<Refusal>,
    },
    /// A path that is not plain.
    #[error("{name:?} cannot be placed")]
    Path {
        /// The path or name.
        name: String,
        /// What is wrong with it.
        source: PathError,
    },
    /// Contents that cannot be had.
    #[error("could not decode file {path:?}")]
    Contents {
        /// The file.
        path: String,
        /// Why.
        source: ContentsError,
    },
    /// An owner that this machine does not know.
    #[error("file {path:?} cannot be given its owner")]
    Owner {
        /// The file.
        path: String,
        /// Who.
        source: UnknownOwner,
    },
    /// A password that cannot be set.
    #[error("the password of {user:?} cannot be changed")]
    Password {
        /// Whose.
        user: String,
        /// Why.
        source: ShadowError,
    },
    /// A step of something that its config does not have.
    #[error("the plan is about {name:?}, which its configuration does not have")]
    NotInConfig {
        /// What.
        name: String,
    },
    /// The change is larger than can be undone.
    #[error("what the change displaces is more than the {most} bytes that can be kept for an undo")]
    TooMuchDisplaced {
        /// The limit.
        most: u64,
    },
    /// No backend for the operating system.
    #[error("the plan changes the operating system, and nothing on this machine can")]
    OperatingSystem,
    /// What is in `/etc` cannot be merged into the new deployment.
    #[error("cannot merge {path} into the new image: it has a {image} there{}", if *.managed { ", and the configuration a file" } else { "" })]
    MergeConflict {
        path: RootPath,
        /// What the image has at the path.
        image: &'static str,
        /// Whether it is the configuration that has something else there, or somebody else.
        managed: bool,
    },
    /// No deployment can be what the target wants.
    #[error("the target's operating system cannot be had")]
    Impossible {
        /// Why.
        source: Impossible,
        /// What to write instead, where that is known.
        remedy: Option<String>,
    },
    /// The operating system could not be changed.
    #[error(transparent)]
    Os(#[from] OsError),
    /// The names of network interfaces could not be made to stay.
    #[error("the names of network interfaces could not be made to stay")]
    NicNames {
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Something stands in the way of a new operating system.
    #[error("{}", told(.0))]
    Preflight(Vec<Finding>),
    /// What was staged is not what was wanted.
    #[error("{backend} made another deployment than the one it was asked for")]
    Misstaged {
        /// Who made it.
        backend: Backend,
        /// In what it differs.
        source: Mismatch,
    },
    /// The machine has restarted, but not into the new deployment.
    #[error("the machine restarted into another operating system than the one that was staged{failure}")]
    NotBooted {
        /// In what it differs.
        source: Mismatch,
        /// What the machine said when it went down, behind a colon.
        failure: String,
        /// Whether the new one was there to be booted, or could not be finished, and was not just lost with the power.
        there: bool,
    },
    /// A transaction waits for the machine to restart.
    #[error("the change from {from:?} to {to:?} waits for the machine to restart")]
    AwaitsReboot {
        /// From where.
        from: String,
        /// To where.
        to: String,
    },
    /// What another agent has left could not be put right.
    #[error("what a machine-config-daemon has left here could not be put right: {reason}")]
    NotTakenOver {
        /// Why.
        reason: String,
    },
    /// A machine without a configuration is nobody's to hand back.
    #[error("this machine is in no configuration, so there is nothing to hand back")]
    NothingToHandBack,
    /// A configuration has yet to prove itself.
    #[error("{config:?} has yet to prove itself on this machine")]
    OnTrial {
        /// The configuration.
        config: String,
    },
    /// The operating system is not the configuration's.
    #[error("the operating system is not the one of {config:?}: {words}")]
    Behind {
        /// The configuration.
        config: String,
        /// In what.
        words: String,
    },
    /// The machine differs from its configuration.
    #[error(
        "the machine differs from {config:?} in {count} ways that machine-config-daemon would stumble over: {named}"
    )]
    Drifted {
        /// The configuration.
        config: String,
        /// In how many ways.
        count: usize,
        /// The first of what differs.
        named: String,
    },
    /// A configuration cannot have proven itself before it has taken effect.
    #[error("the machine has not restarted yet into {config:?}")]
    NotRestarted {
        /// The configuration.
        config: String,
    },
    /// There is nothing to go back to.
    #[error("no earlier configuration is kept on this machine")]
    NoPrevious,
    /// What a ticket names is not kept any more, or was prepared for another state of the machine.
    #[error("cannot apply the update: the machine has changed, or another update was prepared, since this one was")]
    PlanChanged,
    /// A transaction is open.
    #[error("the change from {from:?} to {to:?} was interrupted and is neither done nor undone")]
    Interrupted {
        /// From where.
        from: String,
        /// To where.
        to: String,
    },
    /// A record that is needed is gone or damaged.
    #[error("the journal's record {what:?} is missing or damaged")]
    Lost {
        /// Which.
        what: &'static str,
    },
    /// The machine's own record of its configuration is damaged.
    #[error("{path} cannot be read as a MachineConfig")]
    Record {
        /// Where.
        path: &'static str,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Something was to be changed on a machine that is only looked at.
    #[error("the machine was opened to be looked at and cannot be changed")]
    OnlyLooking,
    /// Another process changes passwords.
    #[error("another process holds the lock of the password database")]
    PasswordLock,
    /// Files could not be written.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// The journal could not be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Accounts could not be read.
    #[error(transparent)]
    Accounts(#[from] AccountsError),
    /// What the operating system had could not be read.
    #[error(transparent)]
    Originals(#[from] OriginalsError),
    /// Packages could not be asked.
    #[error(transparent)]
    Packages(#[from] PackageError),
    /// Links of units could not be worked out.
    #[error(transparent)]
    Offline(#[from] OfflineError),
    /// systemd could not do it.
    #[error(transparent)]
    Manager(#[from] ManagerError),
    /// A policy restarts or reloads a unit that there is not.
    #[error(
        "cannot restart or reload {service}: there is no such unit on this machine, and the change brings none; the policy for {policy} asks for it"
    )]
    NoSuchService {
        service: String,
        /// The path, unit or `sshkey` that the policy is for.
        policy: String,
    },
    /// Certificates that were sent cannot be read.
    #[error(transparent)]
    Given(#[from] GivenError),
    /// The kubelet cannot be told whom to trust.
    #[error(transparent)]
    Kubeconfig(#[from] certificates::Refused),
    /// The kubelet asked in vain for new credentials, or did not ask.
    #[error("the kubelet did not get new credentials within two minutes; its old ones are back")]
    NoCredentials,
    /// The disk failed.
    #[error("could not {action} {path}")]
    Disk {
        /// What was being done.
        action: &'static str,
        /// To what.
        path: RootPath,
        /// What the disk answered.
        source: io::Error,
    },
    /// Neither end could be reached; the journal knows how to go on.
    #[error("the change failed and could not be undone either: {first}")]
    Unsettled {
        /// Why it failed.
        first: String,
        /// Why it could not be undone.
        #[source]
        second: Box<Trouble>,
    },
}

/// What is in the way; the rest is only worth knowing.
pub(super) fn obstacles(findings: &[Finding]) -> impl Iterator<Item = &Finding> {
    findings.iter().filter(|finding| finding.severity != Severity::Note)
}

fn told(findings: &[Finding]) -> String {
    let lines: Vec<String> =
        obstacles(findings).map(|finding| format!("{}: {}", finding.subject, finding.cause)).collect();
    format!("the new operating system cannot be had: {}", lines.join("; "))
}

impl From<Refusal> for Trouble {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl Trouble {
    /// For `map_err` behind the making of a path.
    pub(crate) fn path(name: &str) -> impl FnOnce(PathError) -> Self {
        move |source| Self::Path { name: name.to_owned(), source }
    }

    /// For `map_err` behind an operation of the disk.
    pub(crate) fn disk(action: &'static str, path: &RootPath) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Disk { action, path: path.clone(), source }
    }

    /// Whose fault it is.
    pub fn class(&self) -> Class {
        if !self.is_unsettled() {
            if is_full(self) {
                return Class::Transient;
            }
            if disk_errors(self).any(ForeignLink::is) {
                return Class::Refusal;
            }
        }
        match self {
            Self::Refused(_)
            | Self::Policy(_)
            | Self::Target(_)
            | Self::NoWayBack { .. }
            | Self::Path { .. }
            | Self::Contents { .. }
            | Self::Owner { .. }
            | Self::Password { .. }
            | Self::NotInConfig { .. }
            | Self::TooMuchDisplaced { .. }
            | Self::OperatingSystem
            | Self::Impossible { .. }
            | Self::MergeConflict { .. }
            | Self::NoPrevious
            | Self::NotRestarted { .. }
            | Self::NothingToHandBack
            | Self::OnTrial { .. }
            | Self::Behind { .. }
            | Self::Drifted { .. }
            | Self::Batch(BatchError::Refused { .. } | BatchError::TooMany { .. })
            | Self::Offline(_)
            | Self::NoSuchService { .. }
            | Self::Given(_) => Class::Refusal,
            Self::Os(error) => error.class(),
            Self::Preflight(findings) => match preflight::verdict(findings) {
                Verdict::Later => Class::Transient,
                Verdict::Go | Verdict::Refused => Class::Refusal,
            },
            Self::Batch(BatchError::Space { .. } | BatchError::Files { .. })
            | Self::PlanChanged
            | Self::AwaitsReboot { .. }
            | Self::PasswordLock
            | Self::NoCredentials
            | Self::Journal(JournalError::Busy { .. }) => Class::Transient,
            Self::Manager(error) if error.transient => Class::Transient,
            _ => Class::Inoperable,
        }
    }

    /// Whether the causes are of a failure on the way back, which says nothing of the target.
    pub(super) const fn is_unsettled(&self) -> bool {
        matches!(self, Self::Unsettled { .. })
    }

    /// Whether the machine is as it was before.
    pub const fn unchanged(&self) -> bool {
        !matches!(self, Self::Unsettled { .. } | Self::Interrupted { .. } | Self::Lost { .. })
    }

    /// The reason and its causes, one line each.
    pub fn reasons(&self) -> Vec<String> {
        let mut reasons = vec![self.to_string()];
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            reasons.push(error.to_string());
            cause = error.source();
        }
        reasons.dedup();
        reasons
    }

    /// The reason and its causes on one line.
    pub fn reason(&self) -> String {
        self.reasons().join(": ")
    }
}
