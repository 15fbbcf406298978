//! Node disruption policies as `MachineConfiguration` carries them: what a change to a file, unit or key asks for.
//!
//! Owns their shape. Which policy wins for a path and what an action does is decided elsewhere.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Policies of a cluster, as an administrator writes them or as the operator has merged them with its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NodeDisruptionPolicyConfig {
    /// Policies by path of file or directory.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FilePolicy>,
    /// Policies by systemd unit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<UnitPolicy>,
    /// Policy for SSH keys; one without actions is the same as none.
    #[serde(skip_serializing_if = "SshKeyPolicy::is_empty")]
    pub sshkey: SshKeyPolicy,
}

/// What to do when a file changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FilePolicy {
    /// Absolute path of the file, or of a directory above it.
    pub path: String,
    /// Actions, in order.
    #[serde(default)]
    pub actions: Vec<PolicyAction>,
}

/// What to do when a unit changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnitPolicy {
    /// Full name of the unit.
    pub name: String,
    /// Actions, in order.
    #[serde(default)]
    pub actions: Vec<PolicyAction>,
}

/// What to do when an SSH key changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SshKeyPolicy {
    /// Actions, in order.
    #[serde(default)]
    pub actions: Vec<PolicyAction>,
}

impl SshKeyPolicy {
    /// Whether the policy asks for nothing, as when it is absent.
    pub const fn is_empty(&self) -> bool {
        self.actions.is_empty()
    }
}

/// One action. `reload` is present exactly for `Reload`, `restart` exactly for `Restart`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyAction {
    /// What kind of action this is.
    #[serde(rename = "type")]
    pub type_: PolicyActionType,
    /// The service to reload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reload: Option<ServiceRef>,
    /// The service to restart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart: Option<ServiceRef>,
}

impl PolicyAction {
    /// An action that names no service.
    pub const fn plain(type_: PolicyActionType) -> Self {
        Self { type_, reload: None, restart: None }
    }

    /// Reloads `service`.
    pub fn reload(service: impl Into<String>) -> Self {
        let reload = Some(ServiceRef { service_name: service.into() });
        Self { reload, ..Self::plain(PolicyActionType::Reload) }
    }

    /// Restarts `service`.
    pub fn restart(service: impl Into<String>) -> Self {
        let restart = Some(ServiceRef { service_name: service.into() });
        Self { restart, ..Self::plain(PolicyActionType::Restart) }
    }
}

/// The kinds of action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum PolicyActionType {
    /// Drain the node.
    Drain,
    /// Reload a service.
    Reload,
    /// Restart a service.
    Restart,
    /// Have systemd read its units again.
    DaemonReload,
    /// Do nothing.
    None,
    /// The operator's own treatment of the container registries configuration; never written by an administrator.
    Special,
    /// Drain and reboot. A kind this release does not know reads as this one, which is always enough.
    #[serde(other)]
    Reboot,
}

/// A systemd service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceRef {
    /// Full name of the service, suffix included.
    pub service_name: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn actions_are_written_as_the_crd_names_them() {
        let table = [
            (PolicyAction::plain(PolicyActionType::Reboot), json!({"type": "Reboot"})),
            (PolicyAction::plain(PolicyActionType::Drain), json!({"type": "Drain"})),
            (PolicyAction::plain(PolicyActionType::DaemonReload), json!({"type": "DaemonReload"})),
            (PolicyAction::plain(PolicyActionType::None), json!({"type": "None"})),
            (PolicyAction::plain(PolicyActionType::Special), json!({"type": "Special"})),
            (PolicyAction::reload("a.service"), json!({"type": "Reload", "reload": {"serviceName": "a.service"}})),
            (PolicyAction::restart("a.service"), json!({"type": "Restart", "restart": {"serviceName": "a.service"}})),
        ];
        for (action, written) in table {
            assert_eq!(serde_json::to_value(&action).unwrap(), written);
            assert_eq!(serde_json::from_value::<PolicyAction>(written).unwrap(), action);
        }
    }

    #[test]
    fn an_action_of_a_later_release_reads_as_a_reboot() {
        let action: PolicyAction = serde_json::from_value(json!({"type": "Kexec", "kexec": {}})).unwrap();
        assert_eq!(action, PolicyAction::plain(PolicyActionType::Reboot));
    }

    #[test]
    fn an_absent_key_policy_stays_absent() {
        let policy: NodeDisruptionPolicyConfig =
            serde_json::from_value(json!({"files": [{"path": "/etc/a", "actions": [{"type": "None"}]}]})).unwrap();
        assert!(policy.sshkey.is_empty());
        assert_eq!(
            serde_json::to_value(policy).unwrap(),
            json!({"files": [{"path": "/etc/a", "actions": [{"type": "None"}]}]})
        );
    }
}
