//! In which order nodes are told to update.

use jiff::Timestamp;

use crate::objects::Node;

/// Label of a node's zone.
pub const ZONE: &str = "topology.kubernetes.io/zone";

/// Nodes in order: by zone, in a zone the oldest first, those without a zone last; by name where they are of an age.
pub fn in_order(mut nodes: Vec<&Node>) -> Vec<&Node> {
    nodes.sort_by_key(|node| {
        let zone = zone(node);
        let age = node.metadata.creation_timestamp.unwrap_or(Timestamp::MIN);
        (zone.is_none(), zone, age, node.metadata.name.as_str())
    });
    nodes
}

/// The zone of a node. One with an empty name is a zone to the controller, and the first of all.
pub fn zone(node: &Node) -> Option<&str> {
    node.metadata.labels.get(ZONE).map(String::as_str)
}
