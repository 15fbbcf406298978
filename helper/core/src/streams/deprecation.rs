//! Streams that come to their end: a policy of releases, and the conditions it leads to.
//!
//! Clusters carry no such data themselves; a person writes it into a file or a ConfigMap. Nothing is written here.

use serde::Deserialize;
use serde_json::Value;

use super::version::{Version, VersionError};
use crate::objects::Condition;

/// Most streams of a policy: as many as a cluster can offer.
const MAX_STREAMS: usize = 100;

/// What comes to its end, and when.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    streams: Vec<StreamPolicy>,
}

/// The end of one stream. A release is meant with all its patches; one that is not named does not come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamPolicy {
    /// The stream.
    pub name: String,
    /// Release from which pools are warned.
    pub deprecated_in: Option<Version>,
    /// Release from which updates are blocked.
    pub blocked_in: Option<Version>,
    /// Release that has the stream no more.
    pub removed_in: Option<Version>,
    /// Where to go from it.
    pub successor: Option<String>,
}

/// Why a document is no policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// Fields are missing, misspelt or of another type.
    #[error(
        "the policy of streams is malformed: {0}; it has streams: [{{name, deprecatedIn, blockedIn, removedIn, successor}}]"
    )]
    Shape(String),
    /// More streams than there can be.
    #[error("the policy names more than {MAX_STREAMS} streams")]
    TooMany,
    /// A stream stands there twice.
    #[error("the policy names stream {0} twice")]
    Twice(String),
    /// A release is no version.
    #[error("the policy of stream {name} has a release that is no version")]
    Release {
        /// The stream.
        name: String,
        /// Which.
        #[source]
        cause: VersionError,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Document {
    streams: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Entry {
    name: String,
    #[serde(default)]
    deprecated_in: Option<String>,
    #[serde(default)]
    blocked_in: Option<String>,
    #[serde(default)]
    removed_in: Option<String>,
    #[serde(default)]
    successor: Option<String>,
}

impl Policy {
    /// Name of the ConfigMap that holds a policy.
    pub const CONFIG_MAP: &'static str = "ostler-os-stream-policy";
    /// Its key.
    pub const KEY: &'static str = "policy.yaml";

    /// Reads a policy.
    pub fn from_document(document: Value) -> Result<Self, PolicyError> {
        let document: Document =
            serde_json::from_value(document).map_err(|error| PolicyError::Shape(error.to_string()))?;
        if document.streams.len() > MAX_STREAMS {
            return Err(PolicyError::TooMany);
        }
        let mut policy = Self::default();
        for entry in document.streams {
            if policy.of(&entry.name).is_some() {
                return Err(PolicyError::Twice(entry.name));
            }
            policy.streams.push(StreamPolicy::new(entry)?);
        }
        Ok(policy)
    }

    /// What it says of a stream.
    pub fn of(&self, stream: &str) -> Option<&StreamPolicy> {
        self.streams.iter().find(|policy| policy.name == stream)
    }
}

impl StreamPolicy {
    fn new(entry: Entry) -> Result<Self, PolicyError> {
        let Entry { name, deprecated_in, blocked_in, removed_in, successor } = entry;
        let release = |text: Option<String>| {
            let version = text.map(|text| Version::parse(&text)).transpose();
            version.map_err(|cause| PolicyError::Release { name: name.clone(), cause })
        };
        let (deprecated_in, blocked_in, removed_in) =
            (release(deprecated_in)?, release(blocked_in)?, release(removed_in)?);
        Ok(Self { name, deprecated_in, blocked_in, removed_in, successor })
    }

    /// Whether pools are to be warned in a release. What is blocked or removed is deprecated, too.
    pub fn is_deprecated(&self, release: &Version) -> bool {
        [&self.deprecated_in, &self.blocked_in, &self.removed_in]
            .into_iter()
            .any(|since| has_come(since.as_ref(), release))
    }

    /// Whether updates are to be blocked in a release.
    pub fn is_blocked(&self, release: &Version) -> bool {
        [&self.blocked_in, &self.removed_in].into_iter().any(|since| has_come(since.as_ref(), release))
    }

    fn remedy(&self) -> String {
        match &self.successor {
            Some(successor) => format!("to '{successor}'"),
            None => "to another stream".to_owned(),
        }
    }
}

fn has_come(since: Option<&Version>, release: &Version) -> bool {
    since.is_some_and(|since| release.minor() >= since.minor())
}

/// `OSStreamDeprecated` of a pool: true with a reason, or false.
pub fn pool_condition(policy: &Policy, stream: &str, release: &Version) -> Condition {
    let ended = policy.of(stream).filter(|policy| policy.is_deprecated(release));
    let (status, reason, message) = match ended {
        Some(policy) => {
            let when = policy.removed_in.as_ref().map_or_else(
                || "a future release".to_owned(),
                |version| {
                    let (major, minor) = version.minor();
                    format!("release {major}.{minor}")
                },
            );
            let message = format!(
                "Stream '{stream}' is deprecated and goes away with {when}. Migrate {} before upgrading.",
                policy.remedy()
            );
            ("True", "StreamEndOfLife", message)
        }
        None => ("False", "AsExpected", String::new()),
    };
    condition("OSStreamDeprecated", status, reason, message)
}

/// `Upgradeable` of the cluster, with every pool that stands in the way: false with a reason, or true. Pools are given by
/// name with their streams.
pub fn upgrade_condition(policy: &Policy, pools: &[(String, String)], release: &Version) -> Condition {
    let blocked = pools.iter().filter_map(|(pool, stream)| {
        let policy = policy.of(stream).filter(|policy| policy.is_blocked(release))?;
        Some(format!(
            "MachineConfigPool '{pool}' is using deprecated stream '{stream}', which this release no longer supports. \
             Migrate the pool {} before upgrading.",
            policy.remedy()
        ))
    });
    let sentences: Vec<String> = blocked.collect();
    if sentences.is_empty() {
        return condition("Upgradeable", "True", "AsExpected", String::new());
    }
    condition("Upgradeable", "False", "DeprecatedOSStreamInUse", format!("Cannot upgrade: {}", sentences.join(" ")))
}

fn condition(type_: &str, status: &str, reason: &str, message: String) -> Condition {
    Condition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message,
        last_transition_time: None,
    }
}

#[cfg(test)]
mod tests;
