//! A document that travels in a message and does not format.

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::document;
use crate::secret::Secret;

/// A document with secrets in it, as text. Serialising it is sending it to the other half, and nothing else.
///
/// It travels as one string, so that a receiver does not take a hostile document apart before it knows its size.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub struct Sealed(Secret<String>);

/// What of an object is no secret.
#[derive(Deserialize)]
struct Object {
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
}

impl Sealed {
    /// Seals a document.
    pub fn new(document: Value) -> Self {
        Self(Secret::new(document.to_string()))
    }

    /// Seals the text of a document; none where there is no text.
    pub fn of_text(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok().filter(|text| !text.is_empty())?;
        Some(Self(Secret::new(text.to_owned())))
    }

    /// The name of the object in it, which is no secret.
    pub fn name(&self) -> Option<String> {
        serde_json::from_str::<Object>(self.0.expose()).ok().map(|object| object.metadata.name)
    }

    /// The document; null where the text is none.
    pub fn open(self) -> Value {
        document::parse(self.0.expose().as_bytes()).unwrap_or_default()
    }

    /// The document's text, to be compared or digested.
    pub const fn text(&self) -> &Secret<String> {
        &self.0
    }

    /// The document's text.
    pub fn into_text(self) -> Secret<Vec<u8>> {
        Secret::new(self.0.into_exposed().into_bytes())
    }
}

impl From<String> for Sealed {
    fn from(text: String) -> Self {
        Self(Secret::new(text))
    }
}

impl Serialize for Sealed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.expose())
    }
}
