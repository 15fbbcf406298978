//! `ostler plan`.

use anyhow::Result;
use ostler_core::machine_config::MachineConfig;
use ostler_core::observed::Observed;
use ostler_core::plan::assess;
use ostler_core::refusal::Refusal;

use super::{Outcome, unreadable};
use crate::cli::{Format, PlanOptions};
use crate::{input, show};

/// Says what would change, or why the target is refused.
pub fn plan(options: &PlanOptions) -> Result<Outcome> {
    let rules = input::rules(&options.rules)?;
    let current = options.from.as_deref().map(input::machine_config).transpose()?;
    let target = input::target(&options.to)?;
    let (current, (target, provenance)) = match (current.unwrap_or_else(|| Ok(MachineConfig::empty())), target) {
        (Ok(current), Ok(target)) => (current, target),
        (Err(error), _) => {
            return refuse(options, unreadable(error, |name, source| Refusal::UnreadableCurrent { name, source })?);
        }
        (_, Err(error)) => {
            return refuse(options, unreadable(error, |name, source| Refusal::UnreadableTarget { name, source })?);
        }
    };
    let observed = Observed::configured(current);
    let desired = rules.desired(target)?;
    let assessment = assess(&observed, &desired).warned(&provenance, &desired.target);
    match options.output {
        Format::Json => show::json(&show::PlanDocument::new(&observed, &desired, &assessment))?,
        Format::Text => show::text(&show::plan(&observed, &desired, &assessment, options.show_contents))?,
    }
    Ok(if assessment.verdict.is_ok() { Outcome::Success } else { Outcome::Refused })
}

fn refuse(options: &PlanOptions, refusal: Refusal) -> Result<Outcome> {
    match options.output {
        Format::Json => show::json(&show::PlanDocument::unreadable(&refusal))?,
        Format::Text => show::text(&show::refusal(&refusal))?,
    }
    Ok(Outcome::Refused)
}
