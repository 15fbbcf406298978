//! The conditions that a pass over the machine resources leaves on the `MachineConfiguration`, as the machine-config
//! operator words them for programs.

use super::{Decision, Item, Kind};
use crate::objects::Condition;

/// Type of the condition that holds while boot images are updated.
pub const PROGRESSING: &str = "BootImageUpdateProgressing";
/// Type of the condition that holds when one of them could not be.
pub const DEGRADED: &str = "BootImageUpdateDegraded";

/// Most errors that are told in one condition.
const MAX_ERRORS: usize = 20;

const KINDS: [Kind; 4] =
    [Kind::MachineSet, Kind::ControlPlaneMachineSet, Kind::ClusterMachineSet, Kind::MachineDeployment];

/// How a pass went, for one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Machine resources that are enrolled.
    pub total: usize,
    /// Those that a person has to see to.
    pub skipped: usize,
    /// Those that something is wrong with.
    pub errors: usize,
}

impl Tally {
    /// Of the items of a kind. Skips of the control plane are not counted.
    pub fn of(items: &[Item], kind: Kind) -> Self {
        let own = |item: &&Item| item.enrolled && item.kind == kind.name() && item.api_group == kind.group();
        let count = |decision: Decision| items.iter().filter(own).filter(|item| item.decision == decision).count();
        let skipped = if kind == Kind::ControlPlaneMachineSet { 0 } else { count(Decision::Skipped) };
        Self { total: items.iter().filter(own).count(), skipped, errors: count(Decision::Error) }
    }

    fn done(self) -> usize {
        self.total.saturating_sub(self.skipped).saturating_sub(self.errors)
    }
}

/// The conditions after a pass over all machine resources. `reason` is what set it off.
pub fn after(items: &[Item], reason: &str) -> [Condition; 2] {
    let done = KINDS.map(|kind| {
        let tally = Tally::of(items, kind);
        let skipped = if tally.skipped > 0 { format!(" ({} skipped)", tally.skipped) } else { String::new() };
        format!("Reconciled {} of {} {}{skipped}", tally.done(), tally.total, kind.title())
    });
    let degraded = KINDS.map(|kind| format!("{} Degraded {}", Tally::of(items, kind).errors, kind.title()));
    let errors: Vec<String> = items
        .iter()
        .filter(|item| item.enrolled && item.decision == Decision::Error)
        .map(|item| format!("{} {}: {}", item.kind, item.name, item.reason))
        .collect();
    let more = errors.len().saturating_sub(MAX_ERRORS);
    let mut told = errors.iter().take(MAX_ERRORS).cloned().collect::<Vec<_>>().join(", ");
    if more > 0 {
        told.push_str(&format!(", and {more} more"));
    }
    let mut message = degraded.join(" | ");
    if !errors.is_empty() {
        message.push_str(&format!(" | Error(s): {told}"));
    }
    let condition = |type_: &str, holds: bool, message: String| Condition {
        type_: type_.to_owned(),
        status: if holds { "True" } else { "False" }.to_owned(),
        reason: reason.to_owned(),
        message,
        last_transition_time: None,
    };
    [condition(PROGRESSING, false, done.join(" | ")), condition(DEGRADED, !errors.is_empty(), message)]
}
