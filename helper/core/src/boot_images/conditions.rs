//! The conditions that a pass over the machine resources puts on the `MachineConfiguration`, as the machine-config
//! operator words them for programs.

use super::{Decision, Item, Kind};
use crate::objects::Condition;

/// Type of the condition that holds while boot images are updated.
pub const PROGRESSING: &str = "BootImageUpdateProgressing";
/// Type of the condition that holds when one of them could not be.
pub const DEGRADED: &str = "BootImageUpdateDegraded";

/// Most errors that are told in one condition.
const MAX_ERRORS: usize = 20;
/// Longest part of an error that is told, in characters: the API takes 32768 for all of them.
const MAX_WORDS: usize = 512;

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
    /// Those that are still to be changed.
    pub waiting: usize,
}

impl Tally {
    /// Of the items of a kind. Skips of the control plane are not counted.
    pub fn of(items: &[Item], kind: Kind) -> Self {
        let own = |item: &&Item| item.enrolled && item.kind == kind.name() && item.api_group == kind.group();
        let count = |decision: Decision| items.iter().filter(own).filter(|item| item.decision == decision).count();
        let skipped = if kind == Kind::ControlPlaneMachineSet { 0 } else { count(Decision::Skipped) };
        let (errors, waiting) = (count(Decision::Error), count(Decision::Patch));
        Self { total: items.iter().filter(own).count(), skipped, errors, waiting }
    }

    fn done(self) -> usize {
        self.total.saturating_sub(self.skipped).saturating_sub(self.errors).saturating_sub(self.waiting)
    }
}

/// How far a pass is. It progresses while something is still to be changed. `reason` is what set it off.
pub fn progressing(items: &[Item], reason: &str) -> Condition {
    let tallies = KINDS.map(|kind| (kind, Tally::of(items, kind)));
    let told = tallies.map(|(kind, tally)| {
        let skipped = if tally.skipped > 0 { format!(" ({} skipped)", tally.skipped) } else { String::new() };
        format!("Reconciled {} of {} {}{skipped}", tally.done(), tally.total, kind.title())
    });
    condition(PROGRESSING, tallies.iter().any(|(_, tally)| tally.waiting > 0), reason, told.join(" | "))
}

/// What went wrong in a pass.
pub fn degraded(items: &[Item], reason: &str) -> Condition {
    let degraded = KINDS.map(|kind| format!("{} Degraded {}", Tally::of(items, kind).errors, kind.title()));
    let errors: Vec<&Item> = items.iter().filter(|item| item.enrolled && item.decision == Decision::Error).collect();
    let error = |item: &&Item| {
        let words: String = item.reason.chars().take(MAX_WORDS).collect();
        format!("{} {}: {words}", item.kind, item.name)
    };
    let mut message = degraded.join(" | ");
    if !errors.is_empty() {
        let told: Vec<String> = errors.iter().take(MAX_ERRORS).map(error).collect();
        message.push_str(&format!(" | Error(s): {}", told.join(", ")));
    }
    let more = errors.len().saturating_sub(MAX_ERRORS);
    if more > 0 {
        message.push_str(&format!(", and {more} more"));
    }
    condition(DEGRADED, !errors.is_empty(), reason, message)
}

fn condition(type_: &str, holds: bool, reason: &str, message: String) -> Condition {
    Condition {
        type_: type_.to_owned(),
        status: if holds { "True" } else { "False" }.to_owned(),
        reason: reason.to_owned(),
        message,
        last_transition_time: None,
    }
}
