//! What a cluster says about registries: credentials, mirrors, a proxy, and which ones may be insecure or must not be asked.

use std::collections::BTreeMap;

use ostler_core::secret::Secret as Hidden;
use serde::{Deserialize, Deserializer};

use super::absent::null_as_default;
use super::{Metadata, Resource};

/// `Secret`, of which only named ones are read.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Secret {
    /// Names and labels.
    pub metadata: Metadata,
    /// Values by key, in base64.
    #[serde(deserialize_with = "hidden")]
    pub data: BTreeMap<String, Hidden<String>>,
}

fn hidden<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, Hidden<String>>, D::Error> {
    let data: Option<BTreeMap<String, String>> = Deserialize::deserialize(deserializer)?;
    Ok(data.unwrap_or_default().into_iter().map(|(key, value)| (key, Hidden::new(value))).collect())
}

impl Resource for Secret {
    const GROUP: &'static str = "";
    const VERSION: &'static str = "v1";
    const KIND: &'static str = "Secret";
    const PLURAL: &'static str = "secrets";
    const NAMESPACED: bool = true;
}

/// One rule of a set of mirrors.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MirrorRule {
    /// What is mirrored.
    pub source: String,
    /// Where it is, in the order to ask.
    #[serde(deserialize_with = "null_as_default")]
    pub mirrors: Vec<String>,
    /// `NeverContactSource`, or anything else.
    #[serde(deserialize_with = "null_as_default")]
    pub mirror_source_policy: String,
}

macro_rules! mirror_set {
    ($(#[$doc:meta])* $kind:ident, $spec:ident, $field:ident, $group:literal, $version:literal, $plural:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        pub struct $kind {
            /// Names and labels.
            pub metadata: Metadata,
            /// The rules.
            #[serde(deserialize_with = "null_as_default")]
            pub spec: $spec,
        }

        /// `spec`.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        pub struct $spec {
            /// The rules.
            #[serde(deserialize_with = "null_as_default")]
            pub $field: Vec<MirrorRule>,
        }

        impl Resource for $kind {
            const GROUP: &'static str = $group;
            const VERSION: &'static str = $version;
            const KIND: &'static str = stringify!($kind);
            const PLURAL: &'static str = $plural;
            const NAMESPACED: bool = false;
        }
    };
}

mirror_set!(
    /// Mirrors of images by digest, in the older kind.
    ImageContentSourcePolicy, SourcePolicySpec, repository_digest_mirrors,
    "operator.openshift.io", "v1alpha1", "imagecontentsourcepolicies"
);
mirror_set!(
    /// Mirrors of images by digest.
    ImageDigestMirrorSet, DigestMirrorSpec, image_digest_mirrors,
    "config.openshift.io", "v1", "imagedigestmirrorsets"
);
mirror_set!(
    /// Mirrors of images by tag.
    ImageTagMirrorSet, TagMirrorSpec, image_tag_mirrors,
    "config.openshift.io", "v1", "imagetagmirrorsets"
);

/// `Image` of the cluster's configuration: what may be done with registries. There is one, called `cluster`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ImageConfig {
    /// Names and labels.
    pub metadata: Metadata,
    /// What it says.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: ImageConfigSpec,
}

/// `spec`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ImageConfigSpec {
    /// What may be done with which registry.
    #[serde(deserialize_with = "null_as_default")]
    pub registry_sources: RegistrySources,
}

/// `spec.registrySources`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RegistrySources {
    /// Registries that may be without TLS.
    #[serde(deserialize_with = "null_as_default")]
    pub insecure_registries: Vec<String>,
    /// Registries that must not be asked.
    #[serde(deserialize_with = "null_as_default")]
    pub blocked_registries: Vec<String>,
}

impl Resource for ImageConfig {
    const GROUP: &'static str = "config.openshift.io";
    const VERSION: &'static str = "v1";
    const KIND: &'static str = "Image";
    const PLURAL: &'static str = "images";
    const NAMESPACED: bool = false;
}

/// `Proxy`: the way out of the cluster. There is one, called `cluster`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Proxy {
    /// Names and labels.
    pub metadata: Metadata,
    /// What is in force.
    #[serde(deserialize_with = "null_as_default")]
    pub status: ProxyStatus,
}

/// `status`. Addresses may hold passwords.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProxyStatus {
    /// For plain HTTP.
    #[serde(deserialize_with = "address")]
    pub http_proxy: Option<Hidden<String>>,
    /// For HTTPS.
    #[serde(deserialize_with = "address")]
    pub https_proxy: Option<Hidden<String>>,
    /// What is reached directly.
    #[serde(deserialize_with = "null_as_default")]
    pub no_proxy: String,
}

fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Hidden<String>>, D::Error> {
    let text: Option<String> = Deserialize::deserialize(deserializer)?;
    Ok(text.filter(|text| !text.is_empty()).map(Hidden::new))
}

impl Resource for Proxy {
    const GROUP: &'static str = "config.openshift.io";
    const VERSION: &'static str = "v1";
    const KIND: &'static str = "Proxy";
    const PLURAL: &'static str = "proxies";
    const NAMESPACED: bool = false;
}
