//! `ostler-cluster bootimages`: what the core decides about boot images, asked, shown and, on request, done.

mod apply;
mod gather;
mod pass;
mod restore;
mod run;
mod show;
mod skew;
mod standing;
mod write;

use anyhow::Result;
use ostler_cluster_core::boot_images::{self, Cluster, Gate, Item};

use super::{Outcome, Trouble};
use crate::cli::boot_images::{BootImagesCommand, ExplainOptions, HistoryOptions, PlanOptions};
use crate::cli::{ClusterOptions, Format};
use crate::output;
use crate::source::Source;
use gather::{Gathered, gather};

/// All of it.
pub async fn boot_images(cluster: &ClusterOptions, command: BootImagesCommand) -> Result<Outcome> {
    match command {
        BootImagesCommand::List(options) => list(cluster, &options).await,
        BootImagesCommand::Plan(options) => plan(cluster, &options).await,
        BootImagesCommand::Explain(options) => explain(cluster, &options).await,
        BootImagesCommand::History(options) => history(cluster, &options).await,
        BootImagesCommand::Skew(options) => skew::skew(cluster, &options).await,
        BootImagesCommand::Apply(options) => apply::apply(cluster, &options).await,
        BootImagesCommand::Run(options) => run::run(cluster, &options).await,
        BootImagesCommand::Restore(options) => restore::restore(cluster, &options).await,
    }
}

async fn planned(cluster: &ClusterOptions, options: &PlanOptions) -> Result<(Cluster, Vec<Item>)> {
    let source = Source::open(cluster).await?;
    let Gathered { cluster, notes, .. } = gather(&source, &options.basis).await?;
    notes.iter().for_each(|note| output::note(note));
    let gate = if options.ungated { Gate::Open } else { boot_images::gate(&cluster) };
    let items = boot_images::plan(&cluster, &gate);
    Ok((cluster, items))
}

async fn plan(cluster: &ClusterOptions, options: &PlanOptions) -> Result<Outcome> {
    let (_, items) = planned(cluster, options).await?;
    match options.output {
        Format::Json => output::json(&items)?,
        Format::Text => output::text(&show::plan(&items))?,
    }
    Ok(Outcome::Done)
}

async fn list(cluster: &ClusterOptions, options: &PlanOptions) -> Result<Outcome> {
    let (cluster, items) = planned(cluster, options).await?;
    match options.output {
        Format::Json => output::json(&show::Listing::of(&cluster, &items))?,
        Format::Text => output::text(&show::list(&cluster, &items))?,
    }
    Ok(Outcome::Done)
}

async fn explain(cluster: &ClusterOptions, options: &ExplainOptions) -> Result<Outcome> {
    let (cluster, items) = planned(cluster, &options.plan).await?;
    let named: Vec<&Item> = items.iter().filter(|item| item.name == options.name).collect();
    if named.is_empty() {
        let name = &options.name;
        return Err(
            Trouble::no_answer(format!("there is no machine resource called {name}: see `bootimages list`")).into()
        );
    }
    match options.plan.output {
        Format::Json => output::json(&named)?,
        Format::Text => output::text(&show::explain(&cluster, &named))?,
    }
    Ok(Outcome::Done)
}

async fn history(cluster: &ClusterOptions, options: &HistoryOptions) -> Result<Outcome> {
    let source = Source::open(cluster).await?;
    let history = gather::history(&source).await?;
    source.notes().iter().for_each(|note| output::note(note));
    let wanted = |name: &str| options.name.as_deref().is_none_or(|wanted| wanted == name);
    let entries: Vec<_> =
        history.entries().values().filter(|entry| wanted(&entry.machine_resource_reference.name)).collect();
    if entries.is_empty() {
        let whose = options.name.as_ref().map(|name| format!(" of {name}")).unwrap_or_default();
        return Err(Trouble::no_answer(format!(
            "no change of a boot image{whose} is recorded: what others than this helper change, it does not record"
        ))
        .into());
    }
    match options.output {
        Format::Json => output::json(&entries)?,
        Format::Text => output::text(&show::history(&entries))?,
    }
    Ok(Outcome::Done)
}
