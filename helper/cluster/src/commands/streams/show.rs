//! `ostler-cluster streams show`: the object as it is, and who writes it.

use std::collections::BTreeMap;

use anyhow::Result;
use ostler_cluster_core::objects::{OSImageStream, OSImageStreamStatus, StreamSet};
use ostler_cluster_core::streams::{self, CONTROLLER_HASH, Ownership, RELEASE_IMAGE};
use serde::Serialize;

use super::sets;
use crate::cli::{ClusterOptions, Format, ShowOptions};
use crate::commands::{Outcome, Trouble};
use crate::output::{self, HEADING};
use crate::own::STATUS_MANAGER;
use crate::source::Source;

/// What `streams show -o json` prints. Keys are a contract; more may be added.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    wanted_default: &'a str,
    default_stream: &'a str,
    available_streams: Vec<&'a StreamSet>,
    annotations: BTreeMap<&'a str, &'a str>,
    writer: &'a str,
}

/// Shows it.
pub async fn show(cluster: &ClusterOptions, options: &ShowOptions) -> Result<Outcome> {
    let source = Source::open(cluster).await?;
    let object = match source.get::<OSImageStream>(None, OSImageStream::NAME).await {
        Err(error) if error.is_unknown_kind() => None,
        read => read?,
    };
    source.notes().iter().for_each(|note| output::note(note));
    let object = object
        .ok_or_else(|| Trouble::no_answer("there is no OSImageStream; \"streams discover\" tells what it would be"))?;
    let empty = OSImageStreamStatus::default();
    let status = object.status.as_ref().unwrap_or(&empty);
    let wanted = |set: &&StreamSet| options.stream.as_ref().is_none_or(|name| *name == set.name);
    let sets: Vec<&StreamSet> = status.available_streams.iter().filter(wanted).collect();
    if let (Some(name), true) = (&options.stream, sets.is_empty()) {
        let names = status.names().join(", ");
        return Err(Trouble::no_answer(format!("the cluster does not offer stream {name}; it has: {names}")).into());
    }
    let ours = |key: &&str| object.metadata.annotations.contains_key(*key);
    let annotation = |key: &'static str| (key, object.metadata.annotations.get(key).map_or("", String::as_str));
    let writer = match streams::ownership(Some(&object.metadata), STATUS_MANAGER) {
        Ownership::Free if object.status.is_some() => "not known: the object does not say".to_owned(),
        Ownership::Free => "nobody".to_owned(),
        Ownership::Ours => "ostler-cluster".to_owned(),
        Ownership::Foreign { evidence } => format!("somebody else: {evidence}"),
    };
    let document = Document {
        wanted_default: &object.spec.default_stream,
        default_stream: &status.default_stream,
        available_streams: sets,
        annotations: [RELEASE_IMAGE, CONTROLLER_HASH].into_iter().filter(ours).map(annotation).collect(),
        writer: &writer,
    };
    match options.output {
        Format::Json => output::json(&document)?,
        Format::Text => {
            output::text(&format!("{}\n{}", text(&document), sets::text(status, options.stream.as_deref())))?;
        }
    }
    Ok(Outcome::Done)
}

fn text(document: &Document<'_>) -> String {
    let line =
        |heading: &str, value: &str| format!("{} {}\n", output::styled(HEADING, heading), output::printable(value));
    let mut text = line("default:", document.default_stream);
    if document.wanted_default != document.default_stream {
        text.push_str(&line("asked for:", document.wanted_default));
    }
    text.push_str(&line("written by:", document.writer));
    for (key, value) in &document.annotations {
        text.push_str(&line(&format!("{key}:"), value));
    }
    text
}
