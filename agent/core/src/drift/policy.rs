//! What is to be done about drift, path by path: report it, repair it, or ignore it.
//!
//! Owns the form of the policy, which of its rules counts, and what becomes of one that cannot be read: everything is
//! reported then, because neither a repair nor silence was asked for in words that are understood.

mod glob;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Drift, Subject};
use crate::document::{self, DocumentError};
use crate::malformed::{self, Malformed};
pub use glob::{Glob, GlobError};

/// Where a machine's own policy is: the first of these that is there.
pub const FILES: &[&str] = &["/etc/ostler/drift.yaml", "/etc/ostler/drift.json"];
/// Largest policy read.
pub const MAX_BYTES: usize = 256 * 1024;
/// Longest annotation.
pub const MAX_ANNOTATION: usize = 3000;
/// Most rules in a policy.
pub const MAX_RULES: usize = 256;

/// What is to be done about something that differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Action {
    /// Tell it; the node is degraded while it lasts.
    #[default]
    Report,
    /// Make it as configured again.
    Repair,
    /// Neither.
    Ignore,
}

impl Action {
    /// The action in the words of the policy.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Report => "report",
            Self::Repair => "repair",
            Self::Ignore => "ignore",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        [Self::Report, Self::Repair, Self::Ignore].into_iter().find(|action| action.as_str() == word)
    }
}

/// What is to be done about drift.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DriftPolicy {
    default: Option<Action>,
    rules: Vec<Rule>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    path: Glob,
    action: Action,
}

/// Why a policy cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// It is too large.
    #[error("a drift policy has at most {MAX_BYTES} bytes and {MAX_RULES} rules; use fewer, with \"**\" in them")]
    TooLarge,
    /// It is too large for an annotation.
    #[error("a drift policy in an annotation has at most {MAX_ANNOTATION} bytes; put it into /etc/ostler/drift.yaml")]
    LongAnnotation,
    /// It is no document.
    #[error("the drift policy cannot be read")]
    Document(#[from] DocumentError),
    /// It is a document of another form.
    #[error("the drift policy needs \"default\" and a list \"rules\" of \"path\" and \"action\"")]
    Malformed(#[source] Malformed),
    /// A path that cannot be matched.
    #[error("rule {number} of the drift policy has a path that cannot be used")]
    Path {
        /// Which rule, counted from one.
        number: usize,
        /// What is wrong.
        source: GlobError,
    },
    /// It could not be had.
    #[error("the drift policy cannot be read: {0}")]
    Unreadable(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    default: Option<Action>,
    #[serde(default)]
    rules: Vec<DocumentRule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DocumentRule {
    path: String,
    action: Action,
}

impl DriftPolicy {
    /// Reads a policy, JSON or YAML.
    pub fn parse(text: &[u8]) -> Result<Self, PolicyError> {
        if text.len() > MAX_BYTES {
            return Err(PolicyError::TooLarge);
        }
        match document::parse(text) {
            // A file of nothing but comments says nothing.
            Err(DocumentError::Empty) => Ok(Self::default()),
            document => Self::from_document(document?),
        }
    }

    /// Reads an annotation: one word for everything, or a policy.
    pub fn parse_annotation(text: &str) -> Result<Self, PolicyError> {
        match Action::from_word(text.trim()) {
            Some(action) => Ok(Self { default: None, rules: vec![Rule { path: Glob::everything(), action }] }),
            None if text.len() > MAX_ANNOTATION => Err(PolicyError::LongAnnotation),
            None => Self::parse(text.as_bytes()),
        }
    }

    fn from_document(document: Value) -> Result<Self, PolicyError> {
        let document: Document = malformed::read(document).map_err(PolicyError::Malformed)?;
        if document.rules.len() > MAX_RULES {
            return Err(PolicyError::TooLarge);
        }
        let rule = |(index, rule): (usize, DocumentRule)| {
            let path = Glob::new(&rule.path).map_err(|source| PolicyError::Path { number: index + 1, source })?;
            Ok(Rule { path, action: rule.action })
        };
        let rules: Result<Vec<Rule>, PolicyError> = document.rules.into_iter().enumerate().map(rule).collect();
        Ok(Self { default: document.default, rules: rules? })
    }

    /// The machine's policy and then the cluster's, whose rules count more; what is wrong with them. Where one of them
    /// cannot be read, everything is reported.
    pub fn of(machine: Result<Self, PolicyError>, annotation: Option<&str>) -> (Self, Option<PolicyError>) {
        let cluster = annotation.map(Self::parse_annotation).transpose();
        match (machine, cluster) {
            (Ok(machine), Ok(cluster)) => (machine.then(cluster.unwrap_or_default()), None),
            (Err(error), _) | (_, Err(error)) => (Self::default(), Some(error)),
        }
    }

    fn then(mut self, later: Self) -> Self {
        self.default = later.default.or(self.default);
        self.rules.extend(later.rules);
        self
    }

    /// What is to be done about a subject: the last rule that matches says.
    pub fn action(&self, subject: &Subject) -> Action {
        let path = subject.path();
        let rule = self.rules.iter().rev().find(|rule| rule.path.matches(&path));
        let action = rule.map(|rule| rule.action).or(self.default).unwrap_or_default();
        match (action, subject) {
            // Only an update with its restart brings another image.
            (Action::Repair, Subject::OsImage) => Action::Report,
            (action, _) => action,
        }
    }
}

/// Drift, by what is to be done about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// To be told.
    pub reported: Vec<Drift>,
    /// To be repaired.
    pub repairable: Vec<Drift>,
    /// To be left alone.
    pub ignored: Vec<Drift>,
}

/// Sorts drift by what is to be done about it.
pub fn judge(drift: &[Drift], policy: &DriftPolicy) -> Judged {
    let mut judged = Judged::default();
    for drift in drift {
        let list = match policy.action(&drift.subject) {
            Action::Report => &mut judged.reported,
            Action::Repair => &mut judged.repairable,
            Action::Ignore => &mut judged.ignored,
        };
        list.push(drift.clone());
    }
    judged
}

#[cfg(test)]
mod tests;
