//! A walker of JSON schemas, as far as the shipped one goes. A keyword that it does not know is a violation.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// The schema that is shipped.
pub fn shipped() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/preflight-v1.schema.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// What breaks the schema.
pub fn violations(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    walk(schema, value, "", &mut found);
    found
}

fn walk(schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    for (keyword, limit) in schema.as_object().unwrap() {
        let holds = match keyword.as_str() {
            "$schema" | "$id" | "title" | "description" => true,
            "type" => is_of(value, limit.as_str().unwrap()),
            "const" => value == limit,
            "enum" => limit.as_array().unwrap().contains(value),
            "minLength" => length(value) >= limit.as_u64().unwrap(),
            "maxLength" => length(value) <= limit.as_u64().unwrap(),
            "maxItems" => value.as_array().unwrap().len() as u64 <= limit.as_u64().unwrap(),
            "uniqueItems" => is_unique(value.as_array().unwrap()),
            "pattern" => matches(limit.as_str().unwrap(), value.as_str().unwrap()),
            "required" => limit.as_array().unwrap().iter().all(|key| value.get(key.as_str().unwrap()).is_some()),
            "additionalProperties" => {
                let known = &schema["properties"];
                value.as_object().unwrap().keys().all(|key| known.get(key).is_some())
            }
            "properties" => {
                for (key, schema) in limit.as_object().unwrap() {
                    if let Some(value) = value.get(key) {
                        walk(schema, value, &format!("{at}/{key}"), found);
                    }
                }
                true
            }
            "items" => {
                for (number, value) in value.as_array().unwrap().iter().enumerate() {
                    walk(limit, value, &format!("{at}/{number}"), found);
                }
                true
            }
            _ => false,
        };
        if !holds {
            found.push(format!("{at}: {keyword} {limit}"));
        }
    }
}

fn is_of(value: &Value, type_: &str) -> bool {
    match type_ {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        _ => false,
    }
}

fn length(value: &Value) -> u64 {
    value.as_str().unwrap().chars().count() as u64
}

fn is_unique(items: &[Value]) -> bool {
    items.iter().enumerate().all(|(at, item)| !items[..at].contains(item))
}

fn matches(pattern: &str, text: &str) -> bool {
    regex::Regex::new(pattern).unwrap().is_match(text)
}
