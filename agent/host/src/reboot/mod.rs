//! Restarting the machine: who is asked first, what has to be ready, and how it is recognised afterwards.
//!
//! Owns the transient unit that restarts, under the name that administrators know from the machine-config-daemon. Refuses
//! to wait for the end: only a later [`BootMark`] proves a restart.

mod error;

use ostler_core::os::boot_mark::BootMark;
use serde::{Deserialize, Serialize};
use zbus::Variant;

use crate::disk::{Disk, RootPath};
use crate::systemd::bus::{Bus, BusError, JobResult, Property};

pub use error::RebootError;

/// The unit that restarts.
pub const UNIT: &str = "machine-config-daemon-reboot.service";
/// The unit whose end finishes a staged deployment.
pub const FINALIZE_UNIT: &str = "ostree-finalize-staged.service";
const SYSTEMCTL: &str = "/usr/bin/systemctl";
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
/// Without it a systemctl that finds another root prepared restarts user space alone, whatever it was told.
const AS_TOLD: &str = "SYSTEMCTL_SKIP_AUTO_SOFT_REBOOT=1";

/// A restart that is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Reboot<'r> {
    /// Why, for people.
    pub rationale: &'r str,
    /// Whether a deployment is staged that has to be finished.
    pub staged: bool,
    /// Whether restarting user space alone will do, and leads to what is staged.
    pub soft: bool,
}

/// What was restarted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Kind {
    /// The machine.
    Full,
    /// User space.
    Soft,
}

/// Asks systemd for a restart, and returns once it has begun.
pub fn reboot(bus: &Bus, wanted: &Reboot<'_>) -> Result<Kind, RebootError> {
    reboot_by(bus, wanted, SYSTEMCTL)
}

/// Whether anybody asks that the machine be left running.
pub fn check(bus: &Bus) -> Result<(), RebootError> {
    match bus.inhibitors()?.into_iter().find(|inhibitor| inhibitor.blocks_shutdown()) {
        Some(inhibitor) => Err(RebootError::Inhibited { who: inhibitor.who, why: inhibitor.why }),
        None => Ok(()),
    }
}

/// As [`reboot`], by another `systemctl`.
pub fn reboot_by(bus: &Bus, wanted: &Reboot<'_>, systemctl: &str) -> Result<Kind, RebootError> {
    check(bus)?;
    if wanted.staged {
        arm(bus)?;
    }
    let kind = kind(bus, wanted)?;
    make_way(bus)?;
    let verb = if kind == Kind::Soft { "soft-reboot" } else { "reboot" };
    let description = format!("machine-config-daemon: {}", wanted.rationale);
    begun(bus.start_transient(UNIT, &properties(&description, &[systemctl, verb], wanted.staged)))?;
    Ok(kind)
}

/// Which start of the machine this is.
pub fn boot_mark<D: Disk>(bus: &Bus, disk: &D) -> Result<BootMark, RebootError> {
    Ok(BootMark { boot_id: boot_id(disk)?, soft_reboots: bus.soft_reboots()? })
}

/// What the kernel calls this boot.
pub fn boot_id<D: Disk>(disk: &D) -> Result<String, RebootError> {
    let path = RootPath::new(BOOT_ID).map_err(|error| RebootError::BootId(std::io::Error::other(error)))?;
    let bytes = disk.read(&path, 64).map_err(RebootError::BootId)?;
    let text = String::from_utf8_lossy(&bytes).trim().to_owned();
    if text.is_empty() {
        return Err(RebootError::BootId(std::io::Error::other("it is empty")));
    }
    Ok(text)
}

/// Sees to it that the shutdown finishes the staged deployment: it is the stopping of this unit that does.
fn arm(bus: &Bus) -> Result<(), RebootError> {
    let not_armed = |source| RebootError::NotArmed { source: Some(source) };
    let is_armed = || bus.active_state(FINALIZE_UNIT).map(|state| state.active == "active").map_err(not_armed);
    if is_armed()? {
        return Ok(());
    }
    bus.start_unit(FINALIZE_UNIT).map_err(not_armed)?;
    // A unit whose conditions do not hold is started without an error, and without being up.
    if is_armed()? { Ok(()) } else { Err(RebootError::NotArmed { source: None }) }
}

/// Restarts user space only where that is wanted and will have left a trace: a systemd that counts such restarts is two
/// releases younger than the first that can do them.
fn kind(bus: &Bus, wanted: &Reboot<'_>) -> Result<Kind, RebootError> {
    Ok(if wanted.soft && bus.soft_reboots()?.is_some() { Kind::Soft } else { Kind::Full })
}

/// A restart that failed before is no obstacle to this one; one that goes on makes this one needless.
fn make_way(bus: &Bus) -> Result<(), RebootError> {
    match bus.service(UNIT)? {
        Some(service) if !service.has_ended() => Err(RebootError::Underway),
        Some(_) => Ok(bus.release(UNIT)?),
        None => Ok(()),
    }
}

fn properties<'p>(description: &'p str, argv: &[&'p str], staged: bool) -> Vec<Property<'p>> {
    let program = argv.first().copied().unwrap_or_default();
    let mut properties: Vec<Property<'p>> = vec![
        ("Description", description.into()),
        ("Type", "oneshot".into()),
        ("CollectMode", "inactive-or-failed".into()),
        ("ExecStart", vec![(program, argv.to_vec(), false)].into()),
        ("Environment", vec![AS_TOLD].into()),
    ];
    if staged {
        properties.extend(["Requires", "After"].map(|name| (name, Variant::from(vec![FINALIZE_UNIT]))));
    }
    properties
}

/// A shutdown takes the unit that asked for it, and the bus, with it; both mean that it has begun.
fn begun(asked: Result<(), BusError>) -> Result<(), RebootError> {
    match asked {
        Err(BusError::JobFailed { result: JobResult::Canceled, .. }) => Ok(()),
        Err(BusError::Gone { what: "start", source: None, .. }) => Ok(()),
        Err(error @ (BusError::JobFailed { .. } | BusError::JobTimeout { .. })) => Err(RebootError::Failed(error)),
        asked => Ok(asked?),
    }
}
