//! `ostler-cluster streams plan`: what a stream means for a pool.

use anyhow::Result;

use super::knowledge::Knowledge;
use super::verdict::Verdict;
use crate::cli::{ClusterOptions, Format, PlanOptions};
use crate::commands::Outcome;
use crate::source::Source;
use crate::{input, output};

/// Says it.
pub async fn plan(cluster: &ClusterOptions, options: &PlanOptions) -> Result<Outcome> {
    let given = options.image_labels.as_deref().map(input::labels).transpose()?.unwrap_or_default();
    let source = Source::open(cluster).await?;
    let knowledge = Knowledge::read(&source, &options.policy, true).await?;
    let pool = knowledge.pool(&options.pool)?;
    let verdict = Verdict::new(&knowledge, pool, options.stream.as_deref(), |image| given.get(image).cloned());
    match options.output {
        Format::Json => output::json(&verdict.document(None))?,
        Format::Text => output::text(&verdict.text())?,
    }
    Ok(Outcome::Done)
}
