//! `ostler-cluster rollout`: where an update of the nodes stands, asked and shown. Changes nothing.

mod gather;
#[cfg(test)]
mod tests;
mod view;

use std::io::IsTerminal;
use std::time::Duration;

use anyhow::Result;
use jiff::Timestamp;
use ostler_cluster_core::rollout::{Fleet, Rates, Rollout, assess, estimate};
use tokio::time::sleep;

use super::{Outcome, Trouble};
use crate::cli::{ClusterOptions, EstimateOptions, ExplainOptions, Format, RolloutCommand, StatusOptions, ViewOptions};
use crate::output;
use crate::source::Source;

/// Moves to the top of the terminal and wipes it.
const WIPE: &str = "\u{1b}[H\u{1b}[2J";

/// All of it.
pub async fn rollout(cluster: &ClusterOptions, command: RolloutCommand) -> Result<Outcome> {
    let view = *options(&command);
    let mut source = Source::open_to_read(cluster).await?;
    let mut shown = None;
    let wipes = view.watch && view.output == Format::Text && std::io::stdout().is_terminal();
    loop {
        match gather::fleet(&source).await {
            Ok((fleet, mut notes)) => {
                notes.extend(source.notes());
                let mut answer = answer(&command, &fleet, Timestamp::now())?;
                if wipes {
                    // Beside the answer they would be wiped with it.
                    answer.push_str(&view::notes(&notes));
                } else if shown.is_none() {
                    notes.iter().for_each(|note| output::note(note));
                }
                if shown.as_ref() != Some(&answer) {
                    output::text(&format!("{}{answer}", if wipes { WIPE } else { "" }))?;
                    shown = Some(answer);
                }
            }
            Err(error) if view.watch && shown.is_some() => output::error(&error),
            Err(error) => return Err(error),
        }
        if !view.watch {
            return Ok(Outcome::Done);
        }
        sleep(Duration::from_secs(view.interval)).await;
        if cluster.from_dir.is_some() {
            match Source::open_to_read(cluster).await {
                Ok(opened) => source = opened,
                Err(error) => output::error(&error),
            }
        }
    }
}

const fn options(command: &RolloutCommand) -> &ViewOptions {
    match command {
        RolloutCommand::Status(options) => &options.view,
        RolloutCommand::Next(options) => options,
        RolloutCommand::Explain(options) => &options.view,
        RolloutCommand::Estimate(options) => &options.view,
    }
}

/// The answer as it is printed.
fn answer(command: &RolloutCommand, fleet: &Fleet, now: Timestamp) -> Result<String> {
    let rollout = assess(fleet);
    match command {
        RolloutCommand::Status(options) => status(options, rollout, now),
        RolloutCommand::Next(options) => match options.output {
            Format::Json => view::next_document(&rollout),
            Format::Text => Ok(view::next(&rollout)),
        },
        RolloutCommand::Explain(options) => explained(options, &rollout, fleet),
        RolloutCommand::Estimate(options) => estimated(options, &rollout, fleet, now),
    }
}

fn explained(options: &ExplainOptions, rollout: &Rollout, fleet: &Fleet) -> Result<String> {
    let name = &options.node;
    let Some((pool, node)) = rollout.node(name) else {
        let known = fleet.nodes.iter().any(|node| &node.metadata.name == name);
        let otherwise = if known { "it runs Windows" } else { "there is no such node" };
        let stray = rollout.strays.get(name).map_or(otherwise, String::as_str);
        return Err(Trouble::no_answer(format!("nothing updates node {name}: {stray}")).into());
    };
    match options.view.output {
        Format::Json => view::explain_document(pool, node, fleet),
        Format::Text => Ok(view::explain(pool, node, fleet)),
    }
}

fn status(options: &StatusOptions, mut rollout: Rollout, now: Timestamp) -> Result<String> {
    if let Some(missing) = options.pools.iter().find(|name| rollout.pools.iter().all(|pool| &pool.name != *name)) {
        let names: Vec<&str> = rollout.pools.iter().map(|pool| pool.name.as_str()).collect();
        return Err(Trouble::no_answer(format!("there is no pool {missing}; there are: {}", names.join(", "))).into());
    }
    rollout.pools.retain(|pool| options.pools.is_empty() || options.pools.contains(&pool.name));
    match options.view.output {
        Format::Json => view::document(&rollout),
        Format::Text => Ok(view::status(&rollout, options.all, now)),
    }
}

fn estimated(options: &EstimateOptions, rollout: &Rollout, fleet: &Fleet, now: Timestamp) -> Result<String> {
    let rates = Rates {
        node: options.minutes_per_node.map(|minutes| i64::from(minutes) * 60),
        payload: i64::from(options.payload_minutes) * 60,
    };
    let estimate = estimate(rollout, fleet, rates, now);
    match options.view.output {
        Format::Json => view::document(&estimate),
        Format::Text => Ok(view::estimate(&estimate)),
    }
}
