//! The irreconcilable report against a plain comparison, index by index, of the storage sections it speaks of.

use ostler_core::irreconcilable::Change;
use serde_json::{Map, Value};

const SECTIONS: [&str; 4] = ["disks", "raid", "filesystems", "luks"];

/// Differing leaves that the report leaves out, and entries of the report with nothing different below them.
pub(crate) fn disagreements(old: &Value, new: &Value, report: &[Change]) -> Vec<String> {
    let mut leaves = Vec::new();
    for section in SECTIONS {
        let [old, new] = [old, new].map(|config| pruned(&config["spec"]["config"]["storage"][section]));
        differing(&format!("spec.config.storage.{section}"), &old, &new, &mut leaves);
    }
    let left_out = leaves.iter().filter(|leaf| !report.iter().any(|change| is_below(leaf, &change.field_path)));
    let idle = report.iter().filter(|change| !leaves.iter().any(|leaf| is_below(leaf, &change.field_path)));
    left_out
        .map(|leaf| format!("irreconcilable: {leaf} differs and is not reported"))
        .chain(idle.map(|change| format!("irreconcilable: {} is reported and does not differ", change.field_path)))
        .collect()
}

fn is_below(leaf: &str, path: &str) -> bool {
    leaf.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// Without null and empty fields; list items stay where they are.
fn pruned(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(pruned).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, field)| (name.clone(), pruned(field)));
            Value::Object(fields.filter(|(_, field)| !is_blank(field)).collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

fn differing(path: &str, old: &Value, new: &Value, leaves: &mut Vec<String>) {
    match (old, new) {
        _ if old == new || (is_blank(old) && is_blank(new)) => {}
        (Value::Object(_), _) | (_, Value::Object(_)) if !old.is_array() && !new.is_array() => {
            let names = [old, new].into_iter().filter_map(Value::as_object).flat_map(Map::keys);
            for name in names.collect::<std::collections::BTreeSet<_>>() {
                differing(&format!("{path}.{name}"), &old[name], &new[name], leaves);
            }
        }
        (Value::Array(_), _) | (_, Value::Array(_)) => {
            let length = |value: &Value| value.as_array().map_or(0, Vec::len);
            for index in 0..length(old).max(length(new)) {
                let item = |value: &Value| value.get(index).cloned().unwrap_or_default();
                differing(&format!("{path}[{index}]"), &item(old), &item(new), leaves);
            }
        }
        _ => leaves.push(path.to_owned()),
    }
}

#[test]
fn leaves_are_found_index_by_index() {
    let old = serde_json::json!([{"device": "a", "partitions": []}, {"device": "b"}]);
    let new = serde_json::json!([{"device": "c"}]);
    let mut leaves = Vec::new();
    differing("disks", &pruned(&old), &pruned(&new), &mut leaves);
    assert_eq!(leaves, ["disks[0].device", "disks[1].device"]);
    assert!(is_below("disks[0].device", "disks") && !is_below("disks[10]", "disks[1]"));
}
