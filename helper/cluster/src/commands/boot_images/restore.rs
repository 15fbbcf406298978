//! `ostler-cluster bootimages restore`: puts a boot image back by what was recorded of it.

use anyhow::Result;
use ostler_cluster_core::boot_images::history::{Entry, HISTORY, Record};
use ostler_cluster_core::boot_images::{
    Cluster, Enrolment, Machine, Platform, TemplateClone, capi, merge, noted, restored,
};
use serde_json::Value;

use super::apply::owned;
use super::gather::{Gathered, gather};
use super::pass::{kind_named, now};
use super::write::Writer;
use crate::cli::ClusterOptions;
use crate::cli::boot_images::{BasisOptions, RestoreOptions};
use crate::commands::{Outcome, Trouble};
use crate::output;
use crate::source::Source;

/// Puts a boot image back.
pub async fn restore(cluster: &ClusterOptions, options: &RestoreOptions) -> Result<Outcome> {
    let source = Source::open(cluster).await?;
    // Whoever else updates boot images is told beforehand: it would only be updated again.
    let live = owned(&source, options.own, true).await?;
    let Gathered { cluster, mut history, .. } = gather(&source, &BasisOptions::default()).await?;
    let platform = platform(&cluster)?;
    let (machine, entry) = {
        let (machine, entry) = find(&cluster, &history, options)?;
        (machine.clone(), entry.clone())
    };
    let record = record(&entry, options.change)?;
    let (clone, patch) = patch(&cluster, &machine, platform, &record.before)?;
    let Some(patch) = patch else {
        output::text(&format!("The boot image of {} is {} already.\n", machine.name(), record.from))?;
        return Ok(Outcome::Done);
    };
    let configuration = cluster.configuration.as_ref().ok().and_then(Option::as_ref);
    if Enrolment::of(configuration, platform).mode(machine.kind) != "None" {
        output::note("machine resources of its kind are enrolled: opt it out, or its boot image is updated again");
    }
    let made = Record {
        update_time: now(),
        from: record.to.clone(),
        to: record.from.clone(),
        before: machine.provider_spec().map(|spec| noted(platform, spec)).unwrap_or_default(),
        ..Record::default()
    };
    history.add(&machine.key(), entry.machine_resource_reference.clone(), made, entry.attempt.clone());
    let writer = Writer::new(live.client());
    writer.config_map(HISTORY, serde_json::to_value(history.data()?)?).await?;
    if let Some(clone) = &clone {
        writer.template(clone).await?;
    }
    writer.machine(&machine, &patch).await?;
    output::text(&format!("The boot image of {} is {} again.\n", machine.name(), record.from))?;
    Ok(Outcome::Done)
}

fn platform(cluster: &Cluster) -> Result<Platform> {
    let infrastructure = cluster.infrastructure.as_ref().map_err(|why| Trouble::no_answer(why.clone()))?;
    let infrastructure =
        infrastructure.as_ref().ok_or_else(|| Trouble::no_answer("Infrastructure cluster is not there"))?;
    Ok(Platform::of(infrastructure).map_err(Trouble::no_answer)?)
}

fn find<'a>(
    cluster: &'a Cluster,
    history: &'a ostler_cluster_core::boot_images::history::History,
    options: &RestoreOptions,
) -> Result<(&'a Machine, &'a Entry)> {
    let kind = match &options.kind {
        None => None,
        Some(kind) => Some(kind_named(kind).ok_or_else(|| Trouble::input(format!("there is no kind {kind}")))?),
    };
    let wanted =
        |machine: &&Machine| machine.name() == options.name && kind.is_none_or(|kind| kind == machine.kind.name());
    let recorded: Vec<(&Machine, &Entry)> = cluster
        .machines
        .iter()
        .filter(wanted)
        .filter_map(|machine| Some((machine, history.entries().get(&machine.key())?)))
        .collect();
    match recorded.as_slice() {
        [one] => Ok(*one),
        [] => {
            Err(Trouble::no_answer(format!("nothing is recorded of a machine resource called {}", options.name)).into())
        }
        _ => Err(Trouble::input(format!("several machine resources are called {}: say --kind", options.name)).into()),
    }
}

fn record(entry: &Entry, change: Option<usize>) -> Result<&Record> {
    let at = change.unwrap_or(entry.details.len()).checked_sub(1);
    let record = at.and_then(|at| entry.details.get(at));
    Ok(record.ok_or_else(|| Trouble::input("there is no change of that number: see `bootimages history`"))?)
}

/// The patch, and the template to make first. No patch where the boot image is there already.
fn patch(
    cluster: &Cluster,
    machine: &Machine,
    platform: Platform,
    before: &Value,
) -> Result<(Option<TemplateClone>, Option<Value>)> {
    let missing = || Trouble::no_answer("it does not say what its machines look like");
    if machine.kind.is_capi() {
        let name = capi::reference(machine);
        let template = cluster.templates.iter().find(|template| template.metadata.name == name);
        let made = template.and_then(|template| capi::restored(machine, template, platform, before));
        let (clone, patch) = made.ok_or_else(missing)?;
        let there = clone.create.pointer("/metadata/name").and_then(Value::as_str) == Some(name);
        return Ok((Some(clone), (!there).then_some(patch)));
    }
    let spec = machine.provider_spec().ok_or_else(missing)?;
    let leaf = restored(platform, spec, before).map_err(Trouble::no_answer)?;
    Ok((None, leaf.map(|leaf| merge::nested(machine.kind.provider_spec(), leaf))))
}
