//! What the two halves of the agent say to each other: the half that decides asks, the half that is root acts.
//!
//! Owns the messages and how they are framed. Refuses to move bytes: each half reads and writes by itself. Neither the
//! root directory nor any command is part of a message; what can be asked for is this closed list.

pub mod audit;
mod frame;
mod sealed;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use frame::{FrameError, HEADER_BYTES, MAX_FRAME, decode, decode_request, encode, length};
pub use sealed::Sealed;

use crate::api::{IrreconcilableChange, StorageOverride};
use crate::certificates::Delivered;
use crate::desired::{self, Desired};
use crate::disruption::{Action, PolicyFile, PolicyFileError};
use crate::drift::watched::Interest;
use crate::drift::{Drift, Subject};
use crate::kargs;
use crate::machine_config::MachineConfig;
use crate::os::behind::Behind;
use crate::os::bootloader;
use crate::pinned;
use crate::reconcile::Overrides;
use crate::rollback::RollbackHold;
use crate::status::Status;
use crate::step::Step;
use crate::transaction::{Finished, Progress};

/// Both halves come from one package; another version on the other side means that one of them has not restarted yet.
pub const VERSION: u32 = 4;

/// The first message of either side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hello {
    /// [`VERSION`] of the sender.
    pub protocol: u32,
    /// The sender's package version, for messages.
    pub version: String,
}

/// What can be asked for.
///
/// Tagged from outside: for a tag among the fields, serde would keep a copy of the whole message while it looks for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Request {
    /// What is the machine in? Only root is told: configurations are full of secrets.
    Observe,
    /// Observe, plan and check an update as far as can be done without changing anything, and keep it under a ticket. Of each
    /// applier there is one ticket: another one takes its place.
    Prepare(Prepare),
    /// Pull and stage the operating system of what was prepared, locked until it is applied. Nothing that runs is touched.
    Stage {
        /// Names what was prepared.
        ticket: Ticket,
    },
    /// Apply what was prepared. The ticket is void then.
    Apply {
        /// Names what was prepared.
        ticket: Ticket,
    },
    /// Forget what was prepared, and drop what was staged for it. That may have been staged by an applier before this one, so
    /// that no ticket is needed.
    Cancel,
    /// Finish or undo what was interrupted.
    Recover,
    /// Close what was interrupted and can be neither finished nor undone. A person has to have asked for it.
    Abandon,
    /// Remember that a person wants the configuration before the current one, and hold the machine there.
    HoldRollback {
        /// The configuration that the agent is to reach, where one runs.
        desired: Option<String>,
    },
    /// Release that hold.
    ReleaseRollback,
    /// Take back a change that only waits for the machine to restart.
    Withdraw,
    /// The machine has proven itself in its configuration: what was kept to go back to is not needed any more.
    Confirm,
    /// The machine has not proven itself in its configuration: go back to the one before, and remember why.
    GiveUp {
        /// Why.
        reason: String,
        /// How disruptive the way back may be.
        rules: Rules,
    },
    /// Keep this as the configuration the machine was installed with, where that one is lost.
    KeepBase {
        /// The earliest configuration that is known; nothing for the one that the machine is in.
        config: Option<Sealed>,
    },
    /// Compare the configuration that the machine is in with the one that it was installed with.
    Irreconcilable,
    /// Make the names of network interfaces stay, once per boot.
    PersistNics,
    /// Restart the machine, or only say how.
    Reboot {
        /// Only say how.
        check: bool,
        /// Whether restarting user space alone would do.
        soft: bool,
    },
    /// How is the boot loader, or write it.
    Bootloader {
        /// What to do to it; nothing to only ask.
        action: Option<bootloader::Action>,
        /// Whether somebody has accepted what can happen; else it is only told.
        accepted: bool,
    },
    /// How does the machine say it is?
    Status,
    /// What does the kubelet show the API server? Nothing is named: there is one kubelet, and one place it keeps that.
    Credentials,
    /// Take over what another agent has left, so that nothing of it is half done.
    TakeOver(TakeOver),
    /// Leave the machine so that the other agent can begin with it, or only say what is in the way.
    HandBack {
        /// Only say.
        check: bool,
    },
    /// Remember how far the first boot is.
    FirstBoot {
        /// How far.
        stage: FirstBoot,
    },
    /// How does the machine differ from its configuration?
    Drift,
    /// Where on the disk may it come to differ?
    DriftInterest,
    /// Make it agree again.
    Repair {
        /// In these subjects; in all where none is named.
        only: Vec<Subject>,
    },
    /// Put the cluster's certificates and credentials where they belong, and finish what an earlier such request left.
    Certificates {
        /// [`Given`](crate::certificates::Given) by the cluster; nothing to only finish.
        given: Option<Sealed>,
    },
    /// The kubelet does not trust the API server any more: have it ask for new credentials, if it was only waiting to.
    Rebootstrap,
    /// Pull these images and have them kept, and no others.
    ///
    /// Ends when nobody waits for it any more; asking again goes on where it ended.
    Pin(pinned::Order),
}

