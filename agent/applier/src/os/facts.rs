//! What this machine is, from its files.

use std::fs;

use ostler_core::os::backend::{CHOICE_PATH, Host};
use ostler_core::os::image::Pinned;
use ostler_core::os::trust::{Policy, Ruling};
use ostler_core::os_release::OsRelease;
use ostler_host::disk::{Disk, RootDisk, RootPath};

/// Files that say what a machine is are short.
const MOST: u64 = 1 << 20;

/// Files that belong to the rpm-ostree daemon: its activation by the bus is what makes it usable.
const RPM_OSTREE: &str = "/usr/share/dbus-1/system-services/org.projectatomic.rpmostree1.service";

/// What decides on the backend.
pub(super) fn host(disk: &RootDisk, layered: bool) -> Host {
    let release = text(disk, "/usr/lib/os-release").or_else(|| text(disk, "/etc/os-release"));
    Host {
        release: OsRelease::parse(&release.unwrap_or_default()),
        ostree_booted: exists(disk, "/run/ostree-booted"),
        bootc: exists(disk, super::BOOTC),
        rpm_ostree: exists(disk, RPM_OSTREE),
        layered,
        choice: text(disk, CHOICE_PATH),
    }
}

/// What the machine's policy asks of an image; none where it has no policy that can be read, which the look before a
/// change tells.
pub(super) fn ruling(disk: &RootDisk, image: &Pinned) -> Option<Ruling> {
    Some(Policy::parse(&text(disk, "/etc/containers/policy.json")?).ok()?.ruling(image))
}

/// The kernel that runs.
pub(super) fn kernel() -> String {
    fs::read_to_string("/proc/sys/kernel/osrelease").map(|text| text.trim().to_owned()).unwrap_or_default()
}

/// What the kernel was told.
pub(super) fn command_line() -> String {
    fs::read_to_string("/proc/cmdline").unwrap_or_default()
}

fn text(disk: &RootDisk, path: &str) -> Option<String> {
    String::from_utf8(disk.read(&RootPath::new(path).ok()?, MOST).ok()?).ok()
}

fn exists(disk: &RootDisk, path: &str) -> bool {
    RootPath::new(path).is_ok_and(|path| disk.stat(&path).is_ok_and(|stat| stat.is_some()))
}
