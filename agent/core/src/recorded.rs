//! A MachineConfig together with the text that is kept of it: in the journal, and for other agents on the node.

use std::sync::Arc;

use serde_json::Value;

use crate::document;
use crate::machine_config::{ConfigError, MachineConfig, set_built_image, set_hosted_hash};
use crate::secret::Secret;

/// A configuration and its compact JSON, which holds everything that was given, known or not.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// As it is decided on. Shared, since a large one is costly to copy and nobody changes it.
    pub config: Arc<MachineConfig>,
    /// As it is kept. Contents are in it, so it is a secret as a whole.
    pub json: Arc<Secret<Vec<u8>>>,
}

impl Recorded {
    /// A configuration and the text it was read from.
    pub fn new(config: MachineConfig, json: Secret<Vec<u8>>) -> Self {
        Self { config: Arc::new(config), json: Arc::new(json) }
    }

    /// Reads a text, which is kept as it is. No text is the configuration of a machine that has none.
    pub fn from_text(text: Secret<Vec<u8>>) -> Result<Self, ConfigError> {
        if text.expose().is_empty() {
            return Ok(Self::empty());
        }
        let document = document::parse(text.expose()).map_err(ConfigError::Unreadable)?;
        Ok(Self::new(MachineConfig::from_document(document)?, text))
    }

    /// Reads a parsed document.
    pub fn from_document(document: Value) -> Result<Self, ConfigError> {
        let json = Secret::new(document.to_string().into_bytes());
        Ok(Self::new(MachineConfig::from_document(document)?, json))
    }

    /// The configuration of a machine that has none: nothing is kept of it.
    pub fn empty() -> Self {
        Self::new(MachineConfig::empty(), Secret::default())
    }

    /// Its text as other agents know it: without the image that was built for it and the hash that a hosted cluster knows
    /// it by, which they keep apart.
    pub fn plain(&self) -> Arc<Secret<Vec<u8>>> {
        let carries = self.config.built_image.is_some() || self.config.hosted.is_some();
        let carried = if carries { serde_json::from_slice(self.json.expose()).ok() } else { None };
        let Some(mut document): Option<Value> = carried else { return Arc::clone(&self.json) };
        set_built_image(&mut document, None);
        set_hosted_hash(&mut document, None);
        Arc::new(Secret::new(document.to_string().into_bytes()))
    }

    /// The image that was built for it, as other agents keep it.
    pub fn image(&self) -> Arc<Secret<Vec<u8>>> {
        Arc::new(Secret::new(self.config.built_image.clone().unwrap_or_default().into_bytes()))
    }

    /// Whether it is the one of a machine that has none.
    pub fn is_empty(&self) -> bool {
        self.json.expose().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_kept_is_what_was_given() {
        let given = json!({"metadata": {"name": "rendered-worker-1", "labels": {"a": "b"}}, "spec": {"unknown": [1]}});
        let recorded = Recorded::from_document(given.clone()).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(recorded.json.expose()).unwrap(), given);
        assert!(!recorded.is_empty() && Recorded::empty().is_empty());
        assert_eq!((recorded.plain(), recorded.image().expose().len()), (Arc::clone(&recorded.json), 0));
    }

    #[test]
    fn the_image_that_was_built_for_it_and_its_hash_are_kept_apart_for_others() {
        let given = json!({"metadata": {"name": "rendered-worker-1"}, "spec": {"unknown": [1]}});
        let mut carrying = given.clone();
        set_built_image(&mut carrying, Some("built"));
        set_hosted_hash(&mut carrying, Some("1f"));
        let recorded = Recorded::from_document(carrying).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(recorded.plain().expose()).unwrap(), given);
        assert_eq!(recorded.image().expose(), b"built");
    }
}
