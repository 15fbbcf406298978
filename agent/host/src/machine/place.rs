//! Where things are on a machine: the paths that the agent and the machine-config-daemon agree on.

use crate::disk::{PathError, RootPath};

/// The configuration the machine is in.
pub(crate) const CURRENT_CONFIG: &str = "/etc/machine-config-daemon/currentconfig";

/// The image that was built for it, or nothing.
pub(crate) const CURRENT_IMAGE: &str = "/etc/machine-config-daemon/currentimage";

/// The configuration the machine was installed with.
pub(crate) const INSTALL_TIME: &str = "/etc/mcs-machine-config-content.json";

/// The earliest configuration known, where that one is lost.
pub(crate) const KEPT_BASE: &str = "/var/lib/ostler/install-time.json";

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

/// Directories that lead to a user's keys, outermost first, and the keys.
pub(crate) fn keys(user: &str) -> Result<([RootPath; 3], RootPath), PathError> {
    let home = RootPath::new(format!("/home/{user}"))?;
    let ssh = home.join(".ssh")?;
    let fragments = ssh.join("authorized_keys.d")?;
    let keys = fragments.join("ignition")?;
    Ok(([home, ssh, fragments], keys))
}
