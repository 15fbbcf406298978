//! `OSImageStream`: the operating systems that a release offers, and the one for pools that choose none.

use serde::{Deserialize, Serialize};

use super::absent::null_as_default;
use super::{Metadata, Resource};

/// The object; there is one, called [`OSImageStream::NAME`].
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OSImageStream {
    /// Names and annotations.
    #[serde(deserialize_with = "null_as_default")]
    pub metadata: Metadata,
    /// What is wanted.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: OSImageStreamSpec,
    /// What is offered; nobody has looked yet where it is absent.
    pub status: Option<OSImageStreamStatus>,
}

impl OSImageStream {
    /// Name of the only object.
    pub const NAME: &'static str = "cluster";
}

/// `spec`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OSImageStreamSpec {
    /// The stream for pools that choose none; empty in objects from before the field.
    #[serde(deserialize_with = "null_as_default")]
    pub default_stream: String,
}

/// `status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OSImageStreamStatus {
    /// The streams, by name.
    #[serde(deserialize_with = "null_as_default")]
    pub available_streams: Vec<StreamSet>,
    /// The stream that pools without a choice follow.
    #[serde(deserialize_with = "null_as_default")]
    pub default_stream: String,
}

impl OSImageStreamStatus {
    /// The images of a stream.
    pub fn set(&self, name: &str) -> Option<&StreamSet> {
        self.available_streams.iter().find(|set| set.name == name)
    }

    /// The names of the streams.
    pub fn names(&self) -> Vec<&str> {
        self.available_streams.iter().map(|set| set.name.as_str()).collect()
    }
}

/// The images of one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StreamSet {
    /// Name of the stream.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// The OS image.
    #[serde(deserialize_with = "null_as_default")]
    pub os_image: String,
    /// Image that extensions are installed from.
    #[serde(deserialize_with = "null_as_default")]
    pub os_extensions_image: String,
}

impl Resource for OSImageStream {
    const GROUP: &'static str = "machineconfiguration.openshift.io";
    const VERSION: &'static str = "v1";
    const OLDER_VERSIONS: &'static [&'static str] = &["v1alpha1"];
    const KIND: &'static str = "OSImageStream";
    const PLURAL: &'static str = "osimagestreams";
    const NAMESPACED: bool = false;
}
