//! A policy that a person gives as a file: a MachineConfiguration, or only its `nodeDisruptionPolicy`.

use serde_json::Value;

use super::{Policies, PolicyError};
use crate::api::{MachineConfiguration, NodeDisruptionPolicyConfig};
use crate::malformed::{self, Malformed};
use crate::reconcile::Overrides;

/// What the file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PolicyFile {
    /// The policies in force.
    pub policies: Policies,
    /// Overrides, where the file is a whole MachineConfiguration.
    pub overrides: Overrides,
}

/// Why a document is no policy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyFileError {
    /// The document is a list or a scalar.
    #[error("the document is not an object")]
    NotAnObject,
    /// The document is some other object.
    #[error("the document is a {kind}, not a MachineConfiguration")]
    OtherKind {
        /// Its kind.
        kind: String,
    },
    /// The document has fields that no policy has.
    #[error("the document is neither a MachineConfiguration nor a nodeDisruptionPolicy")]
    NotAPolicy,
    /// An action of a type that nobody knows.
    #[error("{name:?} is no type of action; the types are {}", ACTION_TYPES.join(", "))]
    UnknownAction {
        /// The type as written.
        name: String,
    },
    /// A field has the wrong type, or a required one is missing.
    #[error("the policy is malformed")]
    Malformed(#[from] Malformed),
    /// The API server would refuse it.
    #[error("the policy is not valid")]
    Invalid(#[from] PolicyError),
}

const ACTION_TYPES: [&str; 7] = ["Reboot", "Drain", "Reload", "Restart", "DaemonReload", "None", "Special"];

impl PolicyFile {
    /// Reads a parsed document.
    pub fn from_document(document: Value) -> Result<Self, PolicyFileError> {
        if let Some(name) = unknown_action(&document) {
            return Err(PolicyFileError::UnknownAction { name: name.chars().take(64).collect() });
        }
        let fields = document.as_object().ok_or(PolicyFileError::NotAnObject)?;
        match fields.get("kind").and_then(Value::as_str) {
            Some("MachineConfiguration") => return Self::from_object(&malformed::read(document)?),
            Some(kind) => return Err(PolicyFileError::OtherKind { kind: kind.chars().take(64).collect() }),
            None => {}
        }
        let policy = match fields.get("nodeDisruptionPolicy") {
            Some(policy) => policy.clone(),
            None if fields.keys().all(|key| ["files", "units", "sshkey"].contains(&key.as_str())) => document,
            None => return Err(PolicyFileError::NotAPolicy),
        };
        let policy: NodeDisruptionPolicyConfig = malformed::read(policy)?;
        Ok(Self { policies: Policies::with_user(&policy)?, overrides: Overrides::default() })
    }

    fn from_object(object: &MachineConfiguration) -> Result<Self, PolicyFileError> {
        let overrides = Overrides::from(&object.spec.irreconcilable_validation_overrides);
        Ok(Self { policies: Policies::in_force(object)?, overrides })
    }
}

/// An action type that nobody knows. From a cluster it may be one of a later release and is taken for a reboot; in a
/// file it is a slip of the pen.
fn unknown_action(value: &Value) -> Option<&str> {
    match value {
        Value::Array(items) => items.iter().find_map(unknown_action),
        Value::Object(fields) => fields.iter().find_map(|(key, field)| match (key.as_str(), field) {
            ("actions", Value::Array(actions)) => {
                let mut types = actions.iter().filter_map(|action| action.get("type")?.as_str());
                types.find(|name| !ACTION_TYPES.contains(name))
            }
            _ => unknown_action(field),
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_form_of_a_policy_is_read() {
        let policy = json!({"files": [{"path": "/etc/a", "actions": [{"type": "None"}]}]});
        let object = json!({
            "kind": "MachineConfiguration", "metadata": {"name": "cluster"},
            "spec": {"nodeDisruptionPolicy": policy, "irreconcilableValidationOverrides": {"storage": ["Raid"]}},
        });
        for document in [policy.clone(), json!({"nodeDisruptionPolicy": policy}), object.clone()] {
            assert!(PolicyFile::from_document(document).unwrap().policies.for_file("/etc/a").is_some());
        }
        assert!(PolicyFile::from_document(object).unwrap().overrides.raid);
        assert_eq!(PolicyFile::from_document(json!({})).unwrap(), PolicyFile::default());
    }

    #[test]
    fn what_is_no_policy_is_told_by_what_is_wrong() {
        for (document, expected) in [
            (json!([]), "the document is not an object"),
            (json!({"kind": "Pod"}), "the document is a Pod, not a MachineConfiguration"),
            (json!({"spec": {}}), "the document is neither a MachineConfiguration nor a nodeDisruptionPolicy"),
            (
                json!({"files": [{"path": "/a", "actions": [{"type": "Restrat"}]}]}),
                "\"Restrat\" is no type of action; the types are Reboot, Drain, Reload, Restart, DaemonReload, None, Special",
            ),
            (json!({"files": [{"path": 1}]}), "the policy is malformed"),
            (json!({"files": [{"path": "/a", "actions": [{"type": "Reload"}]}]}), "the policy is not valid"),
        ] {
            assert_eq!(PolicyFile::from_document(document).unwrap_err().to_string(), expected);
        }
    }
}
