//! `MachineConfiguration` of the operator: which machine resources get new boot images, and how old boot images may be.

use serde::{Deserialize, Serialize};

use super::absent::null_as_default;
use super::{Condition, Metadata, Resource, Selector};

/// The object; there is one, called [`MachineConfiguration::NAME`].
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineConfiguration {
    /// Names and annotations.
    #[serde(deserialize_with = "null_as_default")]
    pub metadata: Metadata,
    /// What the administrator asks for.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: MachineConfigurationSpec,
    /// What is in force.
    #[serde(deserialize_with = "null_as_default")]
    pub status: MachineConfigurationStatus,
}

impl MachineConfiguration {
    /// Name of the only object.
    pub const NAME: &'static str = "cluster";
}

/// `spec`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineConfigurationSpec {
    /// Which machine resources get new boot images; the platform's default where it is absent.
    pub managed_boot_images: Option<ManagedBootImages>,
    /// How old boot images may be; the operator chooses where it is absent.
    pub boot_image_skew_enforcement: Option<SkewEnforcement>,
}

/// `status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineConfigurationStatus {
    /// Which machine resources get new boot images; absent until the operator has said so.
    pub managed_boot_images_status: Option<ManagedBootImages>,
    /// How old boot images may be; absent until the operator has said so.
    pub boot_image_skew_enforcement_status: Option<SkewEnforcement>,
    /// Conditions.
    #[serde(deserialize_with = "null_as_default")]
    pub conditions: Vec<Condition>,
    /// Generation that the operator has seen.
    pub observed_generation: Option<i64>,
}

/// Which machine resources get new boot images.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ManagedBootImages {
    /// By resource. An empty list, unlike an absent one, is a decision: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_managers: Option<Vec<MachineManager>>,
}

/// Which objects of one resource get new boot images.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineManager {
    /// `machinesets` or `controlplanemachinesets`; `machinedeployments` of the Cluster API.
    #[serde(deserialize_with = "null_as_default")]
    pub resource: String,
    /// Group of the resource.
    #[serde(deserialize_with = "null_as_default")]
    pub api_group: String,
    /// Which of them.
    #[serde(deserialize_with = "null_as_default")]
    pub selection: Selection,
}

/// Which objects of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Selection {
    /// `All`, `Partial` or `None`.
    #[serde(deserialize_with = "null_as_default")]
    pub mode: String,
    /// Which, with `Partial`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<PartialSelection>,
}

/// Objects by their labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PartialSelection {
    /// The labels; nothing is selected where it is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_resource_selector: Option<Selector>,
}

/// How old boot images may be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SkewEnforcement {
    /// `Automatic` (in a status only), `Manual` or `None`.
    #[serde(deserialize_with = "null_as_default")]
    pub mode: String,
    /// With `Automatic`: the boot image that the operator keeps a record of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub automatic: Option<RecordedBootImage>,
    /// With `Manual`: the boot image that the administrator vouches for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manual: Option<RecordedBootImage>,
}

/// A boot image by its versions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RecordedBootImage {
    /// With `Manual`: `OCPVersion` or `RHCOSVersion`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The release that it came with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ocp_version: Option<String>,
    /// Its own version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rhcos_version: Option<String>,
}

impl Resource for MachineConfiguration {
    const GROUP: &'static str = "operator.openshift.io";
    const VERSION: &'static str = "v1";
    const KIND: &'static str = "MachineConfiguration";
    const PLURAL: &'static str = "machineconfigurations";
    const NAMESPACED: bool = false;
}
