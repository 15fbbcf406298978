//! Restarts that the machine owes: what a transaction left to take effect in another boot.
//!
//! Owns the record of them. It is durable before the transaction is closed, and a restart stays in it until another boot is
//! seen: nothing that is applied, undone or repaired meanwhile takes it away. A rollback may lead to exactly what this boot
//! started with, but nothing here can tell, so it owes a restart like any other change.

use ostler_core::os::boot_mark::BootMark;
use ostler_core::transaction::{Ending, Finished, Open, OwedRestart};

use super::Machine;
use super::charge::Charge;
use crate::disk::Disk;
use crate::journal::Slot;
use crate::transaction::Trouble;

/// More of them say nothing more; the earliest stay.
const MOST_OWED: usize = 16;

/// Why a restart is due that no change asked for.
const UNTOLD: &str = "systemd could not be asked, so services run on as they were";

/// Where the restarts that a machine owes are on record.
pub(super) struct Records<'r> {
    pub(super) owed: Vec<OwedRestart>,
    pub(super) last: Option<&'r Finished>,
    pub(super) charge: Option<&'r Charge>,
}

impl Records<'_> {
    /// The restarts that a machine in this configuration owes in this boot, the earliest first.
    pub(super) fn due(self, config: Option<&str>, boot: &BootMark) -> Vec<OwedRestart> {
        let mut owed = self.owed;
        owed.extend(self.charge.and_then(|charge| charge.owed(config?)));
        // The record of a transaction that ended before there was one of restarts, or whose own is damaged.
        let last = self.last.filter(|last| last.reboot).map(|last| entry(last, Vec::new()));
        owed.extend(last.filter(|last| !owed.iter().any(|owed| owed.boot == last.boot && owed.since == last.since)));
        owed.retain(|owed| owed.is_due(boot));
        owed
    }
}

fn entry(finished: &Finished, reasons: Vec<String>) -> OwedRestart {
    let config = match finished.ending {
        Ending::Undone { .. } | Ending::Abandoned { .. } => finished.from.clone(),
        Ending::Applied | Ending::AwaitsReboot { .. } => finished.to.clone(),
    };
    OwedRestart { config, reasons, since: finished.ended, boot: finished.boot.clone() }
}

/// What is owed after the end of a transaction, given what was before.
fn after(mut owed: Vec<OwedRestart>, open: &Open, finished: &Finished) -> Vec<OwedRestart> {
    owed.retain(|owed| owed.is_due(&finished.boot));
    if !finished.reboot {
        return owed;
    }
    let asked = finished.ending == Ending::Applied && !open.restart_for.is_empty();
    let reasons = if asked { open.restart_for.clone() } else { vec![UNTOLD.to_owned()] };
    let new = entry(finished, reasons);
    // The end of a transaction that is cut off is written again.
    if !owed.iter().any(|owed| owed.config == new.config && owed.reasons == new.reasons) {
        owed.push(new);
    }
    owed.truncate(MOST_OWED);
    owed
}

impl<D: Disk> Machine<'_, D> {
    /// What the end of a transaction means for the restarts that the machine owes. The plan is still there.
    pub(super) fn owe(&self, finished: &Finished) -> Result<(), Trouble> {
        let Some(open) = self.record::<Open>(Slot::Plan)? else { return Ok(()) };
        let before: Vec<OwedRestart> = self.record(Slot::Owed)?.unwrap_or_default();
        let owed = after(before.clone(), &open, finished);
        match owed.as_slice() {
            _ if owed == before => Ok(()),
            [] => self.journal.clear(Slot::Owed),
            [..] => self.put(Slot::Owed, &owed),
        }
    }

    /// The restarts that a machine in this configuration owes, the earliest first.
    pub(super) fn owed(&self, config: &str) -> Result<Vec<OwedRestart>, Trouble> {
        let (last, charge) = (self.last()?, self.charge()?);
        let owed = self.record(Slot::Owed)?.unwrap_or_default();
        let records = Records { owed, last: last.as_ref(), charge: charge.as_ref() };
        Ok(records.due(Some(config), &self.surroundings.boot))
    }
}
