//! How a rollout looks.

use anyhow::{Context, Result};
use jiff::Timestamp;
use ostler_cluster_core::rollout::{
    Basis, Estimate, Fleet, NodeStatus, Phase, PoolStatus, Rollout, explain as explain_node,
};
use serde::Serialize;
use serde_json::json;

use crate::output::{BAD, CAUTION, FAINT, GOOD, HEADING, Table, printable, styled};

/// Most nodes that are told to be in no pool.
const MOST_STRAYS: usize = 10;
/// Most waits of one node in a table; `explain` shows them all.
const MOST_WAITS: usize = 2;

/// A JSON document as text.
pub fn document<T: Serialize>(document: &T) -> Result<String> {
    let text = serde_json::to_string_pretty(document).context("cannot write the answer as JSON")?;
    Ok(format!("{text}\n"))
}

/// Pools, then the nodes that somebody may have to look at; or all nodes.
pub fn status(rollout: &Rollout, all: bool, now: Timestamp) -> String {
    let mut text = pools(rollout);
    let mut table = Table::new(&["NODE", "POOL", "ZONE", "PHASE", "SINCE", "WAITS FOR"]);
    for pool in &rollout.pools {
        for node in pool.nodes.iter().filter(|node| all || is_telling(pool, node)) {
            row(&mut table, pool, node, now);
        }
    }
    let nodes = table.show();
    if !nodes.is_empty() {
        text.push('\n');
        text.push_str(&nodes);
    }
    text.push_str(&strays(rollout));
    text
}

fn pools(rollout: &Rollout) -> String {
    let mut table = Table::new(&["POOL", "TARGET", "UPDATED", "AWAY", "NEXT", "WAITS FOR"]);
    for pool in &rollout.pools {
        let whole = pool.updated == pool.nodes.len();
        let waits = if whole && pool.waits.is_empty() { String::new() } else { pool.waits.join("; ") };
        table.row(&[
            pool.name.clone(),
            pool.target.clone(),
            format!("{}/{}", pool.updated, pool.nodes.len()),
            format!("{}/{}", pool.capacity.unavailable, pool.max_unavailable),
            pool.next.first().cloned().unwrap_or_else(|| "-".to_owned()),
            waits,
        ]);
        table.colour(2, if whole { GOOD } else { CAUTION });
        if pool.capacity.failing > 0 || pool.nodes.iter().any(|node| node.phase == Phase::Failed) {
            table.colour(0, BAD);
        }
    }
    table.show()
}

fn is_telling(pool: &PoolStatus, node: &NodeStatus) -> bool {
    let waits = matches!(node.phase, Phase::Waiting | Phase::Updated);
    !waits || node.unavailable.is_some() || pool.next.contains(&node.name)
}

fn row(table: &mut Table, pool: &PoolStatus, node: &NodeStatus, now: Timestamp) {
    let since = node.since.map(|since| ago(now.as_second() - since.as_second())).unwrap_or_default();
    let mut waits: Vec<&str> = node.waits.iter().take(MOST_WAITS).map(String::as_str).collect();
    let more = format!("and {} more, see rollout explain", node.waits.len().saturating_sub(MOST_WAITS));
    if node.waits.len() > MOST_WAITS {
        waits.push(&more);
    }
    let zone = node.zone.as_deref().unwrap_or("-");
    table.row(&[&node.name, &pool.name, zone, node.phase.word(), &since, &waits.join("; ")]);
    table.colour(
        3,
        match node.phase {
            Phase::Updated => GOOD,
            Phase::Failed => BAD,
            Phase::Waiting => FAINT,
            _ => CAUTION,
        },
    );
}

fn strays(rollout: &Rollout) -> String {
    let told = rollout.strays.iter().take(MOST_STRAYS).map(|(name, why)| format!("node {name}: {why}"));
    let more = rollout.strays.len().saturating_sub(MOST_STRAYS);
    let rest = (more > 0).then(|| format!("and {more} more nodes of no pool; -o json has them all"));
    notes(&told.chain(rest).collect::<Vec<_>>())
}

