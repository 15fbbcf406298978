//! Why the machine is not restarted.

use std::io;

use ostler_core::protocol::Class;

use super::FINALIZE_UNIT;
use crate::systemd::bus::BusError;

/// What came in the way.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RebootError {
    /// Somebody asks that the machine be left running.
    #[error("{who:?} asks that this machine be not restarted now: {why:?}")]
    Inhibited {
        /// Who.
        who: String,
        /// Their reason.
        why: String,
    },
    /// The staged deployment would be lost.
    #[error("{FINALIZE_UNIT} cannot be started, so a restart would not finish the staged deployment")]
    NotArmed {
        /// Why; none when it did not stay up.
        #[source]
        source: Option<BusError>,
    },
    /// It goes on already.
    #[error("a restart is under way already")]
    Underway,
    /// The command that restarts failed.
    #[error("the restart has not begun")]
    Failed(#[source] BusError),
    /// systemd cannot be asked.
    #[error("systemd cannot be asked to restart this machine")]
    Bus(#[from] BusError),
    /// This boot cannot be told from others.
    #[error("cannot read the boot ID")]
    BootId(#[source] io::Error),
}

impl RebootError {
    /// Whose fault it is.
    pub const fn class(&self) -> Class {
        match self {
            Self::Inhibited { .. } | Self::Underway | Self::Failed(_) | Self::Bus(_) => Class::Transient,
            Self::NotArmed { .. } | Self::BootId(_) => Class::Inoperable,
        }
    }

    /// What a person can do about it.
    pub fn remedy(&self) -> String {
        match self {
            Self::Inhibited { .. } => "see \"systemd-inhibit --list\"; it is tried again".to_owned(),
            Self::NotArmed { .. } => format!("see \"systemctl status {FINALIZE_UNIT}\""),
            Self::Underway => "wait for it; see \"systemctl list-jobs\"".to_owned(),
            Self::Failed(_) => format!("see \"journalctl -u {}\"; it is tried again", super::UNIT),
            Self::Bus(_) => "see \"systemctl status dbus\"; it is tried again".to_owned(),
            Self::BootId(_) => "see to it that /proc is mounted".to_owned(),
        }
    }
}
