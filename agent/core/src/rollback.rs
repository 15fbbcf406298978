//! A rollback that a person asked for, and the hold that keeps the machine in the configuration before until it is
//! released.
//!
//! The record is the request as well: an agent that finds the machine still in the configuration to leave goes back.

use serde::{Deserialize, Serialize};

use crate::machine_config::MachineConfig;

/// The command that releases the hold.
pub const RELEASE: &str = "ostler rollback --release";

/// A rollback that a person asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RollbackHold {
    /// The configuration to leave.
    pub from: String,
    /// The configuration before it, which the machine is held in.
    pub to: String,
    /// The desired configuration at that time, where it was another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired: Option<String>,
    /// When it was asked for, in seconds since 1970.
    pub since: u64,
}

impl RollbackHold {
    /// Whether it is about this desired configuration: a third one is a new wish, and is honoured.
    pub fn applies_to(&self, desired: &str) -> bool {
        self.from == desired || self.desired.as_deref() == Some(desired)
    }

    /// Whether a machine in this configuration has yet to go back.
    pub fn is_pending(&self, config: Option<&str>) -> bool {
        is_in(config, &self.from)
    }

    /// Whether a machine in this configuration has gone back.
    pub fn is_reached(&self, config: Option<&str>) -> bool {
        is_in(config, &self.to)
    }

    /// Why the machine is held.
    pub fn words(&self) -> String {
        format!("rolled back from {} to {}", self.from, self.to)
    }
}

/// A machine without a configuration goes by the name of the empty one.
fn is_in(config: Option<&str>, name: &str) -> bool {
    config.unwrap_or(MachineConfig::EMPTY) == name
}
