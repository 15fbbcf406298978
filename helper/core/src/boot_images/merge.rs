//! JSON merge patches (RFC 7386): made for one leaf, and applied.

use serde_json::{Map, Value};

/// A patch that changes what lies under `path` as `leaf` says.
pub fn nested(path: &[&str], leaf: Value) -> Value {
    path.iter().rev().fold(leaf, |inner, key| Value::Object(Map::from_iter([((*key).to_owned(), inner)])))
}

/// What becomes of a value.
pub fn applied(value: &Value, patch: &Value) -> Value {
    let Value::Object(changes) = patch else { return patch.clone() };
    let mut fields = value.as_object().cloned().unwrap_or_default();
    for (key, change) in changes {
        if change.is_null() {
            fields.remove(key);
        } else {
            let inner = applied(fields.get(key).unwrap_or(&Value::Null), change);
            fields.insert(key.clone(), inner);
        }
    }
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_patch_sets_removes_and_leaves_alone() {
        let value = json!({"a": {"b": 1, "c": [1, 2]}, "d": null});
        let patch = nested(&["a"], json!({"b": null, "c": [3], "e": {"f": 1, "g": null}}));
        assert_eq!(applied(&value, &patch), json!({"a": {"c": [3], "e": {"f": 1}}, "d": null}));
        assert_eq!(applied(&json!(3), &json!({"a": 1})), json!({"a": 1}));
        assert_eq!(applied(&value, &json!({})), value);
    }
}
