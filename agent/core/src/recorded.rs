//! A MachineConfig together with the text that is kept of it: in the journal, and for other agents on the node.

use std::sync::Arc;

use serde_json::Value;

use crate::machine_config::{ConfigError, MachineConfig};
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

    /// Reads a parsed document.
    pub fn from_document(document: Value) -> Result<Self, ConfigError> {
        let json = Secret::new(document.to_string().into_bytes());
        Ok(Self::new(MachineConfig::from_document(document)?, json))
    }

    /// The configuration of a machine that has none: nothing is kept of it.
    pub fn empty() -> Self {
        Self::new(MachineConfig::empty(), Secret::default())
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
    }
}
