//! `ConfigMap`, of which the text is read.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::absent::null_as_default;
use super::{Metadata, Resource};

/// The object.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConfigMap {
    /// Names and labels.
    pub metadata: Metadata,
    /// Texts by key.
    #[serde(deserialize_with = "null_as_default")]
    pub data: BTreeMap<String, String>,
}

impl Resource for ConfigMap {
    const GROUP: &'static str = "";
    const VERSION: &'static str = "v1";
    const KIND: &'static str = "ConfigMap";
    const PLURAL: &'static str = "configmaps";
    const NAMESPACED: bool = true;
}
