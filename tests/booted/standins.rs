//! Where the stand-ins for rpm-ostree and bootc are, and how a machine gets them. What they do is theirs.

use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Where the machine has them.
const PLACE: &str = "/opt/standins";

const UNIT: &str = "[Unit]\nDescription=Stand-in for the rpm-ostree daemon\nRequiresMountsFor=/boot\n\
    [Service]\nType=dbus\nBusName=org.projectatomic.rpmostree1\nMountFlags=slave\nExecStart=/opt/standins/rpm-ostreed\n";
const ACTIVATION: &str = "[D-BUS Service]\nName=org.projectatomic.rpmostree1\nExec=/bin/false\nUser=root\n\
    SystemdService=rpm-ostreed.service\n";
const POLICY: &str = r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <policy user="root"><allow own="org.projectatomic.rpmostree1"/></policy>
  <policy context="default"><allow send_destination="org.projectatomic.rpmostree1"/></policy>
</busconfig>
"#;

/// The files in `/usr` of the daemon, where its package has them.
const DAEMON: &[(&str, &str)] = &[
    ("lib/systemd/system/rpm-ostreed.service", UNIT),
    ("share/dbus-1/system-services/org.projectatomic.rpmostree1.service", ACTIVATION),
    ("share/dbus-1/system.d/org.projectatomic.rpmostree1.conf", POLICY),
];

/// The directory with the programs `bootc`, `rpm-ostree` and `rpm-ostreed`, or some of them, if there is one:
/// `OSTLER_STANDINS`, or where cargo puts them.
pub fn directory() -> Option<PathBuf> {
    let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/standins/target/debug");
    fs::canonicalize(env::var_os("OSTLER_STANDINS").map_or_else(usual, PathBuf::from)).ok()
}

/// What stands for bootupd: it keeps a version below `/boot`, and updates it to that of the image.
const BOOTUPCTL: &str = include_str!("../standins/files/bootupctl");
/// One EFI system partition, whatever this machine has.
const LSBLK: &str = include_str!("../standins/files/lsblk");

/// Puts those that are there in a `/usr` as if they were what they stand in for.
pub fn install(directory: &Path, usr: &Path) -> io::Result<()> {
    for name in ["bootc", "rpm-ostree"].into_iter().filter(|name| directory.join(name).exists()) {
        fs::create_dir_all(usr.join("bin"))?;
        symlink(Path::new(PLACE).join(name), usr.join("bin").join(name))?;
    }
    for (name, text) in [("bootupctl", BOOTUPCTL), ("lsblk", LSBLK)] {
        let at = usr.join("bin").join(name);
        fs::create_dir_all(usr.join("bin"))?;
        fs::write(&at, text)?;
        fs::set_permissions(at, fs::Permissions::from_mode(0o755))?;
    }
    if directory.join("rpm-ostreed").exists() {
        for (path, text) in DAEMON {
            let at = usr.join(path);
            at.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(at, text)?;
        }
    }
    Ok(())
}
