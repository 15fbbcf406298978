//! `ControllerConfig`: what every node needs beside its configuration, certificates and credentials above all.
//!
//! Owns the shape of the parts a node agent uses. Secret parts are read, never formatted and never written back.

use super::absent::{null_as_default, secret_bytes, secret_text};
use crate::secret::Secret;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name of the only object of this kind.
pub const NAME: &str = "machine-config-controller";

/// Annotation that says whether nodes are to take up a new certificate authority of the API server: `true` or `false`.
pub const ROTATION: &str = "machineconfiguration.openshift.io/service-ca-rotate";

/// Key of `images` under which the operator's own image is found.
pub const OPERATOR_IMAGE_KEY: &str = "machineConfigOperator";

/// What the operator hands to nodes. Binary data is decoded; null and absent data are none.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "machineconfiguration.openshift.io",
    version = "v1",
    kind = "ControllerConfig",
    plural = "controllerconfigs",
    singular = "controllerconfig",
    doc = "What the operator hands to nodes beside their configuration.",
    derive = "PartialEq",
    derive = "Default"
)]
#[serde(rename_all = "camelCase", default)]
pub struct ControllerConfigSpec {
    /// Certificates the administrator adds to the trust store.
    #[serde(deserialize_with = "secret_bytes", skip_serializing)]
    #[schemars(with = "Option<String>")]
    pub additional_trust_bundle: Option<Secret<Vec<u8>>>,
    /// The OS image of the release.
    #[serde(rename = "baseOSContainerImage")]
    pub base_os_container_image: String,
    /// The extensions image of the release.
    #[serde(rename = "baseOSExtensionsContainerImage")]
    pub base_os_extensions_container_image: String,
    /// Certificates of the cloud provider.
    #[serde(rename = "cloudProviderCAData", deserialize_with = "secret_bytes", skip_serializing)]
    #[schemars(with = "Option<String>")]
    pub cloud_provider_ca_data: Option<Secret<Vec<u8>>>,
    /// Certificates of image registries the cluster knows.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    pub image_registry_bundle_data: Vec<ImageRegistryBundle>,
    /// Certificates of image registries the administrator adds.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    pub image_registry_bundle_user_data: Vec<ImageRegistryBundle>,
    /// Images of the release by key.
    #[serde(deserialize_with = "null_as_default")]
    pub images: BTreeMap<String, String>,
    /// The cluster's infrastructure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub infra: Option<Infrastructure>,
    /// Registry credentials merged with those of the internal registry.
    #[serde(deserialize_with = "secret_bytes", skip_serializing)]
    #[schemars(with = "Option<String>")]
    pub internal_registry_pull_secret: Option<Secret<Vec<u8>>>,
    /// Certificates that the API server's clients are verified with.
    #[serde(rename = "kubeAPIServerServingCAData", deserialize_with = "secret_bytes", skip_serializing)]
    #[schemars(with = "Option<String>")]
    pub kube_api_server_serving_ca_data: Option<Secret<Vec<u8>>>,
    /// The OS image of releases before the base image had its own field.
    #[serde(rename = "osImageURL")]
    pub os_image_url: String,
    /// The cluster's proxy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<Proxy>,
    /// The release image.
    pub release_image: String,
    /// The cluster's root certificate.
    #[serde(rename = "rootCAData", deserialize_with = "secret_bytes", skip_serializing)]
    #[schemars(with = "Option<String>")]
    pub root_ca_data: Option<Secret<Vec<u8>>>,
}

/// The certificates of one image registry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ImageRegistryBundle {
    /// The certificates.
    #[serde(deserialize_with = "secret_bytes", skip_serializing)]
    #[schemars(with = "Option<String>")]
    pub data: Option<Secret<Vec<u8>>>,
    /// Directory name of the registry, `..` standing for the colon before a port.
    pub file: String,
}

/// The cluster's proxy. URLs may carry a password.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Proxy {
    /// Proxy for plain requests.
    #[serde(deserialize_with = "secret_text", skip_serializing)]
    #[schemars(with = "Option<String>")]
    pub http_proxy: Option<Secret<String>>,
    /// Proxy for encrypted requests.
    #[serde(deserialize_with = "secret_text", skip_serializing)]
    #[schemars(with = "Option<String>")]
    pub https_proxy: Option<Secret<String>>,
    /// Hosts reached without a proxy.
    pub no_proxy: String,
}

