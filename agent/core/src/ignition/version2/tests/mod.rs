//! Whole configs in, spec 3 JSON or a refusal out.

mod accepted;
mod properties;
mod refused;

use serde_json::{Value, json};

use super::error::{ConversionError, Flaw, Subject};
use super::upgrade;

/// A config of the given version; sections override nothing but `ignition.version`.
fn config(version: &str, mut sections: Value) -> Value {
    sections["ignition"]["version"] = json!(version);
    sections
}

/// The conversion as JSON, without the nulls and the version that every result has.
fn converted(config: &Value) -> Result<Value, ConversionError> {
    let mut raised = serde_json::to_value(upgrade(config)?).unwrap();
    assert_eq!(raised["ignition"]["version"], "3.6.0");
    raised["ignition"].as_object_mut().unwrap().remove("version");
    if raised["ignition"] == json!({}) {
        raised.as_object_mut().unwrap().remove("ignition");
    }
    Ok(bare(&raised))
}

fn bare(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(bare).collect(),
        Value::Object(fields) => fields
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name.clone(), bare(value)))
            .collect(),
        scalar => scalar.clone(),
    }
}

#[track_caller]
fn accepts(version: &str, sections: Value, expected: Value) {
    assert_eq!(converted(&config(version, sections)).unwrap(), expected);
}

#[track_caller]
fn refuses(sections: Value, expected: ConversionError) {
    assert_eq!(upgrade(&config("2.2.0", sections)).unwrap_err(), expected);
}

#[track_caller]
fn invalid(sections: Value, subject: Subject, flaw: Flaw) {
    refuses(sections, ConversionError::Invalid { subject, flaw });
}

fn files(files: Value) -> Value {
    json!({"storage": {"files": files}})
}

/// A file that is valid but for the given fields.
fn file(fields: Value) -> Value {
    let mut file = json!({"filesystem": "root", "path": "/a"});
    file.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    file
}

fn hash() -> String {
    format!("sha512-{}", "0".repeat(128))
}
