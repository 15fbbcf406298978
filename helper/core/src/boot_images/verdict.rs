//! What is decided about a machine resource, and how it is told.

use ostler_core::secret::Secret;
use serde::Serialize;
use serde_json::Value;

use crate::stream_metadata::Architecture;

/// What is done about a machine resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// It gets another boot image.
    Patch,
    /// It has the right one.
    Current,
    /// It should get another one and a person has to see to it.
    Skipped,
    /// It is none of our business.
    Ignored,
    /// It cannot be decided.
    Error,
}

impl Decision {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Patch => "patch",
            Self::Current => "current",
            Self::Skipped => "skipped",
            Self::Ignored => "ignored",
            Self::Error => "error",
        }
    }
}

/// What a rule says that changes nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The right one is there.
    Current {
        /// Which.
        image: String,
    },
    /// A person has to see to it.
    Skipped(String),
    /// It is updated by hand, if at all, and what there is to do is known.
    Manual(Report),
    /// None of our business.
    Ignored(String),
    /// It cannot be decided.
    Error(String),
}

/// What there is to say about a boot image that is not changed here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What is decided.
    pub decision: Decision,
    /// Why.
    pub reason: String,
    /// Version of the OS that should be there; empty where it is not known.
    pub release: String,
    /// What to do, in turn.
    pub steps: Vec<String>,
}

impl From<String> for Verdict {
    fn from(problem: String) -> Self {
        Self::Error(problem)
    }
}

impl From<&str> for Verdict {
    fn from(problem: &str) -> Self {
        Self::Error(problem.to_owned())
    }
}

/// A change of a boot image.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// A merge patch of what describes the machine: the provider spec, or the spec of a template's template.
    pub leaf: Value,
    /// What has to be put back to undo it.
    pub before: Value,
    /// The boot image that is there.
    pub current: String,
    /// The boot image that should be there.
    pub target: String,
    /// Version of the OS in it; empty where the stream does not say.
    pub release: String,
}

/// What is to be done about the user data of a machine resource before its boot image may change.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StubAdvice {
    /// Namespace of the secret.
    pub namespace: String,
    /// The secret.
    pub secret: String,
    /// Key in it.
    pub key: String,
    /// The Ignition version it is written in.
    pub from: String,
    /// The Ignition version it has to be written in.
    pub to: &'static str,
    /// The config in that version.
    #[serde(skip)]
    pub upgraded: Secret<String>,
}

/// A template to make beside one that never changes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TemplateClone {
    /// The object to make.
    pub create: Value,
    /// The template it stands in for, which goes when nothing refers to it any more.
    pub replaces: String,
}

/// What is decided about one machine resource.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Its kind.
    pub kind: &'static str,
    /// Its group.
    pub api_group: &'static str,
    /// What is done.
    pub decision: Decision,
    /// Why.
    pub reason: String,
    /// The merge patch; null where there is nothing to patch.
    pub patch: Option<Value>,
    /// The boot image that is there, where it was looked at.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub current: String,
    /// The boot image that should be there, where it is known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub target: String,
    /// Version of the OS in that one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub release: String,
    /// The architecture of its machines, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<Architecture>,
    /// What is to be done about its user data first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stub: Option<StubAdvice>,
    /// A template to make first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<TemplateClone>,
    /// Whether boot image updates of it are switched on.
    pub enrolled: bool,
    /// What a person can do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<String>,
    /// What has to be put back to undo it.
    #[serde(skip)]
    pub before: Option<Value>,
    /// Tells this change from any other, for the guard against loops.
    #[serde(skip)]
    pub digest: String,
}
