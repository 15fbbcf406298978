//! `MachineConfig` and `ControllerConfig`: what nodes are configured with, and what configurations are made from.

use ostler_core::secret::Secret;
use serde::Deserialize;
use serde_json::Value;

use super::absent::null_as_default;
use super::{Metadata, Resource, sealed};

/// A configuration, written by somebody or rendered.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineConfig {
    /// Names and labels.
    pub metadata: Metadata,
    /// What it says.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: MachineConfigSpec,
}

/// `spec`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineConfigSpec {
    /// The OS image; empty where it is left to others.
    #[serde(rename = "osImageURL", deserialize_with = "null_as_default")]
    pub os_image_url: String,
    /// Image that extensions are installed from; empty where it is left to others.
    #[serde(rename = "baseOSExtensionsContainerImage", deserialize_with = "null_as_default")]
    pub extensions_image: String,
    /// The Ignition config, of any version, whole: its files hold secrets.
    #[serde(deserialize_with = "sealed")]
    pub config: Secret<Value>,
}

impl Resource for MachineConfig {
    const GROUP: &'static str = "machineconfiguration.openshift.io";
    const VERSION: &'static str = "v1";
    const KIND: &'static str = "MachineConfig";
    const PLURAL: &'static str = "machineconfigs";
    const NAMESPACED: bool = false;
    // Each may have more than a megabyte.
    const PAGE: u32 = 25;
}

/// What configurations are made from.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ControllerConfig {
    /// Names and annotations.
    pub metadata: Metadata,
    /// What it says.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: ControllerConfigSpec,
}

impl ControllerConfig {
    /// Name of the only object.
    pub const NAME: &'static str = "machine-config-controller";
}

/// `spec`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ControllerConfigSpec {
    /// The OS image of the release.
    #[serde(rename = "baseOSContainerImage", deserialize_with = "null_as_default")]
    pub os_image: String,
    /// The extensions image of the release.
    #[serde(rename = "baseOSExtensionsContainerImage", deserialize_with = "null_as_default")]
    pub extensions_image: String,
    /// Image of the release.
    #[serde(deserialize_with = "null_as_default")]
    pub release_image: String,
    /// Certificates that are trusted beside the usual ones, in base64.
    #[serde(deserialize_with = "null_as_default")]
    pub additional_trust_bundle: String,
    /// The cluster's own authority, in base64; it vouches for a registry within the cluster.
    #[serde(rename = "rootCAData", deserialize_with = "null_as_default")]
    pub root_ca: String,
    /// Certificates for single registries, by the operator.
    #[serde(rename = "imageRegistryBundleData", deserialize_with = "null_as_default")]
    pub registry_bundles: Vec<RegistryBundle>,
    /// The same by the administrator, for mirrors as a rule.
    #[serde(rename = "imageRegistryBundleUserData", deserialize_with = "null_as_default")]
    pub user_registry_bundles: Vec<RegistryBundle>,
}

/// Certificates for one registry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RegistryBundle {
    /// The registry, with `..` before its port.
    #[serde(deserialize_with = "null_as_default")]
    pub file: String,
    /// The certificates, in base64.
    #[serde(deserialize_with = "null_as_default")]
    pub data: String,
}

impl RegistryBundle {
    /// The registry as it is written in the name of an image.
    pub fn registry(&self) -> String {
        self.file.replace("..", ":")
    }
}

impl Resource for ControllerConfig {
    const GROUP: &'static str = "machineconfiguration.openshift.io";
    const VERSION: &'static str = "v1";
    const KIND: &'static str = "ControllerConfig";
    const PLURAL: &'static str = "controllerconfigs";
    const NAMESPACED: bool = false;
}
