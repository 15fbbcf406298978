//! The plan: everything that will be done to bring a machine from what is observed to what is desired, as a value.
//!
//! Owns the order of steps and the refusal of targets that could only fail later. Refuses to do anything: another crate
//! runs the steps, and undoing is a plan in the other direction.

mod contents;
mod files;
mod services;
mod units;
mod users;

#[cfg(test)]
mod properties;

use serde::Serialize;

pub use files::{Exemption, LeftAlone};
pub use services::{Dropped, Gone};

use crate::desired::{Desired, Rules};
use crate::diff::{Diff, Parts};
use crate::disruption::{Action, Cause, decide};
use crate::drain::{self, Drain};
use crate::first_boot;
use crate::irreconcilable::{self, Change};
use crate::kargs;
use crate::kernel::KernelType;
use crate::machine_config::MachineConfig;
use crate::observed::Observed;
use crate::reconcile;
use crate::refusal::Refusal;
use crate::step::{Deployment, Step};
use crate::warning::{Provenance, Warning};
use crate::{extensions, reserved, unit_name};

/// Changes that are named where a restart is explained.
const MOST_NAMED: usize = 5;

/// What will be done, in order, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The effects. Empty when the machine is where it should be.
    pub steps: Vec<Step>,
    /// What is done so that the changes take effect.
    pub actions: Actions,
    /// Which change causes which action.
    pub causes: Vec<Cause>,
    /// Whether workloads have to leave first.
    pub drain: Drain,
    /// Which parts of the configuration differ.
    pub parts: Parts,
    /// Changed files that no step touches.
    pub left_alone: Vec<LeftAlone>,
    /// Services that a policy restarts or reloads and that will not be there any more.
    pub dropped: Vec<Dropped>,
}

impl Plan {
    /// Steps that nothing is disrupted for.
    pub fn of_steps(steps: Vec<Step>) -> Self {
        Self {
            steps,
            actions: Actions::Policies(Vec::new()),
            causes: Vec::new(),
            drain: Drain::NotNeeded,
            parts: Parts::default(),
            left_alone: Vec::new(),
            dropped: Vec::new(),
        }
    }

    /// Whether the machine restarts.
    pub fn reboots(&self) -> bool {
        self.actions.list().contains(&Action::Reboot)
    }

    /// What of it asks for a restart, the first few by name.
    pub fn restart_for(&self) -> Vec<String> {
        let asks = |cause: &&Cause| cause.actions.contains(&Action::Reboot);
        let mut named: Vec<String> = self.causes.iter().filter(asks).map(|cause| cause.subject.to_string()).collect();
        let more = named.len().saturating_sub(MOST_NAMED);
        named.truncate(MOST_NAMED);
        if more > 0 {
            named.push(format!("{more} more"));
        }
        named
    }
}

/// Actions, in the words of the rules that chose them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Actions {
    /// By node disruption policies.
    Policies(Vec<Action>),
    /// By the first-boot table.
    FirstBoot([first_boot::Action; 1]),
}

impl Actions {
    /// The actions in the words of the policies.
    pub fn list(&self) -> Vec<Action> {
        match self {
            Self::Policies(actions) => actions.clone(),
            Self::FirstBoot([action]) => action.as_actions(),
        }
    }
}

/// Everything there is to say about a target, whether it is refused or not.
#[derive(Debug)]
pub struct Assessment {
    /// Which parts differ.
    pub parts: Parts,
    /// Paths of files that differ, sorted.
    pub changed_files: Vec<String>,
    /// Names of units that differ, sorted.
    pub changed_units: Vec<String>,
    /// What differs from the install-time configuration and cannot be applied.
    pub irreconcilable: Vec<Change>,
    /// The plan, or why there is none.
    pub verdict: Result<Plan, Refusal>,
    /// What is worth knowing before it is done.
    pub warnings: Vec<Warning>,
}

impl Assessment {
    /// The same with what the target's document tells.
    pub fn warned(self, provenance: &Provenance, target: &MachineConfig) -> Self {
        Self { warnings: provenance.warnings(target, self.verdict.as_ref().ok()), ..self }
    }
}

/// Decides what has to be done. A target is refused as a whole: there is no plan for a part of it.
pub fn plan(observed: &Observed, desired: &Desired) -> Result<Plan, Refusal> {
    let diff = difference(observed, desired);
    plan_difference(observed, desired, &diff)
}

/// Decides, and tells what differs even when the target is refused.
pub fn assess(observed: &Observed, desired: &Desired) -> Assessment {
    let diff = difference(observed, desired);
    let installed = observed.install_time.as_ref().unwrap_or(&observed.current);
    Assessment {
        parts: diff.parts,
        changed_files: diff.files.keys().map(|&path| path.to_owned()).collect(),
        changed_units: diff.units.keys().map(|&name| name.to_owned()).collect(),
        irreconcilable: irreconcilable::report(&installed.ignition, &desired.target.ignition),
        verdict: plan_difference(observed, desired, &diff),
        warnings: Vec::new(),
    }
}

