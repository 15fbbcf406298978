//! What changes the operating system of a machine, and what can be seen of it.
//!
//! Owns the seam between a transaction and rpm-ostree, bootc or another controller. Refuses to decide what the next
//! deployment is: that is core's [`Goal`] and [`Order`].

pub mod auth;
pub mod bootc;
mod error;
pub mod extensions;
pub mod external;
#[cfg(test)]
mod fixture;
pub mod lock;
pub mod next_root;
pub mod preflight;
pub mod registry;
pub mod rpm_ostree;
pub mod skopeo;

use std::time::Duration;

use ostler_core::os::backend::Backend;
use ostler_core::os::goal::{Goal, OsChange, Platform};
use ostler_core::os::order::Order;
use ostler_core::os::preflight::{FailedTarget, Finding};
use ostler_core::os::state::{Installed, OsState};

pub use error::OsError;
use lock::SysrootLock;

/// Where progress is told, one line at a time, for people.
pub type Told<'t> = &'t mut dyn FnMut(&str);

/// Whether somebody still waits for what is done.
pub type IsWanted<'w> = &'w dyn Fn() -> bool;

/// What makes deployments. Everything asked of it can be asked again.
pub trait OsBackend {
    /// Which one it is.
    fn backend(&self) -> Backend;

    /// Who else is changing the operating system at this moment, in words.
    fn occupant(&self) -> Result<Option<String>, OsError>;

    /// Whether an order could be carried out here at all, found without changing anything.
    fn accepts(&self, order: &Order) -> Result<(), OsError>;

    /// Makes one new deployment, which the next restart finishes, from the booted one. One that was staged before is
    /// replaced. Waits for others, within bounds.
    fn stage(&self, order: &Order, told: Told<'_>) -> Result<(), OsError> {
        self.stage_while(order, told, &|| true)
    }

    /// The same, given up within seconds while it fetches and is not wanted any more.
    fn stage_while(&self, order: &Order, told: Told<'_>, wanted: IsWanted<'_>) -> Result<(), OsError>;

    /// Drops the staged deployment, if there is one.
    fn discard(&self) -> Result<(), OsError>;

    /// Drops the rollback deployment, if there is one that is not pinned.
    fn forget(&self) -> Result<(), OsError>;
}

/// The operating system of a running machine, with everything that changes it.
pub trait OsHost {
    /// Its deployments.
    fn sysroot(&self) -> &dyn Sysroot;

    /// What it is.
    fn platform(&self) -> Platform;

    /// What makes a deployment such as this one here.
    fn backend(&self, goal: &Goal) -> Result<Box<dyn OsBackend + '_>, OsError>;

    /// What stands in the way of a change, found without changing anything; `failed` is what was given up before.
    fn findings(&self, change: &OsChange, failed: Vec<FailedTarget>) -> Result<Outlook, OsError>;

    /// The digest that a name of an image without one means at this moment, if anybody can tell.
    fn resolve(&self, reference: &str) -> Option<String>;

    /// What the machine said when it could not finish a staged deployment at the end of the previous boot, if it did.
    fn last_words(&self) -> Option<String>;

    /// Makes the packages of an extensions image available to the backend.
    fn open_extensions(&self, image: &str) -> Result<(), OsError>;

    /// Takes them away again, if they are there.
    fn close_extensions(&self) -> Result<(), OsError>;
}

/// Gives the next deployment, which was made from the booted one, the kernel arguments of an order. Others who change
/// deployments are waited for.
fn set_line(
    sysroot: &dyn Sysroot,
    order: &Order,
    (lock, others): (&SysrootLock, Duration),
    told: Told<'_>,
) -> Result<(), OsError> {
    let state = sysroot.read()?;
    let booted = state.booted.unwrap_or_default();
    let Some(line) = order.line(&booted, state.staged.as_ref().unwrap_or(&booted)) else { return Ok(()) };
    lock.wait(others, told)?;
    told("setting the kernel arguments of the next deployment");
    sysroot.restage(&line)
}

/// What was found out before a change.
#[derive(Clone, Debug, Default)]
pub struct Outlook {
    /// What stands in the way, and what is worth knowing.
    pub findings: Vec<Finding>,
    /// The digest of the image's manifest for this machine, as far as it was told.
    pub manifest: Option<String>,
}

/// The deployments of a machine, read directly.
pub trait Sysroot {
    /// What is there now. The backend is not known to it.
    fn read(&self) -> Result<OsState, OsError>;

    /// Whether a deployment may be staged, told without reading the deployments; it is where that cannot be told.
    fn may_be_staged(&self) -> bool {
        true
    }

    /// Stages the staged deployment, or the booted one where none is staged, anew with these kernel arguments.
    fn restage(&self, kargs: &[String]) -> Result<(), OsError>;

    /// Stages a deployment that is there once more, with the `/etc` of the booted one. Needs no network, and unlike
    /// booting the old one itself it does not bring back an `/etc` from before.
    fn stage_again(&self, deployment: &Installed) -> Result<(), OsError>;

    /// Drops the staged deployment, if there is one.
    fn discard(&self) -> Result<(), OsError>;

    /// Makes the booted deployment the one that the boot loader starts by itself.
    fn stay(&self) -> Result<(), OsError>;

    /// Drops the rollback deployment, if there is one that is not pinned.
    fn forget(&self) -> Result<(), OsError>;
}
