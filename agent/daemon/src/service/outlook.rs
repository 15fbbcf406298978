//! Looking at an update before it is begun: planned here, checked by the root half, and put in a few words.

use ostler_core::diff::Parts;
use ostler_core::machine_config::{ConfigError, MachineConfig};
use ostler_core::node::{ConfigRef, Outlook, Trouble, TroubleKind, Update};
use ostler_core::observed::Observed;
use ostler_core::plan::{Assessment, Plan, assess, undo};
use ostler_core::protocol::{Change, Class, Failure, Observation, Request, Rules, Sealed};
use ostler_core::refusal::Refusal;
use ostler_core::rollback::RELEASE;
use ostler_core::step::Step;
use ostler_core::warning::{Provenance, Warning};

use crate::commands::{observed, recorded};

/// What was found out about one update, for as long as nothing that it depends on changes.
#[derive(Debug)]
pub struct Look {
    /// What it was looked at for.
    pub subject: Subject,
    /// How often what is mounted had been replaced by then.
    pub mounted: u64,
    /// What was found.
    pub outlook: Outlook,
    /// What to ask the root half for, where the update can be had.
    pub change: Option<Requests>,
}

/// What to ask the root half for.
#[derive(Clone, Debug)]
pub struct Requests {
    /// Whether the change can be made.
    pub check: Request,
    /// To stage what it brings of the operating system before the drain, where it brings any.
    pub stage: Option<Request>,
    /// To make it.
    pub act: Request,
    /// What it does.
    pub steps: Vec<Step>,
}

impl Look {
    /// What to stage before the drain, where that has yet to be done.
    pub fn to_stage(&self) -> Option<Request> {
        self.change.as_ref()?.stage.clone()
    }

    /// It is staged.
    pub fn staged(&mut self) {
        if let Some(change) = &mut self.change {
            change.stage = None;
        }
    }

    /// Whether it still holds. What was found ready was read as a whole, whatever is mounted by now.
    pub fn holds(&self, subject: Option<&Subject>, mounted: u64) -> bool {
        let current = self.mounted == mounted || matches!(self.outlook, Outlook::Ready(_));
        current && Some(&self.subject) == subject
    }
}

/// What an outlook depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct Subject {
    /// What the machine is in.
    pub current: Option<ConfigRef>,
    /// What it is to reach.
    pub desired: ConfigRef,
    /// Whether that is the configuration before the current one, by a person's wish.
    pub rollback: bool,
    /// By which rules.
    pub rules: Rules,
    /// Whether a person forces it.
    pub forced: bool,
}

/// An update that was planned.
#[derive(Debug)]
pub struct Planned {
    /// What to ask the root half for.
    pub change: Requests,
    /// What it is, in a few words.
    pub update: Update,
    /// What is worth knowing before it is made.
    pub warnings: Vec<Warning>,
}

/// Plans an update. What comes back still has to be checked by the root half.
pub fn plan(subject: &Subject, observation: &Observation, target: Sealed) -> Result<Planned, Trouble> {
    let machine = present(observation)?;
    let document = target.clone().open();
    let provenance = Provenance::of(&document);
    let config = match MachineConfig::from_document(document) {
        Ok(config) => config,
        Err(error @ ConfigError::Ignition { .. }) => {
            return Err(Trouble { kind: TroubleKind::Unreconcilable, reason: causes(&error) });
        }
        Err(error) => return Err(degraded(causes(&error))),
    };
    let desired = subject.rules.desired(config).map_err(|error| unreadable(&error.into()))?;
    let Assessment { parts, verdict, warnings, .. } = assess(&machine, &desired).warned(&provenance, &desired.target);
    let plan = verdict.map_err(|refusal| refused(&refusal))?;
    let update = summary(subject, &machine, parts, &plan);
    let change = Change { target, rules: subject.rules.clone(), steps: plan.steps.clone() };
    let brings_os = plan.steps.iter().any(|step| matches!(step, Step::StageOs(_)));
    let stage = brings_os.then(|| Request::Stage(change.clone()));
    let (check, act) = (Request::Check(change.clone()), Request::Apply(change));
    Ok(Planned { change: Requests { check, stage, act, steps: plan.steps }, update, warnings })
}

/// Plans a rollback to the configuration that the machine has kept, by the rules of updates.
pub fn plan_rollback(subject: &Subject, observation: &Observation) -> Result<Planned, Trouble> {
    let to = &subject.desired.config;
    let lost = || {
        degraded(format!(
            "cannot roll back to {to}: this machine does not keep it any more; run \"{RELEASE}\" to go on"
        ))
    };
    let machine = present(observation)?;
    let previous = observation.previous.clone().ok_or_else(lost)?;
    let previous = match recorded(previous).map_err(|error| unreadable(&error))? {
        Ok(config) if config.name == *to => config,
        Ok(_) => return Err(lost()),
        Err(error) => return Err(unreadable(&error.into())),
    };
    let desired = subject.rules.desired(previous).map_err(|error| unreadable(&error.into()))?;
    let plan = undo(&machine, &desired).map_err(|refusal| refused(&refusal))?;
    let update = summary(subject, &machine, assess(&machine, &desired).parts, &plan);
    let request = |check| Request::Rollback { check, rules: subject.rules.clone() };
    // What it leads to is on this machine already.
    let change = Requests { check: request(true), stage: None, act: request(false), steps: plan.steps };
    Ok(Planned { change, update, warnings: Vec::new() })
}

fn present(observation: &Observation) -> Result<Observed, Trouble> {
    match observed(observation).map_err(|error| unreadable(&error))? {
        Ok(machine) => Ok(machine),
        Err(error) => Err(unreadable(&error.into())),
    }
}

fn refused(refusal: &Refusal) -> Trouble {
    Trouble { kind: TroubleKind::Unreconcilable, reason: reason(refusal) }
}

fn summary(subject: &Subject, machine: &Observed, parts: Parts, plan: &Plan) -> Update {
    Update {
        from: machine.current.name.clone(),
        to: subject.desired.clone(),
        actions: plan.actions.list(),
        drain: plan.drain.is_needed(),
        os: parts.os(),
        keys: plan.steps.iter().any(|step| matches!(step, Step::SetSshKeys { .. })),
        reboot: plan.reboots(),
    }
}

/// What a refused or failed check means for the update.
pub fn after_check(failure: &Failure) -> Outlook {
    let reason = words(failure);
    match failure.class {
        Class::Transient => Outlook::Blocked(reason),
        Class::Refusal | Class::Inoperable => Outlook::Refused(Trouble { kind: TroubleKind::Degraded, reason }),
    }
}

/// A failure of the root half's in one line.
pub fn words(failure: &Failure) -> String {
    let reasons = failure.reasons.join(": ");
    match &failure.remedy {
        Some(remedy) => format!("{reasons}; {remedy}"),
        None => reasons,
    }
}

fn reason(refusal: &Refusal) -> String {
    format!("{}; {}", refusal.reason(), refusal.remedy())
}

fn unreadable(error: &anyhow::Error) -> Trouble {
    degraded(format!("{error:#}"))
}

/// Something failed.
pub const fn degraded(reason: String) -> Trouble {
    Trouble { kind: TroubleKind::Degraded, reason }
}

/// An error and what is behind it, in one line.
pub fn causes(error: &dyn std::error::Error) -> String {
    let lines = std::iter::successors(Some(error), |&error| error.source()).map(ToString::to_string);
    lines.collect::<Vec<_>>().join(": ")
}
