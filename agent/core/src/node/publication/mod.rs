//! What is published of a situation: annotations of the Node and the status of its `MachineConfigNode`.
//!
//! Owns the wording, the keys and which of our field managers says what. Refuses to send anything and to remember what
//! was sent: it compares with the objects as last observed, and gives only what differs from them.
//!
//! # Four field managers
//! A condition type is in the list of exactly one of our managers, and a manager's list is always whole: server-side
//! apply deletes what a manager owned alone and does not send again, so a part of a list would delete the rest of it.
//! The machine-config-controller sends every condition that it has read, so it owns all of them beside us.
//!
//! - [`MANAGER`] sends the types that only a daemon writes. What the phase does not speak of has not happened yet in
//!   this update and is False. Nobody else writes these on purpose, so what a stale writer leaves is put right.
//! - [`HANDOVER_MANAGER`] sends the types that the controller writes too: `UpdateExecuted`, `Drained`, `Cordoned`,
//!   `UpdateComplete` and `Uncordoned`. Nothing is sent while they are the controller's to write (between the begin of
//!   an update and the change of the machine, and while the node is uncordoned), and what the phase does not speak of
//!   keeps its observed value. They end with an update, and what was left over ends when one begins. The reason tells
//!   whether a value is ours: one of a change of the machine that is not under way any more ends as well.
//! - [`IRRECONCILABLE_MANAGER`] sends the irreconcilable changes, so that keeping them is sending nothing.
//! - [`PINNED_MANAGER`] sends the two types of pinned images once that duty has something to say, and from then on always
//!   both. Until then the handover carries them, as it does on a node that never had any pinned images. The list of sets
//!   is replaced rather than applied: the controller sends the list that it has read with every condition of its own, and
//!   what it owns beside us could not be taken back by leaving it out.
//!
//! The handover goes first, since its need is told from an `Updated` that does not speak of an update yet. All are forced, and
//! all are sent with the resource version that was observed: they repeat observed values, and generations that the API server
//! does not let decrease.
//!
//! A type that a gate has taken away is ended, and is sent for as long as it is there. Leaving it out would take back the
//! fields that only we own, of a condition that the controller owns the rest of: the API server refuses what remains.

mod annotations;
mod conditions;
mod known;
mod pinned;
mod versions;
mod words;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod server;
#[cfg(test)]
mod tests;

pub use annotations::annotations;
pub use pinned::PinnedWrite;

use super::situation::{Irreconcilable, Situation};
use crate::api::{Condition, IrreconcilableChange, MachineConfigNode, MachineConfigNodeStatus, Time};
use conditions::Ledger;

/// Field manager of the types that only a daemon writes, of the versions and of the observed generation.
pub const MANAGER: &str = "ostler";
/// Field manager of the types that the controller writes too.
pub const HANDOVER_MANAGER: &str = "ostler-handover";
/// Field manager of the irreconcilable changes.
pub const IRRECONCILABLE_MANAGER: &str = "ostler-irreconcilable";

/// Field manager of what is said about pinned images.
pub const PINNED_MANAGER: &str = "ostler-pinned";

/// Which of the cluster's features are switched on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gates {
    /// Irreconcilable changes are reported: `IrreconcilableMachineConfig`.
    pub irreconcilable: bool,
    /// Images are reported, and files and OS apart: `ImageModeStatusReporting`.
    pub image_mode: bool,
}

impl Default for Gates {
    fn default() -> Self {
        Self { irreconcilable: true, image_mode: false }
    }
}

/// What is to be sent to the status of a `MachineConfigNode`; each part under its own field manager.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatusChange {
    /// Under [`MANAGER`]: conditions, versions and observed generation.
    pub own: Option<MachineConfigNodeStatus>,
    /// Under [`HANDOVER_MANAGER`], before the others.
    pub handover: Option<Vec<Condition>>,
    /// Under [`IRRECONCILABLE_MANAGER`].
    pub irreconcilable: IrreconcilableWrite,
    /// Under [`PINNED_MANAGER`].
    pub pinned: PinnedWrite,
}

