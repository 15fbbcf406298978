//! The JSON a program reads. Keys are a contract; more may be added.

use ostler_core::desired::Desired;
use ostler_core::diff::{Kind, Parts};
use ostler_core::disruption::{Action, Cause, Origin, Subject};
use ostler_core::irreconcilable::Change;
use ostler_core::machine_config::MachineConfig;
use ostler_core::observed::Observed;
use ostler_core::plan::{Actions, Assessment, Dropped, LeftAlone};
use ostler_core::refusal::Refusal;
use ostler_core::step::Step;
use ostler_core::warning::Warning;
use serde::Serialize;

/// What `ostler plan -o json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanDocument<'a> {
    reconcilable: bool,
    reason: Option<String>,
    remedy: Option<String>,
    from: Option<&'a str>,
    to: Option<&'a str>,
    diff: Option<Parts>,
    changed_files: &'a [String],
    changed_units: &'a [String],
    changes: Vec<Explanation<'a>>,
    actions: Actions,
    drain: bool,
    drain_reason: Option<String>,
    reboot: bool,
    irreconcilable: &'a [Change],
    steps: &'a [Step],
    left_alone: &'a [LeftAlone],
    warnings: Vec<Caution<'a>>,
    dropped: &'a [Dropped],
}

/// What is worth knowing, as a value and in words.
#[derive(Debug, Serialize)]
struct Caution<'a> {
    #[serde(flatten)]
    warning: &'a Warning,
    message: String,
}

/// Why one change causes what it causes.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Explanation<'a> {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<Kind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<Policy<'a>>,
    actions: &'a [Action],
}

#[derive(Debug, Serialize)]
struct Policy<'a> {
    key: &'a str,
    origin: &'static str,
}

impl<'a> PlanDocument<'a> {
    /// The answer about a target that could be parsed.
    pub fn new(observed: &'a Observed, desired: &'a Desired, assessment: &'a Assessment) -> Self {
        let plan = assessment.verdict.as_ref().ok();
        let refusal = assessment.verdict.as_ref().err();
        Self {
            reconcilable: plan.is_some(),
            reason: refusal.map(Refusal::reason),
            remedy: refusal.map(Refusal::remedy),
            from: Some(&observed.current.name),
            to: Some(&desired.target.name),
            diff: Some(assessment.parts),
            changed_files: &assessment.changed_files,
            changed_units: &assessment.changed_units,
            changes: plan.map(|plan| plan.causes.iter().map(explanation).collect()).unwrap_or_default(),
            actions: plan.map_or(Actions::Policies(Vec::new()), |plan| plan.actions.clone()),
            drain: plan.is_some_and(|plan| plan.drain.is_needed()),
            drain_reason: plan.and_then(|plan| plan.drain.reason()),
            reboot: plan.is_some_and(ostler_core::plan::Plan::reboots),
            irreconcilable: &assessment.irreconcilable,
            steps: plan.map(|plan| plan.steps.as_slice()).unwrap_or_default(),
            left_alone: plan.map(|plan| plan.left_alone.as_slice()).unwrap_or_default(),
            warnings: assessment.warnings.iter().map(caution).collect(),
            dropped: plan.map(|plan| plan.dropped.as_slice()).unwrap_or_default(),
        }
    }

    /// The answer about a config that could not be parsed: what differs cannot be told.
    pub fn unreadable(refusal: &Refusal) -> Self {
        Self {
            reconcilable: false,
            reason: Some(refusal.reason()),
            remedy: Some(refusal.remedy()),
            from: None,
            to: None,
            diff: None,
            changed_files: &[],
            changed_units: &[],
            changes: Vec::new(),
            actions: Actions::Policies(Vec::new()),
            drain: false,
            drain_reason: None,
            reboot: false,
            irreconcilable: &[],
            steps: &[],
            left_alone: &[],
            warnings: Vec::new(),
            dropped: &[],
        }
    }
}

fn caution(warning: &Warning) -> Caution<'_> {
    Caution { warning, message: warning.message() }
}

fn explanation(cause: &Cause) -> Explanation<'_> {
    let (kind, name, change) = match &cause.subject {
        Subject::Forced => ("forced", None, None),
        Subject::OsImage => ("osImage", None, None),
        Subject::KernelArguments => ("kernelArguments", None, None),
        Subject::Fips => ("fips", None, None),
        Subject::KernelType => ("kernelType", None, None),
        Subject::Extensions => ("extensions", None, None),
        Subject::File(path, kind) => ("file", Some(path.as_str()), Some(*kind)),
        Subject::Unit(name, kind) => ("unit", Some(name.as_str()), Some(*kind)),
        Subject::Users => ("users", None, None),
    };
    let origin = |origin: Origin| match origin {
        Origin::Default => "default",
        Origin::User => "user",
    };
    let policy = cause.policy.as_ref().map(|(key, by)| Policy { key, origin: origin(*by) });
    Explanation { kind, name, change, policy, actions: &cause.actions }
}

/// What `ostler diff -o json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DiffDocument<'a> {
    install_time: &'a str,
    to: &'a str,
    irreconcilable: &'a [Change],
}

impl<'a> DiffDocument<'a> {
    /// The report and what it compares.
    pub fn new(installed: &'a MachineConfig, target: &'a MachineConfig, changes: &'a [Change]) -> Self {
        Self { install_time: &installed.name, to: &target.name, irreconcilable: changes }
    }
}
