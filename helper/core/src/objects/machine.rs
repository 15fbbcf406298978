//! What machines are made from: `MachineSet`, `ControlPlaneMachineSet`, and their relatives of the Cluster API.
//!
//! These are edited in place, so each is kept whole. One that is malformed is kept too: it is reported by its name, and
//! the others go on.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{Metadata, Resource};

/// Namespace of the Machine API.
pub const MACHINE_API_NAMESPACE: &str = "openshift-machine-api";
/// Namespace of the Cluster API.
pub const CLUSTER_API_NAMESPACE: &str = "openshift-cluster-api";
/// Group of the Machine API.
pub const MACHINE_API: &str = "machine.openshift.io";
/// Group of the Cluster API.
pub const CLUSTER_API: &str = "cluster.x-k8s.io";
/// Group of the templates that the Cluster API makes machines from.
pub const INFRASTRUCTURE_API: &str = "infrastructure.cluster.x-k8s.io";

/// An object that is kept whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Whole {
    /// Names, labels and owners; only the names where the rest is malformed.
    pub metadata: Metadata,
    /// All of it.
    pub raw: Value,
    /// What is wrong with the metadata, and where.
    pub misshapen: Option<String>,
}

impl Whole {
    /// A text in it; empty where there is none.
    pub fn text(&self, pointer: &str) -> &str {
        self.raw.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }
}

impl From<Value> for Whole {
    fn from(raw: Value) -> Self {
        let metadata = raw.get("metadata").cloned().unwrap_or_default();
        match serde_path_to_error::deserialize::<_, Metadata>(metadata) {
            Ok(metadata) => Self { metadata, raw, misshapen: None },
            Err(error) => {
                // Values are not quoted: annotations may hold anything.
                let at = match error.path().to_string().as_str() {
                    "." => "metadata".to_owned(),
                    path => format!("metadata.{path}"),
                };
                let text = |pointer| raw.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
                let metadata = Metadata {
                    name: text("/metadata/name"),
                    namespace: text("/metadata/namespace"),
                    ..Metadata::default()
                };
                let problem = format!("{at} is of another type than the API lets it be: correct it in the object");
                Self { metadata, raw, misshapen: Some(problem) }
            }
        }
    }
}

/// Declares kinds that are kept whole.
macro_rules! kept_whole {
    ($($(#[$about:meta])* $kind:ident: $name:literal, $group:expr, $version:literal, $older:expr, $plural:literal;)*) => {$(
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $kind(pub Whole);

        impl<'de> Deserialize<'de> for $kind {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Value::deserialize(deserializer).map(|raw| Self(raw.into()))
            }
        }

        impl Resource for $kind {
            const GROUP: &'static str = $group;
            const VERSION: &'static str = $version;
            const OLDER_VERSIONS: &'static [&'static str] = $older;
            const KIND: &'static str = $name;
            const PLURAL: &'static str = $plural;
            const NAMESPACED: bool = true;
        }
    )*};
}

kept_whole! {
    /// Machines of the Machine API that are alike.
    MachineSet: "MachineSet", MACHINE_API, "v1beta1", &[], "machinesets";
    /// Machines of the control plane.
    ControlPlaneMachineSet: "ControlPlaneMachineSet", MACHINE_API, "v1", &[], "controlplanemachinesets";
    /// Machines of the Cluster API that are alike.
    ClusterMachineSet: "MachineSet", CLUSTER_API, "v1beta2", &["v1beta1"], "machinesets";
    /// Machine sets of the Cluster API, one of them growing while the others shrink.
    MachineDeployment: "MachineDeployment", CLUSTER_API, "v1beta2", &["v1beta1"], "machinedeployments";
    /// What the Cluster API makes machines from in AWS; it never changes.
    AwsMachineTemplate: "AWSMachineTemplate", INFRASTRUCTURE_API, "v1beta2", &["v1beta1"], "awsmachinetemplates";
    /// What the Cluster API makes machines from in Azure; it never changes.
    AzureMachineTemplate: "AzureMachineTemplate", INFRASTRUCTURE_API, "v1beta1", &[], "azuremachinetemplates";
    /// What the Cluster API makes machines from in Google's cloud; it never changes.
    GcpMachineTemplate: "GCPMachineTemplate", INFRASTRUCTURE_API, "v1beta1", &[], "gcpmachinetemplates";
}
