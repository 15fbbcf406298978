//! Text of one file to the documents in it: JSON, or YAML with any number of documents, lists unfolded.
//!
//! Owns the bounds. What a document means is up to [`crate::objects`].

use ostler_core::document::{DocumentError, MAX_BYTES};
use serde_json::Value;

/// Deepest nesting of lists in lists that is unfolded.
const MAX_FOLDS: usize = 4;

/// Reads all documents of a file. Empty ones are left out; a file of nothing else holds none.
pub fn parse(bytes: &[u8]) -> Result<Vec<Value>, DocumentError> {
    if bytes.len() > MAX_BYTES {
        return Err(DocumentError::TooLarge);
    }
    match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None => Ok(Vec::new()),
        Some(b'{' | b'[') => {
            serde_json::from_slice(bytes).map(|value| vec![value]).map_err(|error| DocumentError::Json(error.into()))
        }
        Some(_) => parse_yaml(std::str::from_utf8(bytes).map_err(DocumentError::NotText)?),
    }
}

/// Octal numbers are read as Kubernetes reads them (`mode: 0644` is 420).
fn parse_yaml(text: &str) -> Result<Vec<Value>, DocumentError> {
    let options = serde_saphyr::options! { legacy_octal_numbers: true, with_snippet: false };
    let documents: Vec<Value> =
        serde_saphyr::from_multiple_with_options(text, options).map_err(|error| DocumentError::Yaml(error.into()))?;
    Ok(documents.into_iter().filter(|document| !document.is_null()).collect())
}

/// The objects of a document: itself, or the items of a list. Items that do not say what they are take it from the list.
pub fn unfold(document: Value) -> Vec<Value> {
    let mut objects = Vec::new();
    unfold_into(document, &mut objects, 0);
    objects
}

fn unfold_into(mut document: Value, objects: &mut Vec<Value>, depth: usize) {
    let text = |key: &str| document.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (kind, version) = (text("kind"), text("apiVersion"));
    let is_list = kind.ends_with("List") && document.get("items").is_some_and(Value::is_array);
    if !is_list || depth >= MAX_FOLDS {
        objects.push(document);
        return;
    }
    let items = document.get_mut("items").map(Value::take);
    let Some(Value::Array(items)) = items else { return };
    let item_kind = kind.strip_suffix("List").unwrap_or_default().to_owned();
    for mut item in items {
        if let Some(fields) = item.as_object_mut()
            && !item_kind.is_empty()
        {
            fields.entry("kind").or_insert_with(|| item_kind.clone().into());
            fields.entry("apiVersion").or_insert_with(|| version.clone().into());
        }
        unfold_into(item, objects, depth + 1);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_documents_of_a_file_are_found() {
        for (text, count) in [
            ("", 0),
            ("# nothing\n", 0),
            ("---\n---\n", 0),
            ("{\"a\": 1}", 1),
            ("a: 1\n", 1),
            ("---\na: 1\n---\nb: 2\n", 2),
        ] {
            assert_eq!(parse(text.as_bytes()).unwrap().len(), count, "{text:?}");
        }
        assert!(parse(b"a: [").is_err());
        assert!(parse(b"\xff").is_err());
    }

    #[test]
    fn lists_are_unfolded_and_items_learn_their_kind() {
        let list = json!({"apiVersion": "v1", "kind": "ConfigMapList", "items": [
            {"metadata": {"name": "a"}},
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}},
        ]});
        let nested = json!({"apiVersion": "v1", "kind": "List", "items": [list]});
        let objects = unfold(nested);
        assert_eq!(objects.len(), 2);
        assert!(objects.iter().all(|object| object["kind"] == "ConfigMap" && object["apiVersion"] == "v1"));
    }

    #[test]
    fn what_only_looks_like_a_list_stays_whole() {
        let object = json!({"kind": "AllowList", "items": 3});
        assert_eq!(unfold(object.clone()), [object]);
    }
}
