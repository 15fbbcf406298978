//! `MachineConfigNode`: how far a node is with its configuration, and what it cannot take on.

use serde::{Deserialize, Deserializer};

use super::absent::null_as_default;
use super::{Condition, Metadata, NameRef, Resource};

/// The object; its name is the node's.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineConfigNode {
    /// Its name, and when it was made.
    #[serde(deserialize_with = "slim")]
    pub metadata: Metadata,
    /// What the node should be.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: MachineConfigNodeSpec,
    /// How far it is.
    #[serde(deserialize_with = "null_as_default")]
    pub status: MachineConfigNodeStatus,
}

/// `spec`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineConfigNodeSpec {
    /// The node's pool.
    #[serde(deserialize_with = "null_as_default")]
    pub pool: NameRef,
}

/// `status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineConfigNodeStatus {
    /// Conditions; those are left out that neither hold nor say when something ended.
    #[serde(deserialize_with = "telling")]
    pub conditions: Vec<Condition>,
    /// What only a new installation can take on.
    #[serde(deserialize_with = "null_as_default")]
    pub irreconcilable_changes: Vec<IrreconcilableChange>,
}

/// What only a new installation can take on. The difference itself may hold secrets and is not read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct IrreconcilableChange {
    /// Where in the configuration.
    #[serde(deserialize_with = "null_as_default")]
    pub field_path: String,
}

/// Keeps the name and the time: there may be thousands of these.
fn slim<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Metadata, D::Error> {
    let metadata = Metadata::deserialize(deserializer)?;
    Ok(Metadata {
        name: metadata.name,
        generation: metadata.generation,
        creation_timestamp: metadata.creation_timestamp,
        ..Metadata::default()
    })
}

/// Conditions of which it matters since when they do not hold.
const LASTING: [&str; 2] = ["Updated", "NodeDegraded"];

/// A node has a dozen conditions, most of which say at length that nothing has happened.
fn telling<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Condition>, D::Error> {
    let mut conditions: Vec<Condition> = null_as_default(deserializer)?;
    conditions.retain(|condition| condition.status != "False" || LASTING.contains(&condition.type_.as_str()));
    for condition in conditions.iter_mut().filter(|condition| condition.status == "False") {
        condition.message = String::new();
        condition.reason = String::new();
    }
    conditions.shrink_to_fit();
    Ok(conditions)
}

impl Resource for MachineConfigNode {
    const GROUP: &'static str = "machineconfiguration.openshift.io";
    const VERSION: &'static str = "v1";
    const OLDER_VERSIONS: &'static [&'static str] = &["v1alpha1"];
    const KIND: &'static str = "MachineConfigNode";
    const PLURAL: &'static str = "machineconfignodes";
    const NAMESPACED: bool = false;
    // There may be thousands, each with kilobytes that are not kept.
    const PAGE: u32 = 100;
}
