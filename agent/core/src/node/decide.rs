//! What a node does next: one question, answered afresh on every turn of the loop from what is known then.
//!
//! Owns the order of an update's parts and what is honoured when. Refuses to remember: whatever has to survive is in the
//! machine's journal or in the node's annotations. Nothing here waits, fetches or fails.

use serde::{Deserialize, Serialize};

use super::input::Input;
use super::keys;
use super::proof::{HealthCheck, Proof};
use super::reboot_policy::RebootPolicy;
use super::situation::{DrainRequest, Phase, Trouble, TroubleKind, Update};
use super::view::{ConfigRef, NodeView};
use crate::rival::Rival;
use crate::rollback::RollbackHold;
use crate::status::Status;
use crate::transaction::{Direction, Open, OwedRestart, Purpose};

/// What is known at the beginning of a turn.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// What the node's object says.
    pub node: &'a NodeView,
    /// What the machine says.
    pub machine: &'a Status,
    /// What was found out about the update to the desired configuration, if it was looked at.
    pub outlook: Option<&'a Outlook>,
    /// Whether what the update brings of the operating system is staged, or need not be before the drain.
    pub staged: bool,
    /// What was seen since the restart.
    pub proof: &'a Proof,
    /// What this machine and its surroundings can do.
    pub abilities: Abilities,
    /// Whether the node's object was seen, or waited for in vain.
    pub heard: bool,
    /// Objects of the cluster that decide an update and were not read yet.
    pub unread: &'a [Input],
    /// Whether the operator has yet to merge the disruption policies as they are now.
    pub unmerged: bool,
    /// Seconds since 1970.
    pub now: u64,
}

/// What a machine and its surroundings can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// Whether somebody answers requests to drain.
    pub drains: bool,
    /// When the machine may be restarted from here; none where it cannot be.
    pub restarts: Option<RebootPolicy>,
}

/// What was found out about an update before it is begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outlook {
    /// It can be had.
    Ready(Update),
    /// It cannot be had.
    Refused(Trouble),
    /// Something that may pass is in the way.
    Blocked(String),
}

/// What to do, and what to say about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// What to do.
    pub next: Next,
    /// How far the node is.
    pub phase: Phase,
    /// What keeps it from going on without help.
    pub trouble: Option<Trouble>,
    /// What to ask of the drain controller.
    pub drain: Option<DrainRequest>,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Next {
    /// Nothing, until something happens.
    Wait(Wait),
    /// Bring what was interrupted to one of its ends.
    Recover,
    /// Take back what only waits for a restart and is not wanted any more.
    Withdraw,
    /// Take over what another agent has left.
    TakeOver {
        /// Whether the node is known to its cluster in its desired configuration.
        introduced: bool,
    },
    /// Look at the update to the desired configuration.
    Plan,
    /// Pull and stage what it brings of the operating system, before the drain.
    Stage,
    /// Drop what was staged for an update that is not desired any more.
    Unstage,
    /// Make it.
    Apply,
    /// Restart the machine.
    Reboot {
        /// For how many seconds a restart has been due that did not happen.
        late: Option<u64>,
    },
    /// The machine has proven itself.
    Confirm,
    /// The machine has not proven itself.
    GiveUp {
        /// What is missing.
        reason: String,
    },
}

/// What is waited for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Wait {
    /// Another configuration to reach.
    Settled,
    /// Any configuration to reach.
    Target,
    /// Another process that is at work on the machine.
    Turn,
    /// Another agent to leave the node. Until then nothing is changed, and nothing said in the cluster.
    Rival(Rival),
    /// Somebody to let the update go on.
    Release {
        /// Their words.
        reason: String,
    },
    /// Somebody to release the hold that a rollback left.
    RollbackRelease { hold: RollbackHold },
    /// The drain controller.
    Controller {
        /// What it was asked for.
        request: String,
    },
    /// The machine to go down.
    Restart,
    /// Somebody to restart the machine, or the time at which it may restart by itself.
    RestartPermission {
        /// What takes effect with the restart.
        causes: Vec<String>,
        /// When it may, in seconds since 1970, where that is known.
        opens: Option<u64>,
    },
    /// The machine to prove itself.
    Proof {
        /// The checks that have yet to succeed.
        missing: Vec<HealthCheck>,
        /// When the boot is given up, in seconds since 1970.
        until: u64,
    },
    /// Somebody to help.
    Help,
    /// Objects of the cluster that decide an update to be read for the first time.
    Unread { inputs: Vec<Input> },
    /// The operator to merge the disruption policies as they are now.
    MergedPolicies,
    /// Something that may pass.
    Chance {
        /// What.
        reason: String,
    },
}