/// What to do with the irreconcilable changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum IrreconcilableWrite {
    /// Nothing.
    #[default]
    Keep,
    /// These are all.
    Set(Vec<IrreconcilableChange>),
    /// There are none any more.
    Clear,
}

/// What has to change in the status, as last observed, of a node's object.
pub fn status(situation: &Situation, object: &MachineConfigNode, gates: Gates, now: &Time) -> StatusChange {
    let ledger = Ledger::new(situation, object, gates, now);
    StatusChange {
        own: own(situation, object, gates, &ledger),
        handover: ledger.handover(),
        irreconcilable: irreconcilable(situation, object, gates),
        pinned: pinned::write(situation, object, &ledger),
    }
}

impl StatusChange {
    /// Whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        let kept = self.irreconcilable == IrreconcilableWrite::Keep && self.pinned == PinnedWrite::default();
        self.own.is_none() && self.handover.is_none() && kept
    }

    /// The status with the change in it, known conditions first and in their order; for nodes without an API server.
    pub fn applied_to(&self, status: &MachineConfigNodeStatus) -> MachineConfigNodeStatus {
        let mut status = status.clone();
        if let Some(own) = &self.own {
            status.config_version.clone_from(&own.config_version);
            status.config_image.clone_from(&own.config_image);
            status.observed_generation = own.observed_generation;
        }
        let sent = self.own.iter().flat_map(|own| &own.conditions).chain(self.handover.iter().flatten());
        for condition in sent.chain(self.pinned.conditions.iter().flatten()) {
            match status.conditions.iter_mut().find(|stored| stored.type_ == condition.type_) {
                Some(stored) => stored.clone_from(condition),
                None => status.conditions.push(condition.clone()),
            }
        }
        status.conditions.sort_by_key(|condition| known::position(&condition.type_));
        match &self.irreconcilable {
            IrreconcilableWrite::Keep => {}
            IrreconcilableWrite::Set(changes) => status.irreconcilable_changes.clone_from(changes),
            IrreconcilableWrite::Clear => status.irreconcilable_changes.clear(),
        }
        if let Some(sets) = &self.pinned.sets {
            status.pinned_image_sets.clone_from(sets);
        }
        status
    }
}

fn own(
    situation: &Situation,
    object: &MachineConfigNode,
    gates: Gates,
    ledger: &Ledger<'_>,
) -> Option<MachineConfigNodeStatus> {
    let nothing = MachineConfigNodeStatus::default();
    let observed = object.status.as_ref().unwrap_or(&nothing);
    let (conditions, unlike) = ledger.own();
    let wanted = MachineConfigNodeStatus {
        conditions,
        config_version: Some(versions::config_version(situation, observed)),
        config_image: gates.image_mode.then(|| versions::config_image(situation)).flatten(),
        observed_generation: Some(versions::observed_generation(object)),
        ..Default::default()
    };
    let changed = unlike
        || wanted.config_version != observed.config_version
        || !versions::is_told(wanted.config_image.as_ref(), observed.config_image.as_ref())
        || wanted.observed_generation != observed.observed_generation;
    changed.then_some(wanted)
}

fn irreconcilable(situation: &Situation, object: &MachineConfigNode, gates: Gates) -> IrreconcilableWrite {
    let Irreconcilable::Changes(changes) = &situation.irreconcilable else { return IrreconcilableWrite::Keep };
    let observed = object.status.as_ref().map(|status| &status.irreconcilable_changes);
    let observed = observed.map(Vec::as_slice).unwrap_or_default();
    if !gates.irreconcilable || by_path(observed) == by_path(changes) {
        IrreconcilableWrite::Keep
    } else if changes.is_empty() {
        IrreconcilableWrite::Clear
    } else {
        IrreconcilableWrite::Set(changes.clone())
    }
}

/// The API server keeps the list by path, in an order of its own.
fn by_path(changes: &[IrreconcilableChange]) -> Vec<(&str, &str)> {
    let mut pairs: Vec<_> = changes.iter().map(|change| (change.field_path.as_str(), change.diff.as_str())).collect();
    pairs.sort_unstable();
    pairs
}
