//! What the API server would refuse in a `MachineConfigNode` status, checked before it is sent.
//!
//! Owns the checks for what Ostler writes: conditions, versions, irreconcilable changes and pinned image sets. Rules
//! that compare with the stored object (generations never decrease) need that object and stay with the server.

use super::{
    FIELD_PATH_PREFIX, IrreconcilableChange, MAX_CHANGES, MAX_CONDITION_MESSAGE, MAX_CONDITION_REASON,
    MAX_CONDITION_TYPE, MAX_CONDITIONS, MAX_DIFF, MAX_FIELD_PATH, MAX_NAME, MAX_PINNED_IMAGE_SET_ERROR,
    MAX_PINNED_IMAGE_SETS, MachineConfigNodeStatus, PinnedImageSetProgress,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use std::collections::BTreeSet;

/// Ends a message that was cut.
const CUT: &str = "… (cut)";

/// Why the API server would refuse a status. Messages name things by type, path or name and never show their text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// A list is too long.
    #[error("{count} {list} exceed the {most} a MachineConfigNode holds")]
    TooMany {
        /// The list.
        list: &'static str,
        /// Its length.
        count: usize,
        /// The length it may have.
        most: usize,
    },
    /// Two entries of a list have the same key.
    #[error("{list} hold {key:?} twice")]
    Twice {
        /// The list.
        list: &'static str,
        /// The key.
        key: String,
    },
    /// A text is longer than it may be.
    #[error("{field} of {of:?} has {length} characters, at most {most} are accepted")]
    TooLong {
        /// The field.
        field: &'static str,
        /// The entry it belongs to.
        of: String,
        /// Its length in code points.
        length: usize,
        /// The length it may have.
        most: usize,
    },
    /// A text breaks its pattern.
    #[error("{field} of {of:?} must {rule}")]
    Malformed {
        /// The field.
        field: &'static str,
        /// The entry it belongs to.
        of: String,
        /// What it must do.
        rule: &'static str,
    },
}

/// The status of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// It is under way or cannot be told.
    Unknown,
}

impl ConditionStatus {
    /// The status as the API spells it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// Makes a condition. A message that is too long is cut: a cut explanation is better than a status never sent.
///
/// # Errors
/// When the type or the reason breaks its pattern or length.
pub fn condition(
    type_: &str,
    status: ConditionStatus,
    reason: &str,
    message: impl Into<String>,
    since: Time,
) -> Result<Condition, LimitError> {
    let condition = Condition {
        last_transition_time: since,
        message: bounded_message(message.into()),
        observed_generation: None,
        reason: reason.to_owned(),
        status: status.as_str().to_owned(),
        type_: type_.to_owned(),
    };
    check_condition(&condition)?;
    Ok(condition)
}

/// Cuts a message to what a condition or an error of a pinned image set may hold, and says so at its end.
pub fn bounded_message(mut message: String) -> String {
    // Bytes bound code points, so most messages need no counting.
    if message.len() <= MAX_CONDITION_MESSAGE || message.chars().count() <= MAX_CONDITION_MESSAGE {
        return message;
    }
    let kept = MAX_CONDITION_MESSAGE.saturating_sub(CUT.chars().count());
    if let Some((end, _)) = message.char_indices().nth(kept) {
        message.truncate(end);
    }
    message.push_str(CUT);
    message
}

impl IrreconcilableChange {
    /// Makes a change that the API server accepts.
    ///
    /// # Errors
    /// When the path or the difference breaks a limit; both are refused rather than cut, since a cut path points
    /// elsewhere and only the maker of a difference knows what it can spare.
    pub fn new(field_path: impl Into<String>, diff: impl Into<String>) -> Result<Self, LimitError> {
        let change = Self { diff: diff.into(), field_path: field_path.into() };
        change.check()?;
        Ok(change)
    }

