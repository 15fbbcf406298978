//! Standing back: while another agent runs on the machine, nothing that changes it is begun.

use ostler_core::protocol::Class;
use ostler_core::rival::{REMEDY, Rival};
use ostler_host::disk::RootDisk;
use ostler_host::rival;

use crate::machine::Refused;

/// Refuses while there is one. One that starts later finds the machine in the middle of a transaction, as after a crash.
pub(crate) fn refuse(disk: &RootDisk) -> Result<(), Refused> {
    match find(disk)? {
        None => Ok(()),
        Some(rival) => {
            let reasons = vec![rival.words(), "two agents would undo each other's changes".to_owned()];
            Err(Refused::early(Class::Transient, reasons, REMEDY))
        }
    }
}

/// The one there is.
pub(crate) fn find(disk: &RootDisk) -> Result<Option<Rival>, Refused> {
    rival::find(disk).map_err(|error| {
        let reasons = vec!["the processes of this machine cannot be listed".to_owned(), error.to_string()];
        Refused::early(Class::Inoperable, reasons, "see that /proc is mounted and can be read by root")
    })
}
