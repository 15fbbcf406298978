//! How the agent's work ended, and what that means for its exit status.

use ostler_core::node::{Decision, Next, Phase, TroubleKind, Wait};

use crate::commands::Outcome;

/// How the work ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The agent was told to end.
    Told,
    /// Nothing is left to do.
    Settled,
    /// The node waits for a restart, for somebody, or for something.
    Waiting,
    /// The node cannot have what is desired.
    Refused,
    /// Something failed.
    Failed,
}

impl From<Ending> for Outcome {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Told | Ending::Settled => Self::Success,
            Ending::Waiting => Self::Different,
            Ending::Refused => Self::Refused,
            Ending::Failed => Self::Failed,
        }
    }
}

/// How one that works only once has ended, with nothing left to do but to wait.
pub fn after_once(decision: &Decision) -> Option<Ending> {
    let Next::Wait(wait) = &decision.next else { return None };
    Some(match (&decision.trouble, wait) {
        (Some(trouble), _) if trouble.kind == TroubleKind::Unreconcilable => Ending::Refused,
        (Some(_), _) => Ending::Failed,
        (None, Wait::Settled | Wait::Target) => Ending::Settled,
        // What may pass, or the proof of a boot, is worth waiting for even once.
        (None, Wait::Chance { .. } | Wait::Unread { .. } | Wait::MergedPolicies | Wait::Proof { .. } | Wait::Turn) => {
            return None;
        }
        (None, _) => Ending::Waiting,
    })
}

/// How a first boot has ended. Whatever may still come, the restart included, is waited for, so that nothing starts that
/// is to start after it; but the proof of the boot needs what starts only then.
pub fn after_first_boot(decision: &Decision) -> Option<Ending> {
    match (&decision.next, &decision.trouble) {
        (_, Some(trouble)) if trouble.kind == TroubleKind::Unreconcilable => Some(Ending::Refused),
        (_, Some(_)) => None,
        (Next::Wait(Wait::Settled), None) => Some(Ending::Settled),
        (_, None) => (decision.phase == Phase::Proving).then_some(Ending::Settled),
    }
}

/// How one has ended that was told to. A first boot that is cut short has not succeeded, unless the restart cuts it short.
pub fn when_told(decision: &Decision, first_boot: bool) -> Ending {
    let awaited = matches!(decision.next, Next::Wait(Wait::Restart));
    if first_boot && !awaited { Ending::Failed } else { Ending::Told }
}

#[cfg(test)]
mod tests {
    use ostler_core::node::Trouble;
    use ostler_core::rival::{Rival, Task};

    use super::*;

    fn decision(wait: Wait, trouble: Option<TroubleKind>) -> Decision {
        let trouble = trouble.map(|kind| Trouble { kind, reason: String::new() });
        Decision { next: Next::Wait(wait), phase: Phase::Considering, trouble, drain: None }
    }

    fn chance() -> Wait {
        Wait::Chance { reason: String::new() }
    }

    #[test]
    fn a_first_boot_ends_only_in_its_configuration_or_when_that_cannot_be_had() {
        let degraded = Some(TroubleKind::Degraded);
        for (decision, expected) in [
            (decision(Wait::Settled, None), Some(Ending::Settled)),
            (Decision { phase: Phase::Proving, ..decision(chance(), None) }, Some(Ending::Settled)),
            (decision(Wait::Help, Some(TroubleKind::Unreconcilable)), Some(Ending::Refused)),
            (decision(Wait::Help, degraded), None),
            (Decision { phase: Phase::Proving, ..decision(chance(), degraded) }, None),
            (decision(Wait::Restart, None), None),
            (decision(Wait::Turn, None), None),
            (decision(Wait::Rival(Rival { pid: 7, task: Task::FirstBoot }), None), None),
            (decision(chance(), None), None),
        ] {
            assert_eq!(after_first_boot(&decision), expected, "{decision:?}");
        }
    }

    #[test]
    fn a_first_boot_that_is_cut_short_has_failed_unless_by_its_own_restart() {
        assert_eq!(when_told(&decision(chance(), None), true), Ending::Failed);
        assert_eq!(when_told(&decision(Wait::Restart, None), true), Ending::Told);
        assert_eq!(when_told(&decision(chance(), None), false), Ending::Told);
    }

    #[test]
    fn one_turn_ends_when_only_others_can_go_on() {
        for (decision, expected) in [
            (decision(Wait::Settled, None), Some(Ending::Settled)),
            (decision(Wait::Restart, None), Some(Ending::Waiting)),
            (decision(Wait::Release { reason: String::new() }, None), Some(Ending::Waiting)),
            (decision(chance(), None), None),
            (decision(Wait::Proof { missing: Vec::new(), until: 0 }, None), None),
            (decision(chance(), Some(TroubleKind::Degraded)), Some(Ending::Failed)),
            (decision(Wait::Help, Some(TroubleKind::Unreconcilable)), Some(Ending::Refused)),
        ] {
            assert_eq!(after_once(&decision), expected, "{decision:?}");
        }
    }
}