/// The cluster's infrastructure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Infrastructure {
    /// What was found or decided at installation.
    pub status: InfrastructureStatus,
}

/// Facts of the infrastructure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct InfrastructureStatus {
    /// How control plane nodes are laid out; `SingleReplica` means that draining is pointless.
    pub control_plane_topology: String,
    /// How other nodes are laid out.
    pub infrastructure_topology: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const SECRET: &str = "aHVudGVyMg==";

    fn populated() -> Value {
        json!({"metadata": {"name": NAME}, "spec": {
            "additionalTrustBundle": SECRET, "baseOSContainerImage": "os", "baseOSExtensionsContainerImage": "ext",
            "cloudProviderCAData": SECRET, "images": {OPERATOR_IMAGE_KEY: "mco"}, "internalRegistryPullSecret": SECRET,
            "imageRegistryBundleData": [{"data": SECRET, "file": "registry.example.com..5000"}],
            "imageRegistryBundleUserData": [{"data": SECRET, "file": "a"}],
            "infra": {"kind": "Infrastructure", "status": {"controlPlaneTopology": "SingleReplica"}},
            "kubeAPIServerServingCAData": SECRET, "osImageURL": "old", "releaseImage": "release", "rootCAData": SECRET,
            "proxy": {"httpProxy": "http://u:hunter2@p", "httpsProxy": "http://u:hunter2@p", "noProxy": "localhost"},
        }})
    }

    #[test]
    fn every_field_is_read_and_binary_data_is_decoded() {
        let spec = serde_json::from_value::<ControllerConfig>(populated()).unwrap().spec;
        let data = [
            spec.additional_trust_bundle,
            spec.cloud_provider_ca_data,
            spec.internal_registry_pull_secret,
            spec.kube_api_server_serving_ca_data,
            spec.root_ca_data,
            spec.image_registry_bundle_data[0].data.clone(),
            spec.image_registry_bundle_user_data[0].data.clone(),
        ];
        for bytes in data {
            assert_eq!(bytes.unwrap().expose(), b"hunter2");
        }
        let text = [&spec.base_os_container_image, &spec.base_os_extensions_container_image, &spec.os_image_url];
        assert_eq!(text, ["os", "ext", "old"]);
        assert_eq!(spec.images[OPERATOR_IMAGE_KEY], "mco");
        assert_eq!(spec.release_image, "release");
        assert_eq!(spec.infra.unwrap().status.control_plane_topology, "SingleReplica");
        let proxy = spec.proxy.unwrap();
        assert_eq!(proxy.http_proxy.unwrap().expose(), "http://u:hunter2@p");
        assert_eq!(proxy.https_proxy.unwrap().expose(), "http://u:hunter2@p");
    }

    #[test]
    fn secrets_are_neither_formatted_nor_written() {
        let config: ControllerConfig = serde_json::from_value(populated()).unwrap();
        for text in [format!("{config:?}"), serde_json::to_string(&config).unwrap()] {
            assert!(!text.contains("hunter2") && !text.contains(SECRET) && !text.contains("104, 117"), "{text}");
            assert!(text.contains("registry.example.com..5000"), "{text}");
        }
    }

    #[test]
    fn null_and_absent_data_are_none() {
        let nulls = json!({"additionalTrustBundle": null, "cloudProviderCAData": null, "proxy": null, "infra": null,
            "internalRegistryPullSecret": null, "images": null, "imageRegistryBundleData": null});
        for spec in [nulls, json!({})] {
            assert_eq!(serde_json::from_value::<ControllerConfigSpec>(spec).unwrap(), ControllerConfigSpec::default());
        }
    }

    #[test]
    fn broken_base64_is_refused_without_showing_it() {
        let error = serde_json::from_value::<ControllerConfigSpec>(json!({"rootCAData": "hunter2!"})).unwrap_err();
        assert_eq!(error.to_string(), "secret data is not valid base64");
    }
}
