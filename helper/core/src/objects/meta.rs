//! What every object has: names, labels, annotations, owners; and conditions and selectors, which many have.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::absent::{moment, null_as_default, texts};

/// `metadata`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    /// Name.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// Namespace; empty for objects of the cluster.
    #[serde(deserialize_with = "null_as_default")]
    pub namespace: String,
    /// Identity.
    #[serde(deserialize_with = "null_as_default")]
    pub uid: String,
    /// Version, opaque.
    #[serde(deserialize_with = "null_as_default")]
    pub resource_version: String,
    /// Generation of the spec.
    pub generation: Option<i64>,
    /// Labels.
    #[serde(deserialize_with = "texts")]
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    #[serde(deserialize_with = "texts")]
    pub annotations: BTreeMap<String, String>,
    /// When it was made.
    #[serde(deserialize_with = "moment")]
    pub creation_timestamp: Option<Timestamp>,
    /// When its deletion was asked for.
    #[serde(deserialize_with = "moment")]
    pub deletion_timestamp: Option<Timestamp>,
    /// Who owns it.
    #[serde(deserialize_with = "null_as_default")]
    pub owner_references: Vec<OwnerReference>,
    /// Who wrote which fields.
    #[serde(deserialize_with = "null_as_default")]
    pub managed_fields: Vec<ManagedFields>,
}

/// An owner of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerReference {
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Whether it manages the object.
    pub controller: Option<bool>,
}

/// Which fields somebody wrote.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ManagedFields {
    /// Who.
    pub manager: String,
    /// `Apply` or `Update`.
    pub operation: String,
    /// Part of the object that was written; empty for the object itself.
    #[serde(deserialize_with = "null_as_default")]
    pub subresource: String,
    /// The fields, as the API server notes them.
    #[serde(rename = "fieldsV1")]
    pub fields: Value,
}

/// A condition in a status.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Condition {
    /// What it is about.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// A word for programs.
    #[serde(deserialize_with = "null_as_default")]
    pub reason: String,
    /// A sentence for people.
    #[serde(deserialize_with = "null_as_default")]
    pub message: String,
    /// Since when it is so.
    #[serde(deserialize_with = "moment", skip_serializing)]
    pub last_transition_time: Option<Timestamp>,
}

impl Condition {
    /// Whether it holds.
    pub fn is_true(&self) -> bool {
        self.status == "True"
    }
}

/// The condition of a type, if there is one.
pub fn condition<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// Selects objects by their labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Selector {
    /// Labels that have to be there with these values.
    #[serde(deserialize_with = "texts", skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    /// More that has to hold.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<Requirement>,
}

/// One requirement of a selector.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Requirement {
    /// The label.
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: String,
    /// The values.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

impl Selector {
    /// Whether it requires nothing. In Kubernetes such a selector matches everything; the machine-config operator says
    /// that it matches nothing.
    pub fn is_empty(&self) -> bool {
        self.match_labels.is_empty() && self.match_expressions.is_empty()
    }

    /// The same as a server takes it in a query; nothing where it asks for something that there is not.
    pub fn query(&self) -> Option<String> {
        let equal = self.match_labels.iter().map(|(key, value)| Some(format!("{key}={value}")));
        let parts: Option<Vec<String>> = equal.chain(self.match_expressions.iter().map(Requirement::query)).collect();
        parts.map(|parts| parts.join(","))
    }

    /// Whether labels fulfil all that it requires.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        let equal = self.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value));
        equal && self.match_expressions.iter().all(|requirement| requirement.holds(labels))
    }
}

impl Requirement {
    /// As a server takes it; nothing where it is none that a server takes.
    fn query(&self) -> Option<String> {
        let (key, values) = (&self.key, self.values.join(","));
        match (self.operator.as_str(), self.values.is_empty()) {
            ("In", false) => Some(format!("{key} in ({values})")),
            ("NotIn", false) => Some(format!("{key} notin ({values})")),
            ("Exists", true) => Some(key.clone()),
            ("DoesNotExist", true) => Some(format!("!{key}")),
            _ => None,
        }
    }

    /// An operator that does not exist holds for nothing.
    fn holds(&self, labels: &BTreeMap<String, String>) -> bool {
        let value = labels.get(&self.key);
        let listed = || value.is_some_and(|value| self.values.contains(value));
        match self.operator.as_str() {
            "In" => listed(),
            "NotIn" => !listed(),
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            _ => false,
        }
    }
}
