//! Why nodes and pools do not move, in sentences.

use ostler_core::node::keys;

use super::availability::unschedulable;
use super::drain::{Drain, blockers, drain};
use super::phase::{Phase, phase_times};
use super::pool::{Capacity, PoolView};
use super::{ARBITER, Fleet, MASTER, NodeStatus, PoolStatus};
use crate::objects::{Node, condition};

/// Most nodes that are named in one sentence.
const MOST: usize = 5;
/// Longest part of somebody else's words, in characters.
const MAX_WORDS: usize = 600;

/// Why a pool does not go on.
pub(super) struct PoolWaits {
    /// Whether no node at all is told.
    pub(super) stops: bool,
    /// The reasons.
    pub(super) reasons: Vec<String>,
}

/// Why no node of a pool is told, or fewer than could be.
pub(super) fn pool_waits(
    view: &PoolView<'_>,
    all: &[PoolView<'_>],
    capacity: &Capacity,
    candidates: &[&Node],
) -> PoolWaits {
    let mut waits = PoolWaits { stops: false, reasons: Vec::new() };
    let pending = view.nodes.iter().filter(|node| !view.is_targeted(node)).count();
    if let Some(failed) = condition(&view.pool.status.conditions, "RenderDegraded").filter(|failed| failed.is_true()) {
        let words = shortened(&failed.message);
        waits.reasons.push(format!("its configuration cannot be rendered, so the target is not the newest: {words}"));
    }
    if pending == 0 {
        return waits;
    }
    waits.stops(view.pool.spec.paused, || "it is paused: no node is told of a new target".to_owned());
    waits.stops(view.target().is_empty(), || "nothing has been rendered for it".to_owned());
    waits.stops(view.image == Some(""), || "its image is not built yet".to_owned());
    if let Some(reason) = other_side(view, all) {
        waits.stops(true, || reason);
    }
    if capacity.max == 0 {
        let said = view.pool.spec.max_unavailable.as_ref().map(ToString::to_string).unwrap_or_default();
        waits.stops(true, || {
            let said = shortened(&said);
            format!("its maxUnavailable is {said}, neither a number of nodes nor a share such as \"10%\"; correct it")
        });
    } else if capacity.free() == 0 {
        waits.reasons.push(no_room(view, capacity));
    } else if candidates.is_empty() && !waits.stops {
        waits.reasons.push(format!("none of the {pending} nodes left can take workloads, and such are not told"));
    }
    waits
}

impl PoolWaits {
    fn stops(&mut self, stops: bool, reason: impl FnOnce() -> String) {
        if stops {
            self.stops = true;
            self.reasons.push(reason());
        }
    }
}

fn no_room(view: &PoolView<'_>, capacity: &Capacity) -> String {
    let away: Vec<String> = view.unavailable().map(|(node, _)| node.metadata.name.clone()).collect();
    let mut reason = format!("{} of at most {} nodes are unavailable", capacity.unavailable, capacity.max);
    if !away.is_empty() {
        reason.push_str(&format!(" ({})", listed(&away)));
    }
    if capacity.failing > 0 {
        reason.push_str(&format!("; {} failed on the way to the target, which counts too", capacity.failing));
    }
    reason
}

/// With an arbiter, the control plane goes first and each side waits for the other to be whole.
fn other_side(view: &PoolView<'_>, all: &[PoolView<'_>]) -> Option<String> {
    let pool = |name: &str| all.iter().find(|other| other.name() == name && !other.nodes.is_empty());
    match view.name() {
        MASTER => {
            let arbiter = pool(ARBITER)?;
            arbiter.unavailable().next().map(|(node, why)| {
                format!("it waits for node {} of pool arbiter, which is unavailable: {why}", node.metadata.name)
            })
        }
        ARBITER => {
            let master = pool(MASTER)?;
            if let Some((node, why)) = master.unavailable().next() {
                let name = &node.metadata.name;
                return Some(format!("it waits for node {name} of pool master, which is unavailable: {why}"));
            }
            let left = master.nodes.iter().filter(|node| !master.is_updated(node)).count();
            (left > 0).then(|| format!("it waits for pool master, of which {left} nodes are not updated yet"))
        }
        _ => None,
    }
}

