//! `PinnedImageSet`: images that a pool's nodes pull ahead of need and never collect.
//!
//! Owns the shape; pulling and pinning are the host's.

use super::NameRef;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The images of a set.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "machineconfiguration.openshift.io",
    version = "v1",
    kind = "PinnedImageSet",
    plural = "pinnedimagesets",
    singular = "pinnedimageset",
    doc = "A set of images to keep on nodes.",
    derive = "PartialEq"
)]
#[serde(rename_all = "camelCase")]
pub struct PinnedImageSetSpec {
    /// Pull specifications by digest.
    #[serde(default)]
    pub pinned_images: Vec<NameRef>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_field_has_the_name_of_the_crd() {
        let object = json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "PinnedImageSet",
            "metadata": {"name": "p"}, "spec": {"pinnedImages": [{"name": "registry.example/a/b@sha256:0"}]},
        });
        let set: PinnedImageSet = serde_json::from_value(object.clone()).unwrap();
        assert_eq!(serde_json::to_value(set).unwrap(), object);
    }
}