/// One list for both, so that no request is without a name and none is missing where all are wanted.
macro_rules! names {
    ($($variant:ident: $name:literal,)*) => {
        impl Request {
            /// The names of all requests.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// What it is called in messages and logs.
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => $name,)*
                }
            }
        }
    };
}

names! {
    Observe: "observe",
    Prepare: "prepare",
    Stage: "stage",
    Apply: "apply",
    Cancel: "cancel",
    Recover: "recover",
    Abandon: "abandon",
    HoldRollback: "holdRollback",
    ReleaseRollback: "releaseRollback",
    Withdraw: "withdraw",
    Confirm: "confirm",
    GiveUp: "giveUp",
    KeepBase: "keepBase",
    Irreconcilable: "irreconcilable",
    PersistNics: "persistNics",
    Reboot: "reboot",
    Bootloader: "bootloader",
    Status: "status",
    Credentials: "credentials",
    TakeOver: "takeOver",
    HandBack: "handBack",
    FirstBoot: "firstBoot",
    Drift: "drift",
    DriftInterest: "driftInterest",
    Repair: "repair",
    Certificates: "certificates",
    Rebootstrap: "rebootstrap",
    Pin: "pin",
}

impl Request {
    /// The configuration that it brings, where it brings one.
    pub const fn config(&self) -> Option<&Sealed> {
        match self {
            Self::Prepare(Prepare { to: Destination::Config(config), .. }) => Some(config),
            Self::KeepBase { config } => config.as_ref(),
            Self::TakeOver(order) => order.config.as_ref(),
            Self::Observe
            | Self::Prepare(Prepare { to: Destination::Previous, .. })
            | Self::Stage { .. }
            | Self::Apply { .. }
            | Self::Cancel
            | Self::Irreconcilable
            | Self::DriftInterest
            | Self::Recover
            | Self::Abandon
            | Self::HoldRollback { .. }
            | Self::ReleaseRollback
            | Self::Withdraw
            | Self::Confirm
            | Self::GiveUp { .. }
            | Self::PersistNics
            | Self::Reboot { .. }
            | Self::Bootloader { .. }
            | Self::Status
            | Self::Credentials
            | Self::HandBack { .. }
            | Self::FirstBoot { .. }
            | Self::Drift
            | Self::Repair { .. }
            | Self::Certificates { .. }
            | Self::Rebootstrap
            | Self::Pin(_) => None,
        }
    }

    /// Whether only root may ask for it on a running machine. The agent, which is not root, neither abandons a transaction nor
    /// sees old configurations.
    pub const fn is_for_root(&self) -> bool {
        matches!(self, Self::Abandon | Self::Observe)
    }

