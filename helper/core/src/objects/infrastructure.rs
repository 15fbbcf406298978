//! `Infrastructure`: the platform that a cluster runs on; and `Provisioning`, which bare metal has besides.

use serde::Deserialize;
use serde_json::Value;

use super::absent::null_as_default;
use super::{Metadata, Resource};

/// The object; there is one, called [`Infrastructure::NAME`].
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Infrastructure {
    /// Names.
    #[serde(deserialize_with = "null_as_default")]
    pub metadata: Metadata,
    /// What the installer was told.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: InfrastructureSpec,
    /// What the cluster runs on.
    #[serde(deserialize_with = "null_as_default")]
    pub status: InfrastructureStatus,
}

impl Infrastructure {
    /// Name of the only object.
    pub const NAME: &'static str = "cluster";
}

/// `spec`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InfrastructureSpec {
    /// By platform.
    #[serde(deserialize_with = "null_as_default")]
    pub platform_spec: PlatformSpec,
}

/// `spec.platformSpec`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PlatformSpec {
    /// vCenters and failure domains.
    pub vsphere: Option<VsphereSpec>,
}

/// `spec.platformSpec.vsphere`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VsphereSpec {
    /// Where machines may be.
    #[serde(deserialize_with = "null_as_default")]
    pub failure_domains: Vec<FailureDomain>,
}

/// A part of vSphere that fails on its own.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FailureDomain {
    /// Its name.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// Its vCenter.
    #[serde(deserialize_with = "null_as_default")]
    pub server: String,
    /// What it consists of.
    #[serde(deserialize_with = "null_as_default")]
    pub topology: Topology,
}

/// What a failure domain consists of.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Topology {
    /// Data centre.
    #[serde(deserialize_with = "null_as_default")]
    pub datacenter: String,
    /// Data store, as a path.
    #[serde(deserialize_with = "null_as_default")]
    pub datastore: String,
    /// Template of machines, where the installer was given one.
    #[serde(deserialize_with = "null_as_default")]
    pub template: String,
}

/// `status`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InfrastructureStatus {
    /// The platform; absent in a cluster that is none.
    pub platform_status: Option<PlatformStatus>,
    /// The platform, as older releases say it.
    #[serde(deserialize_with = "null_as_default")]
    pub platform: String,
    /// What the installer named the cluster's resources by.
    #[serde(deserialize_with = "null_as_default")]
    pub infrastructure_name: String,
    /// `HighlyAvailable`, `SingleReplica`, `External` and so on.
    #[serde(deserialize_with = "null_as_default")]
    pub control_plane_topology: String,
}

/// `status.platformStatus`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PlatformStatus {
    /// `AWS`, `GCP` and so on.
    #[serde(rename = "type", deserialize_with = "null_as_default")]
    pub type_: String,
    /// Of AWS.
    pub aws: Option<AwsStatus>,
    /// Of Azure.
    pub azure: Option<AzureStatus>,
}

/// `status.platformStatus.aws`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AwsStatus {
    /// Region.
    #[serde(deserialize_with = "null_as_default")]
    pub region: String,
}

/// `status.platformStatus.azure`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AzureStatus {
    /// `AzurePublicCloud`, `AzureStackCloud` and so on.
    #[serde(deserialize_with = "null_as_default")]
    pub cloud_name: String,
}

impl Resource for Infrastructure {
    const GROUP: &'static str = "config.openshift.io";
    const VERSION: &'static str = "v1";
    const KIND: &'static str = "Infrastructure";
    const PLURAL: &'static str = "infrastructures";
    const NAMESPACED: bool = false;
}

/// How bare metal machines are provisioned; there is one, called [`Provisioning::NAME`].
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Provisioning {
    /// What is wanted.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: Value,
}

impl Provisioning {
    /// Name of the only object.
    pub const NAME: &'static str = "provisioning-configuration";

    /// Where machines get their OS from, where they do not get it from the release.
    pub fn download_url(&self) -> &str {
        self.spec.get("provisioningOSDownloadURL").and_then(Value::as_str).unwrap_or_default()
    }
}

impl Resource for Provisioning {
    const GROUP: &'static str = "metal3.io";
    const VERSION: &'static str = "v1alpha1";
    const KIND: &'static str = "Provisioning";
    const PLURAL: &'static str = "provisionings";
    const NAMESPACED: bool = false;
}