/// How long after its order a restart is overdue.
pub const RESTART_LIMIT: u64 = 15 * 60;

impl Facts<'_> {
    fn current(&self) -> Option<ConfigRef> {
        ConfigRef::from_texts(self.machine.config.as_deref(), self.machine.image.as_deref())
    }

    fn is_wanted(&self, config: &str) -> bool {
        let left = self.rollback_hold().is_some_and(|hold| hold.from == config);
        !left && self.node.desired().is_none_or(|desired| desired.config == config)
    }

    /// The rollback that a person asked for, as far as it is about the desired configuration.
    fn rollback_hold(&self) -> Option<&RollbackHold> {
        rollback_hold(self.node, self.machine)
    }

    fn restart_causes(&self) -> Vec<String> {
        let owed = self.machine.owed_restarts.iter().map(OwedRestart::cause);
        let tried = self.machine.trial.iter().map(|trial| trial.config.clone()).filter(|_| !self.machine.awaits_reboot);
        owed.chain(tried).collect()
    }

    /// Whether the machine is where it should be, and nobody asks for more.
    fn is_in_place(&self, desired: &ConfigRef) -> bool {
        self.current().as_ref() == Some(desired) && !self.machine.forced && self.machine.behind.is_none()
    }

    fn rejection(&self, desired: &ConfigRef) -> Option<Trouble> {
        let rejected = self.machine.rejected.iter().find(|rejected| rejected.config == desired.config)?;
        let reason = format!(
            "{} was tried on this node and given up: {}; set another configuration, or create /run/machine-config-daemon-force \
             on the node to try it again",
            rejected.config, rejected.reason
        );
        (!self.machine.forced).then_some(Trouble { kind: TroubleKind::Degraded, reason })
    }
}

/// Decides what is next.
pub fn decide(facts: &Facts<'_>) -> Decision {
    if let Some(rival) = &facts.machine.rival {
        return going(Next::Wait(Wait::Rival(rival.clone())), Phase::Considering);
    }
    let decision = decide_alone(facts);
    // What was interrupted is ended at once, but who is about to be heard may want something else than a restart.
    let drastic = matches!(decision.next, Next::Reboot { .. } | Next::GiveUp { .. } | Next::TakeOver { .. });
    if drastic && !facts.heard { Decision { next: Next::Wait(Wait::Target), ..decision } } else { decision }
}

fn decide_alone(facts: &Facts<'_>) -> Decision {
    let begun = unfinished(facts).or_else(|| on_trial(facts)).or_else(|| inherited(facts));
    begun.unwrap_or_else(|| match facts.node.desired() {
        None => at_rest(facts, Wait::Target),
        Some(desired) if facts.is_in_place(&desired) && facts.is_wanted(&desired.config) => in_place(facts),
        Some(desired) => {
            let decision = rolled_back(facts).unwrap_or_else(|| update(facts, desired));
            if facts.machine.awaits_restart() && is_standstill(&decision.next) {
                instead(facts, decision)
            } else {
                decision
            }
        }
    })
}

/// A machine that is about to restart anyway does not wait for anything else first.
fn instead(facts: &Facts<'_>, decision: Decision) -> Decision {
    let restart = restart(facts);
    if matches!(restart.next, Next::Wait(Wait::RestartPermission { .. })) { decision } else { restart }
}

const fn is_standstill(next: &Next) -> bool {
    matches!(
        next,
        Next::Wait(
            Wait::Help
                | Wait::Release { .. }
                | Wait::RollbackRelease { .. }
                | Wait::MergedPolicies
                | Wait::Chance { .. }
        )
    )
}

const fn going(next: Next, phase: Phase) -> Decision {
    Decision { next, phase, trouble: None, drain: None }
}

/// A change that was begun comes before everything else.
fn unfinished(facts: &Facts<'_>) -> Option<Decision> {
    let machine = facts.machine;
    if machine.busy {
        return Some(going(Next::Wait(Wait::Turn), Phase::Executing));
    }
    match &machine.open {
        Some(open) if !open.awaits_restart(&machine.boot) => Some(going(Next::Recover, Phase::Executing)),
        Some(open) if is_unwanted(facts, open) => Some(going(Next::Withdraw, Phase::Executing)),
        Some(_) => Some(restart(facts)),
        // Another configuration can be applied on top of files that wait for a restart; it is one restart then.
        None if facts.machine.awaits_restart()
            && machine.config.as_deref().is_some_and(|config| facts.is_wanted(config)) =>
        {
            Some(restart(facts))
        }
        None => None,
    }
}

