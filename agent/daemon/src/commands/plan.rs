//! `ostler plan`.

use anyhow::Result;
use ostler_core::desired::{Desired, Rules};
use ostler_core::disruption::PolicyFile;
use ostler_core::machine_config::{ConfigError, MachineConfig};
use ostler_core::observed::Observed;
use ostler_core::plan::assess;
use ostler_core::reconcile::Overrides;
use ostler_core::refusal::Refusal;

use super::Outcome;
use crate::cli::{Format, Override, PlanOptions};
use crate::{input, show};

/// Says what would change, or why the target is refused.
pub fn plan(options: &PlanOptions) -> Result<Outcome> {
    let policy = options.policy.as_deref().map(input::policy).transpose()?.unwrap_or_default();
    let current = options.from.as_deref().map(input::machine_config).transpose()?;
    let target = input::machine_config(&options.to)?;
    let (current, target) = match (current.unwrap_or_else(|| Ok(MachineConfig::empty())), target) {
        (Ok(current), Ok(target)) => (current, target),
        (Err(error), _) => {
            return refuse(options, unreadable(error, |name, source| Refusal::UnreadableCurrent { name, source })?);
        }
        (_, Err(error)) => {
            return refuse(options, unreadable(error, |name, source| Refusal::UnreadableTarget { name, source })?);
        }
    };
    let observed = Observed::configured(current);
    let desired = Desired { target, overrides: overrides(options, &policy), rules: rules(options, policy) };
    let assessment = assess(&observed, &desired);
    match options.output {
        Format::Json => show::json(&show::PlanDocument::new(&observed, &desired, &assessment))?,
        Format::Text => show::text(&show::plan(&observed, &desired, &assessment, options.show_contents))?,
    }
    Ok(if assessment.verdict.is_ok() { Outcome::Success } else { Outcome::Refused })
}

/// An Ignition config that cannot be parsed is no fault of the file: every node would refuse it.
fn unreadable(
    error: ConfigError,
    refusal: impl FnOnce(String, ostler_core::ignition::ParseError) -> Refusal,
) -> Result<Refusal> {
    match error {
        ConfigError::Ignition { name, source } => Ok(refusal(name, source)),
        other => Err(other.into()),
    }
}

fn refuse(options: &PlanOptions, refusal: Refusal) -> Result<Outcome> {
    match options.output {
        Format::Json => show::json(&show::PlanDocument::unreadable(&refusal))?,
        Format::Text => show::text(&show::refusal(&refusal))?,
    }
    Ok(Outcome::Refused)
}

fn rules(options: &PlanOptions, policy: PolicyFile) -> Rules {
    if options.first_boot { Rules::FirstBoot } else { Rules::Policies(policy.policies) }
}

fn overrides(options: &PlanOptions, policy: &PolicyFile) -> Overrides {
    let given = |section| options.overrides.contains(&section);
    Overrides {
        disks: policy.overrides.disks || given(Override::Disks),
        filesystems: policy.overrides.filesystems || given(Override::FileSystems),
        raid: policy.overrides.raid || given(Override::Raid),
    }
}
