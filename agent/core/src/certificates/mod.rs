//! Certificates and credentials that a cluster hands to its nodes beside their configuration, and where they go.
//!
//! Owns which file has which contents and mode, which registry directories go, and whether the kubelet has to start anew.
//! Refuses to read or write anything: what stands on the machine is told, what is to be done is said.

mod bundle;
mod delivery;
mod errand;
mod given;
mod kubeconfig;
mod record;
mod registry;
#[cfg(test)]
pub(crate) mod samples;

use serde::{Deserialize, Serialize};

pub use bundle::Bundle;
pub use delivery::{Delivery, File, Mode, Refused, Standing, deliver, follow};
pub use errand::{Done, Errand, errand};
pub use given::{Given, GivenError, Registry, bundle_of};
pub use kubeconfig::{KubeconfigError, authority, is_usable, with_authority};
pub use record::{Owed, Record};

/// Registry credentials merged with those of the internal registry.
pub const PULL_SECRET: &str = "/etc/mco/internal-registry-pull-secret.json";

/// What the kubelet verifies its clients with.
pub const KUBELET_CA: &str = "/etc/kubernetes/kubelet-ca.crt";

/// Certificates of the cloud provider.
pub const CLOUD_CA: &str = "/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem";

/// What the kubelet asks for credentials with.
pub const BOOTSTRAP_KUBECONFIG: &str = "/etc/kubernetes/kubeconfig";

/// What the kubelet, and this agent with it, reaches the cluster with.
pub const KUBELET_KUBECONFIG: &str = "/var/lib/kubelet/kubeconfig";

/// The directory of registries' certificates.
pub const REGISTRIES: &str = "/etc/docker/certs.d";

/// The kubelet's kubeconfig while it asks for new credentials.
pub const KEPT_KUBECONFIG: &str = "/var/lib/ostler/kubelet-kubeconfig";

/// The kubelet's unit.
pub const KUBELET: &str = "kubelet.service";

/// Whether what is at a path is delivered by itself, so that no older state of it is ever to be put back.
pub fn is_delivered(path: &str) -> bool {
    let below = |rest: &str| rest.starts_with('/');
    [PULL_SECRET, KUBELET_CA, CLOUD_CA].contains(&path) || path.strip_prefix(REGISTRIES).is_some_and(below)
}

/// What came of a delivery.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Delivered {
    /// Files that were written because they differed.
    pub written: Vec<String>,
    /// Files that were removed.
    pub removed: Vec<String>,
    /// What became of the kubelet.
    pub kubelet: Kubelet,
    /// What was not delivered, and why, in words.
    pub refused: Vec<String>,
}

/// What became of the kubelet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Kubelet {
    /// Nothing.
    #[default]
    Unaffected,
    /// It was restarted.
    Restarted,
    /// It is to be restarted once it cannot go on as it is.
    Deferred,
    /// It would have been restarted, but this is only the files of a machine, or a machine without a kubelet.
    LeftAlone,
}
