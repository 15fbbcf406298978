//! `MachineConfigNode`: what a node is to become, and how far it is.
//!
//! Owns the shape and the API server's limits on the status, which is ours to write; which conditions to report is
//! decided elsewhere. All limits on text count Unicode code points, as the API server does.

mod limits;

pub use limits::{ConditionStatus, LimitError, bounded_message, condition};

use super::NameRef;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most conditions of a node.
pub const MAX_CONDITIONS: usize = 20;
/// Longest message of a condition.
pub const MAX_CONDITION_MESSAGE: usize = 32_768;
/// Longest reason of a condition.
pub const MAX_CONDITION_REASON: usize = 1024;
/// Longest type of a condition.
pub const MAX_CONDITION_TYPE: usize = 316;
/// Most irreconcilable changes of a node.
pub const MAX_CHANGES: usize = 32;
/// Longest field path of an irreconcilable change.
pub const MAX_FIELD_PATH: usize = 70;
/// Longest difference of an irreconcilable change.
pub const MAX_DIFF: usize = 4096;
/// What every field path of an irreconcilable change starts with.
pub const FIELD_PATH_PREFIX: &str = "spec.";
/// Most pinned image sets of a node.
pub const MAX_PINNED_IMAGE_SETS: usize = 100;
/// Longest error of a pinned image set.
pub const MAX_PINNED_IMAGE_SET_ERROR: usize = 32_768;
/// Longest name of an object.
pub const MAX_NAME: usize = 253;

/// What the node is to become.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "machineconfiguration.openshift.io",
    version = "v1",
    kind = "MachineConfigNode",
    plural = "machineconfignodes",
    singular = "machineconfignode",
    doc = "What a node is to become, and how far it is. Its name is the node's.",
    status = "MachineConfigNodeStatus",
    derive = "PartialEq"
)]
#[serde(rename_all = "camelCase")]
pub struct MachineConfigNodeSpec {
    /// The image to run, in clusters that build their own OS images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_image: Option<SpecConfigImage>,
    /// The configuration to reach.
    pub config_version: SpecConfigVersion,
    /// The node.
    pub node: NameRef,
    /// The node's pool.
    pub pool: NameRef,
}

/// The configuration to reach.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpecConfigVersion {
    /// Name of the rendered configuration.
    pub desired: String,
}

/// The image to run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpecConfigImage {
    /// Pull specification by digest.
    pub desired_image: String,
}

/// How far the node is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineConfigNodeStatus {
    /// Conditions, one of each type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The images the node runs and is to run; only where the cluster's gate for it is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_image: Option<StatusConfigImage>,
    /// The configurations the node has and is to have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_version: Option<StatusConfigVersion>,
    /// Release images served from the node itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub internal_release_image: Option<InternalReleaseImage>,
    /// Differences from the configuration that only new machines can take on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub irreconcilable_changes: Vec<IrreconcilableChange>,
    /// Generation of this object that was dealt with; at least 1 and never less than before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Progress of each pinned image set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pinned_image_sets: Vec<PinnedImageSetProgress>,
}

/// The configurations the node has and is to have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StatusConfigVersion {
    /// Name of the configuration in effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<String>,
    /// Name of the configuration to reach.
    pub desired: String,
}

/// The images the node runs and is to run. At least one is given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct StatusConfigImage {
    /// Pull specification of the image in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_image: Option<String>,
    /// Pull specification of the image to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desired_image: Option<String>,
}

/// A difference from the configuration that only new machines can take on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IrreconcilableChange {
    /// Where in the configuration.
    pub field_path: String,
    /// The difference, for people.
    pub diff: String,
}

/// Progress of one pinned image set. The desired generation is at least each of the others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PinnedImageSetProgress {
    /// Generation last pulled and pinned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_generation: Option<i32>,
    /// Generation being pulled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired_generation: Option<i32>,
    /// Generation that last failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failed_generation: Option<i32>,
    /// Why it failed; present whenever a generation failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failed_generation_error: Option<String>,
    /// Name of the set.
    pub name: String,
}

/// Release images served from the node itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InternalReleaseImage {
    /// The releases, by name; 1 to 32.
    #[serde(default)]
    pub releases: Vec<InternalRelease>,
}

/// A release served from the node itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InternalRelease {
    /// Conditions of the release, at most 5.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Pull specification by digest, once the release is installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// `ocp-release-bundle-<version>-<architecture or stream>`.
    pub name: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_field_has_the_name_of_the_crd() {
        let condition = json!({"lastTransitionTime": "2026-01-02T03:04:05Z", "message": "", "observedGeneration": 1,
            "reason": "R", "status": "Unknown", "type": "Updated"});
        let object = json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigNode",
            "metadata": {"name": "node-0"},
            "spec": {"configImage": {"desiredImage": "i"}, "configVersion": {"desired": "rendered-a"},
                "node": {"name": "node-0"}, "pool": {"name": "worker"}},
            "status": {
                "conditions": [condition],
                "configImage": {"currentImage": "i", "desiredImage": "j"},
                "configVersion": {"current": "rendered-a", "desired": "rendered-b"},
                "internalReleaseImage": {"releases": [{"conditions": [condition], "image": "i", "name": "r"}]},
                "irreconcilableChanges": [{"diff": "d", "fieldPath": "spec.a"}],
                "observedGeneration": 2,
                "pinnedImageSets": [{"currentGeneration": 1, "desiredGeneration": 3, "lastFailedGeneration": 2,
                    "lastFailedGenerationError": "e", "name": "p"}],
            },
        });
        let node: MachineConfigNode = serde_json::from_value(object.clone()).unwrap();
        assert_eq!(serde_json::to_value(node).unwrap(), object);
    }

    #[test]
    fn an_empty_status_writes_neither_nulls_nor_empty_lists() {
        assert_eq!(serde_json::to_value(MachineConfigNodeStatus::default()).unwrap(), json!({}));
        let release: InternalRelease = serde_json::from_value(json!({"name": "r"})).unwrap();
        assert_eq!(serde_json::to_value(release).unwrap(), json!({"name": "r"}));
    }
}
