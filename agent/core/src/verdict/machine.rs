//! The machine's part of the verdict: its journal, its records and its deployments.

use super::{Agent, Reason};
use crate::status::Status;
use crate::transaction::{Direction, Ending, Open, Trial};

/// What the machine's own records say, given whether an agent goes on with what they leave open.
pub(super) fn reasons(machine: &Status, agent: &Agent<'_>) -> Vec<Reason> {
    let mut reasons = lasting(machine);
    reasons.extend(match &machine.open {
        Some(open) => unfinished(machine, open, agent),
        None => closed(machine, agent),
    });
    reasons
}

/// What is wrong whatever the agent does.
fn lasting(machine: &Status) -> Vec<Reason> {
    let mut reasons = Vec::new();
    reasons.extend(machine.rival.clone().map(Reason::ConflictingAgent));
    let unreadable = machine.inherited.as_ref().and_then(|inherited| inherited.unreadable.clone());
    let damaged = machine.damaged.iter().filter(|record| Some(*record) != unreadable.as_ref());
    let records: Vec<String> = damaged.cloned().collect();
    reasons.extend(unreadable.map(|reason| Reason::ConfigUnreadable { reason }));
    if !records.is_empty() {
        reasons.push(Reason::DamagedRecords { records });
    }
    let failure = machine.os.finalization_failure.clone().filter(|_| update_lost(machine));
    reasons.extend(failure.map(|reason| Reason::FinalizationFailed { reason }));
    let unknown = machine.os_unknown.clone();
    reasons.extend(unknown.map(|reason| Reason::DeploymentsUnreadable { reason }));
    reasons
}

/// Whether what was not finalized on the way to this boot is still missing: the transaction that staged it has yet to be
/// finished or undone, or the operating system is not the configuration's.
fn update_lost(machine: &Status) -> bool {
    let earlier = machine.open.as_ref().is_some_and(|open| !open.boot.lasts(&machine.boot));
    earlier || machine.behind.is_some()
}

fn unfinished(machine: &Status, open: &Open, agent: &Agent<'_>) -> Vec<Reason> {
    let reason = if machine.busy {
        match open.direction {
            Direction::Forward => Reason::Applying { config: open.to.clone() },
            Direction::Back => {
                let reason = open.reason.clone().unwrap_or_default();
                Reason::RollingBack { config: open.to.clone(), reason }
            }
        }
    } else if open.awaits_restart(&machine.boot) {
        restart(machine)
    } else if agent.is_running() {
        Reason::Recovering
    } else {
        let restarted = open.awaits_end_of.is_some();
        Reason::Interrupted { purpose: open.purpose, config: open.to.clone(), restarted }
    };
    vec![reason]
}

fn closed(machine: &Status, agent: &Agent<'_>) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if machine.busy {
        reasons.push(Reason::OtherProcess);
    }
    // Where no agent ever checks a boot, a configuration waits for nothing that the machine does not know of.
    let trial = machine.trial.as_ref().filter(|_| !matches!(agent, Agent::Absent));
    let unrestarted = |trial: &Trial| trial.before.lasts(&machine.boot);
    if machine.awaits_reboot || machine.restart.is_some() || trial.is_some_and(unrestarted) {
        reasons.push(restart(machine));
    }
    reasons.extend(services(machine));
    reasons.extend(abandoned(machine));
    if agent.is_running() {
        return reasons;
    }
    let held = machine.rollback_hold.clone().filter(|hold| hold.is_reached(machine.config.as_deref()));
    reasons.extend(held.map(Reason::RollbackHold));
    let config = || machine.config.clone().unwrap_or_default();
    if trial.is_some_and(|trial| !unrestarted(trial)) {
        reasons.push(Reason::HealthChecks { config: config(), missing: Vec::new(), until: None });
    }
    if machine.inherited.as_ref().is_some_and(|inherited| inherited.unreadable.is_none()) {
        reasons.push(Reason::Adoption { config: config() });
    }
    let behind = machine.behind.as_ref();
    reasons.extend(behind.map(|behind| Reason::OsDiffers { reason: behind.words.clone() }));
    reasons.extend(rejected(machine));
    reasons
}

/// A restart of the machine starts every service anew.
fn services(machine: &Status) -> Option<Reason> {
    let last = machine.last.as_ref().filter(|last| last.boot.lasts(&machine.boot))?;
    let failures: Vec<String> = last.service_failures.iter().map(ToString::to_string).collect();
    (!failures.is_empty()).then_some(Reason::ServicesFailed { failures })
}

fn abandoned(machine: &Status) -> Option<Reason> {
    let last = machine.last.as_ref()?;
    let Ending::Abandoned { differs, .. } = &last.ending else { return None };
    Some(Reason::Abandoned { from: last.from.clone(), to: last.to.clone(), differs: differs.clone() })
}

/// The last transaction was given up for its configuration's own fault.
fn rejected(machine: &Status) -> Option<Reason> {
    let last = machine.last.as_ref().filter(|last| matches!(last.ending, Ending::Undone { .. }))?;
    let rejected = machine.rejected.iter().find(|rejected| rejected.config == last.to)?;
    Some(Reason::Rejected { config: rejected.config.clone(), reason: rejected.reason.clone() })
}

/// The restart that is missing.
pub(super) fn restart(machine: &Status) -> Reason {
    let open = machine.open.as_ref().map(|open| match open.direction {
        Direction::Forward => open.to.clone(),
        Direction::Back => open.from.clone(),
    });
    let config = open.or_else(|| machine.config.clone()).unwrap_or_default();
    Reason::Restart { config, ordered: machine.restart.as_ref().map(|restart| restart.ordered) }
}
