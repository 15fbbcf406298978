//! The cases, by their directories. What each proves is its own business.

#[cfg(feature = "cluster")]
#[path = "../cases/14-api-away/mod.rs"]
mod api_away;
#[path = "../cases/06-change-of-mind/mod.rs"]
mod change_of_mind;
#[path = "../cases/12-clock-skew/mod.rs"]
mod clock_skew;
#[path = "../cases/02-files-without-restart/mod.rs"]
mod files_without_restart;
#[path = "../cases/01-first-boot/mod.rs"]
mod first_boot;
#[path = "../cases/07-full-boot/mod.rs"]
mod full_boot;
#[path = "../cases/08-full-sysroot/mod.rs"]
mod full_sysroot;
#[path = "../cases/03-kernel-arguments/mod.rs"]
mod kernel_arguments;
#[path = "../cases/11-no-selinux/mod.rs"]
mod no_selinux;
#[path = "../cases/04-os-update/mod.rs"]
mod os_update;
#[path = "../cases/09-read-only-etc/mod.rs"]
mod read_only_etc;
#[path = "../cases/10-registry-away/mod.rs"]
mod registry_away;
#[path = "../cases/13-soft-restart/mod.rs"]
mod soft_restart;
#[path = "../cases/05-unhealthy-boot/mod.rs"]
mod unhealthy_boot;

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::lab::Lab;
use crate::node::{Node, Target};

/// One case.
pub struct Case {
    /// Its directory.
    pub name: &'static str,
    /// What it proves, for `--list`.
    pub summary: &'static str,
    /// Runs it.
    pub run: fn(&mut Lab) -> Result<()>,
}

const fn case(name: &'static str, summary: &'static str, run: fn(&mut Lab) -> Result<()>) -> Case {
    Case { name, summary, run }
}

/// All of them, in order.
pub const CASES: &[Case] = &[
    case("01-first-boot", "an installed machine gets its OS in its first boot and is Done", first_boot::run),
    case("02-files-without-restart", "files and units change without a restart", files_without_restart::run),
    case("03-kernel-arguments", "kernel arguments come and go with a restart", kernel_arguments::run),
    case("04-os-update", "an OS update is restarted into, proven, committed and cleaned up after", os_update::run),
    case("05-unhealthy-boot", "an OS that does not boot well is left as a pair and remembered", unhealthy_boot::run),
    case("06-change-of-mind", "another configuration is desired while a restart is pending", change_of_mind::run),
    case("07-full-boot", "no room on /boot", full_boot::run),
    case("08-full-sysroot", "no room on the sysroot", full_sysroot::run),
    case("09-read-only-etc", "/etc cannot be written", read_only_etc::run),
    case("10-registry-away", "the registry is away when an update is desired", registry_away::run),
    case("11-no-selinux", "a kernel without SELinux", no_selinux::run),
    case("12-clock-skew", "the clock jumps by decades in the middle of an update", clock_skew::run),
    case("13-soft-restart", "user space alone restarts", soft_restart::run),
    #[cfg(feature = "cluster")]
    case("14-api-away", "the cluster is away from an update's beginning until after its restart", api_away::run),
];

/// Follows a node whose update cannot work until it has said so, and checks that it is in `old` as before.
fn stays_in_old(node: &mut Node<'_>) -> Result<()> {
    node.follow_until("it is told that the update does not work", |node| {
        let tried = node.machine.run("journalctl --unit=ostler.service")?.contains(", again in ");
        // It may be trying again by now.
        Ok((tried || node.is("NodeDegraded")?) && node.status()?.pointer("/open").is_some_and(Value::is_null))
    })?;
    let status = node.status()?;
    let is_old = status.pointer("/config").is_some_and(|config| config == "old");
    ensure!(is_old, "{status:#}\n{}", node.account());
    let seen = node.seen()?;
    ensure!(seen.last().is_some_and(|(_, found)| *found == Ok(0)), "a service has not seen old: {seen:?}");
    node.check(&Target::old())
}
