//! What each phase says of each condition: types, reasons and messages as people, dashboards and tests know them.
//!
//! A phase repeats what the phases before it in the same update have said, as far as the update is still known, so that
//! what another writer reverts is said again.

use super::Gates;
use super::known;
use crate::api::Condition;
use crate::api::machine_config_node::ConditionStatus::{self, False, True, Unknown};
use crate::disruption::Action;
use crate::node::keys::NOT_YET_SET;
use crate::node::situation::{Phase, Situation, Update};
use crate::verdict::{Reason, State};

mod change;

use change::Step;

/// What a condition is to be.
pub(super) struct Statement {
    pub(super) status: ConditionStatus,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

/// What becomes of a condition.
pub(super) enum Word {
    /// It is this.
    Says(Statement),
    /// It is this if it was told and is not False; the details are not known any more.
    Corrects(Statement),
    /// It is what it was.
    Keeps,
    /// It is False; what was said of it belongs to an update that is over, or to a phase that has yet to come.
    Ends,
}

const NOT_REQUIRED: &str = "Node Drain Not required for this update.";
const EXECUTED_DRAINED: &str = "UpdateExecutedDrained";

/// What becomes of a condition that only a daemon writes. Of a node whose state is not known, what was said last stays.
pub(super) fn own(type_: &'static str, situation: &Situation) -> Word {
    match type_ {
        _ if situation.verdict.state() == State::Unknown => Word::Keeps,
        known::UPDATED => updated(situation),
        known::UPDATE_PREPARED => prepared(situation),
        known::POST_ACTION_COMPLETE => post_action(situation),
        known::RESUMED => resumed(situation),
        known::REBOOTED_NODE => rebooted(situation),
        known::NODE_DEGRADED => degraded(situation),
        known::IMAGE_PULLED if change::is_staged_ahead(situation) => change::pulled_ahead(situation),
        known::APPLIED_FILES_AND_OS | known::APPLIED_FILES | known::APPLIED_OS_IMAGE | known::IMAGE_PULLED => {
            step(situation).map_or(Word::Ends, |step| change::child(type_, step, situation))
        }
        _ => Word::Keeps,
    }
}

/// What becomes of a condition that the controller writes too. An update `begins` when it is not spoken of yet.
pub(super) fn shared(
    type_: &'static str,
    situation: &Situation,
    gates: Gates,
    observed: Option<&Condition>,
    begins: bool,
) -> Word {
    let undrained = situation.update.as_ref().is_some_and(|update| !update.drain);
    match (stage(situation), type_) {
        _ if situation.verdict.state() == State::Unknown => Word::Keeps,
        (Phase::Settled, _) => Word::Ends,
        (Phase::Considering | Phase::Refused | Phase::Held | Phase::Staging, _) if begins => Word::Ends,
        (Phase::Considering | Phase::Refused | Phase::Held | Phase::Staging | Phase::Draining, _) => {
            if observed.is_some_and(is_ours) { Word::Ends } else { Word::Keeps }
        }
        (Phase::Executing | Phase::Restarting | Phase::Proving | Phase::Completing, known::UPDATE_EXECUTED) => {
            match step(situation) {
                Some(step) => change::parent(step, situation, gates),
                None if observed.is_some_and(is_ours) => Word::Ends,
                None => Word::Keeps,
            }
        }
        (Phase::Executing | Phase::Restarting | Phase::Proving | Phase::Completing, known::DRAINED) if undrained => {
            says(False, EXECUTED_DRAINED, NOT_REQUIRED)
        }
        (Phase::Executing | Phase::Restarting | Phase::Proving | Phase::Completing, _) => Word::Keeps,
    }
}

/// Whether the condition says that this node is to update.
pub(super) fn is_wanting(updated: &Condition, situation: &Situation) -> bool {
    updated.status == False.as_str() && updated.message == wanting(situation)
}

fn says(status: ConditionStatus, reason: &'static str, message: impl Into<String>) -> Word {
    Word::Says(Statement { status, reason, message: message.into() })
}

/// The phase, as far as conditions go: only a node that is up to date is at rest.
fn stage(situation: &Situation) -> Phase {
    match situation.phase {
        Phase::Settled if situation.verdict.state() != State::UpToDate => Phase::Considering,
        phase => phase,
    }
}

/// How far the change of the machine is. Of an update that was taken back nothing is left.
fn step(situation: &Situation) -> Option<Step> {
    Step::of(stage(situation)).filter(|_| !is_taken_back(situation))
}

/// Whether workloads are let in again after an update that was begun and is not what the node is in.
fn is_taken_back(situation: &Situation) -> bool {
    let elsewhere = |update: &Update| situation.current.as_ref() != Some(&update.to);
    stage(situation) == Phase::Completing && situation.update.as_ref().is_some_and(elsewhere)
}

/// Whether a condition that the controller writes too was last written by a daemon.
fn is_ours(condition: &Condition) -> bool {
    change::REASONS.contains(&condition.reason.as_str()) || condition.message == NOT_REQUIRED
}

fn wanting(situation: &Situation) -> String {
    format!("Node {} needs an update", situation.node)
}

fn updated(situation: &Situation) -> Word {
    match stage(situation) {
        Phase::Settled => says(True, known::UPDATED, format!("Node {} Updated", situation.node)),
        Phase::Considering
        | Phase::Refused
        | Phase::Held
        | Phase::Staging
        | Phase::Draining
        | Phase::Executing
        | Phase::Restarting
        | Phase::Proving
        | Phase::Completing => says(False, known::UPDATED, wanting(situation)),
    }
}

fn prepared(situation: &Situation) -> Word {
    match stage(situation) {
        Phase::Settled | Phase::Considering => unmerged(situation),
        Phase::Refused => says(Unknown, known::UPDATE_PREPARED, refusal(situation)),
        Phase::Held
        | Phase::Staging
        | Phase::Draining
        | Phase::Executing
        | Phase::Restarting
        | Phase::Proving
        | Phase::Completing => situation.update.as_ref().map_or(Word::Keeps, |update| {
            let actions: Vec<String> = update.actions.iter().map(Action::api_name).collect();
            let (actions, drain) = (actions.join(", "), update.drain);
            let message = format!("Update Compatible. Post Cfg Actions: [{actions}] Drain Required: {drain}");
            says(True, known::UPDATE_PREPARED, message)
        }),
    }
}

/// An operator that does not run halts every update that its policies decide: whoever looks for the cause looks here.
fn unmerged(situation: &Situation) -> Word {
    let waits = |reason: &&Reason| matches!(reason, Reason::PoliciesUnmerged { .. });
    match situation.verdict.reasons().iter().find(waits) {
        Some(reason) => says(False, "WaitingForPolicies", reason.report()),
        None => Word::Ends,
    }
}

fn refusal(situation: &Situation) -> String {
    let current = situation.current.as_ref().map(|current| current.config.as_str());
    // The last update that was begun says where the node was, not where it is.
    let from = current.unwrap_or(NOT_YET_SET);
    let to = situation.desired.as_ref().map_or(NOT_YET_SET, |desired| desired.config.as_str());
    let error = situation.trouble().map(|trouble| trouble.reason).unwrap_or_default();
    format!("Update Failed compatibility validation. MachineConfigs {from} and {to} are not compatible. Err: {error}")
}

/// A restart is reported by its own condition, never by this one.
fn post_action(situation: &Situation) -> Word {
    match (stage(situation), &situation.update) {
        (Phase::Completing, Some(_)) if is_taken_back(situation) => Word::Ends,
        (Phase::Completing, Some(update)) if !update.reboot => {
            let completed: Vec<String> = update.actions.iter().filter_map(completed).collect();
            if completed.is_empty() {
                return says(True, "None", "Changes do not require a reboot");
            }
            says(True, known::POST_ACTION_COMPLETE, completed.join("; "))
        }
        (Phase::Completing, None) => Word::Keeps,
        (Phase::Completing, Some(_))
        | (
            Phase::Settled
            | Phase::Considering
            | Phase::Refused
            | Phase::Held
            | Phase::Staging
            | Phase::Draining
            | Phase::Executing
            | Phase::Restarting
            | Phase::Proving,
            _,
        ) => Word::Ends,
    }
}

/// What an action did to a service.
fn completed(action: &Action) -> Option<String> {
    let reloaded = |service: &str| Some(format!("Node has reloaded service {service}"));
    match action {
        Action::DaemonReload => reloaded("daemon-reload"),
        Action::Special => reloaded("crio"),
        Action::Reload(service) => reloaded(service),
        Action::Restart(service) => Some(format!("Node has restarted service {service}")),
        Action::None | Action::Drain | Action::Reboot => None,
    }
}

fn resumed(situation: &Situation) -> Word {
    if stage(situation) != Phase::Completing {
        return Word::Ends;
    }
    let place = situation.current.as_ref().or(situation.desired.as_ref());
    let config = place.map_or(NOT_YET_SET, |place| place.config.as_str());
    let message = format!("In desired config {config}. Resumed normal operations. Applying proper annotations.");
    says(True, known::RESUMED, message)
}

fn rebooted(situation: &Situation) -> Word {
    let done = || Statement { status: True, reason: known::REBOOTED_NODE, message: "Node has rebooted".to_owned() };
    let restarts = situation.update.as_ref().map(|update| update.reboot);
    match (stage(situation), restarts) {
        (Phase::Completing, _) if is_taken_back(situation) => Word::Ends,
        (Phase::Restarting, _) => says(Unknown, known::REBOOTED_NODE, "Upgrade requires a reboot."),
        (Phase::Proving, _) | (Phase::Completing, Some(true)) => Word::Says(done()),
        (Phase::Completing, None) => Word::Corrects(done()),
        (Phase::Completing, Some(false))
        | (
            Phase::Settled
            | Phase::Considering
            | Phase::Refused
            | Phase::Held
            | Phase::Staging
            | Phase::Draining
            | Phase::Executing,
            _,
        ) => Word::Ends,
    }
}

/// That an update succeeded is said only when there is nothing left that could fail.
fn degraded(situation: &Situation) -> Word {
    let node = &situation.node;
    if let Some(trouble) = situation.trouble() {
        let message = format!("Node {node} upgrade failure. {}", trouble.reason);
        return says(True, known::NODE_DEGRADED, message);
    }
    let message = format!("Node {node} upgrade succeeded");
    match stage(situation) {
        Phase::Completing => says(False, known::NODE_DEGRADED, message),
        Phase::Settled => Word::Corrects(Statement { status: False, reason: known::NODE_DEGRADED, message }),
        Phase::Considering
        | Phase::Refused
        | Phase::Held
        | Phase::Staging
        | Phase::Draining
        | Phase::Executing
        | Phase::Restarting
        | Phase::Proving => Word::Ends,
    }
}
