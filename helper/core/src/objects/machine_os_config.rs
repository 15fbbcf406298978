//! `MachineOSConfig`: a pool that builds its own OS image, and the image it last built.

use serde::Deserialize;

use super::absent::null_as_default;
use super::{Metadata, NameRef, Resource};

/// The object.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineOSConfig {
    /// Names.
    pub metadata: Metadata,
    /// What is built.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: MachineOSConfigSpec,
    /// What was built.
    #[serde(deserialize_with = "null_as_default")]
    pub status: MachineOSConfigStatus,
}

/// `spec`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineOSConfigSpec {
    /// For which pool.
    #[serde(deserialize_with = "null_as_default")]
    pub machine_config_pool: NameRef,
}

/// `status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineOSConfigStatus {
    /// The image that nodes are to run; empty until it is built.
    #[serde(deserialize_with = "null_as_default")]
    pub current_image_pull_spec: String,
}

impl Resource for MachineOSConfig {
    const GROUP: &'static str = "machineconfiguration.openshift.io";
    const VERSION: &'static str = "v1";
    const OLDER_VERSIONS: &'static [&'static str] = &["v1alpha1"];
    const KIND: &'static str = "MachineOSConfig";
    const PLURAL: &'static str = "machineosconfigs";
    const NAMESPACED: bool = false;
}