/// What is to be told beside the answer, a line each.
pub fn notes(notes: &[String]) -> String {
    notes.iter().map(|note| format!("{} {}\n", styled(CAUTION, "note:"), printable(note))).collect()
}

/// A duration in its largest unit or two.
pub fn ago(seconds: i64) -> String {
    let seconds = seconds.max(0);
    match (seconds / 86_400, seconds / 3600, seconds / 60) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, minutes) => format!("{minutes}m"),
        (0, hours, minutes) => format!("{hours}h{:02}m", minutes % 60),
        (days, hours, _) => format!("{days}d{:02}h", hours % 24),
    }
}

/// Which nodes are next.
pub fn next(rollout: &Rollout) -> String {
    let mut text = String::new();
    for pool in rollout.pools.iter().filter(|pool| pool.updated < pool.nodes.len()) {
        let mut queue: Vec<&NodeStatus> = pool.nodes.iter().filter(|node| node.place.is_some()).collect();
        queue.sort_by_key(|node| node.place);
        text.push_str(&format!("{}\n", styled(HEADING, &printable(&pool.name))));
        let mut table = Table::new(&["", "NODE", "ZONE", "NOW"]);
        for node in &queue {
            let place = node.place.map(|place| place.to_string()).unwrap_or_default();
            let now = if pool.next.contains(&node.name) { "now" } else { "later" };
            table.row(&[place.as_str(), &node.name, node.zone.as_deref().unwrap_or("-"), now]);
        }
        text.push_str(&table.show());
        for wait in &pool.waits {
            text.push_str(&format!("waits: {}\n", printable(wait)));
        }
    }
    if text.is_empty() { "every node is updated\n".to_owned() } else { text }
}

/// The same for a program.
pub fn next_document(rollout: &Rollout) -> Result<String> {
    let pool = |pool: &PoolStatus| {
        let mut queue: Vec<(usize, &str)> =
            pool.nodes.iter().filter_map(|node| Some((node.place?, node.name.as_str()))).collect();
        queue.sort_unstable();
        let order: Vec<&str> = queue.into_iter().map(|(_, name)| name).collect();
        json!({"name": pool.name, "now": pool.next, "order": order, "waits": pool.waits})
    };
    document(&json!({"pools": rollout.pools.iter().map(pool).collect::<Vec<_>>()}))
}

/// Everything about a node.
pub fn explain(pool: &PoolStatus, node: &NodeStatus, fleet: &Fleet) -> String {
    let mut text = format!("{}\n", styled(HEADING, &printable(&node.name)));
    for line in explain_node(pool, node, fleet) {
        text.push_str(&format!("  {}\n", printable(&line)));
    }
    text
}

/// The same for a program.
pub fn explain_document(pool: &PoolStatus, node: &NodeStatus, fleet: &Fleet) -> Result<String> {
    document(&json!({
        "pool": pool.name,
        "node": node,
        "poolWaits": pool.waits,
        "explanation": explain_node(pool, node, fleet),
    }))
}

/// How long it takes.
pub fn estimate(estimate: &Estimate) -> String {
    let mut table = Table::new(&["POOL", "LEFT", "AT A TIME", "PER NODE", "FROM", "TIME LEFT", "WHOLE UPDATE"]);
    for pool in &estimate.pools {
        let from = match pool.basis {
            Basis::Given => "you",
            Basis::Measured => "measured",
            Basis::Usual => "usual",
        };
        table.row(&[
            pool.name.clone(),
            format!("{}/{}", pool.left, pool.nodes),
            pool.at_a_time.to_string(),
            ago(pool.node_seconds),
            from.to_owned(),
            pool.left_seconds.map_or_else(|| "paused".to_owned(), ago),
            ago(pool.whole_seconds),
        ]);
    }
    let (left, whole) = (ago(estimate.left_seconds), ago(estimate.whole_seconds));
    format!("{}\nleft: {left}; a whole update of the cluster: {whole}\n", table.show())
}
