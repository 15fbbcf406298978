//! A MachineConfig together with the text that is kept of it: in the journal, and for other agents on the node.

use serde_json::Value;

use crate::machine_config::{ConfigError, MachineConfig};
use crate::secret::Secret;

/// A configuration and its compact JSON, which holds everything that was given, known or not.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// As it is decided on.
    pub config: MachineConfig,
    /// As it is kept. Contents are in it, so it is a secret as a whole.
    pub json: Secret<Vec<u8>>,
}

impl Recorded {
    /// Reads a parsed document.
    pub fn from_document(document: Value) -> Result<Self, ConfigError> {
        let json = Secret::new(document.to_string().into_bytes());
        Ok(Self { config: MachineConfig::from_document(document)?, json })
    }

    /// The configuration of a machine that has none: nothing is kept of it.
    pub fn empty() -> Self {
        Self { config: MachineConfig::empty(), json: Secret::default() }
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
