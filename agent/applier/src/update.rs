//! An update in its three requests: prepared, staged and applied.
//!
//! It is planned once, from what this process observes; staging and applying ask whether that still holds.

use std::sync::Arc;

use ostler_core::document;
use ostler_core::machine_config::{ConfigError, MachineConfig};
use ostler_core::protocol::{Destination, Prepare, Prepared, Reply, Rules, Sealed, Ticket};
use ostler_core::recorded::Recorded;
use ostler_core::refusal::Refusal;
use ostler_core::warning::{Provenance, Warning};
use ostler_host::disk::RootDisk;
use ostler_host::machine::Machine as World;
use ostler_host::os::IsWanted;
use ostler_host::transaction::{self, Listener, Proposal, Trouble};

use crate::machine::Refused;
use crate::tickets::{Kept, Tickets};

/// Plans and checks an update, and keeps it.
pub(crate) fn prepare(world: &World<'_, RootDisk>, prepare: Prepare, tickets: &Tickets) -> Result<Reply, Refused> {
    let planned = match prepare.to {
        Destination::Config(config) => plan(world, config, &prepare.rules),
        // Both the command and an agent may have been asked to make it.
        Destination::Previous if world.is_rolled_back()? => return Ok(Reply::Nothing),
        Destination::Previous => {
            transaction::propose_rollback(world, &prepare.rules).map(|proposal| proposal.map(|it| (it, Vec::new())))
        }
    };
    let (proposal, warnings) = match planned {
        Ok(Some(planned)) => planned,
        Ok(None) => return Ok(Reply::Nothing),
        Err(refused @ Trouble::Refused(_)) => return Ok(Reply::Unreconcilable(Refused::from(refused).0)),
        Err(trouble) => return Err(trouble.into()),
    };
    let forecast = transaction::check(world, &proposal)?.forecast().clone();
    let plan = proposal.plan();
    let prepared = Prepared {
        // Issued last: what cannot be applied is not kept.
        ticket: Ticket(String::new()),
        from: proposal.from().to_owned(),
        actions: plan.actions.list(),
        drain: plan.drain.is_needed(),
        os: plan.parts.os(),
        steps: plan.steps.clone(),
        warnings,
        forecast,
        base_known: proposal.knows_base(),
    };
    let ticket = tickets.issue(proposal);
    Ok(Reply::Prepared(Box::new(Prepared { ticket, ..prepared })))
}

fn plan(
    world: &World<'_, RootDisk>,
    config: Sealed,
    rules: &Rules,
) -> Result<Option<(Proposal, Vec<String>)>, Trouble> {
    let text = config.into_text();
    let document = document::parse(text.expose()).map_err(ConfigError::Unreadable)?;
    let provenance = Provenance::of(&document);
    let config = match MachineConfig::from_document(document) {
        Err(ConfigError::Ignition { name, source }) => return Err(Refusal::UnreadableTarget { name, source }.into()),
        config => config?,
    };
    let target = Recorded::new(config, text);
    let Some(proposal) = transaction::propose(world, target.clone(), rules)? else { return Ok(None) };
    let warnings = provenance.warnings(&target.config, Some(proposal.plan()));
    Ok(Some((proposal, warnings.iter().map(Warning::message).collect())))
}

/// Stages what was prepared.
pub(crate) fn stage(
    world: &World<'_, RootDisk>,
    tickets: &Tickets,
    ticket: &Ticket,
    (listener, wanted): (Listener<'_>, IsWanted<'_>),
) -> Result<Reply, Trouble> {
    let kept = tickets.find(ticket).ok_or(Trouble::PlanChanged)?;
    transaction::still_holds(world, &kept.proposal)?;
    Ok(if world.stage_ahead(&kept.proposal, listener, wanted)? { Reply::Staged } else { Reply::Nothing })
}

/// Applies what was prepared.
pub(crate) fn apply(
    world: &World<'_, RootDisk>,
    kept: Option<Arc<Kept>>,
    listener: Listener<'_>,
) -> Result<Reply, Trouble> {
    let kept = kept.ok_or(Trouble::PlanChanged)?;
    match transaction::still_holds(world, &kept.proposal) {
        // Whoever else was asked to roll back was faster.
        Err(Trouble::PlanChanged) if kept.proposal.is_rollback() && world.is_rolled_back()? => Ok(Reply::Nothing),
        held => held.and_then(|()| transaction::run(world, &kept.proposal, listener)).map(Reply::Finished),
    }
}
