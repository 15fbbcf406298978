//! Restarting the machine that this process runs on: why, whether softly, and the record that it was ordered.

use ostler_core::os::boot_mark::{BootMark, proven};
use ostler_core::protocol::{Class, Reply, Restart};
use ostler_core::status::Status;
use ostler_core::transaction::{Ending, Open, OrderedRestart};
use ostler_host::disk::RootDisk;
use ostler_host::machine::{self, Machine as World};
use ostler_host::os::Sysroot;
use ostler_host::reboot::{self, Kind, Reboot, RebootError};
use ostler_host::systemd::bus::{Bus, Limits};
use ostler_host::transaction::{Snapshot, Trouble, World as _};

use crate::machine::{CALL, JOB, Machine, Need, Refused, causes};
use crate::sysroot::Libostree;

/// Restarts the machine, or says how it would.
pub(crate) fn answer(machine: &Machine, disk: &RootDisk, check: bool, soft: bool) -> Result<Reply, Refused> {
    if !machine.is_live() {
        let reasons = vec!["this is a directory and not a running machine".to_owned()];
        return Err(Refused::early(Class::Refusal, reasons, "leave --root out"));
    }
    let surroundings = machine.surroundings(disk, Need::Files)?;
    let world = if check { World::look(disk, surroundings)? } else { World::open(disk, surroundings)? };
    let mut restart = wanted(&world.observe()?, &world.boot(), disk)?;
    restart.soft = soft && is_soft_enough(&restart);
    let bus = Bus::connect(None, Limits { call: CALL, job: JOB }).map_err(|error| refused(&error.into()))?;
    reboot::check(&bus).map_err(|error| refused(&error))?;
    if check {
        return Ok(Reply::Restart(restart));
    }
    // The record comes first: whoever finds it in the next boot knows that this one was to end.
    let soft_reboots = bus.soft_reboots().map_err(|error| refused(&error.into()))?;
    world.order_restart(&restart.rationale, soft_reboots)?;
    let order = Reboot { rationale: &restart.rationale, staged: restart.staged, soft: restart.soft };
    let kind = reboot::reboot(&bus, &order).map_err(|error| refused(&error))?;
    Ok(Reply::Restart(Restart { soft: kind == Kind::Soft, begun: true, ..restart }))
}

/// A transaction that was interrupted has to reach one of its ends first: nothing says that what is staged belongs to it.
fn wanted(snapshot: &Snapshot, boot: &str, disk: &RootDisk) -> Result<Restart, Refused> {
    let rationale = match snapshot.interrupted.as_ref().map(|found| &found.open) {
        Some(open) if !waits(open, boot) => {
            return Err(Trouble::Interrupted { from: open.from.clone(), to: open.to.clone() }.into());
        }
        Some(Open { reason: Some(_), from, .. }) => format!("Node will reboot into config {from}"),
        Some(open) => format!("Node will reboot into config {}", open.to),
        None => {
            let last = machine::status(disk, boot)?.last.filter(|last| last.reboot && last.boot == boot);
            match last {
                Some(last) if last.ending == Ending::Applied => format!("Node will reboot into config {}", last.to),
                _ => "A person asked for it".to_owned(),
            }
        }
    };
    Ok(Restart { rationale, staged: state()?.is_some_and(|state| state.staged.is_some()), soft: false, begun: false })
}

fn waits(open: &Open, boot: &str) -> bool {
    open.awaits_end_of.as_deref() == Some(boot)
}

fn state() -> Result<Option<ostler_core::os::state::OsState>, Refused> {
    let sysroot = Libostree::at("/".as_ref());
    Ok(sysroot.map(|sysroot| sysroot.read()).transpose().map_err(Trouble::from)?)
}

/// User space alone leads to no other deployment: nothing here prepares one for that.
fn is_soft_enough(restart: &Restart) -> bool {
    !restart.staged
}

/// A restart of user space alone keeps the boot, so that only systemd's count of them proves it. It is what a change of
/// files waits for as well.
pub(crate) fn settle(status: &mut Status) {
    let Some(OrderedRestart { boot, soft_reboots: Some(before), .. }) = &status.restart else { return };
    let Ok(bus) = Bus::connect(None, Limits { call: CALL, job: JOB }) else { return };
    let mark = |soft_reboots| BootMark { boot_id: boot.clone(), soft_reboots };
    if proven(&mark(Some(*before)), &mark(bus.soft_reboots().ok().flatten())) {
        status.restart = None;
        status.awaits_reboot &= status.open.is_some();
    }
}

fn refused(error: &RebootError) -> Refused {
    Refused::early(error.class(), causes(error), &error.remedy())
}
