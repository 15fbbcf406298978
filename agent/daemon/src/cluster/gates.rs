//! The cluster's feature gates that change what a node reports.
//!
//! Owns reading them from the `FeatureGate` object, and what holds where it says nothing.

use std::cmp::Ordering;

use ostler_core::node::Gates;
use serde_json::Value;

const IRRECONCILABLE: &str = "IrreconcilableMachineConfig";
const IMAGE_MODE: &str = "ImageModeStatusReporting";

/// Reads the object `cluster`: the entry of the newest release counts, and a gate it does not name is as by default.
pub fn read(object: &Value) -> Gates {
    let default = Gates::default();
    let entries = object.pointer("/status/featureGates").and_then(Value::as_array);
    let newest = entries.into_iter().flatten().max_by(|a, b| compare(version(a), version(b)));
    let Some(entry) = newest else { return default };
    let gate = |name: &str, default: bool| match (names(entry, "enabled", name), names(entry, "disabled", name)) {
        (true, _) => true,
        (false, true) => false,
        (false, false) => default,
    };
    Gates {
        irreconcilable: gate(IRRECONCILABLE, default.irreconcilable),
        image_mode: gate(IMAGE_MODE, default.image_mode),
    }
}

fn names(entry: &Value, list: &str, name: &str) -> bool {
    let gates = entry.get(list).and_then(Value::as_array);
    gates.into_iter().flatten().any(|gate| gate.get("name").and_then(Value::as_str) == Some(name))
}

fn version(entry: &Value) -> &str {
    entry.get("version").and_then(Value::as_str).unwrap_or_default()
}

/// Orders releases: numbers by value, and what leads up to a release before the release.
fn compare(a: &str, b: &str) -> Ordering {
    let split = |text: &str| match text.split_once('-') {
        Some((release, ahead)) => (release.to_owned(), Some(ahead.to_owned())),
        None => (text.to_owned(), None),
    };
    let ((release_a, ahead_a), (release_b, ahead_b)) = (split(a), split(b));
    parts(&release_a).cmp(&parts(&release_b)).then_with(|| match (ahead_a, ahead_b) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (Some(a), Some(b)) => parts(&a).cmp(&parts(&b)),
    })
}

/// Numbers before words, each in their own order.
fn parts(text: &str) -> Vec<(u64, String)> {
    let part = |part: &str| part.parse().map_or_else(|_| (u64::MAX, part.to_owned()), |number| (number, String::new()));
    text.split(['.', '-']).filter(|part| !part.is_empty()).map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entry(version: &str, enabled: &[&str], disabled: &[&str]) -> Value {
        let list = |names: &[&str]| names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>();
        json!({"version": version, "enabled": list(enabled), "disabled": list(disabled)})
    }

    #[test]
    fn a_gate_that_nobody_names_is_as_by_default() {
        for object in [json!({}), json!(null), json!({"status": {"featureGates": "x"}})] {
            assert_eq!(read(&object), Gates { irreconcilable: true, image_mode: false });
        }
        let object = json!({"status": {"featureGates": [entry("4.20.0", &["Other"], &[]), 3]}});
        assert_eq!(read(&object), Gates::default());
    }

    #[test]
    fn the_newest_release_counts() {
        let old = entry("4.9.12", &[IRRECONCILABLE], &[IMAGE_MODE]);
        let new = entry("4.20.0", &[IMAGE_MODE], &[IRRECONCILABLE]);
        for entries in [[&old, &new], [&new, &old]] {
            let gates = read(&json!({"status": {"featureGates": entries}}));
            assert_eq!(gates, Gates { irreconcilable: false, image_mode: true });
        }
    }

    #[test]
    fn releases_are_ordered_by_value_and_after_what_leads_up_to_them() {
        let order = ["", "4.9.0", "4.20.0-0.nightly-2026-01-02", "4.20.0-rc.2", "4.20.0-rc.10", "4.20.0", "4.20.1"];
        for pair in order.windows(2) {
            assert_eq!(compare(pair[0], pair[1]), Ordering::Less, "{pair:?}");
        }
    }
}