    /// Checks path and difference.
    ///
    /// # Errors
    /// Names the limit that is broken.
    pub fn check(&self) -> Result<(), LimitError> {
        let of = self.field_path.as_str();
        at_most(MAX_FIELD_PATH, "fieldPath", of, &self.field_path)?;
        at_most(MAX_DIFF, "diff", of, &self.diff)?;
        holds(!self.diff.is_empty(), "diff", of, "not be empty")?;
        let rule = "start with \"spec.\" and hold only letters, digits, dots and square brackets";
        holds(is_field_path(&self.field_path), "fieldPath", of, rule)
    }
}

impl MachineConfigNodeStatus {
    /// Checks everything in the status that Ostler writes.
    ///
    /// # Errors
    /// Names the first limit that is broken.
    pub fn check(&self) -> Result<(), LimitError> {
        let types = self.conditions.iter().map(|condition| condition.type_.as_str());
        unique_at_most(MAX_CONDITIONS, "conditions", types)?;
        let paths = self.irreconcilable_changes.iter().map(|change| change.field_path.as_str());
        unique_at_most(MAX_CHANGES, "irreconcilableChanges", paths)?;
        let names = self.pinned_image_sets.iter().map(|set| set.name.as_str());
        unique_at_most(MAX_PINNED_IMAGE_SETS, "pinnedImageSets", names)?;
        self.conditions.iter().try_for_each(check_condition)?;
        self.irreconcilable_changes.iter().try_for_each(IrreconcilableChange::check)?;
        self.pinned_image_sets.iter().try_for_each(check_pinned_image_set)?;
        if let Some(version) = &self.config_version {
            check_name("desired", &version.desired)?;
            version.current.iter().try_for_each(|current| check_name("current", current))?;
        }
        let generation = self.observed_generation.is_none_or(|generation| generation >= 1);
        holds(generation, "observedGeneration", "status", "be at least 1")
    }
}

fn check_condition(condition: &Condition) -> Result<(), LimitError> {
    let of = condition.type_.as_str();
    at_most(MAX_CONDITION_TYPE, "type", of, &condition.type_)?;
    at_most(MAX_CONDITION_REASON, "reason", of, &condition.reason)?;
    at_most(MAX_CONDITION_MESSAGE, "message", of, &condition.message)?;
    holds(is_condition_type(&condition.type_), "type", of, "be CamelCase, after an optional domain and slash")?;
    holds(
        is_reason(&condition.reason),
        "reason",
        of,
        "be a letter followed by letters, digits, _ , or : but end in no , or :",
    )?;
    let status = matches!(condition.status.as_str(), "True" | "False" | "Unknown");
    holds(status, "status", of, "be True, False or Unknown")?;
    let generation = condition.observed_generation.is_none_or(|generation| generation >= 0);
    holds(generation, "observedGeneration", of, "not be negative")
}

fn check_pinned_image_set(set: &PinnedImageSetProgress) -> Result<(), LimitError> {
    let of = set.name.as_str();
    check_name("name", of)?;
    let generations = [set.current_generation, set.desired_generation, set.last_failed_generation];
    holds(generations.iter().flatten().all(|generation| *generation >= 1), "generation", of, "be at least 1")?;
    if let Some(desired) = set.desired_generation {
        let largest = generations.iter().flatten().all(|generation| *generation <= desired);
        holds(largest, "desiredGeneration", of, "not be less than the current or failed one")?;
    }
    let explained = set.last_failed_generation.is_none() || set.last_failed_generation_error.is_some();
    holds(explained, "lastFailedGenerationError", of, "be given for a failed generation")?;
    let error = set.last_failed_generation_error.as_deref().unwrap_or_default();
    at_most(MAX_PINNED_IMAGE_SET_ERROR, "lastFailedGenerationError", of, error)
}

fn check_name(field: &'static str, name: &str) -> Result<(), LimitError> {
    at_most(MAX_NAME, field, name, name)?;
    holds(is_subdomain(name), field, name, "be a lower case RFC 1123 subdomain")
}

fn unique_at_most<'a>(
    most: usize,
    list: &'static str,
    keys: impl ExactSizeIterator<Item = &'a str>,
) -> Result<(), LimitError> {
    if keys.len() > most {
        return Err(LimitError::TooMany { list, count: keys.len(), most });
    }
    let mut seen = BTreeSet::new();
    for key in keys {
        if !seen.insert(key) {
            return Err(LimitError::Twice { list, key: brief(key) });
        }
    }
    Ok(())
}

fn at_most(most: usize, field: &'static str, of: &str, text: &str) -> Result<(), LimitError> {
    if text.len() <= most {
        return Ok(());
    }
    match text.chars().count() {
        length if length > most => Err(LimitError::TooLong { field, of: brief(of), length, most }),
        _ => Ok(()),
    }
}

fn holds(condition: bool, field: &'static str, of: &str, rule: &'static str) -> Result<(), LimitError> {
    if condition { Ok(()) } else { Err(LimitError::Malformed { field, of: brief(of), rule }) }
}

/// Keeps an error short whatever the key.
fn brief(key: &str) -> String {
    key.chars().take(MAX_FIELD_PATH).collect()
}

fn is_field_path(path: &str) -> bool {
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '[' | ']');
    path.starts_with(FIELD_PATH_PREFIX) && path.chars().all(known)
}

fn is_reason(reason: &str) -> bool {
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ',' | ':');
    reason.starts_with(|c: char| c.is_ascii_alphabetic()) && reason.chars().all(known) && !reason.ends_with([',', ':'])
}

fn is_condition_type(type_: &str) -> bool {
    let (domain, name) = match type_.split_once('/') {
        Some((domain, name)) => (Some(domain), name),
        None => (None, type_),
    };
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    domain.is_none_or(is_subdomain) && name.chars().all(known) && is_enclosed(name, |c| c.is_ascii_alphanumeric())
}

