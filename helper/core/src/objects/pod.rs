//! `Pod` and `PodDisruptionBudget`: what a drain has to move, and what keeps it from doing so.

use serde::Deserialize;

use super::absent::null_as_default;
use super::{Condition, Metadata, Resource, Selector, condition};

/// A pod.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Pod {
    /// Names, labels and owners.
    pub metadata: Metadata,
    /// Where it runs.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: PodSpec,
    /// How it is.
    #[serde(deserialize_with = "null_as_default")]
    pub status: PodStatus,
}

/// `spec` of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSpec {
    /// The node it runs on.
    #[serde(deserialize_with = "null_as_default")]
    pub node_name: String,
}

/// `status` of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodStatus {
    /// `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`.
    #[serde(deserialize_with = "null_as_default")]
    pub phase: String,
    /// Conditions.
    #[serde(deserialize_with = "null_as_default")]
    pub conditions: Vec<Condition>,
}

impl Pod {
    /// Whether a drain leaves it where it is: it belongs to the node, or has ended.
    pub fn is_left_by_drains(&self) -> bool {
        let daemon = |owner: &super::OwnerReference| owner.kind == "DaemonSet" && owner.controller == Some(true);
        self.metadata.annotations.contains_key("kubernetes.io/config.mirror")
            || self.metadata.owner_references.iter().any(daemon)
            || matches!(self.status.phase.as_str(), "Succeeded" | "Failed")
    }

    /// Whether it serves.
    pub fn is_ready(&self) -> bool {
        condition(&self.status.conditions, "Ready").is_some_and(Condition::is_true)
    }
}

impl Resource for Pod {
    const GROUP: &'static str = "";
    const VERSION: &'static str = "v1";
    const KIND: &'static str = "Pod";
    const PLURAL: &'static str = "pods";
    const NAMESPACED: bool = true;
}

/// How many pods of a workload may be away at once.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodDisruptionBudget {
    /// Names.
    pub metadata: Metadata,
    /// What it is about.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: BudgetSpec,
    /// What it allows now.
    #[serde(deserialize_with = "null_as_default")]
    pub status: BudgetStatus,
}

/// `spec` of a budget.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BudgetSpec {
    /// Its pods: an empty selector selects all of the namespace, an absent one none.
    pub selector: Option<Selector>,
    /// `IfHealthyBudget`, which is the default, or `AlwaysAllow`.
    #[serde(deserialize_with = "null_as_default")]
    pub unhealthy_pod_eviction_policy: String,
}

/// `status` of a budget.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BudgetStatus {
    /// How many more pods may go.
    #[serde(deserialize_with = "null_as_default")]
    pub disruptions_allowed: i64,
    /// How many pods serve.
    #[serde(deserialize_with = "null_as_default")]
    pub current_healthy: i64,
    /// How many have to.
    #[serde(deserialize_with = "null_as_default")]
    pub desired_healthy: i64,
}

impl PodDisruptionBudget {
    /// Whether a pod is one of its pods.
    pub fn covers(&self, pod: &Pod) -> bool {
        self.metadata.namespace == pod.metadata.namespace
            && self.spec.selector.as_ref().is_some_and(|selector| selector.matches(&pod.metadata.labels))
    }
}

impl Resource for PodDisruptionBudget {
    const GROUP: &'static str = "policy";
    const VERSION: &'static str = "v1";
    const KIND: &'static str = "PodDisruptionBudget";
    const PLURAL: &'static str = "poddisruptionbudgets";
    const NAMESPACED: bool = true;
}
