//! `MachineConfiguration`: the cluster-wide settings of machine configuration.
//!
//! Owns the shape of the parts Ostler uses: disruption policies, overrides of refusals, and boot images. The operator's
//! own settings (log levels, revision limits) are left out.

use super::disruption_policy::NodeDisruptionPolicyConfig;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name of the only object of this kind.
pub const NAME: &str = "cluster";

/// What the administrator asks for.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "operator.openshift.io",
    version = "v1",
    kind = "MachineConfiguration",
    plural = "machineconfigurations",
    singular = "machineconfiguration",
    doc = "Cluster-wide settings of machine configuration.",
    status = "MachineConfigurationStatus",
    derive = "PartialEq",
    derive = "Default"
)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineConfigurationSpec {
    /// How old boot images may be before upgrades stop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot_image_skew_enforcement: Option<BootImageSkewEnforcement>,
    /// Sections that may change although machines that exist cannot follow.
    #[serde(skip_serializing_if = "IrreconcilableValidationOverrides::is_empty")]
    pub irreconcilable_validation_overrides: IrreconcilableValidationOverrides,
    /// Which machine resources get new boot images.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub managed_boot_images: Option<ManagedBootImages>,
    /// The administrator's disruption policies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_disruption_policy: Option<NodeDisruptionPolicyConfig>,
}

/// What the operator made of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineConfigurationStatus {
    /// The skew enforcement in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot_image_skew_enforcement_status: Option<BootImageSkewEnforcementStatus>,
    /// Conditions of boot image updates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The boot image management in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub managed_boot_images_status: Option<ManagedBootImages>,
    /// The disruption policies in force; absent until the operator has merged them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_disruption_policy_status: Option<NodeDisruptionPolicyStatus>,
    /// Generation the operator has dealt with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// The disruption policies in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeDisruptionPolicyStatus {
    /// The administrator's policies merged over the operator's.
    pub cluster_policies: NodeDisruptionPolicyConfig,
}

/// Sections that may change although machines that exist cannot follow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct IrreconcilableValidationOverrides {
    /// Sections of `spec.config.storage`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub storage: Vec<StorageOverride>,
}

impl IrreconcilableValidationOverrides {
    /// Whether nothing is overridden, as when the field is absent.
    pub const fn is_empty(&self) -> bool {
        self.storage.is_empty()
    }

    /// Whether changes to `section` are let through.
    pub fn allows(&self, section: StorageOverride) -> bool {
        self.storage.contains(&section)
    }
}

/// A section of `spec.config.storage`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum StorageOverride {
    /// `disks`.
    Disks,
    /// `filesystems`.
    FileSystems,
    /// `raid`.
    Raid,
    /// A section this release does not know, and so does not let through.
    #[serde(other, skip_serializing)]
    Unrecognised,
}

/// How old boot images may be, as asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BootImageSkewEnforcement {
    /// The boot image the administrator declares; present exactly with `Manual`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manual: Option<ManualBootImage>,
    /// `Manual` or `None`. Text, so that a new mode does not hide the policies from a node.
    pub mode: String,
}

/// How old boot images may be, as in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BootImageSkewEnforcementStatus {
    /// The boot image the operator found; present exactly with `Automatic`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub automatic: Option<AutomaticBootImage>,
    /// The boot image the administrator declared; present exactly with `Manual`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manual: Option<ManualBootImage>,
    /// `Automatic`, `Manual` or `None`.
    pub mode: String,
}

/// The oldest boot image of the cluster by the word of its administrator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManualBootImage {
    /// `OCPVersion` or `RHCOSVersion`: which one is given.
    pub mode: String,
    /// Version of the release that shipped the boot image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ocp_version: Option<String>,
    /// Version of the OS in the boot image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rhcos_version: Option<String>,
}

/// The boot image of the cluster as the operator found it; at least one version is given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AutomaticBootImage {
    /// Version of the release that shipped the boot image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ocp_version: Option<String>,
    /// Version of the OS in the boot image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rhcos_version: Option<String>,
}

/// Which machine resources get new boot images.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ManagedBootImages {
    /// The resources; an empty list switches management off, an absent one leaves it to the platform.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_managers: Option<Vec<MachineManager>>,
}

/// One kind of machine resource.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineManager {
    /// API group of the resource.
    pub api_group: String,
    /// `machinesets` or `controlplanemachinesets`.
    pub resource: String,
    /// Which objects of the resource.
    pub selection: MachineManagerSelection,
}

/// Which objects of a machine resource.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineManagerSelection {
    /// `All`, `Partial` or `None`.
    pub mode: String,
    /// Present exactly with `Partial`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<PartialSelection>,
}

/// Objects of a machine resource by label.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PartialSelection {
    /// Labels the objects carry.
    pub machine_resource_selector: LabelSelector,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_field_has_the_name_of_the_crd() {
        let managers = json!({"machineManagers": [{"apiGroup": "machine.openshift.io", "resource": "machinesets",
            "selection": {"mode": "Partial", "partial": {"machineResourceSelector": {"matchLabels": {"a": "b"}}}}}]});
        let manual = json!({"mode": "Manual", "manual": {"mode": "OCPVersion", "ocpVersion": "4.20.1"}});
        let policies = json!({"files": [{"path": "/etc/a", "actions": [{"type": "None"}]}],
            "units": [{"name": "a.service", "actions": [{"type": "Drain"}]}],
            "sshkey": {"actions": [{"type": "None"}]}});
        let object = json!({
            "apiVersion": "operator.openshift.io/v1", "kind": "MachineConfiguration", "metadata": {"name": NAME},
            "spec": {"bootImageSkewEnforcement": manual, "managedBootImages": managers, "nodeDisruptionPolicy": policies,
                "irreconcilableValidationOverrides": {"storage": ["Disks", "FileSystems", "Raid"]}},
            "status": {"managedBootImagesStatus": managers, "observedGeneration": 3,
                "nodeDisruptionPolicyStatus": {"clusterPolicies": policies},
                "bootImageSkewEnforcementStatus": {"mode": "Automatic",
                    "automatic": {"ocpVersion": "4.20.1", "rhcosVersion": "9.6.20250101-0"}},
                "conditions": [{"lastTransitionTime": "2026-01-02T03:04:05Z", "message": "m", "reason": "R",
                    "status": "True", "type": "T"}]},
        });
        let configuration: MachineConfiguration = serde_json::from_value(object.clone()).unwrap();
        assert_eq!(serde_json::to_value(configuration).unwrap(), object);
    }

    #[test]
    fn an_empty_object_writes_neither_nulls_nor_empty_lists() {
        let empty: MachineConfiguration =
            serde_json::from_value(json!({"metadata": {}, "spec": {}, "status": {}})).unwrap();
        assert_eq!(serde_json::to_value(&empty.spec).unwrap(), json!({}));
        assert_eq!(serde_json::to_value(&empty.status).unwrap(), json!({}));
    }

    #[test]
    fn an_override_of_a_later_release_is_read_and_allows_nothing() {
        let overrides: IrreconcilableValidationOverrides =
            serde_json::from_value(json!({"storage": ["Luks", "Raid"]})).unwrap();
        assert!(overrides.allows(StorageOverride::Raid));
        assert!(!overrides.allows(StorageOverride::Disks));
    }
}
