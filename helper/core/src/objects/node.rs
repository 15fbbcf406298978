//! `Node`: a machine in the cluster, with what it says of itself.

use serde::{Deserialize, Deserializer};

use super::absent::null_as_default;
use super::{Condition, Metadata, Resource};

/// Prefixes of the annotations that are kept: networks write kilobytes of others on every node.
const KEPT: [&str; 3] = ["machineconfiguration.openshift.io/", "ostler.dev/", "machine.openshift.io/"];

/// The object.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Node {
    /// Names and labels, and annotations of those who configure machines; not who wrote which field, nor the version: a
    /// kubelet writes its sign of life every few minutes, and the node is no other for it.
    #[serde(deserialize_with = "slim")]
    pub metadata: Metadata,
    /// What it should be.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: NodeSpec,
    /// How it is.
    #[serde(deserialize_with = "null_as_default")]
    pub status: NodeStatus,
}

/// `spec`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeSpec {
    /// Whether it is cordoned.
    #[serde(deserialize_with = "null_as_default")]
    pub unschedulable: bool,
    /// What keeps workloads away.
    #[serde(deserialize_with = "null_as_default")]
    pub taints: Vec<Taint>,
}

/// What keeps workloads away.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Taint {
    /// Its name.
    pub key: String,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    #[serde(deserialize_with = "null_as_default")]
    pub effect: String,
}

/// `status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeStatus {
    /// Conditions, without what they say to people: kubelets say at length that nothing is wrong.
    #[serde(deserialize_with = "plain")]
    pub conditions: Vec<Condition>,
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
    /// Version of the kernel, as `uname -r` prints it.
    #[serde(deserialize_with = "null_as_default")]
    pub kernel_version: String,
    /// Version of the kubelet.
    #[serde(deserialize_with = "null_as_default")]
    pub kubelet_version: String,
    /// Name of the operating system, for people.
    #[serde(deserialize_with = "null_as_default")]
    pub os_image: String,
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

    /// An annotation; an empty one is none.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata.annotations.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }
}

fn slim<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Metadata, D::Error> {
    let mut metadata = Metadata::deserialize(deserializer)?;
    metadata.managed_fields = Vec::new();
    metadata.resource_version = String::new();
    metadata.annotations.retain(|key, _| KEPT.iter().any(|prefix| key.starts_with(prefix)));
    Ok(metadata)
}

fn plain<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Condition>, D::Error> {
    let conditions: Vec<Condition> = null_as_default(deserializer)?;
    let plain = |condition| Condition { message: String::new(), reason: String::new(), ..condition };
    Ok(conditions.into_iter().map(plain).collect())
}

impl Resource for Node {
    const GROUP: &'static str = "";
    const VERSION: &'static str = "v1";
    const KIND: &'static str = "Node";
    const PLURAL: &'static str = "nodes";
    const NAMESPACED: bool = false;
    // There may be thousands, each with kilobytes that are not kept.
    const PAGE: u32 = 100;
}
