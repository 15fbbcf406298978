//! `MachineConfig`, whole: for the agent's planner, and to know how large it is.

use ostler_core::secret::Secret;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::Resource;

/// The object as the cluster has it. Its files hold secrets.
#[derive(Clone, Debug, PartialEq)]
pub struct WholeConfig(pub Secret<Value>);

impl<'de> Deserialize<'de> for WholeConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(|value| Self(Secret::new(value)))
    }
}

impl Resource for WholeConfig {
    const GROUP: &'static str = "machineconfiguration.openshift.io";
    const VERSION: &'static str = "v1";
    const KIND: &'static str = "MachineConfig";
    const PLURAL: &'static str = "machineconfigs";
    const NAMESPACED: bool = false;
    // Each may have more than a megabyte.
    const PAGE: u32 = 25;
}
