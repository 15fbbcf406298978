//! A pool with its nodes: how many more may be told to update, which are next, and what holds them.

use std::collections::{BTreeMap, HashMap};

use ostler_core::node::keys;
use serde::Serialize;

use super::availability::{is_done, is_failing, max_unavailable, unavailable_because, unschedulable};
use super::explain::{node_waits, pool_waits};
use super::membership::{Membership, membership};
use super::order::{in_order, zone};
use super::phase::{Phase, phase, since};
use super::{Fleet, MASTER, NodeStatus, PoolStatus};
use crate::objects::{MachineConfigNode, MachineConfigPool, MachineOSConfig, Node};

/// Label of the operator's pod: the node it runs on goes last in the control plane.
const OPERATOR: (&str, &str) = ("k8s-app", "machine-config-operator");

/// A pool with its nodes.
#[derive(Debug)]
pub struct PoolView<'a> {
    /// The pool.
    pub pool: &'a MachineConfigPool,
    /// Its nodes.
    pub nodes: Vec<&'a Node>,
    /// Where it builds its own image: that image, empty until it is built.
    pub image: Option<&'a str>,
}

/// How many nodes may be told to update.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Capacity {
    /// How many may be unavailable.
    pub max: usize,
    /// How many are.
    pub unavailable: usize,
    /// How many have failed on the way to the target, which count too.
    pub failing: usize,
}

impl Capacity {
    /// How many more may be told.
    pub const fn free(&self) -> usize {
        self.max.saturating_sub(self.unavailable).saturating_sub(self.failing)
    }
}

impl<'a> PoolView<'a> {
    /// The name of the pool.
    pub fn name(&self) -> &'a str {
        &self.pool.metadata.name
    }

    /// The configuration to reach.
    pub fn target(&self) -> &'a str {
        &self.pool.spec.configuration.name
    }

    /// Whether a node was told of the target.
    pub fn is_targeted(&self, node: &Node) -> bool {
        let image = node.annotation(keys::DESIRED_IMAGE);
        let same_image = match self.image {
            Some(built) => image == Some(built).filter(|built| !built.is_empty()),
            None => image.is_none(),
        };
        node.annotation(keys::DESIRED_CONFIG) == Some(self.target()) && same_image
    }

    /// Whether a node has reached the target.
    pub fn is_updated(&self, node: &Node) -> bool {
        self.is_targeted(node) && is_done(node)
    }

    /// Nodes that are unavailable.
    pub fn unavailable(&self) -> impl Iterator<Item = (&'a Node, String)> {
        self.nodes.iter().filter_map(|node| Some((*node, unavailable_because(node)?)))
    }

    /// Nodes that could be told. Of several in a control plane, the operator's own is left for the end.
    fn queue(&self, operator: Option<&str>) -> Queue<'a> {
        let able = |node: &&&Node| !self.is_targeted(node) && unschedulable(node).is_none();
        let candidates = in_order(self.nodes.iter().filter(able).copied().collect());
        let several = self.name() == MASTER && candidates.len() >= 2;
        let is_last = |node: &&Node| several && Some(node.metadata.name.as_str()) == operator;
        let (last, candidates) = candidates.into_iter().partition::<Vec<_>, _>(is_last);
        Queue { candidates, last: last.first().copied() }
    }
}

/// Nodes that could be told, in order.
struct Queue<'a> {
    candidates: Vec<&'a Node>,
    /// Could be told, too, but comes when all others are done.
    last: Option<&'a Node>,
}

impl Queue<'_> {
    /// Places by name, from 1.
    fn places(&self) -> HashMap<&str, usize> {
        let all = self.candidates.iter().chain(&self.last).enumerate();
        all.map(|(at, node)| (node.metadata.name.as_str(), at + 1)).collect()
    }
}

/// How many nodes of a pool may be told to update.
pub fn capacity(view: &PoolView<'_>) -> Capacity {
    let failing = view.nodes.iter().filter(|node| view.is_targeted(node) && is_failing(node)).count();
    Capacity { max: max_unavailable(view.pool, view.nodes.len()), unavailable: view.unavailable().count(), failing }
}