fn is_subdomain(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.split('.').all(|label| label.chars().all(|c| plain(c) || c == '-') && is_enclosed(label, plain))
}

fn is_enclosed(text: &str, by: impl Fn(char) -> bool) -> bool {
    text.starts_with(&by) && text.ends_with(&by)
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::jiff::Timestamp;

    fn then() -> Time {
        Time(Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn field_paths_follow_the_crd() {
        let longest = format!("spec.{}", "a".repeat(MAX_FIELD_PATH - 5));
        for path in ["spec.", "spec.config.storage.disks[0].device", "spec.[]", longest.as_str()] {
            assert!(IrreconcilableChange::new(path, "d").is_ok(), "{path}");
        }
        let too_long = format!("{longest}a");
        for path in ["", "spec", "config.a", "spec.a-b", "spec.a b", "spec.é", "spec./a", "aspec.", too_long.as_str()]
        {
            assert!(IrreconcilableChange::new(path, "d").is_err(), "{path}");
        }
    }

    #[test]
    fn differences_are_counted_in_code_points() {
        assert!(IrreconcilableChange::new("spec.a", "é".repeat(MAX_DIFF)).is_ok());
        let error = IrreconcilableChange::new("spec.a", "é".repeat(MAX_DIFF + 1)).unwrap_err();
        assert_eq!(error.to_string(), "diff of \"spec.a\" has 4097 characters, at most 4096 are accepted");
        assert!(IrreconcilableChange::new("spec.a", "").is_err());
    }

    #[test]
    fn changes_are_few_and_differ_in_path() {
        let change = |index| IrreconcilableChange::new(format!("spec.a[{index}]"), "d").unwrap();
        let irreconcilable_changes = (0..MAX_CHANGES).map(change).collect();
        let mut status = MachineConfigNodeStatus { irreconcilable_changes, ..Default::default() };
        assert_eq!(status.check(), Ok(()));
        status.irreconcilable_changes[1] = change(0);
        assert!(matches!(status.check(), Err(LimitError::Twice { .. })));
        status.irreconcilable_changes = (0..=MAX_CHANGES).map(change).collect();
        assert_eq!(
            status.check().unwrap_err().to_string(),
            "33 irreconcilableChanges exceed the 32 a MachineConfigNode holds"
        );
    }

    #[test]
    fn reasons_and_types_follow_their_patterns() {
        let table = [
            ("Updated", "Done", true),
            ("a.example.com/Updated", "A", true),
            ("Updated", "a_,:b", true),
            ("9-_.9", "Done_", true),
            ("Updated", "", false),
            ("Updated", "9", false),
            ("Updated", "Done:", false),
            ("Updated", "Done,", false),
            ("Updated", "Not done", false),
            ("", "Done", false),
            ("Updated.", "Done", false),
            ("/Updated", "Done", false),
            ("A.example.com/Updated", "Done", false),
            ("a..b/Updated", "Done", false),
            ("a/b/Updated", "Done", false),
        ];
        for (type_, reason, accepted) in table {
            let made = condition(type_, ConditionStatus::True, reason, "", then());
            assert_eq!(made.is_ok(), accepted, "{type_} {reason}: {made:?}");
        }
    }

    #[test]
    fn long_messages_are_cut_to_the_limit_and_short_ones_kept() {
        let whole = "é".repeat(MAX_CONDITION_MESSAGE);
        assert_eq!(bounded_message(whole.clone()), whole);
        let cut = bounded_message(format!("{whole}a"));
        assert_eq!(cut.chars().count(), MAX_CONDITION_MESSAGE);
        assert!(cut.ends_with(CUT));
        let status = MachineConfigNodeStatus {
            conditions: vec![condition("A", ConditionStatus::Unknown, "R", whole + "a", then()).unwrap()],
            ..Default::default()
        };
        assert_eq!(status.check(), Ok(()));
    }

    #[test]
    fn a_failed_pinned_image_set_is_explained_and_not_ahead_of_the_desired_one() {
        let set = |failed, error: Option<&str>| MachineConfigNodeStatus {
            pinned_image_sets: vec![PinnedImageSetProgress {
                current_generation: Some(1),
                desired_generation: Some(2),
                last_failed_generation: Some(failed),
                last_failed_generation_error: error.map(str::to_owned),
                name: "set".to_owned(),
            }],
            ..Default::default()
        };
        assert!(set(2, Some("")).check().is_ok());
        assert!(set(2, None).check().is_err());
        assert!(set(3, Some("e")).check().is_err());
        assert!(set(0, Some("e")).check().is_err());
    }

    #[test]
    fn errors_show_keys_in_brief_and_no_text() {
        let error = IrreconcilableChange::new("x".repeat(10_000), "hunter2").unwrap_err().to_string();
        assert!(error.len() < 200 && !error.contains("hunter2"), "{error}");
    }
}
