//! Where one node stands, by what its agent and the drain controller have written on it.

use jiff::Timestamp;
use ostler_core::node::keys;
use serde::Serialize;

use super::availability::is_done;
use crate::objects::{Condition, MachineConfigNode, Node, condition};

/// Where a node stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// It has what its pool wants.
    Updated,
    /// It has not been told yet.
    Waiting,
    /// It was told, and has not begun.
    Told,
    /// Somebody holds its update.
    Held,
    /// Workloads are leaving.
    Draining,
    /// The machine is changed.
    Changing,
    /// The machine restarts.
    Rebooting,
    /// Workloads are let in again.
    Uncordoning,
    /// The update failed, or is refused.
    Failed,
    /// It has said nothing: no agent has looked after it.
    Silent,
}

impl Phase {
    /// In a word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Updated => "updated",
            Self::Waiting => "waiting",
            Self::Told => "told",
            Self::Held => "held",
            Self::Draining => "draining",
            Self::Changing => "changing",
            Self::Rebooting => "rebooting",
            Self::Uncordoning => "uncordoning",
            Self::Failed => "failed",
            Self::Silent => "silent",
        }
    }

    /// Whether the node is on its way.
    pub const fn is_under_way(self) -> bool {
        matches!(self, Self::Told | Self::Held | Self::Draining | Self::Changing | Self::Rebooting | Self::Uncordoning)
    }
}

/// Where a node stands on the way to its pool's target; `targeted` says that it was told of it.
pub fn phase(node: &Node, targeted: bool) -> Phase {
    if node.annotation(keys::CURRENT_CONFIG).is_none() && node.annotation(keys::DESIRED_CONFIG).is_none() {
        return Phase::Silent;
    }
    if matches!(node.annotation(keys::STATE), Some(keys::STATE_DEGRADED | keys::STATE_UNRECONCILABLE)) {
        return Phase::Failed;
    }
    if is_done(node) {
        return if targeted { Phase::Updated } else { Phase::Waiting };
    }
    under_way(node)
}

fn under_way(node: &Node) -> Phase {
    let asked = node.annotation(keys::DESIRED_DRAIN).unwrap_or_default();
    let answered = node.annotation(keys::LAST_APPLIED_DRAIN) == Some(asked);
    let drain = asked.starts_with("drain-");
    let pending = !asked.is_empty() && !answered;
    if node.annotation(keys::POST_CONFIG_ACTION) == Some(keys::REBOOTING) {
        Phase::Rebooting
    } else if drain && pending {
        Phase::Draining
    } else if pending {
        Phase::Uncordoning
    } else if !drain && node.metadata.annotations.contains_key(keys::HOLD) {
        Phase::Held
    } else if drain || node.annotation(keys::STATE) == Some(keys::STATE_WORKING) {
        Phase::Changing
    } else {
        Phase::Told
    }
}

/// A part of an update, and how long it took or has taken so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PhaseTime {
    /// The condition that says so.
    pub phase: &'static str,
    /// When it was reached.
    pub at: Timestamp,
    /// Seconds since the one before it.
    pub seconds: Option<i64>,
}

/// In the order of an update.
const CONDITIONS: [&str; 8] = [
    "UpdatePrepared",
    "Cordoned",
    "Drained",
    "AppliedFilesAndOS",
    "UpdateExecuted",
    "UpdatePostActionComplete",
    "RebootedNode",
    "Resumed",
];

/// Which parts of the update under way are done, and how long each took. Nothing where none is under way.
pub fn phase_times(progress: &MachineConfigNode) -> Vec<PhaseTime> {
    let reached = |type_: &'static str| {
        let condition = condition(&progress.status.conditions, type_).filter(|condition| condition.is_true())?;
        Some((type_, condition.last_transition_time?))
    };
    let mut reached: Vec<_> = CONDITIONS.iter().filter_map(|type_| reached(type_)).collect();
    reached.sort_by_key(|(_, at)| *at);
    let mut before: Option<Timestamp> = None;
    let mut times = Vec::new();
    for (phase, at) in reached {
        let seconds = before.map(|before| at.as_second() - before.as_second());
        times.push(PhaseTime { phase, at, seconds });
        before = Some(at);
    }
    times
}

/// Since when a node is where it is.
pub(super) fn since(phase: Phase, progress: Option<&MachineConfigNode>) -> Option<Timestamp> {
    let conditions = progress.map(|progress| progress.status.conditions.as_slice()).unwrap_or_default();
    let at = |type_| condition(conditions, type_).and_then(|condition| condition.last_transition_time);
    let latest = || {
        let reached = conditions.iter().filter(|condition| condition.is_true() && condition.type_ != "Updated");
        reached.filter_map(|condition: &Condition| condition.last_transition_time).max()
    };
    match phase {
        Phase::Waiting | Phase::Silent => None,
        Phase::Updated => at("Updated"),
        Phase::Failed => at("NodeDegraded").or_else(latest),
        _ => latest().or_else(|| at("Updated")),
    }
}