    /// Whether the machine, or what is recorded of it, may be another afterwards. What is not known to only look does.
    pub const fn changes(&self) -> bool {
        !matches!(
            self,
            Self::Observe
                | Self::Prepare(_)
                | Self::Irreconcilable
                | Self::DriftInterest
                | Self::HandBack { check: true }
                | Self::Reboot { check: true, .. }
                | Self::Bootloader { action: None, .. }
                | Self::Bootloader { accepted: false, .. }
                | Self::Status
                | Self::Credentials
                | Self::Drift
        )
    }
}

/// What is known from outside of a machine that is taken over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TakeOver {
    /// The configuration that it should be in; of use only where its own record cannot be read.
    pub config: Option<Sealed>,
    /// Whether the other agent has announced a restart that it did not live to see.
    pub restart: bool,
    /// Whether the cluster knows the node in its desired configuration, so that its introduction is over.
    pub introduced: bool,
}

/// How far a first boot is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FirstBoot {
    /// It begins.
    Begins,
    /// Only a restart is left.
    Restarts,
    /// It is over.
    Ends,
}

/// What was taken over, or handed back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Handed {
    /// The configuration that the machine is in.
    pub config: String,
    /// What was found and put right, in words; nothing where all was in order.
    pub done: Vec<String>,
}

/// An update to prepare.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Prepare {
    pub to: Destination,
    pub rules: Rules,
}

/// The configuration that an update leads to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Destination {
    /// This MachineConfig.
    Config(Sealed),
    /// The one before the current one, which the machine has kept.
    Previous,
}

/// Names what was prepared, for as long as the machine and the process that prepared it stay as they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ticket(pub String);

/// By which rules a change is planned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rules {
    /// A MachineConfiguration, or its `nodeDisruptionPolicy`.
    pub policy: Option<Value>,
    /// Whether the fixed table of first boot decides.
    pub first_boot: bool,
    /// Sections of storage that may differ.
    pub overrides: Vec<StorageOverride>,
}

impl Rules {
    /// A target with these rules.
    pub fn desired(&self, target: impl Into<Arc<MachineConfig>>) -> Result<Desired, PolicyFileError> {
        let file = self.policy.clone().map(PolicyFile::from_document).transpose()?.unwrap_or_default();
        let given = |section| self.overrides.contains(&section);
        let overrides = Overrides {
            disks: file.overrides.disks || given(StorageOverride::Disks),
            filesystems: file.overrides.filesystems || given(StorageOverride::FileSystems),
            raid: file.overrides.raid || given(StorageOverride::Raid),
        };
        let rules = if self.first_boot { desired::Rules::FirstBoot } else { desired::Rules::Policies(file.policies) };
        Ok(Desired { target: target.into(), overrides, rules })
    }
}

/// What comes back: any number of progress messages, then one answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", content = "is", rename_all = "camelCase")]
pub enum Reply {
    /// How far it is.
    Progress(Progress),
    /// To [`Request::Observe`].
    Observed(Observation),
    /// To [`Request::Prepare`]: nothing stands in the way.
    Prepared(Box<Prepared>),
    /// To [`Request::Prepare`]: no running node can follow.
    Unreconcilable(Failure),
    /// To [`Request::Irreconcilable`].
    Irreconcilable(Comparison),
    /// To [`Request::DriftInterest`].
    DriftInterest(Interest),
    /// To [`Request::Stage`]: what the change brings of the operating system is staged.
    Staged,
    /// To everything that changes the machine.
    Finished(Finished),
    /// There was nothing to do.
    Nothing,
    /// To [`Request::Confirm`]: this configuration has proven itself.
    Confirmed {
        /// Its name.
        config: String,
    },
    /// To [`Request::KeepBase`]: this configuration is kept as the one the machine was installed with.
    BaseKept {
        /// Its name.
        config: String,
    },
    /// To [`Request::HoldRollback`]: the hold; to [`Request::ReleaseRollback`]: the one that was released.
    RollbackHold(RollbackHold),
    /// To [`Request::TakeOver`].
    TakenOver(Handed),
    /// To [`Request::HandBack`].
    HandedBack(Handed),
    /// To [`Request::PersistNics`]: these kernel arguments come and go with the next restart.
    NicsPersisted {
        /// They.
        change: kargs::Change,
    },
    /// To [`Request::Reboot`].
    Restart(Restart),
    /// To [`Request::Bootloader`], and what it is then.
    Bootloader(Box<bootloader::Report>),
    /// To a [`Request::Bootloader`] that nobody has accepted yet.
    Intended(bootloader::Intent),
    /// To [`Request::Status`].
    Status(Box<Status>),
    /// To [`Request::Credentials`]: a kubeconfig with everything in it that it needs.
    Credentials(Sealed),
    /// To [`Request::Drift`].
    Drift(Vec<Drift>),
    /// To [`Request::Certificates`] and [`Request::Rebootstrap`].
    Certificates(Delivered),
    /// To [`Request::Pin`].
    Pinned(pinned::Report),
    /// It could not be done.
    Failed(Failure),
}

