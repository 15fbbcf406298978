//! What can go wrong between us and systemd, and whether waiting may help.

use std::fmt;
use std::io;
use std::time::Duration;

/// How a job ended that did not end well.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobResult {
    /// The unit failed.
    Failed,
    /// systemd lost patience.
    Timeout,
    /// Another job took its place.
    Canceled,
    /// A unit it needs failed.
    Dependency,
    /// Nothing to do in its state.
    Skipped,
    /// Any other word of systemd's.
    Other(String),
}

impl JobResult {
    pub(super) fn of(word: &str) -> Option<Self> {
        match word {
            "done" => None,
            "failed" => Some(Self::Failed),
            "timeout" => Some(Self::Timeout),
            "canceled" => Some(Self::Canceled),
            "dependency" => Some(Self::Dependency),
            "skipped" => Some(Self::Skipped),
            other => Some(Self::Other(other.to_owned())),
        }
    }
}

impl fmt::Display for JobResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Failed => "failed",
            Self::Timeout => "timeout",
            Self::Canceled => "canceled",
            Self::Dependency => "dependency",
            Self::Skipped => "skipped",
            Self::Other(word) => word,
        })
    }
}

/// A unit's states in systemd's words; empty where it did not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnitState {
    /// Such as `active` or `failed`.
    pub active: String,
    /// Such as `running` or `exited`.
    pub sub: String,
    /// Why it stopped, such as `exit-code`.
    pub result: String,
}

impl fmt::Display for UnitState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}), result {}", self.active, self.sub, self.result)
    }
}

/// Why systemd did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BusError {
    /// No runtime for the calls.
    #[error("cannot prepare calls to systemd")]
    Runtime(#[source] io::Error),
    /// The bus or systemd went away, or is not there yet.
    #[error("cannot {what}{units}: no connection to systemd over the bus; see systemctl status dbus")]
    Gone {
        /// What was tried.
        what: &'static str,
        /// Units it was tried on, with a blank before each.
        units: String,
        /// The bus library's word, if it had one.
        #[source]
        source: Option<Box<zbus::Error>>,
    },
    /// No answer in time.
    #[error("cannot {what}{units}: systemd did not answer within {} s", within.as_secs_f32())]
    NoAnswer {
        /// What was tried.
        what: &'static str,
        /// Units it was tried on.
        units: String,
        /// The bound.
        within: Duration,
    },
    /// The job did not end in time; it may still go on.
    #[error("{verb} of {unit} did not end within {} s (now {state}); see journalctl -u {unit}", within.as_secs_f32())]
    JobTimeout {
        /// The unit.
        unit: String,
        /// What was tried.
        verb: &'static str,
        /// The bound.
        within: Duration,
        /// How the unit stands.
        state: Box<UnitState>,
    },
    /// The job ended badly.
    #[error("{verb} of {unit} ended with {result}: {state}; see journalctl -u {unit}")]
    JobFailed {
        /// The unit.
        unit: String,
        /// What was tried.
        verb: &'static str,
        /// How it ended.
        result: JobResult,
        /// How the unit stands.
        state: Box<UnitState>,
    },
    /// No unit or unit file of this name.
    #[error("cannot {what}{units}: systemd knows no such unit; see systemctl status{units}")]
    NoSuchUnit {
        /// What was tried.
        what: &'static str,
        /// Units it was tried on.
        units: String,
    },
    /// systemd said no.
    #[error("cannot {what}{units}: systemd refused; see systemctl status{units}")]
    Refused {
        /// What was tried.
        what: &'static str,
        /// Units it was tried on.
        units: String,
        /// Its words.
        #[source]
        source: Box<zbus::Error>,
    },
}

impl BusError {
    /// Whatever keeps a connection from being made, there is none.
    pub(super) fn while_connecting(self) -> Self {
        match self {
            Self::Refused { what, units, source } => Self::Gone { what, units, source: Some(source) },
            other => other,
        }
    }

    /// Whether the same may work later without anybody changing anything.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Runtime(_) | Self::Gone { .. } | Self::NoAnswer { .. } | Self::JobTimeout { .. } => true,
            Self::JobFailed { result, .. } => matches!(result, JobResult::Canceled),
            Self::NoSuchUnit { .. } | Self::Refused { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::systemd::bus::{Bus, Limits};

    #[test]
    fn a_bus_that_is_not_there_may_come_and_says_where_it_was_looked_for() {
        let limit = Duration::from_secs(5);
        let error = Bus::connect(Some("unix:path=/nonexistent/bus"), Limits { call: limit, job: limit }).unwrap_err();
        assert!(matches!(&error, BusError::Gone { source: Some(_), .. }) && error.is_transient(), "{error:?}");
    }
}
