//! What is read of a cluster: one small type per kind, with the fields that something is decided on and no others.
//!
//! Reading is lenient, because a dump may be of any release: absent and null fields are empty, unknown ones are ignored.
//! Nothing is decided here.

mod absent;
mod cluster_version;
mod config_head;
mod config_map;
mod image_stream;
mod infrastructure;
mod machine;
mod machine_config;
mod machine_config_node;
mod machine_configuration;
mod machine_os_config;
mod meta;
mod node;
mod pod;
mod pool;
mod registry;
mod secret;
mod stream;
mod validation_settings;
mod whole_config;

use ostler_core::secret::Secret as Hidden;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use cluster_version::{ClusterVersion, ClusterVersionStatus, HistoryEntry, Release};
pub use config_head::{ConfigHead, ConfigHeadSpec};
pub use config_map::ConfigMap;
pub use image_stream::{ImageStream, ImageStreamSpec, Tag, TagSource};
pub use infrastructure::{
    AwsStatus, AzureStatus, FailureDomain, Infrastructure, InfrastructureSpec, InfrastructureStatus, PlatformSpec,
    PlatformStatus, Provisioning, Topology, VsphereSpec,
};
pub use machine::{
    AwsMachineTemplate, AzureMachineTemplate, CLUSTER_API, CLUSTER_API_NAMESPACE, ClusterMachineSet,
    ControlPlaneMachineSet, GcpMachineTemplate, INFRASTRUCTURE_API, MACHINE_API, MACHINE_API_NAMESPACE,
    MachineDeployment, MachineSet, Whole,
};
pub use machine_config::{ControllerConfig, ControllerConfigSpec, MachineConfig, MachineConfigSpec, RegistryBundle};
pub use machine_config_node::{
    IrreconcilableChange, MachineConfigNode, MachineConfigNodeSpec, MachineConfigNodeStatus,
};
pub use machine_configuration::{
    MachineConfiguration, MachineConfigurationSpec, MachineConfigurationStatus, MachineManager, ManagedBootImages,
    PartialSelection, RecordedBootImage, Selection, SkewEnforcement,
};
pub use machine_os_config::{MachineOSConfig, MachineOSConfigSpec, MachineOSConfigStatus};
pub use meta::{Condition, ManagedFields, Metadata, OwnerReference, Requirement, Selector, condition};
pub use node::{Node, NodeInfo, NodeSpec, NodeStatus, Taint};
pub use pod::{BudgetSpec, BudgetStatus, Pod, PodDisruptionBudget, PodSpec, PodStatus};
pub use pool::{CertExpiry, MachineConfigPool, NameRef, PoolConfiguration, PoolSpec, PoolStatus};
pub use registry::{
    DigestMirrorSpec, ImageConfig, ImageConfigSpec, ImageContentSourcePolicy, ImageDigestMirrorSet, ImageTagMirrorSet,
    MirrorRule, Proxy, ProxyStatus, RegistrySources, Secret as SecretObject, SourcePolicySpec, TagMirrorSpec,
};
pub use secret::Secret;
pub use stream::{OSImageStream, OSImageStreamSpec, OSImageStreamStatus, StreamSet};
pub use validation_settings::{ValidationSettings, ValidationSpec};
pub use whole_config::WholeConfig;

/// A kind, and where the API serves it.
pub trait Resource: DeserializeOwned {
    /// API group; empty for the core group.
    const GROUP: &'static str;
    /// API version within the group.
    const VERSION: &'static str;
    /// Versions to try, in turn, where the server does not know [`Self::VERSION`].
    const OLDER_VERSIONS: &'static [&'static str] = &[];
    /// Kind.
    const KIND: &'static str;
    /// Name in URLs.
    const PLURAL: &'static str;
    /// Whether objects live in namespaces.
    const NAMESPACED: bool;
    /// Most objects to ask for at once.
    const PAGE: u32 = 500;
}

/// Namespace of the machine-config operator.
pub const MCO_NAMESPACE: &str = "openshift-machine-config-operator";

/// Where an object does not have the shape of its kind. Values are not quoted: they may be secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {what}")]
pub struct Misshapen {
    at: String,
    what: &'static str,
}

/// Reads an object of a kind.
pub fn read<T: Resource>(object: Value) -> Result<T, Misshapen> {
    serde_path_to_error::deserialize(object).map_err(|error| {
        let category = error.inner().classify();
        let what = if matches!(category, serde_json::error::Category::Data) {
            "the field is of another type than its kind says"
        } else {
            "the field cannot be read"
        };
        Misshapen { at: error.path().to_string(), what }
    })
}

/// Reads any value without letting it be shown.
fn sealed<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Hidden<Value>, D::Error> {
    serde::Deserialize::deserialize(deserializer).map(Hidden::new)
}

#[cfg(test)]
mod tests;
