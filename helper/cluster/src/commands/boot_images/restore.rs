//! `ostler-cluster bootimages restore`: puts a boot image back by what was recorded of it.

use anyhow::Result;
use ostler_cluster_core::boot_images::history::{Entry, History, Record};
use ostler_cluster_core::boot_images::{Cluster, Machine, Platform, TemplateClone, capi, merge, noted, restored};
use ostler_cluster_core::objects::Whole;
use serde_json::Value;

use super::apply::owned;
use super::gather::{Gathered, gather};
use super::pass::{keep, kind_named, now};
use super::write::{WriteError, Writer};
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
    let Gathered { cluster, history, .. } = gather(&source, &BasisOptions::default()).await?;
    let platform = platform(&cluster)?;
    let (machine, entry) = find(&cluster, &history, options)?;
    let record = record(entry, options.change)?;
    let (clone, patch) = patch(&cluster, machine, platform, &record.before)?;
    let Some(patch) = patch else {
        output::text(&format!("The boot image of {} is {} already.\n", machine.name(), record.from))?;
        return Ok(Outcome::Done);
    };
    if cluster.enrolment(platform).mode(machine.kind) != "None" {
        output::note(&format!(
            "{} are enrolled for boot image updates: opt this one out, or its boot image is updated again",
            machine.kind.plural()
        ));
    }
    let mut noted = history.clone();
    let made = made(&cluster, machine, platform, entry, record);
    noted.add(&machine.key(), entry.machine_resource_reference.clone(), made, entry.attempt.clone());
    let writer = Writer::new(live.client());
    keep(&writer, &cluster, &mut noted).await?;
    if let Err(error) = write(&writer, machine, clone.as_ref(), &patch).await {
        noted.take_back(&machine.key(), &history);
        keep(&writer, &cluster, &mut noted).await?;
        return Err(error.into());
    }
    output::text(&format!("The boot image of {} is {} again.\n", machine.name(), record.from))?;
    Ok(Outcome::Done)
}

async fn write(
    writer: &Writer,
    machine: &Machine,
    clone: Option<&TemplateClone>,
    patch: &Value,
) -> Result<(), WriteError> {
    if let Some(clone) = clone {
        writer.template(clone).await?;
    }
    writer.machine(machine, patch).await
}

/// What is recorded of putting it back, so that this can be undone too.
fn made(cluster: &Cluster, machine: &Machine, platform: Platform, entry: &Entry, record: &Record) -> Record {
    let earlier = entry.details.iter().rev().find(|earlier| earlier.to == record.from);
    let before = match machine.kind.is_capi() {
        true => template(cluster, machine).map(|template| capi::noted(template, platform)),
        false => machine.provider_spec().map(|spec| noted(platform, spec)),
    };
    Record {
        update_time: now(),
        boot_image_version: earlier.map(|earlier| earlier.boot_image_version.clone()).unwrap_or_default(),
        from: entry.details.last().map(|last| last.to.clone()).unwrap_or_default(),
        to: record.from.clone(),
        before: before.unwrap_or_default(),
        ..Record::default()
    }
}

fn template<'a>(cluster: &'a Cluster, machine: &Machine) -> Option<&'a Whole> {
    cluster.templates.iter().find(|template| template.metadata.name == capi::reference(machine))
}

fn platform(cluster: &Cluster) -> Result<Platform> {
    let infrastructure = cluster.infrastructure.as_ref().map_err(|why| Trouble::no_answer(why.clone()))?;
    let infrastructure =
        infrastructure.as_ref().ok_or_else(|| Trouble::no_answer("Infrastructure cluster is not there"))?;
    Ok(Platform::of(infrastructure).map_err(Trouble::no_answer)?)
}

fn find<'a>(cluster: &'a Cluster, history: &'a History, options: &RestoreOptions) -> Result<(&'a Machine, &'a Entry)> {
    let kind = match &options.kind {
        None => None,
        Some(kind) => Some(kind_named(kind).ok_or_else(|| {
            Trouble::input(format!(
                "there is no kind {kind}: use MachineSet, ControlPlaneMachineSet or MachineDeployment"
            ))
        })?),
    };
    let wanted = |machine: &&Machine| {
        machine.is_looked_after()
            && machine.name() == options.name
            && kind.is_none_or(|kind| kind == machine.kind.name())
    };
    let found: Vec<&Machine> = cluster.machines.iter().filter(wanted).collect();
    let recorded: Vec<(&Machine, &Entry)> =
        found.iter().filter_map(|machine| Some((*machine, history.entries().get(&machine.key())?))).collect();
    let name = &options.name;
    match (recorded.as_slice(), found.is_empty()) {
        ([one], _) => refuse_if_elsewhere(one.0).map(|()| *one),
        ([], true) => {
            Err(Trouble::no_answer(format!("there is no machine resource called {name}: see `bootimages list`")).into())
        }
        ([], false) => Err(Trouble::no_answer(format!(
            "no change of the boot image of {name} is recorded: what others than this helper changed, only they know"
        ))
        .into()),
        _ => Err(Trouble::input(format!("several machine resources are called {name}: say which with --kind")).into()),
    }
}

fn refuse_if_elsewhere(machine: &Machine) -> Result<()> {
    if !machine.kind.is_capi() && matches!(machine.authority(), "ClusterAPI" | "Migrating") {
        let (name, authority) = (machine.name(), machine.authority());
        return Err(Trouble::no_answer(format!(
            "the Cluster API has the say over {name} (authoritativeAPI {authority}): restore its MachineSet there"
        ))
        .into());
    }
    Ok(())
}

fn record(entry: &Entry, change: Option<usize>) -> Result<&Record> {
    let at = change.unwrap_or(entry.details.len()).checked_sub(1);
    let record = at.and_then(|at| entry.details.get(at));
    let most = entry.details.len();
    Ok(record.ok_or_else(|| {
        Trouble::input(format!("there is no change of that number, but 1 to {most}: see `bootimages history`"))
    })?)
}

/// The patch, and the template to make first. No patch where the boot image is there already.
fn patch(
    cluster: &Cluster,
    machine: &Machine,
    platform: Platform,
    before: &Value,
) -> Result<(Option<TemplateClone>, Option<Value>)> {
    let missing = || {
        let name = machine.name();
        Trouble::no_answer(format!("{name} does not say what its machines look like, or its template is not there"))
    };
    if machine.kind.is_capi() {
        let name = capi::reference(machine);
        let template = template(cluster, machine);
        let made = template.and_then(|template| capi::restored(machine, template, platform, before));
        let (clone, patch) = made.ok_or_else(missing)?;
        let there = clone.create.pointer("/metadata/name").and_then(Value::as_str) == Some(name);
        return Ok((Some(clone), (!there).then_some(patch)));
    }
    let spec = machine.provider_spec().ok_or_else(missing)?;
    let leaf = restored(platform, spec, before).map_err(Trouble::no_answer)?;
    Ok((None, leaf.map(|leaf| merge::nested(machine.kind.provider_spec(), leaf))))
}