/// Every pool with its nodes, by name, and the nodes that are in none or several.
pub fn views<'a>(
    pools: &'a [MachineConfigPool],
    all: &'a [Node],
    built: &'a [MachineOSConfig],
) -> (Vec<PoolView<'a>>, BTreeMap<String, String>) {
    let mut nodes: BTreeMap<&str, Vec<&Node>> = BTreeMap::new();
    let mut strays = BTreeMap::new();
    for node in all {
        let name = || node.metadata.name.clone();
        match membership(node, pools) {
            Membership::In(pool) => nodes.entry(&pool.metadata.name).or_default().push(node),
            Membership::Windows => {}
            Membership::Nowhere => drop(strays.insert(name(), "no pool selects it".to_owned())),
            Membership::Ambiguous(pools) => {
                let why = format!("pools {} select it, and the controller refuses to choose", pools.join(", "));
                strays.insert(name(), why);
            }
        }
    }
    let view = |pool: &'a MachineConfigPool| {
        let name = pool.metadata.name.as_str();
        let built = built.iter().find(|built| built.spec.machine_config_pool.name == name);
        PoolView {
            pool,
            nodes: nodes.remove(name).unwrap_or_default(),
            image: built.map(|built| built.status.current_image_pull_spec.as_str()),
        }
    };
    let mut views: Vec<PoolView<'_>> = pools.iter().map(view).collect();
    views.sort_by_key(PoolView::name);
    (views, strays)
}

/// Where a pool stands.
pub(super) fn status(view: &PoolView<'_>, all: &[PoolView<'_>], fleet: &Fleet) -> PoolStatus {
    let capacity = capacity(view);
    let queue = view.queue(operator_node(fleet));
    let waits = pool_waits(view, all, &capacity, &queue.candidates);
    let free = if waits.stops { 0 } else { capacity.free() };
    let progress: HashMap<&str, &MachineConfigNode> =
        fleet.progress.iter().map(|progress| (progress.metadata.name.as_str(), progress)).collect();
    let places = queue.places();
    let last = queue.last.map(|node| node.metadata.name.as_str());
    let mut nodes: Vec<NodeStatus> = Vec::with_capacity(view.nodes.len());
    for node in in_order(view.nodes.clone()) {
        let name = node.metadata.name.as_str();
        let mut status = node_status(view, node, progress.get(name).copied());
        status.place = places.get(name).copied();
        status.waits = node_waits(view, node, &status, fleet, last == Some(name));
        nodes.push(status);
    }
    nodes.sort_by_key(|node| (rank(node.phase), node.place.unwrap_or(usize::MAX)));
    PoolStatus {
        name: view.name().to_owned(),
        target: view.target().to_owned(),
        paused: view.pool.spec.paused,
        max_unavailable: capacity.max,
        updated: view.nodes.iter().filter(|node| view.is_updated(node)).count(),
        next: queue.candidates.iter().take(free).map(|node| node.metadata.name.clone()).collect(),
        capacity,
        nodes,
        waits: waits.reasons,
    }
}

fn node_status(view: &PoolView<'_>, node: &Node, progress: Option<&MachineConfigNode>) -> NodeStatus {
    let phase = phase(node, view.is_targeted(node));
    NodeStatus {
        name: node.metadata.name.clone(),
        zone: zone(node).map(str::to_owned),
        current: node.annotation(keys::CURRENT_CONFIG).map(str::to_owned),
        desired: node.annotation(keys::DESIRED_CONFIG).map(str::to_owned),
        phase,
        since: since(phase, progress),
        place: None,
        unavailable: unavailable_because(node),
        waits: Vec::new(),
    }
}

/// What wants to be looked at comes first.
const fn rank(phase: Phase) -> u8 {
    match phase {
        Phase::Failed => 0,
        Phase::Told | Phase::Held | Phase::Draining | Phase::Changing | Phase::Rebooting | Phase::Uncordoning => 1,
        Phase::Waiting => 2,
        Phase::Silent => 3,
        Phase::Updated => 4,
    }
}

fn operator_node(fleet: &Fleet) -> Option<&str> {
    let is_operator = |labels: &BTreeMap<String, String>| labels.get(OPERATOR.0).is_some_and(|app| app == OPERATOR.1);
    let pod = fleet.pods.iter().find(|pod| is_operator(&pod.metadata.labels) && !pod.spec.node_name.is_empty());
    pod.map(|pod| pod.spec.node_name.as_str())
}
