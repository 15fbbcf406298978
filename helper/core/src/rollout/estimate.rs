//! How long a rollout takes: rounds of nodes at a time, and what a node takes by what others took.

use std::collections::HashMap;

use jiff::Timestamp;
use serde::Serialize;

use super::{Fleet, NodeStatus, Phase, PoolStatus, Rollout};
use crate::objects::{MachineConfigNode, condition};

/// What the documentation reckons with where nothing was measured, in seconds.
const USUAL_NODE: i64 = 5 * 60;
/// What the documentation reckons with for everything before the nodes, in seconds.
pub const USUAL_PAYLOAD: i64 = 60 * 60;
/// Nodes that finished longer apart than this were not waiting for each other, in seconds.
const LONGEST_NODE: i64 = 4 * 60 * 60;

/// What is known of durations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// What a node takes, where somebody says so, in seconds.
    pub node: Option<i64>,
    /// What comes before the nodes, in seconds.
    pub payload: i64,
}

/// Where the time of a node comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Basis {
    /// Somebody said so.
    Given,
    /// Nodes of this pool that finished in this rollout.
    Measured,
    /// The documentation.
    Usual,
}

/// How long a pool takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PoolEstimate {
    /// The pool.
    pub name: String,
    /// Its nodes.
    pub nodes: usize,
    /// Nodes that are not updated.
    pub left: usize,
    /// How many at a time.
    pub at_a_time: usize,
    /// What a node takes, in seconds.
    pub node_seconds: i64,
    /// Where that comes from.
    pub basis: Basis,
    /// What is left, in seconds; none where the pool is paused and has nodes left.
    pub left_seconds: Option<i64>,
    /// What a whole update of the pool takes, in seconds.
    pub whole_seconds: i64,
}

/// How long all of it takes. Pools are updated beside each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Estimate {
    /// The pools.
    pub pools: Vec<PoolEstimate>,
    /// What is left of the rollout under way, in seconds.
    pub left_seconds: i64,
    /// What a whole update of the cluster takes, in seconds.
    pub whole_seconds: i64,
}

/// Estimates.
pub fn estimate(rollout: &Rollout, fleet: &Fleet, rates: Rates, now: Timestamp) -> Estimate {
    let progress: HashMap<&str, &MachineConfigNode> =
        fleet.progress.iter().map(|progress| (progress.metadata.name.as_str(), progress)).collect();
    let pools: Vec<PoolEstimate> =
        rollout.pools.iter().map(|pool| pool_estimate(pool, &progress, rates, now)).collect();
    let longest = |of: fn(&PoolEstimate) -> Option<i64>| pools.iter().filter_map(of).max().unwrap_or_default();
    Estimate {
        left_seconds: longest(|pool| pool.left_seconds),
        whole_seconds: rates.payload.saturating_add(longest(|pool| Some(pool.whole_seconds))),
        pools,
    }
}

fn pool_estimate(
    pool: &PoolStatus,
    progress: &HashMap<&str, &MachineConfigNode>,
    rates: Rates,
    now: Timestamp,
) -> PoolEstimate {
    let at_a_time = pool.max_unavailable.min(pool.nodes.len()).max(1);
    let measured = measured(pool, progress, at_a_time);
    let (node_seconds, basis) = match (rates.node, measured) {
        (Some(given), _) => (given.max(0), Basis::Given),
        (None, Some(measured)) => (measured, Basis::Measured),
        (None, None) => (USUAL_NODE, Basis::Usual),
    };
    let left: Vec<&NodeStatus> = pool.nodes.iter().filter(|node| node.phase != Phase::Updated).collect();
    let under_way = left.iter().filter(|node| node.phase.is_under_way()).count();
    let begun = left.iter().filter(|node| node.phase.is_under_way()).filter_map(|node| {
        let begun = begun(progress.get(node.name.as_str())?)?;
        Some((node_seconds - (now.as_second() - begun.as_second())).clamp(0, node_seconds))
    });
    let current = begun.max().unwrap_or(if under_way > 0 { node_seconds } else { 0 });
    let waiting = left.len() - under_way;
    let left_seconds = current.saturating_add(rounds(waiting, at_a_time).saturating_mul(node_seconds));
    PoolEstimate {
        name: pool.name.clone(),
        nodes: pool.nodes.len(),
        left: left.len(),
        at_a_time,
        node_seconds,
        basis,
        left_seconds: (!pool.paused || waiting == 0).then_some(left_seconds),
        whole_seconds: rounds(pool.nodes.len(), at_a_time).saturating_mul(node_seconds),
    }
}

fn rounds(nodes: usize, at_a_time: usize) -> i64 {
    i64::try_from(nodes.div_ceil(at_a_time.max(1))).unwrap_or(i64::MAX)
}

/// When the update under way began: nothing before the first of its conditions.
fn begun(progress: &MachineConfigNode) -> Option<Timestamp> {
    let conditions = &progress.status.conditions;
    let wanted = condition(conditions, "Updated").filter(|updated| !updated.is_true());
    wanted.and_then(|wanted| wanted.last_transition_time)
}

/// What a node took. With so many at a time, a place that became free was taken by the node that finished so many later: what
/// lies between the two is the time of one node. The middle one of these times counts, so that a node that hung or a night
/// between two windows does not.
fn measured(pool: &PoolStatus, progress: &HashMap<&str, &MachineConfigNode>, at_a_time: usize) -> Option<i64> {
    middle(&finished(pool, progress), at_a_time)
}

fn finished(pool: &PoolStatus, progress: &HashMap<&str, &MachineConfigNode>) -> Vec<i64> {
    let done = pool.nodes.iter().filter(|node| node.phase == Phase::Updated);
    let mut times: Vec<i64> = done
        .filter_map(|node| {
            let updated = condition(&progress.get(node.name.as_str())?.status.conditions, "Updated")?;
            Some(updated.last_transition_time?.as_second())
        })
        .collect();
    times.sort_unstable();
    times
}

fn middle(times: &[i64], at_a_time: usize) -> Option<i64> {
    let later = times.iter().skip(at_a_time);
    let mut between: Vec<i64> = times.iter().zip(later).map(|(free, taken)| taken - free).collect();
    between.retain(|seconds| (1..=LONGEST_NODE).contains(seconds));
    between.sort_unstable();
    between.get(between.len() / 2).copied()
}
