//! `Node`: a machine in the cluster, by its labels and annotations.

use serde::Deserialize;

use super::absent::null_as_default;
use super::{Metadata, Resource};

/// The object.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Node {
    /// Names, labels and annotations.
    pub metadata: Metadata,
    /// How it is.
    #[serde(deserialize_with = "null_as_default")]
    pub status: NodeStatus,
}

/// `status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeStatus {
    /// What it runs on.
    #[serde(deserialize_with = "null_as_default")]
    pub node_info: NodeInfo,
}

/// `status.nodeInfo`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeInfo {
    /// Architecture, as Go calls it.
    #[serde(deserialize_with = "null_as_default")]
    pub architecture: String,
}

impl Node {
    /// Whether it is of the control plane.
    pub fn is_control_plane(&self) -> bool {
        ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"]
            .iter()
            .any(|role| self.metadata.labels.contains_key(*role))
    }

    /// Its architecture, as Go calls it; empty where it does not say.
    pub fn architecture(&self) -> &str {
        self.metadata.labels.get("kubernetes.io/arch").unwrap_or(&self.status.node_info.architecture)
    }
}

impl Resource for Node {
    const GROUP: &'static str = "";
    const VERSION: &'static str = "v1";
    const KIND: &'static str = "Node";
    const PLURAL: &'static str = "nodes";
    const NAMESPACED: bool = false;
}