/// Decides how to get back to a configuration the machine has been in. Whether it could be reached for the first time is
/// not asked again; what cannot be had any more, such as contents that do not decode, is refused all the same.
pub fn undo(observed: &Observed, desired: &Desired) -> Result<Plan, Refusal> {
    steps_for(observed, desired, &difference(observed, desired))
}

fn difference<'a>(observed: &'a Observed, desired: &'a Desired) -> Diff<'a> {
    let mut diff = Diff::between(&observed.current, &desired.target);
    diff.parts.os_update |= observed.forced || observed.behind.is_some();
    diff
}

fn plan_difference(observed: &Observed, desired: &Desired, diff: &Diff<'_>) -> Result<Plan, Refusal> {
    let (current, target) = (&observed.current, &desired.target);
    reconcile::check(current, target, desired.overrides)?;
    check_names(target)?;
    files::check_paths(&target.ignition)?;
    steps_for(observed, desired, diff)
}

fn steps_for(observed: &Observed, desired: &Desired, diff: &Diff<'_>) -> Result<Plan, Refusal> {
    let (current, target) = (&observed.current, &desired.target);
    files::check_owners(&target.ignition)?;
    let sizes = contents::sizes(&target.ignition)?;
    let kernel_type = kernel_type(target)?;

    let (actions, causes, drain) = match &desired.rules {
        Rules::Policies(policies) => {
            let decision = decide(diff, policies, observed.forced);
            let drain = drain::by_policy(&decision.actions, current, target)?;
            (Actions::Policies(decision.actions), decision.causes, drain)
        }
        Rules::FirstBoot => {
            let (action, causes) = first_boot::decide(diff, observed.forced);
            let drain = drain::at_first_boot(action, diff, current, target)?;
            (Actions::FirstBoot([action]), causes, drain)
        }
    };
    let files = files::steps(diff, target, &sizes, &desired.rules);
    let (mut steps, mut dropped) = (Vec::new(), Vec::new());
    if current != target || observed.forced || observed.behind.is_some() {
        steps.extend(stage_os(observed, target, diff.parts, kernel_type));
        steps.extend(drain.is_needed().then_some(Step::Drain));
        steps.extend(files.writes);
        steps.extend(units::steps(diff, target));
        steps.extend(files.removals);
        steps.extend(users::steps(diff.parts, &current.ignition, &target.ignition));
        steps.push(Step::RecordConfig { config: target.name.clone() });
        let told = services::steps(&actions.list());
        (told.into_iter()).for_each(|step| match services::gone(&step, &steps, target, &observed.os_units) {
            Some(gone) => dropped.push(gone),
            None => steps.push(step),
        });
    }
    Ok(Plan { steps, actions, causes, drain, parts: diff.parts, left_alone: files.left_alone, dropped })
}

/// What the daemon would find out only when it applies the target.
fn check_names(target: &MachineConfig) -> Result<(), Refusal> {
    for unit in &target.ignition.units {
        unit_name::check_unit(&unit.name).map_err(|source| Refusal::UnitName { name: unit.name.clone(), source })?;
        if reserved::is_reserved_unit(&unit.name) {
            return Err(Refusal::Reserved { name: unit.name.clone() });
        }
        for dropin in &unit.dropins {
            let refused = |source| Refusal::DropinName { unit: unit.name.clone(), dropin: dropin.name.clone(), source };
            unit_name::check_dropin(&dropin.name).map_err(refused)?;
        }
    }
    match extensions::unknown(&target.extensions) {
        unknown if unknown.is_empty() => Ok(()),
        names => Err(Refusal::Extensions { names }),
    }
}

fn kernel_type(target: &MachineConfig) -> Result<KernelType, Refusal> {
    KernelType::parse(&target.kernel_type).map_err(|unknown| Refusal::KernelType { name: unknown.name })
}

/// Arguments that never got onto the line are not there to be kept.
fn stage_os(observed: &Observed, new: &MachineConfig, parts: Parts, kernel_type: KernelType) -> Option<Step> {
    let mut old: Vec<String> = observed.current.kernel_arguments.iter().flat_map(|entry| kargs::split(entry)).collect();
    if let Some(behind) = &observed.behind {
        old = kargs::without(&old, &behind.lacking);
    }
    parts.os().then(|| {
        Step::StageOs(Deployment {
            image: new.os_image.clone(),
            kernel_type,
            extensions: new.extensions.clone(),
            extensions_image: new.extensions_image.clone(),
            kernel_arguments: kargs::Change::between(&old, &new.kernel_arguments),
            own_arguments: new.kernel_arguments.iter().flat_map(|entry| kargs::split(entry)).collect(),
        })
    })
}
