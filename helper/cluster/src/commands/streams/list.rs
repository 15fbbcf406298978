//! `ostler-cluster streams list`: the streams, and the pools with theirs.

use anyhow::Result;
use ostler_cluster_core::objects::{Condition, StreamSet};
use ostler_cluster_core::streams::{self, Choice, Effective};
use serde::Serialize;

use super::knowledge::Knowledge;
use crate::cli::{ClusterOptions, Format, ListOptions};
use crate::commands::Outcome;
use crate::output::{self, CAUTION, GOOD, Table};
use crate::source::Source;

/// What `streams list -o json` prints. Keys are a contract; more may be added.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    available_streams: &'a [StreamSet],
    default_stream: &'a str,
    pools: Vec<Pool>,
    conditions: Vec<Condition>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Pool {
    name: String,
    stream: String,
    choice: Choice,
    available: bool,
    reported: Option<String>,
    conditions: Vec<Condition>,
}

/// Lists them.
pub async fn list(cluster: &ClusterOptions, options: &ListOptions) -> Result<Outcome> {
    let source = Source::open(cluster).await?;
    let knowledge = Knowledge::read(&source, &options.policy, false).await?;
    let pools = pools(&knowledge);
    let followed: Vec<(String, String)> = pools.iter().map(|pool| (pool.name.clone(), pool.stream.clone())).collect();
    let upgrade =
        knowledge.release.as_ref().map(|release| streams::upgrade_condition(&knowledge.policy, &followed, release));
    let conditions = Vec::from_iter(upgrade);
    if options.output == Format::Json {
        output::json(&Document {
            available_streams: &knowledge.offered.available_streams,
            default_stream: &knowledge.offered.default_stream,
            pools,
            conditions,
        })?;
        return Ok(Outcome::Done);
    }
    let mut text = format!("{}\n{}", of_streams(&knowledge, &pools), of_pools(&pools));
    for condition in conditions.iter().filter(|condition| !condition.is_true()) {
        text.push_str(&format!("\n{}\n", output::styled(CAUTION, &output::printable(&condition.message))));
    }
    output::text(&text)?;
    Ok(Outcome::Done)
}

fn pools(knowledge: &Knowledge) -> Vec<Pool> {
    let pool = |pool: &ostler_cluster_core::objects::MachineConfigPool| {
        let Effective { stream, choice } =
            streams::effective(pool, &knowledge.pools, &knowledge.offered.default_stream);
        let condition =
            knowledge.release.as_ref().map(|release| streams::pool_condition(&knowledge.policy, &stream, release));
        Pool {
            name: pool.metadata.name.clone(),
            available: knowledge.offered.set(&stream).is_some(),
            stream,
            choice,
            reported: pool.status.os_image_stream.as_ref().map(|stream| stream.name.clone()),
            conditions: condition.into_iter().filter(Condition::is_true).collect(),
        }
    };
    knowledge.pools.iter().map(pool).collect()
}

fn of_streams(knowledge: &Knowledge, pools: &[Pool]) -> String {
    let mut table = Table::new(&["STREAM", "DEFAULT", "POOLS", "OS IMAGE"]);
    for set in &knowledge.offered.available_streams {
        let following: Vec<&str> =
            pools.iter().filter(|pool| pool.stream == set.name).map(|pool| pool.name.as_str()).collect();
        let default = if set.name == knowledge.offered.default_stream { "yes" } else { "" };
        table.row(&[set.name.as_str(), default, &following.join(","), &set.os_image]);
    }
    table.show()
}

fn of_pools(pools: &[Pool]) -> String {
    let mut table = Table::new(&["POOL", "STREAM", "CHOICE", "REPORTS", "STATE"]);
    for pool in pools {
        let reported = pool.reported.as_deref().unwrap_or("-");
        let (state, style) = match pool {
            pool if !pool.available => ("the cluster does not offer this stream", output::BAD),
            pool if !pool.conditions.is_empty() => ("deprecated", CAUTION),
            pool if pool.reported.as_deref() == Some(&pool.stream) => ("there", GOOD),
            _ => ("on its way, or its image is set by hand", CAUTION),
        };
        table.row(&[pool.name.as_str(), &pool.stream, &pool.choice.to_string(), reported, state]);
        table.colour(4, style);
    }
    table.show()
}
