//! A document that travels in a message and does not format.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::secret::Secret;

/// A JSON document with secrets in it. Serialising it is sending it to the other half or taking its digest, and nothing else.
#[derive(Clone, Debug, PartialEq)]
pub struct Sealed(Secret<Value>);

impl Sealed {
    /// Seals a document.
    pub const fn new(document: Value) -> Self {
        Self(Secret::new(document))
    }

    /// The name of the object in it, which is no secret.
    pub fn name(&self) -> Option<&str> {
        self.0.expose().pointer("/metadata/name").and_then(Value::as_str)
    }

    /// The document.
    pub fn open(self) -> Value {
        self.0.into_exposed()
    }
}

impl Serialize for Sealed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.expose().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Sealed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::new)
    }
}
