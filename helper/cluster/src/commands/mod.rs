//! One function per command: read the input, ask the core, show the answer.

mod boot_images;
mod pack;
mod preflight;
mod rollout;
mod streams;

use std::process::ExitCode;

pub use boot_images::boot_images;
pub use pack::pack;
pub use preflight::preflight;
pub use rollout::rollout;
pub use streams::streams;

/// How a command ended. The numbers are a contract, documented in the man pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Done.
    Done,
    /// It went wrong.
    Failed,
    /// The command line, or a file it names, cannot be used.
    BadInput,
    /// There is no answer; the reason was told.
    NoAnswer,
}

impl From<&anyhow::Error> for Outcome {
    /// What is known to be the caller's, or no answer, says so; everything else went wrong.
    fn from(error: &anyhow::Error) -> Self {
        error.downcast_ref::<Trouble>().map_or(Self::Failed, |trouble| trouble.outcome)
    }
}

/// A context that gives an error its exit status; its words are shown as any other's.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{words}")]
pub struct Trouble {
    /// How the command ends.
    outcome: Outcome,
    /// What is told.
    words: String,
}

impl Trouble {
    /// The command line, or a file it names, cannot be used.
    pub fn input(words: impl Into<String>) -> Self {
        Self { outcome: Outcome::BadInput, words: words.into() }
    }

    /// There is no answer.
    pub fn no_answer(words: impl Into<String>) -> Self {
        Self { outcome: Outcome::NoAnswer, words: words.into() }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(match outcome {
            Outcome::Done => 0,
            Outcome::Failed => 1,
            Outcome::BadInput => 2,
            Outcome::NoAnswer => 3,
        })
    }
}
