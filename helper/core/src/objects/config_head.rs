//! `MachineConfig` without its contents: who made it for which pool, and the OS image it names.

use serde::{Deserialize, Deserializer};

use super::absent::null_as_default;
use super::{Metadata, Resource};

/// Where the machine-config operator notes that it wrote a configuration itself.
const GENERATED: &str = "machineconfiguration.openshift.io/generated-by-controller-version";

/// The object.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConfigHead {
    /// Names, labels and annotations; not who wrote which field.
    #[serde(deserialize_with = "slim")]
    pub metadata: Metadata,
    /// What it says.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: ConfigHeadSpec,
}

/// `spec`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConfigHeadSpec {
    /// The OS image; empty where it is left to others.
    #[serde(rename = "osImageURL", deserialize_with = "null_as_default")]
    pub os_image_url: String,
}

impl ConfigHead {
    /// Whether the operator wrote it itself.
    pub fn is_generated(&self) -> bool {
        self.metadata.annotations.contains_key(GENERATED)
    }
}

fn slim<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Metadata, D::Error> {
    let metadata = Metadata::deserialize(deserializer)?;
    Ok(Metadata { managed_fields: Vec::new(), ..metadata })
}

impl Resource for ConfigHead {
    const GROUP: &'static str = "machineconfiguration.openshift.io";
    const VERSION: &'static str = "v1";
    const KIND: &'static str = "MachineConfig";
    const PLURAL: &'static str = "machineconfigs";
    const NAMESPACED: bool = false;
    // Each may have more than a megabyte.
    const PAGE: u32 = 25;
}
