//! The document that the cluster-version operator reads: `preflight-v1-json`.

use jiff::Timestamp;
use jiff::fmt::temporal::DateTimePrinter;
use serde::Serialize;

use super::{Findings, Target};

/// Name of the format.
pub const FORMAT: &str = "preflight-v1-json";

/// How far the checks came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Execution {
    /// All were made, or could not be made whatever the time.
    Completed,
    /// The time was over before.
    Failed,
    /// They are under way.
    Running,
}

/// The document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Document {
    format: &'static str,
    #[serde(rename = "preflightID")]
    preflight_id: String,
    target_version: String,
    execution_status: Execution,
    /// The risks, by name.
    pub risks: Vec<Entry>,
}

/// A risk in the document. It has no severity there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Cause, objects and remedy.
    pub message: String,
    /// Where to read on.
    pub url: String,
    target_version: String,
}

impl Document {
    /// The document of what was found.
    pub fn new(target: &Target, findings: &Findings, execution: Execution) -> Self {
        let version = target.version.to_string();
        let entry = |risk: &super::Risk| Entry {
            name: risk.name.to_owned(),
            message: risk.message.clone(),
            url: risk.url.clone(),
            target_version: version.clone(),
        };
        Self {
            format: FORMAT,
            preflight_id: format!("{}-preflight-{version}", in_seconds(target.now)),
            execution_status: execution,
            risks: findings.risks.iter().map(entry).collect(),
            target_version: version,
        }
    }

    /// The document that says that checks are under way.
    pub fn running(target: &Target) -> Self {
        Self::new(target, &Findings { risks: Vec::new() }, Execution::Running)
    }

    /// Whether all checks had their time.
    pub fn is_complete(&self) -> bool {
        self.execution_status == Execution::Completed
    }

    /// Whether another says the same, whenever it was written.
    pub fn says_as(&self, other: &Self) -> bool {
        self.risks == other.risks
            && self.execution_status == other.execution_status
            && self.target_version == other.target_version
    }
}

/// A time in UTC, whole seconds.
fn in_seconds(time: Timestamp) -> String {
    DateTimePrinter::new().precision(Some(0)).timestamp_to_string(&time)
}
