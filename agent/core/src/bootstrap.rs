//! What a node was told about itself when it was installed: the annotations that its object is to have at first.
//!
//! Owns which of them are taken over. The file is written by whoever serves configurations to new machines; that it is
//! there says that the machine has yet to be introduced to its cluster, whatever is in it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::node::keys;
use crate::node::view::ConfigRef;

/// More bytes are no annotations of this kind.
pub const MAX_BYTES: u64 = 64 << 10;
/// No name of a configuration and no image is longer.
const MAX_VALUE: usize = 1024;
const TAKEN: [&str; 5] =
    [keys::CURRENT_CONFIG, keys::DESIRED_CONFIG, keys::CURRENT_IMAGE, keys::DESIRED_IMAGE, keys::FIRST_PIVOT_CONFIG];

/// What a node was told about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bootstrap {
    annotations: BTreeMap<String, String>,
}

impl Bootstrap {
    /// Reads the file. One that cannot be read tells nothing but that it is there.
    pub fn parse(text: &[u8]) -> Self {
        let all: BTreeMap<String, serde_json::Value> = serde_json::from_slice(text).unwrap_or_default();
        let text = |value: &serde_json::Value| {
            value.as_str().filter(|text| !text.is_empty() && text.len() <= MAX_VALUE).map(str::to_owned)
        };
        let taken = all.iter().filter(|(key, _)| TAKEN.contains(&key.as_str()));
        Self { annotations: taken.filter_map(|(key, value)| Some((key.clone(), text(value)?))).collect() }
    }

    /// One of the annotations, by its name in full.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.get(key).map(String::as_str)
    }

    /// The configuration that the machine was installed in.
    pub fn current(&self) -> Option<ConfigRef> {
        ConfigRef::from_texts(self.annotation(keys::CURRENT_CONFIG), self.annotation(keys::CURRENT_IMAGE))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_concerns_configurations_is_taken() {
        let file = json!({
            keys::CURRENT_CONFIG: "rendered-1", keys::DESIRED_CONFIG: "rendered-1", keys::STATE: "Done",
            keys::CURRENT_IMAGE: "", keys::FIRST_PIVOT_CONFIG: 7, "evil.example/key": "x",
            keys::DESIRED_IMAGE: "i".repeat(MAX_VALUE + 1),
        });
        let read = Bootstrap::parse(file.to_string().as_bytes());
        assert_eq!(read.current(), Some(ConfigRef::new("rendered-1")));
        assert_eq!(read.annotation(keys::DESIRED_CONFIG), Some("rendered-1"));
        assert_eq!(read.annotations.len(), 2, "{read:?}");
    }

    #[test]
    fn a_file_that_is_none_tells_nothing() {
        for text in [&b""[..], b"{", b"[]", b"null", b"\xff\xfe"] {
            assert_eq!(Bootstrap::parse(text), Bootstrap::default());
        }
    }
}
