//! `OSImageStream`: the OS images a release offers and which one is the default.
//!
//! Owns the shape; choosing a stream for a pool is not done here.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name of the only object of this kind.
pub const NAME: &str = "cluster";

/// What the administrator asks for.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "machineconfiguration.openshift.io",
    version = "v1",
    kind = "OSImageStream",
    plural = "osimagestreams",
    singular = "osimagestream",
    doc = "The OS images the cluster's release offers.",
    status = "OSImageStreamStatus",
    derive = "PartialEq"
)]
#[serde(rename_all = "camelCase")]
pub struct OSImageStreamSpec {
    /// Stream for pools that name none; absent in objects of releases before the field.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub default_stream: String,
}

/// What the release offers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OSImageStreamStatus {
    /// The streams, by name.
    pub available_streams: Vec<OSImageStreamSet>,
    /// The stream in use where a pool names none.
    pub default_stream: String,
}

/// The images of one stream, by digest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OSImageStreamSet {
    /// Name of the stream.
    pub name: String,
    /// Image holding the packages that extensions are installed from.
    pub os_extensions_image: String,
    /// The OS image.
    pub os_image: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_field_has_the_name_of_the_crd() {
        let object = json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "OSImageStream",
            "metadata": {"name": NAME}, "spec": {"defaultStream": "rhel-9"},
            "status": {"availableStreams": [{"name": "rhel-9", "osExtensionsImage": "e", "osImage": "o"}],
                "defaultStream": "rhel-9"},
        });
        let stream: OSImageStream = serde_json::from_value(object.clone()).unwrap();
        assert_eq!(serde_json::to_value(stream).unwrap(), object);
    }
}
