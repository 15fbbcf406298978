//! The text of a configuration as machine-config-daemon writes it: what its own types know, in their order, as Go's
//! encoder puts it.
//!
//! Owns that text for whoever reads it after us. Refuses to judge the configuration: contents are passed through.

use serde_json::{Map, Value};

use crate::node::keys::OWN_PREFIX;

/// Fields of an object's metadata, in the order of their type.
const METADATA: [&str; 15] = [
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
];
const OWNER: [&str; 6] = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];
const MANAGED: [&str; 7] = ["manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource"];
/// Fields of the spec in the order of their type, with what is written where nothing was given; nothing for the one that
/// is left out then.
const SPEC: [(&str, Option<&str>); 7] = [
    ("osImageURL", Some("\"\"")),
    ("baseOSExtensionsContainerImage", Some("\"\"")),
    ("config", None),
    ("kernelArguments", Some("[]")),
    ("extensions", Some("[]")),
    ("fips", Some("false")),
    ("kernelType", Some("\"\"")),
];

/// The text of a MachineConfig. Kind and version are left out, as by whoever reads objects of one kind only.
pub fn shared_text(document: &Value) -> Vec<u8> {
    let mut text = String::from("{\"metadata\":");
    let empty = Map::new();
    let part = |name: &str| document.get(name).and_then(Value::as_object).unwrap_or(&empty);
    write_metadata(&mut text, part("metadata"));
    text.push_str(",\"spec\":{");
    let mut fields = Fields::default();
    for (name, absent) in SPEC {
        match given(part("spec"), name) {
            Some(value) => fields.begin(&mut text, name).push_str(&escaped(value)),
            None => {
                if let Some(absent) = absent {
                    fields.begin(&mut text, name).push_str(absent);
                }
            }
        }
    }
    text.push_str("}}");
    text.into_bytes()
}

fn write_metadata(text: &mut String, metadata: &Map<String, Value>) {
    text.push('{');
    let mut fields = Fields::default();
    for name in METADATA {
        let Some(value) = given(metadata, name) else { continue };
        let written = match (name, value) {
            ("annotations", Value::Object(all)) => theirs(all),
            ("ownerReferences", Value::Array(all)) => Some(list(all, &OWNER)),
            ("managedFields", Value::Array(all)) => Some(list(all, &MANAGED)),
            (_, Value::Object(map)) if map.is_empty() => None,
            (_, Value::Array(list)) if list.is_empty() => None,
            _ => Some(escaped(value)),
        };
        if let Some(written) = written {
            fields.begin(text, name).push_str(&written);
        }
    }
    text.push('}');
}

/// Annotations but for our own.
fn theirs(annotations: &Map<String, Value>) -> Option<String> {
    let theirs: Map<String, Value> = annotations
        .iter()
        .filter(|(key, _)| !key.starts_with(OWN_PREFIX))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    (!theirs.is_empty()).then(|| escaped(&Value::Object(theirs)))
}

fn list(all: &[Value], order: &[&str]) -> String {
    let one = |value: &Value| {
        let Some(object) = value.as_object() else { return escaped(value) };
        let mut text = String::from("{");
        let mut fields = Fields::default();
        for name in order {
            if let Some(value) = given(object, name) {
                fields.begin(&mut text, name).push_str(&escaped(value));
            }
        }
        text + "}"
    };
    format!("[{}]", all.iter().map(one).collect::<Vec<_>>().join(","))
}

/// What an object has of a name; a null is as nothing.
fn given<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    object.get(name).filter(|value| !value.is_null())
}

/// Whether a comma is due.
#[derive(Default)]
struct Fields {
    begun: bool,
}

impl Fields {
    fn begin<'t>(&mut self, text: &'t mut String, name: &str) -> &'t mut String {
        if std::mem::replace(&mut self.begun, true) {
            text.push(',');
        }
        text.push('"');
        text.push_str(name);
        text.push_str("\":");
        text
    }
}

/// As Go's encoder writes it: what a browser could take for markup, or a script for the end of a line, is escaped. All of
/// it can stand in strings only.
fn escaped(value: &Value) -> String {
    let plain = value.to_string();
    let mut text = String::with_capacity(plain.len());
    for character in plain.chars() {
        match character {
            '<' => text.push_str("\\u003c"),
            '>' => text.push_str("\\u003e"),
            '&' => text.push_str("\\u0026"),
            '\u{2028}' => text.push_str("\\u2028"),
            '\u{2029}' => text.push_str("\\u2029"),
            other => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(document: &Value) -> String {
        String::from_utf8(shared_text(document)).unwrap()
    }

    #[test]
    fn fields_come_in_the_order_of_their_types_and_nothing_of_ours_is_left() {
        let document = json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
            "metadata": {
                "annotations": {"b/x": "2", "a/x": "1", "ostler.dev/built-image": "i"}, "labels": {}, "name": "rendered-1",
                "uid": "u", "creationTimestamp": null, "ostler": 1, "generation": 1,
                "ownerReferences": [{"uid": "p", "name": "worker", "kind": "MachineConfigPool", "apiVersion": "v1",
                                     "controller": true, "blockOwnerDeletion": true}],
            },
            "spec": {"unknown": 1, "kernelType": "default", "fips": false, "osImageURL": "q/o@sha256:1", "extensions": null,
                     "config": {"storage": {"files": []}, "ignition": {"version": "3.5.0"}}, "kernelArguments": ["a"]},
        });
        assert_eq!(
            text(&document),
            "{\"metadata\":{\"name\":\"rendered-1\",\"uid\":\"u\",\"generation\":1,\
             \"annotations\":{\"a/x\":\"1\",\"b/x\":\"2\"},\"ownerReferences\":[{\"apiVersion\":\"v1\",\
             \"kind\":\"MachineConfigPool\",\"name\":\"worker\",\"uid\":\"p\",\"controller\":true,\
             \"blockOwnerDeletion\":true}]},\"spec\":{\"osImageURL\":\"q/o@sha256:1\",\
             \"baseOSExtensionsContainerImage\":\"\",\"config\":{\"ignition\":{\"version\":\"3.5.0\"},\
             \"storage\":{\"files\":[]}},\"kernelArguments\":[\"a\"],\"extensions\":[],\"fips\":false,\
             \"kernelType\":\"default\"}}"
        );
    }

    #[test]
    fn what_go_escapes_is_escaped_and_reads_the_same() {
        let unit = "[Unit]\n# <a> & \"b\" \u{2028}\u{1}\t\\";
        let document = json!({"metadata": {"name": "n"}, "spec": {"config": {"text": unit}}});
        let text = text(&document);
        assert!(text.contains(r#""[Unit]\n# \u003ca\u003e \u0026 \"b\" \u2028\u0001\t\\""#), "{text}");
        let read: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read.pointer("/spec/config/text").and_then(Value::as_str), Some(unit));
    }

    #[test]
    fn it_is_its_own_text() {
        let document = json!({"metadata": {"name": "n", "annotations": {"ostler.dev/x": "y"}}, "spec": {}});
        let once = text(&document);
        assert_eq!(text(&serde_json::from_str(&once).unwrap()), once);
        assert!(!once.contains("null") && !once.contains("ostler"), "{once}");
    }
}
