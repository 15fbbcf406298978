//! The effects a plan is made of: a closed list, each step idempotent, none holding contents.
//!
//! A step names what it is about. The bytes, keys and hashes come from the configuration that the plan leads to.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ignition::Owner;
use crate::kargs;
use crate::kernel::KernelType;

/// One effect on the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Step {
    /// Prepare one new deployment with everything that changes in the operating system.
    StageOs(Deployment),
    /// Have the cluster evict the node's workloads.
    Drain,
    /// Write a file with its mode and owner.
    WriteFile {
        /// Where.
        path: String,
        /// Permission bits.
        mode: u32,
        /// Owning user.
        user: OwnerRef,
        /// Owning group.
        group: OwnerRef,
        /// Size of the contents.
        bytes: u64,
    },
    /// Remove a file, or restore what the operating system had there.
    RemoveFile {
        /// Where.
        path: String,
    },
    /// Write a unit file.
    WriteUnit {
        /// The unit.
        unit: String,
        /// Size of its text.
        bytes: u64,
    },
    /// Write a drop-in of a unit.
    WriteDropin {
        /// The unit.
        unit: String,
        /// The drop-in.
        dropin: String,
        /// Size of its text.
        bytes: u64,
    },
    /// Remove a unit file, or restore what the operating system had there.
    RemoveUnit {
        /// The unit.
        unit: String,
    },
    /// Remove a drop-in of a unit.
    RemoveDropin {
        /// The unit.
        unit: String,
        /// The drop-in.
        dropin: String,
    },
    /// Make it impossible to start a unit.
    MaskUnit {
        /// The unit.
        unit: String,
    },
    /// Make it possible again.
    UnmaskUnit {
        /// The unit.
        unit: String,
    },
    /// Start a unit at boot; its links are made anew, so that those of an older text go.
    EnableUnit {
        /// The unit.
        unit: String,
    },
    /// Do not start a unit at boot.
    DisableUnit {
        /// The unit.
        unit: String,
    },
    /// Leave it to the presets whether a unit starts at boot.
    PresetUnit {
        /// The unit.
        unit: String,
    },
    /// Replace the keys that let a user in.
    SetSshKeys {
        /// The user.
        user: String,
        /// How many keys there are then.
        keys: usize,
    },
    /// Set a user's password hash.
    SetPassword {
        /// The user.
        user: String,
    },
    /// Lock a user's password.
    LockPassword {
        /// The user.
        user: String,
    },
    /// Record that the machine's configuration is now this one.
    RecordConfig {
        /// The MachineConfig.
        config: String,
    },
    /// Have systemd read its units again.
    DaemonReload,
    /// Reload a service.
    ReloadService {
        /// The service.
        service: String,
    },
    /// Restart a service.
    RestartService {
        /// The service.
        service: String,
    },
    /// Restart the machine.
    Reboot,
}

impl Step {
    /// The service that the step reloads or restarts.
    pub fn service(&self) -> Option<(&str, ServiceAction)> {
        match self {
            Self::ReloadService { service } => Some((service, ServiceAction::Reload)),
            Self::RestartService { service } => Some((service, ServiceAction::Restart)),
            Self::StageOs(_)
            | Self::Drain
            | Self::WriteFile { .. }
            | Self::RemoveFile { .. }
            | Self::WriteUnit { .. }
            | Self::WriteDropin { .. }
            | Self::RemoveUnit { .. }
            | Self::RemoveDropin { .. }
            | Self::MaskUnit { .. }
            | Self::UnmaskUnit { .. }
            | Self::EnableUnit { .. }
            | Self::DisableUnit { .. }
            | Self::PresetUnit { .. }
            | Self::SetSshKeys { .. }
            | Self::SetPassword { .. }
            | Self::LockPassword { .. }
            | Self::RecordConfig { .. }
            | Self::DaemonReload
            | Self::Reboot => None,
        }
    }

    /// Whether systemd has to read its units again afterwards.
    pub const fn is_about_units(&self) -> bool {
        match self {
            Self::WriteUnit { .. }
            | Self::WriteDropin { .. }
            | Self::RemoveUnit { .. }
            | Self::RemoveDropin { .. }
            | Self::MaskUnit { .. }
            | Self::UnmaskUnit { .. }
            | Self::EnableUnit { .. }
            | Self::DisableUnit { .. }
            | Self::PresetUnit { .. } => true,
            Self::StageOs(_)
            | Self::Drain
            | Self::WriteFile { .. }
            | Self::RemoveFile { .. }
            | Self::SetSshKeys { .. }
            | Self::SetPassword { .. }
            | Self::LockPassword { .. }
            | Self::RecordConfig { .. }
            | Self::DaemonReload
            | Self::ReloadService { .. }
            | Self::RestartService { .. }
            | Self::Reboot => false,
        }
    }
}

/// What makes a service read a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ServiceAction {
    /// It keeps running, as with `systemctl reload`.
    Reload,
    /// It ends and starts again.
    Restart,
}

impl fmt::Display for ServiceAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reload => "reload",
            Self::Restart => "restart",
        })
    }
}

/// A user or group to be resolved on the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OwnerRef {
    /// By number.
    Id(u32),
    /// By name.
    Name(String),
}

impl From<&Owner> for OwnerRef {
    /// A number wins over a name; nothing means root. Numbers out of range have been refused.
    fn from(owner: &Owner) -> Self {
        match (owner.id.map(u32::try_from), &owner.name) {
            (Some(Ok(id)), _) => Self::Id(id),
            (_, Some(name)) if !name.is_empty() => Self::Name(name.clone()),
            _ => Self::Id(0),
        }
    }
}

/// The operating system as the target wants it. One deployment holds all of it, changed or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Deployment {
    /// The image, whether it changes or not.
    pub image: String,
    /// The kernel.
    pub kernel_type: KernelType,
    /// Extensions.
    pub extensions: Vec<String>,
    /// The image that extensions and kernels are installed from.
    pub extensions_image: String,
    /// What happens to the kernel arguments.
    pub kernel_arguments: kargs::Change,
    /// All kernel arguments of the target, changed or not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_arguments: Vec<String>,
}