/// A restart that was ordered is not waited out to take the change back: the machine may go down at any moment.
fn is_unwanted(facts: &Facts<'_>, open: &Open) -> bool {
    let forward = open.purpose == Purpose::Update && open.direction == Direction::Forward;
    forward && !facts.is_wanted(&open.to) && facts.machine.restart.is_none()
}

fn restart(facts: &Facts<'_>) -> Decision {
    let overdue = facts.machine.restart.as_ref().map(|ordered| facts.now.saturating_sub(ordered.ordered));
    let ordered = overdue.is_some_and(|seconds| seconds <= RESTART_LIMIT);
    let next = match facts.abilities.restarts.filter(|_| !ordered).map(|policy| policy.check(facts.now)) {
        None => Next::Wait(Wait::Restart),
        Some(Ok(())) => Next::Reboot { late: overdue },
        Some(Err(opens)) => Next::Wait(Wait::RestartPermission { causes: facts.restart_causes(), opens }),
    };
    going(next, Phase::Restarting)
}

/// A configuration that is not wanted any more need not prove itself: it is simply left.
fn on_trial(facts: &Facts<'_>) -> Option<Decision> {
    let trial = facts.machine.trial.as_ref()?;
    let present = facts.machine.config.as_deref() == Some(trial.config.as_str());
    if !present || trial.before.lasts(&facts.machine.boot) || !facts.is_wanted(&trial.config) {
        return None;
    }
    let missing = facts.proof.missing();
    let next = if missing.is_empty() {
        Next::Confirm
    } else if facts.proof.remaining().is_zero() {
        let minutes = facts.proof.limit.as_secs() / 60;
        let failures: Vec<&str> = missing.iter().map(|check| check.failure()).collect();
        Next::GiveUp { reason: format!("{} {minutes} minutes after the restart", failures.join(", ")) }
    } else {
        let until = facts.now.saturating_add(facts.proof.remaining().as_secs());
        Next::Wait(Wait::Proof { missing, until })
    };
    Some(going(next, Phase::Proving))
}

/// What another agent has left is looked at as a whole before anything is made of it: it may be between two
/// configurations, and no difference of the two says where.
fn inherited(facts: &Facts<'_>) -> Option<Decision> {
    let inherited = facts.machine.inherited.is_some();
    inherited.then(|| going(Next::TakeOver { introduced: false }, Phase::Considering))
}

fn in_place(facts: &Facts<'_>) -> Decision {
    // What a node is introduced with is kept until its cluster has it: it is nowhere else.
    if facts.machine.bootstrap.is_some() && facts.node.current().is_some() {
        return going(Next::TakeOver { introduced: true }, Phase::Settled);
    }
    let rest = at_rest(facts, Wait::Settled);
    if facts.machine.staged_for.is_some() { Decision { next: Next::Unstage, ..rest } } else { rest }
}

/// Workloads that had to leave for us come back; those that somebody else keeps away do not.
fn at_rest(facts: &Facts<'_>, wait: Wait) -> Decision {
    let drain = release(facts);
    let (wait, phase) = match &drain {
        Some(request @ DrainRequest::Uncordon { .. }) => {
            (Wait::Controller { request: request.text() }, Phase::Completing)
        }
        // Nobody has to do anything for it.
        Some(DrainRequest::Withdraw { .. } | DrainRequest::Drain { .. }) | None => (wait, Phase::Settled),
    };
    Decision { drain, ..going(Next::Wait(wait), phase) }
}

/// Uncordons a node that was drained for us where nothing comes of it or all is done. A node that somebody else had
/// cordoned stays so, and a drain that is still going on there is withdrawn.
fn release(facts: &Facts<'_>) -> Option<DrainRequest> {
    let drain = facts.node.drain();
    if !facts.abilities.drains {
        return None;
    }
    if drain.asks_to_drain() && facts.node.was_cordoned_before() {
        return drain.withdrawal();
    }
    (drain.asks_to_drain() || drain.is_pending()).then(|| drain.uncordon(current_name(facts)))
}

/// The name that an uncordon is asked for under; the controller does not read it.
fn current_name<'a>(facts: &'a Facts<'_>) -> &'a str {
    facts.machine.config.as_deref().unwrap_or(keys::NOT_YET_SET)
}

/// The node cannot reach what is desired; its workloads need not wait for that outside.
fn stuck(facts: &Facts<'_>, phase: Phase, trouble: Trouble) -> Decision {
    Decision { next: Next::Wait(Wait::Help), phase, trouble: Some(trouble), drain: release(facts) }
}

