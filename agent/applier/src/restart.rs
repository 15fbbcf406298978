//! Restarting the machine that this process runs on: why, whether softly, and the record that it was ordered.

use ostler_core::os::boot_mark::BootMark;
use ostler_core::os::state::OsState;
use ostler_core::protocol::{Class, Reply, Restart};
use ostler_core::status::Status;
use ostler_core::transaction::restart_rationale;
use ostler_host::disk::RootDisk;
use ostler_host::machine::{self, Machine as World};
use ostler_host::os::Sysroot;
use ostler_host::reboot::{self, Kind, Reboot, RebootError};
use ostler_host::systemd::bus::{Bus, Limits};
use ostler_host::transaction::{Snapshot, Trouble, World as _};

use crate::machine::{CALL, JOB, Machine, Need, Refused, causes};
use crate::soft::Soft;
use crate::sysroot::Libostree;

/// Restarts the machine, or says how it would.
pub(crate) fn answer(machine: &Machine, disk: &RootDisk, check: bool, soft: bool) -> Result<Reply, Refused> {
    if !machine.is_live() {
        let reasons = vec!["this is a directory and not a running machine".to_owned()];
        return Err(Refused::early(Class::Refusal, reasons, "leave --root out"));
    }
    let surroundings = machine.surroundings(disk, Need::Files)?;
    let world = if check { World::look(disk, surroundings)? } else { World::open(disk, surroundings)? };
    let status = machine::status(disk, &world.boot())?;
    let mut state = state()?;
    if let Some(state) = state.as_mut().filter(|_| status.staged_for.is_some()) {
        // It is locked until its update begins: no restart boots it before.
        state.staged = None;
    }
    let staged = state.as_ref().is_some_and(|state| state.staged.is_some());
    let rationale = rationale(&world.observe()?, &world.boot(), &status)?;
    let mut restart = Restart { rationale, staged, soft: false, not_soft: None, begun: false };
    let bus = Bus::connect(None, Limits { call: CALL, job: JOB }).map_err(|error| refused(&error.into()))?;
    reboot::check(&bus).map_err(|error| refused(&error))?;
    let next = Soft { bus: &bus, disk, state };
    if soft {
        restart.not_soft = next.obstacle();
        restart.soft = restart.not_soft.is_none();
    }
    if check {
        return Ok(Reply::Restart(restart));
    }
    // The record comes first: whoever finds it in the next boot knows that this one was to end.
    world.order_restart(&restart.rationale)?;
    Ok(Reply::Restart(begin(restart, &next)?))
}

/// A root that cannot be prepared, or is not gone to, leaves the restart of the machine.
fn begin(mut restart: Restart, next: &Soft<'_>) -> Result<Restart, Refused> {
    if restart.soft {
        restart.not_soft = next.prepare().err();
        restart.soft = restart.not_soft.is_none();
    }
    let order = Reboot { rationale: &restart.rationale, staged: restart.staged, soft: restart.soft };
    match reboot::reboot(next.bus, &order) {
        Ok(kind) => Ok(Restart { soft: kind == Kind::Soft, begun: true, ..restart }),
        Err(error) => {
            if restart.soft {
                next.reset();
            }
            Err(refused(&error))
        }
    }
}

/// A transaction that was interrupted has to reach one of its ends first: nothing says that what is staged belongs to it.
fn rationale(snapshot: &Snapshot, boot: &BootMark, status: &Status) -> Result<String, Refused> {
    let open = snapshot.interrupted.as_ref().map(|found| &found.open);
    if let Some(open) = open.filter(|open| !open.awaits_restart(boot)) {
        return Err(Trouble::Interrupted { from: open.from.clone(), to: open.to.clone() }.into());
    }
    // An open transaction leads elsewhere than to the configuration on record.
    let config = status.config.as_deref().filter(|_| open.is_none());
    Ok(restart_rationale(config, &status.owed_restarts))
}

fn state() -> Result<Option<OsState>, Refused> {
    let sysroot = Libostree::at("/".as_ref());
    Ok(sysroot.map(|sysroot| sysroot.read()).transpose().map_err(Trouble::from)?)
}

fn refused(error: &RebootError) -> Refused {
    Refused::early(error.class(), causes(error), &error.remedy())
}
