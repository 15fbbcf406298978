//! Where a difference is: steps below `spec.config.storage`, and how they are written.

use std::fmt;

/// The part of every path that the four sections share.
const ROOT: &str = "spec.config.storage";

/// One component of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step<'a> {
    /// A field of an object.
    Field(&'a str),
    /// An item of a list, at the same index in both documents or in one of them only.
    Item(usize),
    /// An item of a list that is elsewhere in the target. Such a step never is part of a `fieldPath`.
    Moved {
        /// Index in the install-time list.
        from: usize,
        /// Index in the target's.
        to: usize,
    },
}

impl Step<'_> {
    /// Whether the API accepts the step in a `fieldPath`.
    pub(super) fn is_plain(&self) -> bool {
        match self {
            Self::Field(name) => !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric()),
            Self::Item(_) => true,
            Self::Moved { .. } => false,
        }
    }
}

impl fmt::Display for Step<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{}", name.escape_debug()),
            Self::Item(index) => write!(f, "[{index}]"),
            Self::Moved { from, to } => write!(f, "[{from}→{to}]"),
        }
    }
}

/// The path from the top of the MachineConfig.
pub(super) fn absolute(steps: &[Step<'_>]) -> String {
    steps.iter().fold(ROOT.to_owned(), |path, step| path + &step.to_string())
}

/// The path from some other place above.
pub(super) fn relative(steps: &[Step<'_>]) -> String {
    let path: String = steps.iter().map(Step::to_string).collect();
    path.strip_prefix('.').map(str::to_owned).unwrap_or(path)
}

/// How many leading steps make a path that the API accepts within `limit` characters.
pub(super) fn plain_depth(steps: &[Step<'_>], limit: usize) -> usize {
    let mut length = ROOT.len();
    steps
        .iter()
        .take_while(|step| {
            length += step.to_string().chars().count();
            step.is_plain() && length <= limit
        })
        .count()
}