/// What a node is to reach, and whether that is a rollback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub config: ConfigRef,
    /// Whether it is the one before the current one, because a person asked for that.
    pub rollback: bool,
}

/// The desired configuration, or the one before it while a person's rollback has yet to be made.
pub fn target(node: &NodeView, machine: &Status) -> Option<Target> {
    let desired = node.desired()?;
    let pending = rollback_hold(node, machine).filter(|hold| hold.is_pending(machine.config.as_deref()));
    Some(match pending {
        Some(hold) => Target { config: ConfigRef::new(&hold.to), rollback: true },
        None => Target { config: desired, rollback: false },
    })
}

fn rollback_hold<'a>(node: &NodeView, machine: &'a Status) -> Option<&'a RollbackHold> {
    let desired = node.desired()?;
    machine.rollback_hold.as_ref().filter(|hold| hold.applies_to(&desired.config))
}

/// A rollback takes the way of an update; neither a rejection nor a hold before the next update stops it.
fn rolled_back(facts: &Facts<'_>) -> Option<Decision> {
    let hold = facts.rollback_hold()?;
    let config = facts.machine.config.as_deref();
    if hold.is_reached(config) {
        let next = Next::Wait(Wait::RollbackRelease { hold: hold.clone() });
        return Some(Decision { drain: release(facts), ..going(next, Phase::Held) });
    }
    hold.is_pending(config).then(|| evaluated(facts, |update| drained(facts, update, ConfigRef::new(&hold.to))))
}

fn update(facts: &Facts<'_>, desired: ConfigRef) -> Decision {
    if let Some(trouble) = facts.rejection(&desired) {
        return stuck(facts, Phase::Considering, trouble);
    }
    evaluated(facts, |update| prepared(facts, update, desired))
}

fn evaluated(facts: &Facts<'_>, ready: impl FnOnce(&Update) -> Decision) -> Decision {
    match facts.outlook {
        None if !facts.unread.is_empty() => {
            going(Next::Wait(Wait::Unread { inputs: facts.unread.to_vec() }), Phase::Considering)
        }
        None if facts.unmerged => going(Next::Wait(Wait::MergedPolicies), Phase::Considering),
        None => going(Next::Plan, Phase::Considering),
        Some(Outlook::Refused(trouble)) => stuck(facts, Phase::Refused, trouble.clone()),
        Some(Outlook::Blocked(reason)) => {
            going(Next::Wait(Wait::Chance { reason: reason.clone() }), Phase::Considering)
        }
        // A node that waits for a registry, or whose update is held, works on.
        Some(Outlook::Ready(_)) if !facts.staged => going(Next::Stage, Phase::Staging),
        Some(Outlook::Ready(update)) => ready(update),
    }
}

fn prepared(facts: &Facts<'_>, update: &Update, desired: ConfigRef) -> Decision {
    let asked = facts.node.drain().asked == Some(format!("drain-{}", desired.config));
    // Once workloads were asked to leave, it is too late to hold: the node would be neither in use nor updated.
    if let Some(reason) = facts.node.hold().filter(|_| !asked) {
        let next = Next::Wait(Wait::Release { reason: reason.to_owned() });
        return Decision { drain: release(facts), ..going(next, Phase::Held) };
    }
    drained(facts, update, desired)
}

fn drained(facts: &Facts<'_>, update: &Update, to: ConfigRef) -> Decision {
    let drain = facts.node.drain();
    let request = DrainRequest::Drain { cordoned: is_cordoned_by_others(facts), config: to.config };
    if !update.drain || !facts.abilities.drains || facts.node.is_single() {
        return going(Next::Apply, Phase::Executing);
    }
    let answered = drain.is_answered(&request.text());
    if answered && facts.node.cordoned {
        return going(Next::Apply, Phase::Executing);
    }
    // An answer to a node that takes workloads again is one of an earlier time; asking the same again would change nothing.
    // An uncordon is waited for: until it is done, the cordon is ours, and its acknowledgement would end a later drain.
    let again = answered || drain.pending_uncordon().is_some();
    let request = if again { drain.uncordon(current_name(facts)) } else { request };
    let next = Next::Wait(Wait::Controller { request: request.text() });
    Decision { drain: Some(request), ..going(next, Phase::Draining) }
}

/// A node that is cordoned because we asked for it earlier is not cordoned by somebody else.
fn is_cordoned_by_others(facts: &Facts<'_>) -> bool {
    facts.node.cordoned && (facts.node.was_cordoned_before() || !facts.node.drain().asks_to_drain())
}

#[cfg(test)]
mod handshake;
#[cfg(test)]
mod tests;
