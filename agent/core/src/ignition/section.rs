//! Parts of a config that Ostler compares and reports but never applies: disks, arrays, filesystems and the like.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

/// A subtree of the config as JSON without nulls, empty lists and empty objects, so that an absent field and an empty
/// one are the same thing. It does not format: a key file's source may be inside.
#[derive(Clone, PartialEq)]
pub struct Section(Value);

impl Default for Section {
    fn default() -> Self {
        Self(Value::Null)
    }
}

impl fmt::Debug for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_empty() { "[empty]" } else { "[redacted]" })
    }
}

impl Section {
    /// Takes a typed part of the config. What cannot be expressed as JSON does not exist in an Ignition config.
    pub fn of<T: Serialize>(part: &T) -> Self {
        Self::from(serde_json::to_value(part).unwrap_or(Value::Null))
    }

    /// Whether nothing is configured here.
    pub fn is_empty(&self) -> bool {
        is_blank(&self.0)
    }

    /// The subtree, for comparing leaf by leaf.
    pub const fn value(&self) -> &Value {
        &self.0
    }
}

impl From<Value> for Section {
    fn from(mut value: Value) -> Self {
        prune(&mut value);
        Self(if is_blank(&value) { Value::Null } else { value })
    }
}

fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// Removes blank fields bottom-up. List items stay where they are: an index is part of a path.
fn prune(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(prune),
        Value::Object(fields) => fields.retain(|_, field| {
            prune(field);
            !is_blank(field)
        }),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn absent_null_and_empty_fields_are_the_same() {
        let absent = Section::from(json!([{"device": "/dev/sda"}]));
        for other in [
            json!([{"device": "/dev/sda", "partitions": []}]),
            json!([{"device": "/dev/sda", "partitions": null}]),
            json!([{"device": "/dev/sda", "clevis": {"custom": {}}}]),
        ] {
            assert_eq!(absent, Section::from(other));
        }
    }

    #[test]
    fn false_zero_and_empty_text_are_values() {
        let absent = Section::from(json!({"device": "/dev/sda"}));
        for value in [json!(false), json!(0), json!("")] {
            assert_ne!(absent, Section::from(json!({"device": "/dev/sda", "field": value})));
        }
    }

    #[test]
    fn a_list_of_blanks_keeps_its_length() {
        assert_eq!(Section::from(json!([{}, {"a": 1}])).value(), &json!([{}, {"a": 1}]));
        assert!(Section::from(json!({"a": [], "b": {}})).is_empty());
    }
}
