//! How decisions about boot images look.

use anstyle::Style;
use ostler_cluster_core::boot_images::history::Entry;
use ostler_cluster_core::boot_images::{Cluster, DEFAULT_STREAM, Decision, Gate, Item, Kind, Platform, Shipment, gate};
use ostler_cluster_core::objects::condition;
use ostler_cluster_core::stream_metadata::Architecture;
use serde::Serialize;

use crate::output::{BAD, CAUTION, FAINT, GOOD, HEADING, Table, printable, styled};

const fn style(decision: Decision) -> Style {
    match decision {
        Decision::Patch | Decision::Skipped => CAUTION,
        Decision::Current => GOOD,
        Decision::Ignored => FAINT,
        Decision::Error => BAD,
    }
}

/// A line for each machine resource.
pub fn plan(items: &[Item]) -> String {
    if items.is_empty() {
        return "There are no machine resources.\n".to_owned();
    }
    let mut table = Table::new(&["NAME", "KIND", "DECISION", "REASON"]);
    for item in items {
        table.row(&[item.name.as_str(), item.kind, item.decision.word(), &item.reason]);
        table.colour(2, style(item.decision));
    }
    table.show()
}

/// What there is, for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Listing<'a> {
    platform: Option<&'static str>,
    release_version: Option<&'a str>,
    stamp: Option<&'a str>,
    waiting: Option<String>,
    ships: Vec<Shipment>,
    machine_resources: &'a [Item],
}

impl<'a> Listing<'a> {
    /// Of a cluster.
    pub fn of(cluster: &'a Cluster, items: &'a [Item]) -> Self {
        let shipped = cluster.shipped.as_ref().ok().and_then(Option::as_ref);
        let waiting = match gate(cluster) {
            Gate::Open => None,
            Gate::Waiting(why) => Some(why),
        };
        Self {
            platform: cluster.platform().map(Platform::title),
            release_version: shipped.map(|shipped| shipped.release_version.as_str()),
            stamp: shipped.and_then(|shipped| shipped.stamp.as_deref()),
            waiting,
            ships: cluster.ships(),
            machine_resources: items,
        }
    }
}

/// What there is, for people.
pub fn list(cluster: &Cluster, items: &[Item]) -> String {
    let listing = Listing::of(cluster, items);
    let mut text = String::new();
    let mut say = |name: &str, value: Option<&str>| {
        let value = value.map_or_else(|| "not known".to_owned(), printable);
        text.push_str(&format!("{} {value}\n", styled(HEADING, name)));
    };
    say("Platform:", listing.platform);
    say("Boot images of release:", listing.release_version);
    if let Some(why) = &listing.waiting {
        say("Nothing is changed now:", Some(why));
    }
    if let Some(platform) = cluster.platform() {
        let enrolment = cluster.enrolment(platform);
        for kind in [Kind::MachineSet, Kind::ControlPlaneMachineSet] {
            say(&format!("Enrolled {}:", kind.plural()), Some(enrolment.mode(kind)));
        }
    }
    let conditions = cluster.choice().map(|object| object.status.conditions.as_slice()).unwrap_or_default();
    for type_ in ["BootImageUpdateProgressing", "BootImageUpdateDegraded"] {
        if let Some(condition) = condition(conditions, type_) {
            say(&format!("{type_}:"), Some(&format!("{} {}", condition.status, condition.message)));
        }
    }
    if !listing.ships.is_empty() {
        text.push('\n');
        text.push_str(&ships(&listing.ships));
    }
    text.push('\n');
    text.push_str(&resources(items));
    text
}

/// What the release ships for the platform.
fn ships(ships: &[Shipment]) -> String {
    let mut table = Table::new(&["STREAM", "ARCH", "VERSION", "IMAGE"]);
    for Shipment { stream, architecture, release, image } in ships {
        table.row(&[stream.as_str(), architecture.rpm(), release, &or_dash(image)]);
    }
    table.show()
}

/// What each machine resource has.
fn resources(items: &[Item]) -> String {
    if items.is_empty() {
        return "There are no machine resources.\n".to_owned();
    }
    let mut table = Table::new(&["NAME", "KIND", "ARCH", "DECISION", "BOOT IMAGE", "SHOULD BE"]);
    for item in items {
        let architecture = item.architecture.map_or("-", Architecture::rpm);
        let row = [item.name.as_str(), item.kind, architecture, item.decision.word()];
        table.row(&[&row[..], &[&or_dash(&item.current), &or_dash(&item.target)]].concat());
        table.colour(3, style(item.decision));
    }
    table.show()
}

fn or_dash(text: &str) -> String {
    if text.is_empty() { "-".to_owned() } else { text.to_owned() }
}

/// All there is to say about machine resources.
pub fn explain(cluster: &Cluster, items: &[&Item]) -> String {
    let mut text = String::new();
    for item in items {
        let line = |name: &str, value: &str| format!("  {} {}\n", styled(HEADING, name), printable(value));
        text.push_str(&format!("{} ({}, {})\n", styled(HEADING, &printable(&item.name)), item.kind, item.api_group));
        text.push_str(&line("Decision:", item.decision.word()));
        text.push_str(&line("Because:", &item.reason));
        if let Some(architecture) = item.architecture {
            text.push_str(&line("Architecture:", architecture.rpm()));
        }
        for (name, value) in [("Boot image:", &item.current), ("Should be:", &item.target), ("Version:", &item.release)]
        {
            if !value.is_empty() {
                text.push_str(&line(name, value));
            }
        }
        if let Some(template) = &item.template {
            let name = template.create.pointer("/metadata/name").and_then(serde_json::Value::as_str);
            text.push_str(&line("New template:", name.unwrap_or_default()));
            text.push_str(&line("Instead of:", &template.replaces));
        }
        if let Some(patch) = &item.patch {
            text.push_str(&line("Patch:", &patch.to_string()));
        }
        for (at, step) in item.steps.iter().enumerate() {
            text.push_str(&line(&format!("{}.", at + 1), step));
        }
    }
    let shipped = cluster.shipped.as_ref().ok().and_then(Option::as_ref);
    if let Some(shipped) = shipped {
        let stream = shipped.stream(DEFAULT_STREAM).ok().and_then(|stream| stream.stream.clone()).unwrap_or_default();
        let about = format!("Boot images are those of release {} (stream {stream}).", shipped.release_version);
        text.push_str(&format!("{}\n", printable(&about)));
        if let Some(stamp) = shipped.stamp.as_deref().filter(|stamp| *stamp != shipped.release_version) {
            let about = format!("The machine-config operator has stamped them for {stamp}; nothing follows from that.");
            text.push_str(&format!("{}\n", printable(&about)));
        }
    }
    text
}

/// What was done.
pub fn history(entries: &[&Entry]) -> String {
    let mut table = Table::new(&["NAME", "KIND", "CHANGE", "TIME", "VERSION", "FROM", "TO"]);
    for entry in entries {
        let reference = &entry.machine_resource_reference;
        for (at, record) in entry.details.iter().enumerate() {
            table.row(&[
                reference.name.as_str(),
                &reference.resource,
                &(at + 1).to_string(),
                &record.update_time,
                &or_dash(&record.boot_image_version),
                &or_dash(&record.from),
                &or_dash(&record.to),
            ]);
        }
    }
    table.show()
}
