//! The state of a node in one value, computed from the machine and its agent.
//!
//! Every surface shows this value: the first line and the exit status of `ostler status`, its JSON, systemd's StatusText, the
//! metrics, the Node's `state` and `reason` annotations and the conditions of the MachineConfigNode. None of them computes
//! a state of its own, so no two of them can disagree.

mod agent;
mod machine;
mod reason;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use agent::{Agent, AgentReport, ConfigSource, Lost};
pub use reason::Reason;

use crate::node::keys;
use crate::node::situation::{Trouble, TroubleKind};
use crate::status::Status;

/// The states of a node, the one that is reported first before the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// It does not go on without a person.
    NeedsAttention,
    /// It changes now.
    Updating,
    /// It goes on by itself once something has happened.
    Waiting,
    /// Something that decides its state cannot be read.
    Unknown,
    /// It is in its desired configuration, as far as all of that is known.
    UpToDate,
}

impl State {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::NeedsAttention, Self::Updating, Self::Waiting, Self::Unknown, Self::UpToDate];

    /// The name in JSON and in labels of metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NeedsAttention => "needsAttention",
            Self::Updating => "updating",
            Self::Waiting => "waiting",
            Self::Unknown => "unknown",
            Self::UpToDate => "upToDate",
        }
    }
}

/// The state of a node and the reasons for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The reason that decides the state comes first.
    reasons: Vec<Reason>,
}

impl Verdict {
    /// Of this machine and this agent.
    pub fn new(machine: &Status, agent: &Agent<'_>) -> Self {
        let mut reasons = machine::reasons(machine, agent);
        reasons.extend(agent.reasons(machine));
        Self::from_reasons(reasons)
    }

    /// Of these reasons, in any order.
    pub fn from_reasons(reasons: impl IntoIterator<Item = Reason>) -> Self {
        let mut unique: Vec<Reason> = Vec::new();
        for reason in reasons {
            if !unique.contains(&reason) {
                unique.push(reason);
            }
        }
        unique.sort_by_key(Reason::state);
        Self { reasons: unique }
    }

    pub fn state(&self) -> State {
        self.reasons.first().map_or(State::UpToDate, Reason::state)
    }

    /// All reasons, the decisive one first. A node that is up to date may have remarks.
    pub fn reasons(&self) -> &[Reason] {
        &self.reasons
    }

    /// The state and its first reason in one line; with spans of time where it is read at once.
    pub fn headline(&self, now: Option<u64>) -> String {
        self.reasons.first().map_or_else(|| "Up to date.".to_owned(), |reason| reason.sentence(now))
    }

    /// The `state` annotation of the Node, in the words of the machine-config-daemon. A state that is not known is not
    /// published: the last one stays.
    pub fn node_state(&self) -> Option<&'static str> {
        match self.state() {
            State::UpToDate => Some(keys::STATE_DONE),
            State::Updating | State::Waiting => Some(keys::STATE_WORKING),
            State::NeedsAttention => Some(match self.trouble().map(|trouble| trouble.kind) {
                Some(TroubleKind::Unreconcilable) => keys::STATE_UNRECONCILABLE,
                Some(TroubleKind::Degraded) | None => keys::STATE_DEGRADED,
            }),
            State::Unknown => None,
        }
    }

    /// Every reason that needs attention, as the cluster is told of it.
    pub fn trouble(&self) -> Option<Trouble> {
        let attention = || self.reasons.iter().filter(|reason| reason.state() == State::NeedsAttention);
        let kind = attention().map(Reason::kind).find(|kind| *kind == TroubleKind::Unreconcilable);
        let reported: Vec<String> = attention().map(Reason::report).collect();
        (!reported.is_empty())
            .then(|| Trouble { kind: kind.unwrap_or(TroubleKind::Degraded), reason: reported.join("; ") })
    }
}
