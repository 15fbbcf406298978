//! How a machine differs from its configuration: where and in which way, never what is written there.

use std::fmt::Write as _;

use ostler_core::drift::policy::{Action, DriftPolicy, PolicyError};
use ostler_core::drift::{Difference, Drift, Subject};
use ostler_core::reconcile::FORCE_FILE;
use serde::Serialize;

use super::phrase::{CAUTION, FAINT, GOOD, HEADING, printable, styled};
use super::table::Table;

/// What `ostler drift` says; what the policy says only where that is more than to report everything.
pub fn drift(drift: &[Drift], policy: &DriftPolicy) -> String {
    if drift.is_empty() {
        return format!("{} The machine agrees with its configuration.\n", styled(GOOD, "No drift."));
    }
    let summary = match drift.len() {
        1 => "One difference from the machine's configuration".to_owned(),
        count => format!("{count} differences from the machine's configuration"),
    };
    let mut table = Table::new();
    for Drift { subject, difference } in drift {
        table.push([name(subject), word(subject, difference).to_owned(), detail(difference)]);
    }
    let mut text = format!("{}\n\n", styled(HEADING, &summary));
    let actions: Vec<Action> = drift.iter().map(|drift| policy.action(&drift.subject)).collect();
    let tells = actions.iter().any(|action| *action != Action::Report);
    for ([subject, difference, detail], action) in table.padded().zip(actions) {
        let detail = if detail.is_empty() { detail } else { format!("  {}", styled(FAINT, &detail)) };
        let difference = if detail.is_empty() { difference.trim_end() } else { &difference };
        let action = if tells { styled(FAINT, &format!("  (policy: {})", action.as_str())) } else { String::new() };
        let _ = writeln!(text, "  {subject}  {}{detail}{action}", styled(CAUTION, difference));
    }
    text
}

/// What a repair could not put right, and what a person can do about it.
pub fn not_repaired(drift: &[Drift]) -> String {
    let mut text = format!("{}\n", styled(CAUTION, "Not repaired:"));
    for Drift { subject, difference } in drift {
        let fix = match (subject, difference) {
            (Subject::OsImage, _) => {
                format!("touch {FORCE_FILE}: the agent then applies the whole configuration again")
            }
            (_, Difference::Kind { .. }) => "move what stands there away, then repair again".to_owned(),
            (_, _) => "see that the path can be written, then repair again".to_owned(),
        };
        let detail = Some(detail(difference)).filter(|detail| !detail.is_empty()).map(|detail| format!(": {detail}"));
        let (name, word) = (name(subject), word(subject, difference));
        let _ = writeln!(text, "  {name} {word}{}\n    Fix: {fix}", detail.unwrap_or_default());
    }
    text
}

/// That the policy cannot be used, and what that means.
pub fn policy_trouble(trouble: &PolicyError) -> String {
    let mut reasons = vec![trouble.to_string()];
    let mut cause = std::error::Error::source(trouble);
    while let Some(error) = cause {
        reasons.push(error.to_string());
        cause = error.source();
    }
    let reason = printable(&reasons.join(": "));
    format!("{} {reason}; until then all drift is reported and none repaired.\n\n", styled(CAUTION, "Drift policy:"))
}

/// What a person should know before a repair.
pub fn repair_notice(drift: &[Drift]) -> String {
    let extra = drift.iter().filter(|drift| drift.difference == Difference::Extra).count();
    let mut text = "\nA repair makes all of this as configured; changes made by hand are lost.\n".to_owned();
    if extra > 0 {
        let what = if extra == 1 { "The extra drop-in is" } else { "The extra drop-ins are" };
        let _ = writeln!(text, "{}", styled(CAUTION, &format!("{what} removed by it.")));
    }
    text
}

fn name(subject: &Subject) -> String {
    match subject {
        Subject::File { path } => printable(path),
        Subject::Unit { unit } => format!("unit {}", printable(unit)),
        Subject::Dropin { unit, dropin } => format!("drop-in {} of {}", printable(dropin), printable(unit)),
        Subject::SshKeys { user } => format!("SSH keys of {}", printable(user)),
        Subject::Password { user } => format!("password of {}", printable(user)),
        Subject::OsImage => "OS image".to_owned(),
    }
}

const fn word(subject: &Subject, difference: &Difference) -> &'static str {
    match difference {
        Difference::Missing if matches!(subject, Subject::SshKeys { .. }) => "are missing",
        Difference::Missing => "is missing",
        Difference::Contents => match subject {
            Subject::SshKeys { .. } => "are others",
            Subject::Password { .. } | Subject::OsImage => "is another",
            Subject::File { .. } | Subject::Unit { .. } | Subject::Dropin { .. } => "holds something else",
        },
        Difference::Kind { .. } => "is not a file",
        Difference::Mode { .. } => "has another mode",
        Difference::Owner { .. } => "has another owner",
        Difference::Label { .. } => "has another label",
        Difference::State { .. } if matches!(subject, Subject::OsImage) => "is another",
        Difference::State { .. } => "has another state",
        Difference::Extra => "is not configured",
    }
}

fn detail(difference: &Difference) -> String {
    match pair(difference) {
        (Some(expected), Some(found)) => format!("{} instead of {}", printable(&found), printable(&expected)),
        (Some(expected), None) => format!("none instead of {}", printable(&expected)),
        (None, Some(found)) => printable(&found),
        (None, None) => String::new(),
    }
}

/// What was expected and what was found, as a person writes it.
fn pair(difference: &Difference) -> (Option<String>, Option<String>) {
    let octal = |mode: &u32| Some(format!("{mode:04o}"));
    let owner = |(user, group): &(u32, u32)| Some(format!("{user}:{group}"));
    match difference {
        Difference::Missing | Difference::Contents | Difference::Extra => (None, None),
        Difference::Kind { found } => (None, Some(found.clone())),
        Difference::Mode { expected, found } => (octal(expected), octal(found)),
        Difference::Owner { expected, found } => (owner(expected), owner(found)),
        Difference::Label { expected, found } => (Some(expected.clone()), found.clone()),
        Difference::State { expected, found } => (Some(expected.clone()), Some(found.clone())),
    }
}

/// What `ostler drift -o json` prints.
#[derive(Debug, Serialize)]
pub struct DriftDocument<'a> {
    drift: Vec<Entry<'a>>,
}

impl<'a> DriftDocument<'a> {
    /// Of these differences.
    pub fn new(drift: &'a [Drift], policy: &DriftPolicy) -> Self {
        Self { drift: drift.iter().map(|drift| Entry::new(drift, policy)).collect() }
    }
}

/// One difference.
#[derive(Debug, Serialize)]
pub struct Entry<'a> {
    subject: &'a Subject,
    difference: &'static str,
    expected: Option<String>,
    found: Option<String>,
    policy: Action,
}

impl<'a> Entry<'a> {
    /// Of this difference.
    pub fn new(drift: &'a Drift, policy: &DriftPolicy) -> Self {
        let difference = match drift.difference {
            Difference::Missing => "missing",
            Difference::Contents => "contents",
            Difference::Kind { .. } => "kind",
            Difference::Mode { .. } => "mode",
            Difference::Owner { .. } => "owner",
            Difference::Label { .. } => "label",
            Difference::State { .. } => "state",
            Difference::Extra => "extra",
        };
        let (expected, found) = pair(&drift.difference);
        Self { subject: &drift.subject, difference, expected, found, policy: policy.action(&drift.subject) }
    }
}
