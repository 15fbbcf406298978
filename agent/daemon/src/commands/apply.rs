//! `ostler apply`.

use std::path::Path;

use anyhow::{Context, Result};
use ostler_core::machine_config::{ConfigError, MachineConfig};
use ostler_core::plan::assess;
use ostler_core::protocol::{Destination, Prepare, Rules, Sealed};
use ostler_core::refusal::Refusal;
use ostler_core::warning::Provenance;
use serde_json::Value;

use super::asking::{Asks, connect, observe, observed};
use super::console::Console;
use super::proposal::{Proposal, Requests, fail, refuse};
use super::{Outcome, unreadable};
use crate::cli::{ApplyOptions, ConsentOptions};
use crate::input;

/// Brings the machine into a configuration.
pub fn apply<A: Asks>(
    options: &ApplyOptions,
    console: &mut Console<'_>,
    open: impl FnOnce(Option<&Path>) -> Result<A>,
) -> Result<Outcome> {
    let rules = input::rules(&options.rules)?;
    let document = input::document(&options.to)?;
    let target = match target(document, rules).with_context(|| format!("cannot use {}", options.to.display()))? {
        Ok(target) => target,
        Err(refusal) => return refuse(&refusal, console),
    };
    let mut asks = connect(open, options.machine.root.as_deref())?;
    reach(target, &mut asks, options.consent, console)
}

/// A configuration to reach, as it was given and as it is decided on.
#[derive(Debug)]
struct Target {
    document: Sealed,
    config: MachineConfig,
    provenance: Provenance,
    rules: Rules,
}

fn target(document: Value, rules: Rules) -> Result<std::result::Result<Target, Refusal>> {
    let provenance = Provenance::of(&document);
    match MachineConfig::from_document(document.clone()) {
        Ok(config) => Ok(Ok(Target { document: Sealed::new(document), config, provenance, rules })),
        Err(ConfigError::Ignition { name, source }) => Ok(Err(Refusal::UnreadableTarget { name, source })),
        Err(error) => Err(error.into()),
    }
}

fn reach(target: Target, asks: &mut impl Asks, consent: ConsentOptions, console: &mut Console<'_>) -> Result<Outcome> {
    let observation = match observe(asks, console)? {
        Ok(observation) => observation,
        Err(failure) => return Ok(fail(failure, console)),
    };
    let observed = match observed(&observation)? {
        Ok(observed) => observed,
        Err(error) => {
            let refusal = unreadable(error, |name, source| Refusal::UnreadableCurrent { name, source })?;
            return refuse(&refusal, console);
        }
    };
    let desired = target.rules.desired(target.config)?;
    let assessment = assess(&observed, &desired).warned(&target.provenance, &desired.target);
    let prepare = Prepare { to: Destination::Config(target.document), rules: target.rules };
    let requests = Requests { prepare, applies: true, hold: None };
    let question = if assessment.warnings.is_empty() { "Apply?" } else { "Apply in spite of the warnings?" };
    let proposal = Proposal { observed, desired, assessment, live: observation.live, question };
    proposal.pursue(asks, &requests, consent, console)
}

#[cfg(test)]
mod tests;
