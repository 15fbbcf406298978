//! A field of the wrong type, told by where it is and what it should be, never by what it holds.
//!
//! Deserialisers quote the offending value in their messages; in a configuration that value may be a secret.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Where a document does not have the shape it should have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{what}", self.place())]
pub struct Malformed {
    at: String,
    what: String,
}

impl Malformed {
    /// Takes a deserialiser's message, leaving out the value it quotes.
    pub(crate) fn new(at: impl Into<String>, message: &str) -> Self {
        Self { at: at.into(), what: without_value(message) }
    }

    fn place(&self) -> String {
        if self.at.is_empty() || self.at == "." { String::new() } else { format!("{}: ", self.at) }
    }
}

/// Reads a typed value out of a document. Text is moved out of it, not copied.
pub(crate) fn read<T: DeserializeOwned>(document: Value) -> Result<T, Malformed> {
    serde_path_to_error::deserialize(document)
        .map_err(|error| Malformed::new(error.path().to_string(), &error.inner().to_string()))
}

/// `invalid type: string "hunter2", expected a number` becomes `invalid type: string, expected a number`.
fn without_value(message: &str) -> String {
    let quoting = ["invalid type: ", "invalid value: ", "unknown variant ", "invalid length "];
    let Some(start) = quoting.into_iter().find(|start| message.starts_with(start)) else {
        return message.to_owned();
    };
    let value = message.strip_prefix(start).unwrap_or_default();
    let kind: String = value.chars().take_while(|c| c.is_ascii_alphabetic() || c.is_ascii_whitespace()).collect();
    let expected = value.rsplit_once(", expected ").map(|(_, expected)| format!(", expected {expected}"));
    format!("{start}{}{}", kind.trim(), expected.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    struct Outer {
        #[allow(dead_code)]
        inner: Vec<Inner>,
    }

    #[derive(Debug, Deserialize)]
    struct Inner {
        #[allow(dead_code)]
        number: i64,
    }

    #[test]
    fn an_error_names_the_place_and_not_the_value() {
        for (document, expected) in [
            (
                json!({"inner": [{"number": 1}, {"number": "hunter2"}]}),
                "inner[1].number: invalid type: string, expected i64",
            ),
            (json!({"inner": [{}]}), "inner[0]: missing field `number`"),
            (json!({"inner": "hunter2, expected x"}), "inner: invalid type: string, expected a sequence"),
            (json!("hunter2"), "invalid type: string, expected struct Outer"),
        ] {
            assert_eq!(read::<Outer>(document).unwrap_err().to_string(), expected);
        }
    }
}
