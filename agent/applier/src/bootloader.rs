//! The boot loader of the machine that this process runs on.

use std::time::Duration;

use ostler_core::os::bootloader::{Action, Obstacle};
use ostler_core::protocol::{Class, Failure, Reply};
use ostler_host::bootloader::{Bootupd, BootupdError};
use ostler_host::disk::{Disk, RootDisk, RootPath};
use ostler_host::systemd::bus::{Bus, Limits};

use crate::machine::{CALL, JOB, Machine, Refused, causes};

/// bootupd copies a few files; a device that takes longer is broken.
const PATIENCE: Duration = Duration::from_secs(600);

/// The command of bootupd.
const BOOTUPCTL: &str = "/usr/bin/bootupctl";

/// A file by which somebody asks that the boot loader follow every new operating system.
const OPT_IN: &str = "/etc/ostler/bootloader-update";

/// Says how the boot loader is, what would be done to it, or does it.
pub(crate) fn answer(
    machine: &Machine,
    disk: &RootDisk,
    action: Option<Action>,
    accepted: bool,
) -> Result<Reply, Refused> {
    if !machine.is_live() {
        let reasons = vec!["this is a directory and not a running machine".to_owned()];
        return Err(Refused::early(Class::Refusal, reasons, "leave --root out"));
    }
    let installed = RootPath::new(BOOTUPCTL).ok().and_then(|path| disk.stat(&path).ok().flatten());
    if installed.is_none() {
        let reasons = vec![format!("bootupd is not installed on this machine: there is no {BOOTUPCTL}")];
        return Err(Refused::early(
            Class::Refusal,
            reasons,
            "update the boot loader by the means of this distribution",
        ));
    }
    let bus = Bus::connect(None, Limits { call: CALL, job: JOB }).map_err(|error| {
        Refused::early(Class::Transient, causes(&error), "see \"systemctl status dbus\"; then try again")
    })?;
    let bootupd = Bootupd::new(&bus, disk, PATIENCE);
    match action {
        None => {}
        Some(action) if !accepted => {
            return match bootupd.intend(action) {
                Ok(intent) => Ok(Reply::Intended(intent)),
                Err(BootupdError::Obstacle(Obstacle::Nothing { .. })) => Ok(Reply::Nothing),
                Err(error) => Err(refused(&error)),
            };
        }
        Some(action) => match bootupd.write(action, accepted) {
            Ok(_) => return bootupd.report().map(|report| Reply::Bootloader(Box::new(report))).map_err(unsettled),
            Err(BootupdError::Obstacle(Obstacle::Nothing { .. })) => return Ok(Reply::Nothing),
            Err(error) => return Err(unsettled(error)),
        },
    }
    Ok(Reply::Bootloader(Box::new(bootupd.report().map_err(|error| refused(&error))?)))
}

/// After a new operating system has been booted: what became of the boot loader, if somebody has opted in and there was
/// something to do. Whatever it is, the change is applied.
pub(crate) fn follow(disk: &RootDisk) -> Option<String> {
    let path = RootPath::new(OPT_IN).ok()?;
    disk.stat(&path).ok()??;
    let bus = match Bus::connect(None, Limits { call: CALL, job: JOB }) {
        Ok(bus) => bus,
        Err(error) => return Some(format!("not updated: {}", causes(&error).join(": "))),
    };
    // Who opts in has read what can happen; what can be foreseen stops it all the same.
    match Bootupd::new(&bus, disk, PATIENCE).write(Action::Update, true) {
        Ok(_) => Some("updated".to_owned()),
        Err(BootupdError::Obstacle(Obstacle::Nothing { .. })) => None,
        Err(BootupdError::Obstacle(obstacle)) => Some(format!("left alone: {obstacle}; {}", obstacle.remedy())),
        Err(error) => Some(format!("not updated: {}; {}", causes(&error).join(": "), error.remedy())),
    }
}

fn refused(error: &BootupdError) -> Refused {
    Refused::early(error.class(), causes(error), &error.remedy())
}

/// Only what was refused is sure not to have been written.
fn unsettled(error: BootupdError) -> Refused {
    let Refused(failure) = refused(&error);
    Refused(Failure { unchanged: failure.class == Class::Refusal, ..failure })
}
