//! Whether a node is available, done or failing, and how many of a pool may be away.

use std::fmt;

use ostler_core::node::keys;
use serde_json::Value;

use super::ARBITER;
use crate::objects::{MachineConfigPool, Node, condition};

/// Why no workload can be placed on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unschedulable {
    /// The kubelet is not ready, or has not been heard.
    NotReady,
    /// Its disk is nearly full.
    DiskPressure,
    /// It has no network.
    NoNetwork,
    /// It is cordoned.
    Cordoned,
}

impl fmt::Display for Unschedulable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotReady => "it is not ready",
            Self::DiskPressure => "its disk is nearly full",
            Self::NoNetwork => "it has no network",
            Self::Cordoned => "it is cordoned",
        })
    }
}

/// Why no workload can be placed on a node, if so. What a node does not say is taken to be well.
pub fn unschedulable(node: &Node) -> Option<Unschedulable> {
    let is_not = |type_: &str, good: &str| {
        condition(&node.status.conditions, type_).is_some_and(|condition| condition.status != good)
    };
    let troubles = [
        (is_not("Ready", "True"), Unschedulable::NotReady),
        (is_not("DiskPressure", "False"), Unschedulable::DiskPressure),
        (is_not("NetworkUnavailable", "False"), Unschedulable::NoNetwork),
        (node.spec.unschedulable, Unschedulable::Cordoned),
    ];
    troubles.into_iter().find(|(is_so, _)| *is_so).map(|(_, trouble)| trouble)
}

/// Whether a node is in the configuration that it was told to be in.
pub fn is_done(node: &Node) -> bool {
    let current = node.annotation(keys::CURRENT_CONFIG);
    current.is_some()
        && current == node.annotation(keys::DESIRED_CONFIG)
        && node.annotation(keys::CURRENT_IMAGE) == node.annotation(keys::DESIRED_IMAGE)
        && node.annotation(keys::STATE) == Some(keys::STATE_DONE)
}

/// Whether a node has failed on the way to another configuration.
pub fn is_failing(node: &Node) -> bool {
    let state = node.annotation(keys::STATE);
    node.annotation(keys::CURRENT_CONFIG) != node.annotation(keys::DESIRED_CONFIG)
        && matches!(state, Some(keys::STATE_DEGRADED | keys::STATE_UNRECONCILABLE))
}

/// Why a node counts as unavailable, if it does. One that has failed does not: it is counted with its target.
pub fn unavailable_because(node: &Node) -> Option<String> {
    match unschedulable(node) {
        Some(trouble) => Some(trouble.to_string()),
        None if is_done(node) || is_failing(node) => None,
        None => Some("it is not done with its update".to_owned()),
    }
}

/// How many nodes of a pool may be unavailable: at least one, and of `arbiter` never more. A share rounds down. Zero means
/// that the pool says something the controller cannot use, and then it tells no node at all.
pub fn max_unavailable(pool: &MachineConfigPool, nodes: usize) -> usize {
    if pool.metadata.name == ARBITER {
        return 1;
    }
    let most = match &pool.spec.max_unavailable {
        None | Some(Value::Null) => Some(1),
        Some(Value::Number(number)) => number.as_u64().and_then(|number| usize::try_from(number).ok()),
        Some(Value::String(text)) => share(text, nodes),
        Some(_) => None,
    };
    most.map_or(0, |most| most.max(1))
}

/// A number in quotes is no share: the controller refuses it.
fn share(text: &str, nodes: usize) -> Option<usize> {
    let percent: usize = text.strip_suffix('%')?.parse().ok()?;
    Some(nodes.checked_mul(percent)? / 100)
}
