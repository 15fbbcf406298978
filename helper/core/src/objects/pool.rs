//! `MachineConfigPool`: machines that share a configuration, and how far they are.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::absent::{moment, null_as_default};
use super::{Condition, Metadata, Resource, Selector};

/// The object.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineConfigPool {
    /// Names and labels.
    pub metadata: Metadata,
    /// What it should be.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: PoolSpec,
    /// How far it is.
    #[serde(deserialize_with = "null_as_default")]
    pub status: PoolStatus,
}

/// `spec`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PoolSpec {
    /// The rendered configuration to reach.
    #[serde(deserialize_with = "null_as_default")]
    pub configuration: PoolConfiguration,
    /// Which configurations are rendered for it.
    #[serde(deserialize_with = "null_as_default")]
    pub machine_config_selector: Selector,
    /// Which nodes are in it.
    #[serde(deserialize_with = "null_as_default")]
    pub node_selector: Selector,
    /// How many nodes may be unavailable: a number, or a share as text.
    pub max_unavailable: Option<Value>,
    /// The stream it takes its OS from, where it says so itself.
    pub os_image_stream: Option<NameRef>,
    /// Whether updates are held back.
    #[serde(deserialize_with = "null_as_default")]
    pub paused: bool,
}

/// `status`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PoolStatus {
    /// Conditions.
    #[serde(deserialize_with = "null_as_default")]
    pub conditions: Vec<Condition>,
    /// The rendered configuration that all machines last reached.
    #[serde(deserialize_with = "null_as_default")]
    pub configuration: PoolConfiguration,
    /// The stream of that configuration; empty while an update is under way.
    pub os_image_stream: Option<NameRef>,
    /// Generation that the operator has seen.
    pub observed_generation: Option<i64>,
    /// Machines in the pool.
    #[serde(deserialize_with = "null_as_default")]
    pub machine_count: i64,
    /// Machines in the configuration to reach.
    #[serde(deserialize_with = "null_as_default")]
    pub updated_machine_count: i64,
    /// Of those, machines that are ready.
    #[serde(deserialize_with = "null_as_default")]
    pub ready_machine_count: i64,
    /// Machines that are not available.
    #[serde(deserialize_with = "null_as_default")]
    pub unavailable_machine_count: i64,
    /// Machines whose update failed.
    #[serde(deserialize_with = "null_as_default")]
    pub degraded_machine_count: i64,
    /// When certificates expire.
    #[serde(deserialize_with = "null_as_default")]
    pub cert_expirys: Vec<CertExpiry>,
}

/// A rendered configuration and what it was made of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PoolConfiguration {
    /// Name of the rendered configuration.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// Configurations that were merged into it.
    #[serde(deserialize_with = "null_as_default")]
    pub source: Vec<NameRef>,
}

/// Something by its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NameRef {
    /// The name.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
}

/// When a certificate expires.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CertExpiry {
    /// The bundle it is in.
    pub bundle: String,
    /// Its subject.
    pub subject: String,
    /// When.
    #[serde(deserialize_with = "moment")]
    pub expiry: Option<Timestamp>,
}

impl MachineConfigPool {
    /// The stream that it chooses itself, if it does.
    pub fn own_stream(&self) -> Option<&str> {
        self.spec.os_image_stream.as_ref().map(|stream| stream.name.as_str()).filter(|name| !name.is_empty())
    }
}

impl Resource for MachineConfigPool {
    const GROUP: &'static str = "machineconfiguration.openshift.io";
    const VERSION: &'static str = "v1";
    const KIND: &'static str = "MachineConfigPool";
    const PLURAL: &'static str = "machineconfigpools";
    const NAMESPACED: bool = false;
}
