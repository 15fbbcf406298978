//! One function per command: read the input, ask the core, show the answer.

mod abandon;
mod apply;
mod asking;
mod bootloader;
mod console;
mod diff;
mod drift;
mod hand_back;
mod pack;
mod plan;
mod progress;
mod proposal;
mod reboot;
mod recover;
mod rollback;
#[cfg(test)]
mod scripted;
mod status;
mod trouble;

use std::process::ExitCode;

use anyhow::Result;
use ostler_core::ignition::ParseError;
use ostler_core::machine_config::ConfigError;
use ostler_core::protocol::{Class, Failure};
use ostler_core::refusal::Refusal;
use ostler_core::transaction::Ending;
use ostler_core::verdict::State;

pub use abandon::abandon;
pub use apply::apply;
pub use bootloader::bootloader;
pub use console::Console;
pub use diff::diff;
pub use drift::{drift, drift_policy};
pub use hand_back::hand_back;
pub use pack::pack;
pub use plan::plan;
pub use reboot::reboot;
pub use recover::recover;
pub use rollback::{LocalAgent, rollback};
pub use status::{Heard, status};
pub use trouble::Trouble;

use crate::course::Course;

/// How a command ended. The numbers are a contract, documented in the man pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Done, or nothing to report.
    Success,
    /// Not done, and the machine is as it was.
    Failed,
    /// What was given cannot be used.
    BadInput,
    /// A node would refuse the target.
    Refused,
    /// There are differences, or something needs attention.
    Different,
    /// Not done, and the machine is not settled.
    Unsettled,
    /// Something that decides the answer is not known.
    Unknown,
}

impl Outcome {
    /// The exit status.
    const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failed => 1,
            Self::BadInput => 2,
            Self::Refused => 3,
            Self::Different => 4,
            Self::Unsettled => 5,
            Self::Unknown => 6,
        }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(outcome.code())
    }
}

impl From<State> for Outcome {
    fn from(state: State) -> Self {
        match state {
            State::UpToDate => Self::Success,
            State::NeedsAttention | State::Updating | State::Waiting => Self::Different,
            State::Unknown => Self::Unknown,
        }
    }
}

impl From<&anyhow::Error> for Outcome {
    /// What is not known to be the machine's trouble is the input's.
    fn from(error: &anyhow::Error) -> Self {
        error.downcast_ref::<Trouble>().map_or(Self::BadInput, |trouble| trouble.outcome)
    }
}

impl From<&Course> for Outcome {
    fn from(course: &Course) -> Self {
        match course {
            Course::Refused => Self::Refused,
            Course::Nothing | Course::Checked(_) | Course::Delegated => Self::Success,
            Course::Declined => Self::Failed,
            Course::Finished(finished) => match finished.ending {
                Ending::Applied | Ending::AwaitsReboot { reason: None } | Ending::Abandoned { .. } => Self::Success,
                Ending::Undone { .. } | Ending::AwaitsReboot { reason: Some(_) } => Self::Failed,
            },
            Course::Failed(failure) => failure.into(),
        }
    }
}

impl From<&Failure> for Outcome {
    /// A refusal promises that nothing was touched; one that cannot is as bad as any other failure.
    fn from(failure: &Failure) -> Self {
        match (failure.unchanged, failure.class) {
            (false, _) => Self::Unsettled,
            (true, Class::Refusal) => Self::Refused,
            (true, Class::Transient | Class::Inoperable) => Self::Failed,
        }
    }
}

/// An Ignition config that cannot be parsed is no fault of the file: every node would refuse it.
fn unreadable(error: ConfigError, refusal: impl FnOnce(String, ParseError) -> Refusal) -> Result<Refusal> {
    match error {
        ConfigError::Ignition { name, source } => Ok(refusal(name, source)),
        other => Err(other.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_those_of_the_man_pages() {
        use Outcome::{BadInput, Different, Failed, Refused, Success, Unknown, Unsettled};
        let codes = [Success, Failed, BadInput, Refused, Different, Unsettled, Unknown].map(Outcome::code);
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn an_error_without_a_code_of_its_own_is_the_inputs_and_a_context_keeps_the_code() {
        assert_eq!(Outcome::from(&anyhow::anyhow!("no such file")), Outcome::BadInput);
        let lost = anyhow::anyhow!("closed").context(trouble::ANSWER_LOST).context("cannot apply");
        assert_eq!(Outcome::from(&lost), Outcome::Unsettled);
    }
}
