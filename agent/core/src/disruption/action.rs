//! One thing that is done to the node so that a change takes effect.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::policy::{self, PolicyError};
use crate::api::{PolicyAction, PolicyActionType};

/// An action, in the words of the MachineConfiguration API.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "PolicyAction", try_from = "PolicyAction")]
pub enum Action {
    /// Nothing needs doing.
    None,
    /// Evict the node's workloads first.
    Drain,
    /// `systemctl daemon-reload`.
    DaemonReload,
    /// Reload a service.
    Reload(String),
    /// Restart a service.
    Restart(String),
    /// Reload CRI-O, and drain first if the change of `registries.conf` is not safe under running workloads.
    Special,
    /// Restart the machine.
    Reboot,
}

/// The service that [`Action::Special`] reloads.
pub const CRIO: &str = "crio.service";

impl Action {
    /// The service that it reloads or restarts.
    pub fn service(&self) -> Option<&str> {
        match self {
            Self::Reload(service) | Self::Restart(service) => Some(service),
            Self::Special => Some(CRIO),
            Self::None | Self::Drain | Self::DaemonReload | Self::Reboot => None,
        }
    }

    /// The action as MachineConfigNode conditions name it: its type in the API, and its service.
    pub fn api_name(&self) -> String {
        match self {
            Self::None => "None".to_owned(),
            Self::Drain => "Drain".to_owned(),
            Self::DaemonReload => "DaemonReload".to_owned(),
            Self::Reload(service) => format!("Reload {service}"),
            Self::Restart(service) => format!("Restart {service}"),
            Self::Special => "Special".to_owned(),
            Self::Reboot => "Reboot".to_owned(),
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("no disruption"),
            Self::Drain => f.write_str("drain the node"),
            Self::DaemonReload => f.write_str("reload systemd's units"),
            Self::Reload(service) => write!(f, "reload {service}"),
            Self::Restart(service) => write!(f, "restart {service}"),
            Self::Special => f.write_str("reload crio.service"),
            Self::Reboot => f.write_str("reboot"),
        }
    }
}

impl TryFrom<PolicyAction> for Action {
    type Error = PolicyError;

    fn try_from(action: PolicyAction) -> Result<Self, PolicyError> {
        policy::read("the plan", &action)
    }
}

impl From<Action> for PolicyAction {
    fn from(action: Action) -> Self {
        match action {
            Action::None => Self::plain(PolicyActionType::None),
            Action::Drain => Self::plain(PolicyActionType::Drain),
            Action::DaemonReload => Self::plain(PolicyActionType::DaemonReload),
            Action::Reload(service) => Self::reload(service),
            Action::Restart(service) => Self::restart(service),
            Action::Special => Self::plain(PolicyActionType::Special),
            Action::Reboot => Self::plain(PolicyActionType::Reboot),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn actions_are_written_as_the_api_has_them() {
        for (action, expected) in [
            (Action::None, json!({"type": "None"})),
            (
                Action::Reload("crio.service".into()),
                json!({"type": "Reload", "reload": {"serviceName": "crio.service"}}),
            ),
            (Action::Restart("a.service".into()), json!({"type": "Restart", "restart": {"serviceName": "a.service"}})),
        ] {
            assert_eq!(serde_json::to_value(&action).unwrap(), expected);
            assert_eq!(serde_json::from_value::<Action>(expected).unwrap(), action);
        }
    }
}