/// What the machine is in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Observation {
    /// Its configuration, if it has one.
    pub current: Option<Sealed>,
    /// The configuration it was installed with, if it is still known.
    pub install_time: Option<Sealed>,
    /// Whether that is only the earliest one known, kept because the real one is lost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub base_kept: bool,
    /// The configuration a rollback leads to, if there is one; empty for a machine that had none.
    pub previous: Option<Sealed>,
    /// Whether a person has asked for the next update to be forced.
    pub forced: bool,
    /// How its operating system is not the one of its configuration, where somebody left it so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<Behind>,
    /// Units of its configuration that the operating system has too.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub os_units: BTreeSet<String>,
    /// Whether this is a running machine and not only its files.
    pub live: bool,
    /// Whether a transaction has to be recovered first.
    pub interrupted: bool,
    /// The configuration that only waits for the machine to restart, if that is why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awaiting: Option<String>,
}

/// A restart that was ordered, or would be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Restart {
    /// Why, in the words that the journal gets.
    pub rationale: String,
    /// Whether a staged deployment is finished on the way.
    pub staged: bool,
    /// Whether only user space restarts.
    pub soft: bool,
    /// Why it does not, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_soft: Option<String>,
    /// Whether it has begun.
    pub begun: bool,
}

/// An update that was prepared. Nothing of the configurations is in it but names and paths.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Prepared {
    pub ticket: Ticket,
    /// The configuration before.
    pub from: String,
    /// What is done so that it takes effect.
    pub actions: Vec<Action>,
    /// Whether workloads have to leave.
    pub drain: bool,
    /// Whether the operating system changes.
    pub os: bool,
    /// In the order of their execution.
    pub steps: Vec<Step>,
    /// What is worth knowing of the target.
    pub warnings: Vec<String>,
    pub forecast: Forecast,
    /// Whether the machine knows what it was installed with.
    pub base_known: bool,
}

/// What only a new installation could change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    /// Nothing where the machine does not know what it was installed with, or what it is in.
    pub changes: Option<Vec<IrreconcilableChange>>,
    /// Whether it was compared with the earliest configuration that is known, because the real one is lost.
    pub base_kept: bool,
}

/// What a change would do, beyond its plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Forecast {
    /// Files and links of the configuration that would change.
    pub changed: usize,
    /// Bytes that would be written, records and kept originals among them.
    pub bytes: u64,
    /// Steps that are not for this kind of machine.
    pub left_out: Vec<Step>,
    /// What is worth knowing before it is done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Why something could not be done. The class tells what to do next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// Whose fault it is.
    pub class: Class,
    /// The reason, then its causes.
    pub reasons: Vec<String>,
    /// What a person can do about it.
    pub remedy: Option<String>,
    /// Whether the machine is as it was before.
    pub unchanged: bool,
}

/// Whose fault a failure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Class {
    /// The configuration's: trying again will not help.
    Refusal,
    /// The moment's: trying again may help.
    Transient,
    /// The machine's: a person has to look at it.
    Inoperable,
}
