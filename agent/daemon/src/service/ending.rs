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
        (None, Wait::Chance { .. } | Wait::Proof { .. } | Wait::Turn) => return None,
        (None, _) => Ending::Waiting,
    })
}

/// How a first boot has ended. A restart is waited for, so that nothing starts that is to start after it; and the proof of
/// the boot needs what starts only then.
pub fn after_first_boot(decision: &Decision) -> Option<Ending> {
    match (&decision.next, &decision.trouble) {
        (Next::Wait(Wait::Restart), _) => None,
        (_, None) if decision.phase == Phase::Proving => Some(Ending::Settled),
        _ => after_once(decision),
    }
}

#[cfg(test)]
mod tests {
    use ostler_core::node::Trouble;

    use super::*;

    #[test]
    fn one_turn_ends_when_only_others_can_go_on() {
        let decision = |wait, trouble: Option<TroubleKind>| Decision {
            next: Next::Wait(wait),
            phase: Phase::Considering,
            trouble: trouble.map(|kind| Trouble { kind, reason: String::new() }),
            drain: None,
        };
        let chance = || Wait::Chance { reason: String::new() };
        for (decision, expected) in [
            (decision(Wait::Settled, None), Some(Ending::Settled)),
            (decision(Wait::Restart, None), Some(Ending::Waiting)),
            (decision(Wait::Release { reason: String::new() }, None), Some(Ending::Waiting)),
            (decision(chance(), None), None),
            (decision(Wait::Proof { missing: Vec::new() }, None), None),
            (decision(chance(), Some(TroubleKind::Degraded)), Some(Ending::Failed)),
            (decision(Wait::Help, Some(TroubleKind::Unreconcilable)), Some(Ending::Refused)),
        ] {
            assert_eq!(after_once(&decision), expected, "{decision:?}");
        }
    }
}
