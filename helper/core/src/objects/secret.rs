//! `Secret`, of which the user data of machines are read. Values are never shown.

use std::collections::BTreeMap;

use ostler_core::secret::Secret as Hidden;
use serde::{Deserialize, Deserializer};

use super::absent::null_as_default;
use super::{Metadata, Resource};

/// The object.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Secret {
    /// Names.
    pub metadata: Metadata,
    /// Values by key, in base64.
    #[serde(deserialize_with = "hidden")]
    pub data: BTreeMap<String, Hidden<String>>,
    /// Values by key as somebody wrote them; the API never serves this.
    #[serde(deserialize_with = "hidden")]
    pub string_data: BTreeMap<String, Hidden<String>>,
}

fn hidden<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, Hidden<String>>, D::Error> {
    let values: BTreeMap<String, Option<String>> = null_as_default(deserializer)?;
    Ok(values.into_iter().map(|(key, value)| (key, Hidden::new(value.unwrap_or_default()))).collect())
}

impl Resource for Secret {
    const GROUP: &'static str = "";
    const VERSION: &'static str = "v1";
    const KIND: &'static str = "Secret";
    const PLURAL: &'static str = "secrets";
    const NAMESPACED: bool = true;
}
