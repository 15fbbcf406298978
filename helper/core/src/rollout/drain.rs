//! What keeps a node's workloads from leaving.

use std::fmt;

use ostler_core::node::keys;

use crate::objects::{Node, Pod, PodDisruptionBudget};

/// Most pods that are named for one node.
const MOST: usize = 20;

/// What the drain controller was asked for and has not done yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Drain {
    /// Workloads are to leave.
    Leaving,
    /// Workloads are to be let in again.
    Returning,
}

/// What a node has asked the drain controller for, as long as it is not done.
pub fn drain(node: &Node) -> Option<Drain> {
    let asked = node.annotation(keys::DESIRED_DRAIN)?;
    if node.annotation(keys::LAST_APPLIED_DRAIN) == Some(asked) {
        return None;
    }
    Some(if asked.starts_with("drain-") { Drain::Leaving } else { Drain::Returning })
}

/// Why a pod stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blocker {
    /// A budget allows no more of its pods to go.
    Budget {
        /// The pod, with its namespace.
        pod: String,
        /// The budget.
        budget: String,
        /// How many pods serve.
        healthy: i64,
        /// How many have to.
        needed: i64,
    },
    /// Several budgets have it, and the server then refuses every eviction.
    Budgets {
        /// The pod, with its namespace.
        pod: String,
        /// The budgets.
        budgets: Vec<String>,
    },
    /// It was asked to go and is still there.
    Ending {
        /// The pod, with its namespace.
        pod: String,
    },
    /// More pods than are named.
    More {
        /// How many.
        count: usize,
    },
}

impl fmt::Display for Blocker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Budget { pod, budget, healthy, needed } => write!(
                f,
                "pod {pod} is kept by PodDisruptionBudget {budget}: {healthy} healthy, {needed} needed, none to spare"
            ),
            Self::Budgets { pod, budgets } => write!(
                f,
                "pod {pod} has several PodDisruptionBudgets ({}), and no pod with more than one can be evicted",
                budgets.join(", ")
            ),
            Self::Ending { pod } => write!(f, "pod {pod} was told to end and has not yet"),
            Self::More { count } => write!(f, "and {count} more pods"),
        }
    }
}

/// What keeps workloads on a node: pods that may not go, and those that take their time.
pub fn blockers(node: &str, pods: &[Pod], budgets: &[PodDisruptionBudget]) -> Vec<Blocker> {
    let here = pods.iter().filter(|pod| pod.spec.node_name == node && !pod.is_left_by_drains());
    let mut found: Vec<Blocker> = here.filter_map(|pod| blocker(pod, budgets)).collect();
    let hidden = found.len().saturating_sub(MOST);
    if hidden > 0 {
        found.truncate(MOST);
        found.push(Blocker::More { count: hidden });
    }
    found
}

fn blocker(pod: &Pod, budgets: &[PodDisruptionBudget]) -> Option<Blocker> {
    let name = format!("{}/{}", pod.metadata.namespace, pod.metadata.name);
    if pod.metadata.deletion_timestamp.is_some() {
        return Some(Blocker::Ending { pod: name });
    }
    // What has not begun may always go.
    if pod.status.phase == "Pending" {
        return None;
    }
    let covering: Vec<&PodDisruptionBudget> = budgets.iter().filter(|budget| budget.covers(pod)).collect();
    match covering.as_slice() {
        [] => None,
        [budget] if allows(budget, pod) => None,
        [budget] => Some(Blocker::Budget {
            pod: name,
            budget: budget.metadata.name.clone(),
            healthy: budget.status.current_healthy,
            needed: budget.status.desired_healthy,
        }),
        several => Some(Blocker::Budgets {
            pod: name,
            budgets: several.iter().map(|budget| budget.metadata.name.clone()).collect(),
        }),
    }
}

/// Pods that do not serve may go as the budget says: always, or while enough others do.
fn allows(budget: &PodDisruptionBudget, pod: &Pod) -> bool {
    if budget.status.disruptions_allowed > 0 {
        return true;
    }
    let always = budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow";
    let status = &budget.status;
    let enough = status.current_healthy >= status.desired_healthy && status.desired_healthy > 0;
    !pod.is_ready() && (always || enough)
}
