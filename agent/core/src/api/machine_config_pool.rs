//! `MachineConfigPool`: which machines share a configuration, and how far they are.
//!
//! Owns the shape only; the operator writes pools and Ostler reads them.

use super::NameRef;
use super::absent::null_as_default;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, Time};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the pool should be.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "machineconfiguration.openshift.io",
    version = "v1",
    kind = "MachineConfigPool",
    plural = "machineconfigpools",
    singular = "machineconfigpool",
    shortname = "mcp",
    doc = "A set of machines that share a rendered configuration.",
    status = "MachineConfigPoolStatus",
    derive = "PartialEq",
    derive = "Default"
)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineConfigPoolSpec {
    /// The rendered configuration the pool's machines are to reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configuration: Option<PoolConfiguration>,
    /// Selects the configurations that are rendered into one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_config_selector: Option<LabelSelector>,
    /// How many machines, or what share of them, may be unavailable during an update.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrString>,
    /// Selects the pool's nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_selector: Option<LabelSelector>,
    /// The stream the pool takes its OS image from, when not the cluster's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os_image_stream: Option<NameRef>,
    /// Whether updates are held back.
    pub paused: bool,
    /// Sets of images the pool's nodes keep pulled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pinned_image_sets: Vec<NameRef>,
}

/// How far the pool is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineConfigPoolStatus {
    /// Expiry of the certificates the operator manages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cert_expirys: Vec<CertExpiry>,
    /// The pool's conditions.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<PoolCondition>,
    /// The configuration all machines of the pool last reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configuration: Option<PoolConfiguration>,
    /// Machines whose update failed or was refused.
    pub degraded_machine_count: i32,
    /// Machines in the pool.
    pub machine_count: i32,
    /// Generation of the pool the operator has seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The stream in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os_image_stream: Option<NameRef>,
    /// Progress of what is kept in step with the pool beside its configuration.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pool_synchronizers_status: Vec<PoolSynchronizerStatus>,
    /// Updated machines that are ready.
    pub ready_machine_count: i32,
    /// Machines that are not available.
    pub unavailable_machine_count: i32,
    /// Machines at the targeted configuration.
    pub updated_machine_count: i32,
}

/// A rendered configuration and the configurations it was made of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PoolConfiguration {
    /// API version of the rendered configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// Unused by the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field_path: Option<String>,
    /// Kind of the rendered configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Name of the rendered configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Unused: configurations are cluster-scoped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Resource version of the rendered configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
    /// The configurations merged into it.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    pub source: Vec<ObjectReference>,
    /// Identity of the rendered configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}

/// A condition of a pool, laxer than the standard one: any field may be missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PoolCondition {
    /// When the status last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// Explanation for people.
    pub message: String,
    /// Explanation for programs; the operator often leaves it empty.
    pub reason: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Type of the condition.
    #[serde(rename = "type")]
    pub type_: String,
}

/// When a certificate of a bundle expires.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CertExpiry {
    /// The bundle the certificate is in.
    pub bundle: String,
    /// When it expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expiry: Option<Time>,
    /// Subject of the certificate.
    pub subject: String,
}

/// Progress of one kind of object that is kept in step with the pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PoolSynchronizerStatus {
    /// Machines ready to be worked on.
    pub available_machine_count: i64,
    /// Machines in the pool.
    pub machine_count: i64,
    /// Generation the operator has seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// What is kept in step; `PinnedImageSets` is the only one.
    pub pool_synchronizer_type: String,
    /// Machines that are done and available.
    pub ready_machine_count: i64,
    /// Machines that are not available.
    pub unavailable_machine_count: i64,
    /// Machines that are done.
    pub updated_machine_count: i64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_field_has_the_name_of_the_crd() {
        let configuration = json!({"apiVersion": "v1", "fieldPath": "f", "kind": "MachineConfig", "name": "rendered-a",
            "namespace": "n", "resourceVersion": "7", "uid": "u", "source": [{"kind": "MachineConfig", "name": "00-a"}]});
        let counts = json!({"availableMachineCount": 1, "machineCount": 2, "observedGeneration": 3,
            "poolSynchronizerType": "PinnedImageSets", "readyMachineCount": 4, "unavailableMachineCount": 5,
            "updatedMachineCount": 6});
        let object = json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
            "metadata": {"name": "worker"},
            "spec": {"configuration": configuration, "maxUnavailable": "10%", "paused": true,
                "machineConfigSelector": {"matchLabels": {"a": "b"}}, "nodeSelector": {"matchLabels": {"c": ""}},
                "osImageStream": {"name": "rhel-9"}, "pinnedImageSets": [{"name": "p"}]},
            "status": {"configuration": configuration, "degradedMachineCount": 1, "machineCount": 2,
                "observedGeneration": 3, "osImageStream": {"name": "rhel-9"}, "readyMachineCount": 4,
                "unavailableMachineCount": 5, "updatedMachineCount": 6, "poolSynchronizersStatus": [counts],
                "certExpirys": [{"bundle": "b", "expiry": "2026-01-02T03:04:05Z", "subject": "s"}],
                "conditions": [{"lastTransitionTime": "2026-01-02T03:04:05Z", "message": "m", "reason": "",
                    "status": "True", "type": "Updated"}]},
        });
        let pool: MachineConfigPool = serde_json::from_value(object.clone()).unwrap();
        assert_eq!(serde_json::to_value(pool).unwrap(), object);
    }

    #[test]
    fn a_condition_without_a_time_is_read_and_written_without_one() {
        let condition: PoolCondition =
            serde_json::from_value(json!({"type": "a", "lastTransitionTime": null})).unwrap();
        let written = json!({"type": "a", "status": "", "reason": "", "message": ""});
        assert_eq!(serde_json::to_value(condition).unwrap(), written);
    }

    #[test]
    fn an_empty_pool_is_read_and_writes_no_null() {
        let pool: MachineConfigPool =
            serde_json::from_value(json!({"metadata": {}, "spec": {}, "status": {}})).unwrap();
        assert_eq!(serde_json::to_value(&pool.spec).unwrap(), json!({"paused": false}));
    }
}
