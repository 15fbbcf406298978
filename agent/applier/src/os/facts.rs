//! What this machine is, from its files.

use std::fs;
use std::time::Duration;

use ostler_core::kargs;
use ostler_core::os::backend::{CHOICE_PATH, Host};
use ostler_core::os::image::Pinned;
use ostler_core::os::state::Installed;
use ostler_core::os::trust::{self, Policy};
use ostler_core::os_release::OsRelease;
use ostler_host::command::Command;
use ostler_host::disk::{Disk, RootDisk, RootPath};
use ostler_host::systemd::bus::Bus;

/// Files that say what a machine is are short.
const MOST: u64 = 1 << 20;

/// One unit's words in one boot.
const MOST_JOURNAL: usize = 256 << 10;
const JOURNAL_TIME: Duration = Duration::from_secs(30);
const MOST_WORDS: usize = 500;
/// Tells in a boot what went wrong at the end of the one before.
const TELLS_FAILURE: &str = "ostree-boot-complete.service";

/// Files that belong to the rpm-ostree daemon: its activation by the bus is what makes it usable.
const RPM_OSTREE: &str = "/usr/share/dbus-1/system-services/org.projectatomic.rpmostree1.service";

/// What decides on the backend.
pub(super) fn host(disk: &RootDisk, booted: &Installed) -> Host {
    let release = text(disk, "/usr/lib/os-release").or_else(|| text(disk, "/etc/os-release"));
    Host {
        release: OsRelease::parse(&release.unwrap_or_default()),
        ostree_booted: exists(disk, "/run/ostree-booted"),
        bootc: exists(disk, super::BOOTC),
        rpm_ostree: exists(disk, RPM_OSTREE),
        layered: !booted.packages.is_empty() || !booted.removals.is_empty(),
        quoted_argument: kargs::quoted(&booted.kargs).is_some(),
        choice: text(disk, CHOICE_PATH),
    }
}

/// Whether the policy has the backend insist on signatures; not where it cannot be read, which the checks before a change
/// tell.
pub(super) fn insists_on_signatures(disk: &RootDisk, image: &Pinned) -> bool {
    let policy = text(disk, trust::PATH).and_then(|text| Policy::parse(&text).ok());
    policy.is_some_and(|policy| policy.insists_on_signatures(image))
}

/// The kernel that runs.
pub(super) fn kernel() -> String {
    fs::read_to_string("/proc/sys/kernel/osrelease").map(|text| text.trim().to_owned()).unwrap_or_default()
}

/// What the kernel was told.
pub(super) fn command_line() -> String {
    fs::read_to_string("/proc/cmdline").unwrap_or_default()
}

/// The first complaint of the unit that finishes staged deployments, in the boot before this one. Older libostrees leave no
/// other trace of it.
pub(super) fn finalization_failure() -> Option<String> {
    first_complaint("--boot=-1", "ostree-finalize-staged.service")
}

/// The same as newer libostrees tell it in this boot. They remove their note of it then, and fail.
pub(crate) fn told_failure(bus: &Bus) -> Option<String> {
    bus.active_state(TELLS_FAILURE).ok().filter(|state| state.active == "failed")?;
    let words = first_complaint("--boot", TELLS_FAILURE)?;
    Some(words.split_once("failed on previous boot: ").map_or(words.as_str(), |(_, cause)| cause).to_owned())
}

fn first_complaint(boot: &str, unit: &str) -> Option<String> {
    let asked = Command::new("journalctl", JOURNAL_TIME, MOST_JOURNAL);
    let asked = asked.arguments([boot, "--output=cat", "--no-pager", "--unit", unit, "_UID=0"]);
    let said = asked.run().ok()?.stdout;
    let said = String::from_utf8_lossy(&said);
    let line = said.lines().find_map(|line| line.strip_prefix("error: "))?;
    Some(line.chars().take(MOST_WORDS).collect())
}

fn text(disk: &RootDisk, path: &str) -> Option<String> {
    String::from_utf8(disk.read(&RootPath::new(path).ok()?, MOST).ok()?).ok()
}

fn exists(disk: &RootDisk, path: &str) -> bool {
    RootPath::new(path).is_ok_and(|path| disk.stat(&path).is_ok_and(|stat| stat.is_some()))
}
