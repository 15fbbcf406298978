//! Versions of releases, read generously, and which of them a cluster was installed with.

use std::fmt;

use crate::objects::ClusterVersion;

/// A version: at least two numbers. What follows them, such as `-rc.1`, is ignored.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(Vec<u64>);

/// Why text is no version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    /// Not two numbers with a dot between them, or one of them cannot be a number.
    #[error("{text:?} is no version; write it as 4.21.0")]
    Unreadable {
        /// The text, cut.
        text: String,
    },
    /// The history says nothing that could be used.
    #[error("the ClusterVersion has no completed release in its history and no desired version")]
    Unknown,
}

impl Version {
    /// Reads `4.21`, `v4.21.0`, `4.21.0-rc.1`.
    pub fn parse(text: &str) -> Result<Self, VersionError> {
        let unreadable = || VersionError::Unreadable { text: text.chars().take(64).collect() };
        let trimmed = text.trim_start();
        let rest = trimmed.strip_prefix('v').unwrap_or(trimmed);
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let numbers = rest.get(..end).unwrap_or_default();
        // A dot that no digit follows is not part of the version any more: "4.21.x" is 4.21.
        let numbers = numbers.split("..").next().unwrap_or_default().trim_end_matches('.');
        // Zeros before the first number are not how versions are written; before others they are, as in 4.05.
        let zeros = numbers.len() > 1 && numbers.starts_with('0') && !numbers.starts_with("0.");
        let parts: Option<Vec<u64>> = numbers.split('.').map(|number| number.parse().ok()).collect();
        parts.filter(|parts| parts.len() >= 2 && !zeros).map(Self).ok_or_else(unreadable)
    }

    /// The first number.
    pub fn major(&self) -> u64 {
        self.0.first().copied().unwrap_or_default()
    }

    /// The first two numbers: the release that patches belong to.
    pub fn minor(&self) -> (u64, u64) {
        (self.major(), self.0.get(1).copied().unwrap_or_default())
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(u64::to_string).collect();
        formatter.write_str(&parts.join("."))
    }
}

/// The version a cluster was installed with, as default streams are chosen by: the release that was completed first, or
/// during the installation the desired one.
pub fn install_version(version: &ClusterVersion) -> Result<Version, VersionError> {
    let completed = version.status.history.iter().filter(|entry| entry.state == "Completed");
    let timed = completed.filter_map(|entry| entry.completion_time.map(|time| (time, &entry.version)));
    let text = match timed.min_by_key(|(time, _)| *time) {
        Some((_, first)) => first,
        None if version.status.desired.version.is_empty() => return Err(VersionError::Unknown),
        None => &version.status.desired.version,
    };
    Version::parse(text)
}

/// The version a cluster was installed with, as boot images are judged by: the last entry of the history that was
/// completed, whatever its time.
pub fn first_completed(version: &ClusterVersion) -> Result<Version, VersionError> {
    let oldest = version.status.history.iter().rev().find(|entry| entry.state == "Completed");
    Version::parse(&oldest.ok_or(VersionError::Unknown)?.version)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn versions_are_read_generously() {
        for (text, expected) in [
            ("4.21.0", Some("4.21.0")),
            ("v4.21", Some("4.21")),
            (" 4.21.0-rc.1", Some("4.21.0")),
            ("5.0.0-0.nightly-2026-01-01", Some("5.0.0")),
            ("4.21.x", Some("4.21")),
            ("0.0.1-snapshot", Some("0.0.1")),
            ("4", None),
            ("", None),
            ("four.one", None),
            ("4.021", Some("4.21")),
            ("04.21", None),
            ("00.1", None),
            ("0.1", Some("0.1")),
            ("4.99999999999999999999999", None),
            ("-4.21", None),
        ] {
            assert_eq!(Version::parse(text).ok().map(|version| version.to_string()).as_deref(), expected, "{text:?}");
        }
    }

    fn of(history: serde_json::Value, desired: &str) -> ClusterVersion {
        let object = json!({"status": {"desired": {"version": desired}, "history": history}});
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn the_two_ways_to_the_install_version_differ_in_what_they_look_at() {
        let entry = |state: &str, version: &str, time: Option<&str>| json!({"state": state, "version": version, "completionTime": time});
        let odd = json!([
            entry("Completed", "4.21.0", Some("2026-03-01T00:00:00Z")),
            entry("Completed", "4.19.0", Some("2026-01-01T00:00:00Z")),
            entry("Completed", "4.20.0", Some("2026-02-01T00:00:00Z")),
            entry("Partial", "4.18.0", Some("2025-01-01T00:00:00Z")),
        ]);
        assert_eq!(install_version(&of(odd.clone(), "5.0.0")).unwrap().to_string(), "4.19.0");
        assert_eq!(first_completed(&of(odd, "5.0.0")).unwrap().to_string(), "4.20.0");
        let installing = json!([entry("Partial", "5.0.0", None)]);
        assert_eq!(install_version(&of(installing.clone(), "5.0.0")).unwrap().major(), 5);
        assert_eq!(first_completed(&of(installing.clone(), "5.0.0")), Err(VersionError::Unknown));
        assert_eq!(install_version(&of(installing, "")), Err(VersionError::Unknown));
    }
}
