//! A walker of structural schemas as CustomResourceDefinitions hold them.
//!
//! Stricter than the API server in one way: a field the schema does not name is a violation, where the server would
//! silently drop it. A keyword the walker does not know is a violation too, so that no limit goes unheeded.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use regex::Regex;
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashMap};

/// Keywords that are heeded here, or by the evaluation of rules, or limit nothing.
const KEYWORDS: [&str; 27] = [
    "additionalProperties",
    "anyOf",
    "default",
    "description",
    "enum",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "nullable",
    "pattern",
    "properties",
    "required",
    "type",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
];

/// What breaks the schema, each as `path: complaint`.
pub fn violations(schema: &Value, value: &Value) -> Vec<String> {
    let mut walk = Walk { found: Vec::new(), patterns: HashMap::new() };
    walk.value("", schema, value);
    walk.found
}

struct Walk<'a> {
    found: Vec<String>,
    /// Compiled once, since lists repeat them; none for one that does not compile, which nothing matches.
    patterns: HashMap<&'a str, Option<Regex>>,
}

impl<'a> Walk<'a> {
    fn expect(&mut self, holds: bool, at: &str, complaint: impl FnOnce() -> String) {
        if !holds {
            self.found.push(format!("{at}: {}", complaint()));
        }
    }

    fn value(&mut self, at: &str, schema: &'a Value, value: &Value) {
        self.keywords(at, schema);
        if value.is_null() {
            return self.expect(flag(schema, "nullable"), at, || "is null".to_owned());
        }
        if let Some(allowed) = schema.get("enum").and_then(Value::as_array) {
            self.expect(allowed.contains(value), at, || "is none of the enum".to_owned());
        }
        match (text(schema, "type"), value) {
            ("object", Value::Object(fields)) => self.object(at, schema, fields),
            ("array", Value::Array(items)) => self.array(at, schema, items),
            ("string", Value::String(string)) => self.string(at, schema, string),
            ("integer", Value::Number(_)) => self.integer(at, schema, value),
            ("boolean", Value::Bool(_)) => {}
            ("", Value::String(_)) if flag(schema, "x-kubernetes-int-or-string") => {}
            ("", _) if flag(schema, "x-kubernetes-int-or-string") => self.integer(at, schema, value),
            (expected, _) => self.expect(false, at, || format!("is not of type {expected:?}")),
        }
    }

    fn keywords(&mut self, at: &str, schema: &'a Value) {
        for keyword in schema.as_object().into_iter().flat_map(Map::keys) {
            let known = KEYWORDS.contains(&keyword.as_str());
            // The only use of anyOf in structural schemas that the walker covers.
            let covered = keyword != "anyOf" || flag(schema, "x-kubernetes-int-or-string");
            self.expect(known && covered, at, || format!("schema keyword {keyword} is not supported"));
        }
    }

    fn object(&mut self, at: &str, schema: &'a Value, fields: &Map<String, Value>) {
        self.bounds(at, schema, ("minProperties", "maxProperties"), fields.len());
        for name in schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
            self.expect(fields.contains_key(name), at, || format!("lacks {name}"));
        }
        let resource = at.is_empty() || flag(schema, "x-kubernetes-embedded-resource");
        for (name, value) in fields {
            let below = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
            let property = schema.get("properties").and_then(|properties| properties.get(name));
            match property.or_else(|| schema.get("additionalProperties")) {
                // The server has its own schema for metadata.
                _ if resource && name == "metadata" => {}
                Some(schema) => self.value(&below, schema, value),
                None => self.expect(flag(schema, "x-kubernetes-preserve-unknown-fields"), &below, || {
                    "is not a field of the schema".to_owned()
                }),
            }
        }
    }

    fn array(&mut self, at: &str, schema: &'a Value, items: &[Value]) {
        self.bounds(at, schema, ("minItems", "maxItems"), items.len());
        let keys: Vec<&str> = schema
            .get("x-kubernetes-list-map-keys")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let mut seen = BTreeSet::new();
        for (index, item) in items.iter().enumerate() {
            let key = match text(schema, "x-kubernetes-list-type") {
                "set" => item.to_string(),
                "map" => keys.iter().map(|key| format!("{:?}\n", item.get(key))).collect(),
                _ => index.to_string(),
            };
            self.expect(seen.insert(key), at, || format!("entry {index} is a duplicate"));
            self.value(&format!("{at}[{index}]"), schema.get("items").unwrap_or(&Value::Null), item);
        }
    }

    fn string(&mut self, at: &str, schema: &'a Value, string: &str) {
        self.bounds(at, schema, ("minLength", "maxLength"), string.chars().count());
        if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
            let regex = self.patterns.entry(pattern).or_insert_with(|| Regex::new(pattern).ok());
            let matches = regex.as_ref().is_some_and(|regex| regex.is_match(string));
            self.expect(matches, at, || format!("does not match {pattern}"));
        }
        let well_formed = match text(schema, "format") {
            "" => true,
            "byte" => STANDARD.decode(string).is_ok(),
            "date-time" => serde_json::from_value::<Time>(Value::from(string)).is_ok(),
            _ => false,
        };
        self.expect(well_formed, at, || format!("is not of format {}", text(schema, "format")));
    }

    fn integer(&mut self, at: &str, schema: &'a Value, value: &Value) {
        let Some(number) = value.as_i64() else {
            return self.expect(false, at, || "is not an integer".to_owned());
        };
        let limit = |keyword| schema.get(keyword).and_then(Value::as_i64);
        self.expect(limit("minimum").is_none_or(|least| number >= least), at, || "is below the minimum".to_owned());
        self.expect(limit("maximum").is_none_or(|most| number <= most), at, || "is above the maximum".to_owned());
        let fits = text(schema, "format") != "int32" || i32::try_from(number).is_ok();
        self.expect(fits, at, || "is not of format int32".to_owned());
    }

    fn bounds(&mut self, at: &str, schema: &'a Value, (least, most): (&str, &str), count: usize) {
        let limit = |keyword| schema.get(keyword).and_then(Value::as_u64);
        let count = count as u64;
        self.expect(limit(least).is_none_or(|limit| count >= limit), at, || format!("breaks {least}"));
        self.expect(limit(most).is_none_or(|limit| count <= limit), at, || format!("breaks {most}"));
    }
}

