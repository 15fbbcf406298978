//! Where things are on a machine: the paths that the agent and the machine-config-daemon agree on.

use ostler_core::step::Step;

use crate::disk::{PathError, RootPath};

/// The configuration the machine is in.
pub(crate) const CURRENT_CONFIG: &str = "/etc/machine-config-daemon/currentconfig";

/// The image that was built for it, or nothing.
pub(crate) const CURRENT_IMAGE: &str = "/etc/machine-config-daemon/currentimage";

/// The configuration that a machine of a hosted cluster is in.
pub(crate) const HOSTED_CONFIG: &str = "/etc/mcd-currentconfig.json";

/// The hash by which that cluster knows it, and the digest of the record that it belongs to.
pub(crate) const HOSTED_HASH: &str = "/etc/machine-config-daemon/ostler-currenthash";

/// The configuration the machine was installed with.
pub(crate) const INSTALL_TIME: &str = "/etc/mcs-machine-config-content.json";

/// The earliest configuration known, where that one is lost.
pub(crate) const KEPT_BASE: &str = "/var/lib/ostler/install-time.json";

/// The annotations that the machine was installed with; there until its cluster has them.
pub(crate) const NODE_ANNOTATIONS: &str = "/etc/machine-config-daemon/node-annotations.json";

/// The same afterwards. The name is the daemon's own, singular.
pub(crate) const NODE_ANNOTATIONS_DONE: &str = "/etc/machine-config-daemon/node-annotation.json.bak";

/// What completes the first boot; there until it is completed.
pub(crate) const ENCAPSULATED: &str = "/etc/ignition-machine-config-encapsulated.json";

/// The same afterwards.
pub(crate) const ENCAPSULATED_DONE: &str = "/etc/ignition-machine-config-encapsulated.json.bak";

/// That the first boot was begun and not ended.
pub(crate) const FIRST_BOOT: &str = "/var/lib/ostler/first-boot";

/// Presets of the installer, by which units would be switched on again that a later configuration switched off.
pub(crate) const IGNITION_PRESET: &str = "/etc/systemd/system-preset/20-ignition.preset";

/// The machine-config-daemon's program as it runs on a node: copied there by each boot's first one.
pub(crate) const DAEMON_OF_THIS_BOOT: &str = "/run/bin/machine-config-daemon";
/// What is yet to be booted for the names of network interfaces.
pub(crate) const NICS: &str = "/var/lib/ostler/nics.json";

/// Passwords.
pub(crate) const SHADOW: &str = "/etc/shadow";

/// What every writer of passwords locks.
pub(crate) const PASSWORD_LOCK: &str = "/etc/.pwd.lock";

/// Where a configured unit is.
pub(crate) fn unit(name: &str) -> Result<RootPath, PathError> {
    RootPath::new(format!("/etc/systemd/system/{name}"))
}

/// Where a configured drop-in is.
pub(crate) fn dropin(unit: &str, name: &str) -> Result<RootPath, PathError> {
    RootPath::new(format!("/etc/systemd/system/{unit}.d/{name}"))
}

/// The root directory of a deployment.
pub(crate) fn deployment(stateroot: &str, checksum: &str, serial: u32) -> Result<RootPath, PathError> {
    RootPath::new(format!("/sysroot/ostree/deploy/{stateroot}/deploy/{checksum}.{serial}"))
}

/// What a step writes, removes or refers to; `None` where that is no file of the configuration.
pub(crate) fn of_step(step: &Step) -> Option<RootPath> {
    match step {
        Step::WriteFile { path, .. } | Step::RemoveFile { path } => RootPath::new(path.as_str()).ok(),
        Step::WriteUnit { unit: name, .. }
        | Step::RemoveUnit { unit: name }
        | Step::MaskUnit { unit: name }
        | Step::UnmaskUnit { unit: name }
        | Step::EnableUnit { unit: name }
        | Step::DisableUnit { unit: name }
        | Step::PresetUnit { unit: name } => unit(name).ok(),
        Step::WriteDropin { unit, dropin: name, .. } | Step::RemoveDropin { unit, dropin: name } => {
            dropin(unit, name).ok()
        }
        Step::SetSshKeys { user, .. } => keys(user).ok().map(|(_, keys)| keys),
        Step::RecordConfig { .. } => RootPath::new(CURRENT_CONFIG).ok(),
        Step::StageOs(_)
        | Step::Drain
        | Step::SetPassword { .. }
        | Step::LockPassword { .. }
        | Step::DaemonReload
        | Step::ReloadService { .. }
        | Step::RestartService { .. }
        | Step::Reboot => None,
    }
}

/// Directories that lead to a user's keys, outermost first, and the keys.
pub(crate) fn keys(user: &str) -> Result<([RootPath; 3], RootPath), PathError> {
    let home = RootPath::new(format!("/home/{user}"))?;
    let ssh = home.join(".ssh")?;
    let fragments = ssh.join("authorized_keys.d")?;
    let keys = fragments.join("ignition")?;
    Ok(([home, ssh, fragments], keys))
}
