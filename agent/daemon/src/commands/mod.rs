//! One function per command: read the input, ask the core, show the answer.

mod diff;
mod pack;
mod plan;

use std::process::ExitCode;

pub use diff::diff;
pub use pack::pack;
pub use plan::plan;

/// How a command ended. The numbers are a contract, documented in the man pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Done, or nothing to report.
    Success,
    /// What was given cannot be used.
    BadInput,
    /// A node would refuse the target.
    Refused,
    /// There are differences.
    Different,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(match outcome {
            Outcome::Success => 0,
            Outcome::BadInput => 2,
            Outcome::Refused => 3,
            Outcome::Different => 4,
        })
    }
}
