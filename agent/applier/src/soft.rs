//! A restart of user space alone: what is known about whether it will do, and the root that it leads to.

use std::time::Duration;

use ostler_core::os::soft_reboot::{self, Facts};
use ostler_core::os::state::OsState;
use ostler_host::disk::RootDisk;
use ostler_host::os::next_root::NextRoot;
use ostler_host::systemd::bus::Bus;
use ostler_host::systemd::transient::Runner;

use crate::machine::causes;
use crate::os::LiveOs;
use crate::sysroot::Libostree;

const OSTREE: &str = "/usr/bin/ostree";
/// It mounts a few things.
const PATIENCE: Duration = Duration::from_secs(60);

/// A soft restart that is wished for.
pub(crate) struct Soft<'s> {
    pub(crate) bus: &'s Bus,
    pub(crate) disk: &'s RootDisk,
    pub(crate) state: Option<OsState>,
}

impl Soft<'_> {
    /// Why the machine has to restart as a whole. What could not be found out is a reason too: the wish is never an error.
    pub(crate) fn obstacle(&self) -> Option<String> {
        match self.facts() {
            Ok(facts) => soft_reboot::obstacle(&facts).map(|obstacle| obstacle.to_string()),
            Err(why) => Some(format!("it could not be found out whether user space alone can restart: {why}")),
        }
    }

    fn facts(&self) -> Result<Facts, String> {
        let told = |error: &dyn std::error::Error| causes(error).join(": ");
        let counted = self.bus.soft_reboots().map_err(|error| told(&error))?.is_some();
        let staged = self.state.as_ref().is_some_and(|state| state.staged.is_some());
        let root = "/".as_ref();
        let sysroot = Libostree::at(root).filter(|_| counted && staged);
        let Some(sysroot) = sysroot else {
            return Ok(Facts { counted, state: self.state.clone(), ..Facts::default() });
        };
        let capable = LiveOs::of(self.disk, root).map(|os| os.soft_reboot_capable()).transpose();
        Ok(Facts {
            counted,
            state: self.state.clone(),
            prepares: Libostree::prepares_next_root(),
            same_policy: sysroot.same_policy().map_err(|error| told(&error))?,
            capable: capable.map_err(|error| told(&error))?.flatten(),
        })
    }

    /// Makes the staged deployment, if there is one, what the restart leads to; or says why not.
    pub(crate) fn prepare(&self) -> Result<(), String> {
        let Some(state) = &self.state else { return Ok(()) };
        let staged = state.staged.as_ref().and_then(|staged| state.deployments.iter().position(|one| one == staged));
        staged.map_or(Ok(()), |index| self.next_root().prepare(index))
    }

    /// Takes that back: a restart that did not come must not be gone through with by the next one who asks for any.
    pub(crate) fn reset(&self) {
        if self.state.as_ref().is_some_and(|state| state.staged.is_some()) {
            let _ = self.next_root().reset();
        }
    }

    fn next_root(&self) -> NextRoot<'_, RootDisk> {
        NextRoot { runner: Runner { bus: self.bus, disk: self.disk, patience: PATIENCE }, program: OSTREE }
    }
}
