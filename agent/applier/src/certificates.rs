//! The cluster's certificates, delivered on the real machine, or to the files of one under a directory.

use ostler_core::certificates::{Delivered, Given};
use ostler_core::protocol::{Reply, Sealed};
use ostler_host::certificates::{self, Courier, KubeletService};
use ostler_host::disk::RootDisk;
use ostler_host::transaction::Trouble;

use crate::machine::{Machine, Refused};

/// Delivers what was given, and finishes what an earlier delivery left.
pub(crate) fn deliver(machine: &Machine, disk: &RootDisk, given: Option<Sealed>) -> Result<Reply, Refused> {
    let given = given.map(Given::open).transpose().map_err(Trouble::from)?;
    // Whoever only wants to be sure that nothing is left does not have to take hold of the machine for that.
    if given.is_none() && !certificates::is_owed(disk)? {
        return Ok(Reply::Certificates(Delivered::default()));
    }
    with(machine, disk, |courier| courier.deliver(given.as_ref()))
}

/// Has the kubelet ask for new credentials, if it was only waiting for a reason to.
pub(crate) fn rebootstrap(machine: &Machine, disk: &RootDisk) -> Result<Reply, Refused> {
    if !certificates::is_owed(disk)? {
        return Ok(Reply::Certificates(Delivered::default()));
    }
    with(machine, disk, |courier| courier.rebootstrap())
}

fn with(
    machine: &Machine,
    disk: &RootDisk,
    work: impl FnOnce(&Courier<'_, RootDisk>) -> Result<Delivered, Trouble>,
) -> Result<Reply, Refused> {
    let systemd = if machine.is_live() { Some(machine.systemd()?) } else { None };
    let kubelet = systemd.as_ref().map(|systemd| systemd as &dyn KubeletService);
    let courier = Courier::open(disk, kubelet)?;
    Ok(Reply::Certificates(work(&courier)?))
}
