//! What is ours to say in the status of the `MachineConfiguration`, and what of it is not said there yet.

use ostler_cluster_core::objects::{Condition, ManagedBootImages, SkewEnforcement};
use serde_json::{Map, Value, json};

/// What is to be said. What is absent stays as it is.
#[derive(Debug, Default)]
pub struct Standing {
    /// Conditions of ours.
    pub conditions: Vec<Condition>,
    /// Who is enrolled, where no operator says it.
    pub enrolled: Option<ManagedBootImages>,
    /// How skew is enforced, as far as it is ours to say.
    pub skew: Option<SkewEnforcement>,
}

impl Standing {
    /// A merge patch of the status; nothing where it says all of it already.
    pub fn patch(&self, object: &Value, time: &str) -> Option<Value> {
        let mut status = Map::new();
        let there = object.pointer("/status/conditions").and_then(Value::as_array).cloned().unwrap_or_default();
        let all = self.conditions.iter().fold(there.clone(), |all, condition| with(all, condition, time));
        if sorted(all.clone()) != sorted(there) {
            status.insert("conditions".to_owned(), all.into());
        }
        let said = |name: &str| object.get("status").and_then(|status| status.get(name));
        if let Some(enrolled) = self.enrolled.as_ref().and_then(|enrolled| serde_json::to_value(enrolled).ok())
            && said("managedBootImagesStatus") != Some(&enrolled)
        {
            status.insert("managedBootImagesStatus".to_owned(), enrolled);
        }
        if let Some(skew) = self.skew.as_ref().and_then(|skew| serde_json::to_value(skew).ok())
            && said("bootImageSkewEnforcementStatus") != Some(&skew)
        {
            status.insert("bootImageSkewEnforcementStatus".to_owned(), replacing(&skew));
        }
        (!status.is_empty()).then(|| json!({"status": status}))
    }
}

/// A merge patch that leaves nothing of another mode or version.
fn replacing(skew: &Value) -> Value {
    let mut patch = json!({"automatic": null, "manual": null});
    for (key, value) in skew.as_object().into_iter().flatten() {
        let value = match value {
            Value::Object(image) => {
                let mut whole = Map::from_iter(["ocpVersion", "rhcosVersion"].map(|key| (key.to_owned(), Value::Null)));
                whole.extend(image.clone());
                Value::Object(whole)
            }
            other => other.clone(),
        };
        if let Some(fields) = patch.as_object_mut() {
            fields.insert(key.clone(), value);
        }
    }
    patch
}

/// The conditions with one of ours. Its time is that of its last flip.
fn with(mut all: Vec<Value>, condition: &Condition, time: &str) -> Vec<Value> {
    let Ok(mut new) = serde_json::to_value(condition) else { return all };
    let at = all.iter().position(|old| old.get("type").and_then(Value::as_str) == Some(&condition.type_));
    let old = at.map(|at| all.remove(at));
    let same = old.filter(|old| old.get("status") == new.get("status"));
    let since = same.and_then(|old| old.get("lastTransitionTime").cloned());
    if let Some(fields) = new.as_object_mut() {
        fields.insert("lastTransitionTime".to_owned(), since.unwrap_or_else(|| time.into()));
    }
    all.push(new);
    all
}

fn sorted(mut conditions: Vec<Value>) -> Vec<Value> {
    conditions.sort_by_key(|condition| condition.get("type").and_then(Value::as_str).unwrap_or_default().to_owned());
    conditions
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(status: &str) -> Condition {
        Condition { type_: "A".to_owned(), status: status.to_owned(), reason: "R".to_owned(), ..Condition::default() }
    }

    fn standing(status: &str) -> Standing {
        Standing { conditions: vec![condition(status)], ..Standing::default() }
    }

    /// What becomes of a status.
    fn after(status: &Value, patch: &Value) -> Value {
        ostler_cluster_core::boot_images::merge::applied(&json!({"status": status}), patch)
    }

    #[test]
    fn only_our_conditions_are_written_and_only_when_they_differ() {
        let others = json!({"type": "Other", "status": "True", "lastTransitionTime": "then"});
        let object = json!({"status": {"conditions": [others]}});
        let patch = standing("True").patch(&object, "now").unwrap();
        let first = after(&object["status"], &patch);
        assert_eq!(first["status"]["conditions"][0], others);
        assert_eq!(first["status"]["conditions"][1]["lastTransitionTime"], "now");
        assert_eq!(standing("True").patch(&first, "later"), None);
        let flipped = standing("False").patch(&first, "later").unwrap();
        assert_eq!(flipped["status"]["conditions"][1]["lastTransitionTime"], "later");
    }

    #[test]
    fn another_mode_leaves_nothing_of_the_last() {
        let skew = |value: Value| Standing { skew: serde_json::from_value(value).unwrap(), ..Standing::default() };
        let object = json!({"status": {"bootImageSkewEnforcementStatus":
            {"mode": "Manual", "manual": {"mode": "RHCOSVersion", "rhcosVersion": "9.6.20250930-0"}}}});
        let automatic = json!({"mode": "Automatic", "automatic": {"ocpVersion": "4.21.0"}});
        let patch = skew(automatic.clone()).patch(&object, "now").unwrap();
        let written = after(&object["status"], &patch);
        assert_eq!(written["status"]["bootImageSkewEnforcementStatus"], automatic);
        assert_eq!(skew(automatic).patch(&written, "now"), None);
        let none = json!({"mode": "None"});
        let patch = skew(none.clone()).patch(&written, "now").unwrap();
        assert_eq!(after(&written["status"], &patch)["status"]["bootImageSkewEnforcementStatus"], none);
    }

    #[test]
    fn who_is_enrolled_is_written_whole() {
        let managers = json!({"machineManagers": [{"resource": "machinesets", "apiGroup": "machine.openshift.io",
            "selection": {"mode": "All"}}]});
        let standing = Standing { enrolled: serde_json::from_value(managers.clone()).unwrap(), ..Standing::default() };
        let patch = standing.patch(&json!({}), "now").unwrap();
        assert_eq!(patch, json!({"status": {"managedBootImagesStatus": managers}}));
        assert_eq!(standing.patch(&patch, "now"), None);
    }
}
