//! A reader that is as strict as the types of machine-config-daemon let it be, and stricter: nothing unknown, nothing null.
#![allow(dead_code, reason = "fields are there to be decoded strictly, not to be looked at")]

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Text {
    pub metadata: Metadata,
    pub spec: Spec,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Metadata {
    pub name: String,
    #[serde(default)]
    pub uid: String,
    #[serde(default)]
    pub resource_version: String,
    #[serde(default)]
    pub generation: i64,
    #[serde(default)]
    pub creation_timestamp: String,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
    #[serde(default)]
    pub owner_references: Vec<BTreeMap<String, Value>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Spec {
    #[serde(rename = "osImageURL")]
    pub os_image_url: String,
    #[serde(rename = "baseOSExtensionsContainerImage")]
    pub base_os_extensions_container_image: String,
    pub config: BTreeMap<String, Value>,
    pub kernel_arguments: Vec<String>,
    pub extensions: Vec<String>,
    pub fips: bool,
    pub kernel_type: String,
}

/// Reads a record; panics where the daemon would not have written it so.
pub fn read(text: &str) -> Text {
    let read: Text = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert!(!text.contains(":null") && !text.contains("[null") && !text.contains(",null"), "{text}");
    assert!(!text.contains(['\n', '<', '>', '&']) && !text.contains(": "), "{text}");
    assert!(!read.metadata.annotations.keys().any(|key| key.starts_with("ostler.dev/")), "{text}");
    let order = [
        "\"metadata\":",
        "\"spec\":",
        "\"osImageURL\":",
        "\"baseOSExtensionsContainerImage\":",
        "\"config\":",
        "\"kernelArguments\":",
        "\"extensions\":",
        "\"fips\":",
        "\"kernelType\":",
    ];
    let places: Vec<usize> = order.iter().map(|name| text.rfind(name).unwrap()).collect();
    assert!(places.is_sorted(), "{places:?} {text}");
    read
}