fn flag(schema: &Value, keyword: &str) -> bool {
    schema.get(keyword).and_then(Value::as_bool).unwrap_or_default()
}

fn text<'a>(schema: &'a Value, keyword: &str) -> &'a str {
    schema.get(keyword).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_keyword_can_refuse() {
        let table = [
            (
                json!({"type": "object", "properties": {"a": {"type": "string"}}}),
                json!({"b": 1}),
                "b: is not a field of the schema",
            ),
            (json!({"type": "object", "required": ["a"]}), json!({}), ": lacks a"),
            (json!({"type": "object", "minProperties": 1}), json!({}), ": breaks minProperties"),
            (
                json!({"type": "object", "additionalProperties": {"type": "string"}}),
                json!({"a": 1}),
                "a: is not of type \"string\"",
            ),
            (json!({"type": "array", "minItems": 1, "items": {}}), json!([]), ": breaks minItems"),
            (json!({"type": "array", "maxItems": 1, "items": {"type": "integer"}}), json!([1, 2]), ": breaks maxItems"),
            (
                json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer"}}),
                json!([1, 1]),
                ": entry 1 is a duplicate",
            ),
            (json!({"type": "string", "minLength": 1}), json!(""), ": breaks minLength"),
            (json!({"type": "string", "maxLength": 1}), json!("éé"), ": breaks maxLength"),
            (json!({"type": "string", "pattern": "^a$"}), json!("b"), ": does not match ^a$"),
            (json!({"type": "string", "enum": ["a"]}), json!("b"), ": is none of the enum"),
            (json!({"type": "string", "format": "date-time"}), json!("now"), ": is not of format date-time"),
            (json!({"type": "string", "format": "byte"}), json!("?"), ": is not of format byte"),
            (json!({"type": "string"}), json!(null), ": is null"),
            (json!({"type": "integer", "minimum": 1}), json!(0), ": is below the minimum"),
            (json!({"type": "integer", "maximum": 1}), json!(2), ": is above the maximum"),
            (json!({"type": "integer", "format": "int32"}), json!(1_i64 << 31), ": is not of format int32"),
            (json!({"type": "integer"}), json!(1.5), ": is not an integer"),
            (json!({"type": "string", "multipleOf": 2}), json!("a"), ": schema keyword multipleOf is not supported"),
            (json!({"x-kubernetes-int-or-string": true, "anyOf": []}), json!(true), ": is not an integer"),
        ];
        for (schema, value, complaint) in table {
            assert_eq!(violations(&schema, &value), [complaint], "{schema}");
        }
    }

    #[test]
    fn what_the_schema_leaves_open_is_accepted() {
        let table = [
            (json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}), json!({"b": {"c": [null]}})),
            (json!({"type": "string", "nullable": true}), json!(null)),
            (json!({"type": "string", "maxLength": 2}), json!("éé")),
            (json!({"x-kubernetes-int-or-string": true}), json!("10%")),
            (json!({"x-kubernetes-int-or-string": true}), json!(1)),
            (
                json!({"type": "object", "properties": {"metadata": {"type": "object"}}}),
                json!({"metadata": {"name": "a"}}),
            ),
        ];
        for (schema, value) in table {
            assert_eq!(violations(&schema, &value), [""; 0], "{schema}");
        }
    }
}
