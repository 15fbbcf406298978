//! `ostler-cluster streams plan`: what a stream means for a pool.

use anyhow::Result;
use ostler_cluster_core::objects::Condition;
use ostler_cluster_core::streams::{self, Assessment, Choice, Obstacle};
use serde::Serialize;

use super::knowledge::Knowledge;
use crate::cli::{ClusterOptions, Format, PlanOptions};
use crate::commands::Outcome;
use crate::input;
use crate::output::{self, BAD, CAUTION, FAINT, GOOD, HEADING};
use crate::source::Source;

/// What `streams plan -o json` prints. Keys are a contract; more may be added.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    pool: &'a str,
    stream: &'a str,
    choice: Choice,
    blocked: bool,
    os_image: Option<&'a str>,
    extensions_image: Option<&'a str>,
    overridden_by: Option<&'a str>,
    last_known_stream: Option<&'a str>,
    last_known_from: Option<&'static str>,
    expected_status: Option<&'a str>,
    reported_status: Option<&'a str>,
    obstacles: &'a [Obstacle],
    conditions: Vec<Condition>,
}

/// Says it.
pub async fn plan(cluster: &ClusterOptions, options: &PlanOptions) -> Result<Outcome> {
    let source = Source::open(cluster).await?;
    let knowledge = Knowledge::read(&source, &options.policy, true).await?;
    let pool = knowledge.pool(&options.pool)?;
    let given = options.image_labels.as_deref().map(input::labels).transpose()?.unwrap_or_default();
    let first = streams::assess(&knowledge.cluster(), pool, options.stream.as_deref(), None);
    let image = first.injected.as_ref().map(|injected| injected.os_image.clone());
    let labels = image.and_then(|image| given.get(&image));
    let assessment = streams::assess(&knowledge.cluster(), pool, options.stream.as_deref(), labels);
    let stream = &assessment.effective.stream;
    let condition =
        knowledge.release.as_ref().map(|release| streams::pool_condition(&knowledge.policy, stream, release));
    let injected = assessment.injected.as_ref();
    let document = Document {
        pool: &options.pool,
        stream,
        choice: assessment.effective.choice,
        blocked: assessment.obstacles.iter().any(|obstacle| obstacle.blocks),
        os_image: injected.map(|injected| injected.os_image.as_str()),
        extensions_image: injected.map(|injected| injected.extensions_image.as_str()),
        overridden_by: injected.and_then(|injected| injected.overridden_by.as_deref()),
        last_known_stream: assessment.last_known.as_ref().map(|evidence| evidence.stream.as_str()),
        last_known_from: assessment.last_known.as_ref().map(|evidence| evidence.found_in),
        expected_status: assessment.reported.as_deref(),
        reported_status: pool.status.os_image_stream.as_ref().map(|stream| stream.name.as_str()),
        obstacles: &assessment.obstacles,
        conditions: Vec::from_iter(condition),
    };
    match options.output {
        Format::Json => output::json(&document)?,
        Format::Text => output::text(&text(&document, &assessment))?,
    }
    Ok(Outcome::Done)
}

fn text(document: &Document<'_>, assessment: &Assessment) -> String {
    let mut text = String::new();
    let mut line = |heading: &str, value: &str| {
        text.push_str(&format!("{} {}\n", output::styled(HEADING, heading), output::printable(value)));
    };
    line("pool:", document.pool);
    line("stream:", &format!("{} ({})", document.stream, document.choice));
    line("OS image:", document.os_image.unwrap_or("none"));
    line("extensions image:", document.extensions_image.unwrap_or("none"));
    match &assessment.last_known {
        Some(evidence) => line("was in:", &format!("{} (by {})", evidence.stream, evidence.found_in)),
        None => line("was in:", "not known"),
    }
    text.push('\n');
    text.push_str(&obstacles(document.obstacles));
    text
}

/// What stands in the way, one line each, or that nothing does.
pub fn obstacles(obstacles: &[Obstacle]) -> String {
    if obstacles.is_empty() {
        return format!("{}\n", output::styled(GOOD, "nothing stands in the way"));
    }
    let line = |obstacle: &Obstacle| {
        let (style, word) = if obstacle.blocks { (BAD, "blocked") } else { (CAUTION, "note") };
        let reason = output::styled(FAINT, obstacle.reason);
        format!("{} {} {reason}\n", output::styled(style, &format!("{word}:")), output::printable(&obstacle.message))
    };
    obstacles.iter().map(line).collect()
}
