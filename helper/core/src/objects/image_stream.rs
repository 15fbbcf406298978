//! `ImageStream`, as a release carries it in `image-references`: a name for each of its images.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::absent::{items, null_as_default, texts};
use super::{Metadata, Resource};

/// The object.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ImageStream {
    /// Version of the API; a file may be something else altogether.
    #[serde(deserialize_with = "null_as_default")]
    pub api_version: String,
    /// Kind.
    #[serde(deserialize_with = "null_as_default")]
    pub kind: String,
    /// Names; in a release the version of it.
    #[serde(deserialize_with = "null_as_default")]
    pub metadata: Metadata,
    /// What it holds.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: ImageStreamSpec,
}

/// `spec`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ImageStreamSpec {
    /// The images.
    #[serde(deserialize_with = "items")]
    pub tags: Vec<Tag>,
}

/// One image.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Tag {
    /// Its name in the stream.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// Where it comes from.
    pub from: Option<TagSource>,
    /// Annotations.
    #[serde(deserialize_with = "texts")]
    pub annotations: BTreeMap<String, String>,
}

/// Where an image comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TagSource {
    /// `DockerImage` for an image in a registry.
    #[serde(deserialize_with = "null_as_default")]
    pub kind: String,
    /// For an image in a registry, how to pull it.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
}

impl Resource for ImageStream {
    const GROUP: &'static str = "image.openshift.io";
    const VERSION: &'static str = "v1";
    const KIND: &'static str = "ImageStream";
    const PLURAL: &'static str = "imagestreams";
    const NAMESPACED: bool = true;
}
