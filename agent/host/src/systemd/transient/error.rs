//! Why a command could not be run, or its end not be seen.

use std::io;

use crate::systemd::bus::BusError;

/// What came in the way.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransientError {
    /// systemd did not do its part.
    #[error("{unit} cannot be run or followed")]
    Bus {
        /// The service.
        unit: String,
        /// Why.
        #[source]
        source: BusError,
    },
    /// Another command runs under the name.
    #[error("{unit} is running another command, which did not end within {seconds} seconds: {command}")]
    Occupied {
        /// The service.
        unit: String,
        /// What it runs.
        command: String,
        /// How long it was waited for.
        seconds: u64,
    },
    /// It goes on, but was not waited for any longer.
    #[error("{unit} did not end within {seconds} seconds")]
    TooSlow {
        /// The service.
        unit: String,
        /// How long it was waited for.
        seconds: u64,
        /// The end of its standard output so far.
        said: String,
    },
    /// Nobody waits for it any more, so that we have stopped it.
    #[error("{unit} was stopped, because nobody waits for it")]
    GivenUp {
        /// The service.
        unit: String,
    },
    /// Somebody has stopped it, or cleared it away.
    #[error("{unit} was stopped by somebody else, and its result is lost")]
    Vanished {
        /// The service.
        unit: String,
    },
    /// Its output cannot be kept or read.
    #[error("the output of {unit} cannot be kept in {path}")]
    Output {
        /// The service.
        unit: String,
        /// Where.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Not the name of a service.
    #[error("{unit:?} is no name of a service")]
    Name {
        /// The name.
        unit: String,
    },
}

impl TransientError {
    pub(super) fn bus(unit: &str, source: BusError) -> Self {
        Self::Bus { unit: unit.to_owned(), source }
    }

    pub(super) fn output(unit: &str, path: &str, source: io::Error) -> Self {
        Self::Output { unit: unit.to_owned(), path: path.to_owned(), source }
    }
}
