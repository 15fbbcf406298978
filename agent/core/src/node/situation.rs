//! Where a node stands in the course of its updates. Everything that is published is a function of this value.

use serde::{Deserialize, Serialize};

use super::duties::Duties;
use super::view::ConfigRef;
use crate::api::IrreconcilableChange;
use crate::bootstrap::Bootstrap;
use crate::disruption::Action;
use crate::verdict::Verdict;

/// Where a node stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Situation {
    /// The node's name.
    pub node: String,
    /// What it is in, by its own record.
    pub current: Option<ConfigRef>,
    /// What it is to reach.
    pub desired: Option<ConfigRef>,
    /// How far it is.
    pub phase: Phase,
    /// The update it is at, as far as it is known: after a restart of the agent it is not known any more.
    pub update: Option<Update>,
    /// The configuration whose operating system is staged ahead.
    pub staged_for: Option<String>,
    /// Its state, from which everything that is published of its state comes.
    pub verdict: Verdict,
    /// What is asked of the drain controller; nothing leaves what was asked last.
    pub drain: Option<DrainRequest>,
    /// What only a new installation could bring.
    pub irreconcilable: Irreconcilable,
    /// Why the deployment that was staged before the last restart was not finished.
    pub finalization_failure: Option<String>,
    /// What the node is to be introduced to its cluster with, while that has not happened.
    pub bootstrap: Option<Bootstrap>,
    /// The version of the image that the machine was installed from, where it says so.
    pub boot_image: Option<String>,
    /// What the duties beside updates have to say.
    pub duties: Duties,
}

impl Situation {
    /// What keeps it from going on without help.
    pub fn trouble(&self) -> Option<Trouble> {
        self.verdict.trouble()
    }
}

/// How far a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// In its desired configuration, with nothing left to do.
    Settled,
    /// It is to update, and that is all that is known yet.
    Considering,
    /// It cannot update like this; the trouble says why.
    Refused,
    /// It could update, and somebody holds it.
    Held,
    /// Its next operating system is pulled and staged, with its workloads in place.
    Staging,
    /// It waits for its workloads to leave.
    Draining,
    /// Its files and its operating system change.
    Executing,
    /// Everything is in place but the restart.
    Restarting,
    /// It has restarted and has yet to prove itself.
    Proving,
    /// It is in its desired configuration and waits for workloads to be let in again.
    Completing,
}

impl Phase {
    /// Whether the machine is where it should be, whoever has yet to act on that.
    pub const fn is_at_rest(self) -> bool {
        matches!(self, Self::Settled | Self::Completing)
    }

    /// Whether the machine changes, or is about to go down or to prove itself.
    pub const fn is_changing(self) -> bool {
        matches!(self, Self::Executing | Self::Restarting | Self::Proving)
    }
}

/// An update, as it was planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// The configuration before.
    pub from: String,
    /// The configuration after.
    pub to: ConfigRef,
    /// The actions that make it take effect.
    pub actions: Vec<Action>,
    /// Whether workloads have to leave.
    pub drain: bool,
    /// Whether the operating system changes.
    pub os: bool,
    /// Whether SSH keys change.
    pub keys: bool,
    /// Whether the machine restarts.
    pub reboot: bool,
}

/// What keeps a node from going on without help.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Trouble {
    /// Of which kind it is.
    pub kind: TroubleKind,
    /// What is wrong, with its cause and remedy; no secrets.
    pub reason: String,
}

/// Kinds of trouble, as the controller tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TroubleKind {
    /// The desired configuration can never be had by this node as it is.
    Unreconcilable,
    /// Something failed.
    Degraded,
}

/// What is asked of the drain controller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DrainRequest {
    /// Workloads are to leave for this configuration.
    Drain {
        /// The configuration.
        config: String,
        /// Whether the node is cordoned already, by somebody else.
        cordoned: bool,
    },
    /// Workloads may come back.
    Uncordon {
        /// In the words of the annotation.
        request: String,
    },
    /// The drain is not needed any more, and the node stays cordoned as somebody else left it.
    Withdraw {
        /// In the words of the annotation.
        request: String,
    },
}

impl DrainRequest {
    /// The request in the words of the annotation.
    pub fn text(&self) -> String {
        match self {
            Self::Drain { config, .. } => format!("drain-{config}"),
            Self::Uncordon { request } | Self::Withdraw { request } => request.clone(),
        }
    }
}

/// What is said about changes that only a new installation could bring.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Irreconcilable {
    /// Nothing: what was said before stays.
    #[default]
    Untold,
    /// These are all.
    Changes(Vec<IrreconcilableChange>),
}
