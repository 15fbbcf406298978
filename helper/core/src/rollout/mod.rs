//! Where an update of the nodes stands and what comes next, as the machine-config controller decides it: which pool a node
//! is in, how many may be away, which are next, and what each one waits for.
//!
//! Only foretells: targets, taints, cordons and drains stay with the controller.

mod availability;
mod drain;
mod estimate;
mod explain;
mod membership;
mod order;
mod phase;
mod pool;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

use crate::objects::{MachineConfigNode, MachineConfigPool, MachineOSConfig, Node, Pod, PodDisruptionBudget};

pub use availability::{Unschedulable, is_done, is_failing, max_unavailable, unavailable_because, unschedulable};
pub use drain::{Blocker, Drain, blockers, drain};
pub use estimate::{Basis, Estimate, PoolEstimate, Rates, USUAL_PAYLOAD, estimate};
pub use explain::explain;
pub use membership::{Membership, membership};
pub use order::in_order;
pub use phase::{Phase, PhaseTime, phase, phase_times};
pub use pool::{Capacity, PoolView, capacity, views};

/// Names of pools that every cluster may have and nobody made.
pub const MASTER: &str = "master";
/// See [`MASTER`].
pub const WORKER: &str = "worker";
/// See [`MASTER`].
pub const ARBITER: &str = "arbiter";

/// What is known of a cluster whose nodes are updated.
#[derive(Clone, Debug, Default)]
pub struct Fleet {
    /// The pools.
    pub pools: Vec<MachineConfigPool>,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// How far the nodes are, where the cluster has such objects.
    pub progress: Vec<MachineConfigNode>,
    /// Pools that build their own images.
    pub built: Vec<MachineOSConfig>,
    /// Pods on nodes that are being drained, and pods of the operator.
    pub pods: Vec<Pod>,
    /// What keeps pods from being moved.
    pub budgets: Vec<PodDisruptionBudget>,
}

/// A node in the rollout.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeStatus {
    /// Its name.
    pub name: String,
    /// Its zone; none where it says none.
    pub zone: Option<String>,
    /// The configuration it is in.
    pub current: Option<String>,
    /// The configuration it was told to reach.
    pub desired: Option<String>,
    /// Where it stands.
    pub phase: Phase,
    /// Since when, where that is known.
    pub since: Option<Timestamp>,
    /// Its place among the nodes that are next, from 1.
    pub place: Option<usize>,
    /// Why it counts as unavailable.
    pub unavailable: Option<String>,
    /// What it waits for, or what is wrong.
    pub waits: Vec<String>,
}

/// A pool in the rollout.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PoolStatus {
    /// Its name.
    pub name: String,
    /// The configuration to reach.
    pub target: String,
    /// Whether it is paused.
    pub paused: bool,
    /// How many nodes may be unavailable.
    pub max_unavailable: usize,
    /// How many nodes may be told to update now.
    pub capacity: Capacity,
    /// Nodes that have reached the target.
    pub updated: usize,
    /// Its nodes: those under way, those next in order, the rest.
    pub nodes: Vec<NodeStatus>,
    /// Nodes that would be told to update now, in order.
    pub next: Vec<String>,
    /// Why none is told, or fewer than there could be.
    pub waits: Vec<String>,
}

/// The rollout.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rollout {
    /// The pools, by name.
    pub pools: Vec<PoolStatus>,
    /// Nodes that are in no pool or in several, and why.
    pub strays: BTreeMap<String, String>,
}

impl Rollout {
    /// A node, with its pool.
    pub fn node(&self, name: &str) -> Option<(&PoolStatus, &NodeStatus)> {
        self.pools.iter().find_map(|pool| Some((pool, pool.nodes.iter().find(|node| node.name == name)?)))
    }
}

/// Works out where the rollout stands.
pub fn assess(fleet: &Fleet) -> Rollout {
    let (views, strays) = views(&fleet.pools, &fleet.nodes, &fleet.built);
    let pools = views.iter().map(|view| pool::status(view, &views, fleet)).collect();
    Rollout { pools, strays }
}
