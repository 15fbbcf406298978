//! `ClusterVersion`: which release the cluster runs, and which ones it ran.

use jiff::Timestamp;
use serde::Deserialize;

use super::absent::{moment, null_as_default};
use super::{Condition, Metadata, Resource};

/// The object; there is one, called [`ClusterVersion::NAME`].
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterVersion {
    /// Names and labels.
    pub metadata: Metadata,
    /// How it is.
    #[serde(deserialize_with = "null_as_default")]
    pub status: ClusterVersionStatus,
}

impl ClusterVersion {
    /// Name of the only object.
    pub const NAME: &'static str = "version";
}

/// `status`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterVersionStatus {
    /// The release that is wanted, which is also the one being applied.
    #[serde(deserialize_with = "null_as_default")]
    pub desired: Release,
    /// Releases so far, newest first.
    #[serde(deserialize_with = "null_as_default")]
    pub history: Vec<HistoryEntry>,
    /// Conditions.
    #[serde(deserialize_with = "null_as_default")]
    pub conditions: Vec<Condition>,
}

/// A release.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Release {
    /// Version.
    #[serde(deserialize_with = "null_as_default")]
    pub version: String,
    /// Image of the payload.
    #[serde(deserialize_with = "null_as_default")]
    pub image: String,
    /// `Multi` where the payload is for several architectures, else empty.
    #[serde(deserialize_with = "null_as_default")]
    pub architecture: String,
}

/// One release that was applied, or begun.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HistoryEntry {
    /// `Completed` or `Partial`.
    pub state: String,
    /// Version.
    #[serde(deserialize_with = "null_as_default")]
    pub version: String,
    /// When it began.
    #[serde(deserialize_with = "moment")]
    pub started_time: Option<Timestamp>,
    /// When it was complete, or given up.
    #[serde(deserialize_with = "moment")]
    pub completion_time: Option<Timestamp>,
}

impl Resource for ClusterVersion {
    const GROUP: &'static str = "config.openshift.io";
    const VERSION: &'static str = "v1";
    const KIND: &'static str = "ClusterVersion";
    const PLURAL: &'static str = "clusterversions";
    const NAMESPACED: bool = false;
}
