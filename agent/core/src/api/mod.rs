//! The cluster's objects as Ostler reads and writes them.
//!
//! Owns names, shapes and the limits the API server puts on what we write; decides nothing from them. Unknown fields
//! are ignored on reading, so a typed object must never replace one in the cluster: send patches or server-side apply.

mod absent;
pub mod controller_config;
pub mod disruption_policy;
pub mod machine_config;
pub mod machine_config_node;
pub mod machine_config_pool;
pub mod machine_configuration;
pub mod os_image_stream;
pub mod pinned_image_set;

pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

pub use controller_config::{ControllerConfig, ControllerConfigSpec};
pub use disruption_policy::{
    FilePolicy, NodeDisruptionPolicyConfig, PolicyAction, PolicyActionType, ServiceRef, SshKeyPolicy, UnitPolicy,
};
pub use machine_config::{MachineConfig, MachineConfigSpec};
pub use machine_config_node::{
    IrreconcilableChange, LimitError, MachineConfigNode, MachineConfigNodeSpec, MachineConfigNodeStatus,
};
pub use machine_config_pool::{MachineConfigPool, MachineConfigPoolSpec, MachineConfigPoolStatus};
pub use machine_configuration::{
    MachineConfiguration, MachineConfigurationSpec, MachineConfigurationStatus, StorageOverride,
};
pub use os_image_stream::{OSImageStream, OSImageStreamSpec, OSImageStreamStatus};
pub use pinned_image_set::{PinnedImageSet, PinnedImageSetSpec};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A reference to a cluster-scoped object by its name alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NameRef {
    /// Name of the object.
    pub name: String,
}

impl NameRef {
    /// Refers to the object called `name`.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into() }
    }
}