/// What a node waits for, or what is wrong with it; `is_last` says that the operator keeps it for the end.
pub(super) fn node_waits(
    view: &PoolView<'_>,
    node: &Node,
    status: &NodeStatus,
    fleet: &Fleet,
    is_last: bool,
) -> Vec<String> {
    match status.phase {
        Phase::Failed => vec![failure(node, fleet)],
        Phase::Held => vec![held(node)],
        Phase::Draining => draining(node, fleet),
        Phase::Uncordoning => vec!["the drain controller has yet to uncordon it".to_owned()],
        Phase::Rebooting => vec!["the machine restarts; it goes on when its kubelet is back".to_owned()],
        Phase::Told => vec!["its agent has not begun; look at the agent on the node if this lasts".to_owned()],
        Phase::Silent => {
            vec!["no agent has written on it yet: it is being installed, or nothing looks after it".to_owned()]
        }
        Phase::Waiting => waiting(view, node, status, is_last),
        Phase::Changing => Vec::new(),
        Phase::Updated => status.unavailable.iter().map(|why| format!("updated, but {why}")).collect(),
    }
}

fn failure(node: &Node, fleet: &Fleet) -> String {
    let name = &node.metadata.name;
    let told = || {
        let progress = fleet.progress.iter().find(|progress| &progress.metadata.name == name)?;
        let degraded = condition(&progress.status.conditions, "NodeDegraded").filter(|degraded| degraded.is_true())?;
        Some(degraded.message.as_str()).filter(|message| !message.is_empty())
    };
    let state = node.annotation(keys::STATE).unwrap_or_default();
    match node.annotation(keys::REASON).or_else(told) {
        Some(reason) => format!("{state}: {}", shortened(reason)),
        None => format!("{state}, without a reason"),
    }
}

fn held(node: &Node) -> String {
    let why = node.annotation(keys::HOLD).map(|why| format!(" ({})", shortened(why))).unwrap_or_default();
    format!("somebody holds its update{why}; remove the annotation {} to let it go on", keys::HOLD)
}

fn draining(node: &Node, fleet: &Fleet) -> Vec<String> {
    let found = blockers(&node.metadata.name, &fleet.pods, &fleet.budgets);
    if found.is_empty() {
        return vec!["workloads are leaving; nothing is known to keep them".to_owned()];
    }
    found.iter().map(ToString::to_string).collect()
}

fn waiting(view: &PoolView<'_>, node: &Node, status: &NodeStatus, is_last: bool) -> Vec<String> {
    let mut waits = Vec::new();
    if view.pool.spec.paused {
        waits.push(format!("pool {} is paused", view.name()));
    }
    match (unschedulable(node), status.place) {
        (Some(why), _) => waits.push(format!("it is not told while {why}")),
        (None, Some(_)) if is_last => {
            waits.push("the machine-config operator runs on it, so it goes last".to_owned());
        }
        (None, Some(place)) => waits.push(format!("it is number {place} by zone and age")),
        (None, None) => {}
    }
    if node.metadata.annotations.contains_key(keys::HOLD) {
        waits.push(format!("once told, it will be held by the annotation {}", keys::HOLD));
    }
    if drain(node) == Some(Drain::Returning) {
        waits.push("the drain controller has yet to uncordon it".to_owned());
    }
    waits
}

/// Everything about one node, a sentence each.
pub fn explain(pool: &PoolStatus, node: &NodeStatus, fleet: &Fleet) -> Vec<String> {
    let or_none = |config: &Option<String>| config.clone().unwrap_or_else(|| "none".to_owned());
    let mut lines = vec![
        format!("it is in pool {}, whose target is {}", pool.name, pool.target),
        format!("it is in {} and was told to be in {}", or_none(&node.current), or_none(&node.desired)),
        format!("it is {}", node.phase.word()),
    ];
    lines.extend(node.unavailable.iter().map(|why| format!("it counts as unavailable: {why}")));
    lines.extend(node.waits.iter().cloned());
    if node.phase == Phase::Waiting {
        let Capacity { max, unavailable, failing } = &pool.capacity;
        let free = pool.next.len();
        lines.push(format!(
            "the pool may have {max} unavailable, has {unavailable} and {failing} failed; {free} can be told now"
        ));
        lines.extend(pool.waits.iter().map(|why| format!("the pool waits: {why}")));
    }
    let progress = fleet.progress.iter().find(|progress| progress.metadata.name == node.name);
    for time in progress.map(phase_times).unwrap_or_default() {
        let took = time.seconds.map(|seconds| format!(", {seconds} s after the one before")).unwrap_or_default();
        lines.push(format!("{} at {}{took}", time.phase, time.at));
    }
    lines
}

/// Names, the first few of them.
fn listed(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(MOST).map(String::as_str).collect();
    match names.len().saturating_sub(MOST) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn shortened(words: &str) -> String {
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= MAX_WORDS {
        return line;
    }
    line.chars().take(MAX_WORDS).chain(['…']).collect()
}
