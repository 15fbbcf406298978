//! A machine, or the files of one below a directory, as a world of transactions.
//!
//! Owns how steps become files, links, passwords and calls to systemd, and what is kept to undo them. Refuses to decide
//! which steps there are, and to touch a file other than through [`Disk`].

mod abandon;
mod back;
mod base;
mod bus;
mod charge;
mod draft;
mod drift;
mod first_boot;
mod forward;
mod hand_back;
mod hold;
mod inheritance;
pub(crate) mod labels;
mod left;
mod log;
mod manager;
mod merge;
mod nics;
mod observe;
mod origin;
mod os;
mod owed;
mod owners;
mod place;
mod prepare;
mod progress;
mod proof;
mod record;
mod run;
mod save;
mod services;
mod stage;
mod status;
mod systemctl;
#[cfg(test)]
mod tests;
mod wanted;

use std::collections::BTreeSet;
use std::path::PathBuf;

use ostler_core::machine_config::MachineConfig;
use ostler_core::os::boot_mark::BootMark;
use ostler_core::os::goal::OsChange;
use ostler_core::recorded::Recorded;
use ostler_core::step::Step;
use ostler_core::transaction::Phase;

use log::Log;

use crate::accounts::Accounts;
use crate::disk::Disk;
use crate::journal::Slot;
use crate::os::{OsHost, Told};
use crate::transaction::{Entry, Interrupted, Journey, PhaseOutcome, Snapshot, Trouble, World};

pub use bus::Systemd;
pub use first_boot::is_first_boot;
pub use inheritance::behind;
pub use manager::{Manager, ManagerError, Presence};
pub use merge::{NextEtc, write_next};
pub use nics::NicNames;
pub use prepare::Way;
pub use status::status;
pub use systemctl::{EARLY, Systemctl};

/// What a machine is besides its disk.
pub struct Surroundings<'d> {
    /// The service manager, on a running machine.
    pub manager: Option<Box<dyn Manager>>,
    /// The operating system, on a running machine that was booted from a deployment.
    pub os: Option<Box<dyn OsHost + 'd>>,
    /// The root directory by its name, where the lock of the password database is taken; none in memory.
    pub root: Option<PathBuf>,
    /// Whether the root is this machine's own.
    pub live: bool,
    /// Whether this process may give files to anybody.
    pub root_user: bool,
    /// This boot.
    pub boot: BootMark,
    /// The clock, in seconds since 1970.
    pub now: Box<dyn Fn() -> u64>,
}

/// A machine that nobody else is changing.
pub struct Machine<'d, D: Disk> {
    disk: &'d D,
    journal: Log<'d, D>,
    surroundings: Surroundings<'d>,
}

impl<'d, D: Disk> Machine<'d, D> {
    /// Takes hold of a machine; fails when another process has.
    pub fn open(disk: &'d D, surroundings: Surroundings<'d>) -> Result<Self, Trouble> {
        Ok(Self { disk, journal: Log::open(disk)?, surroundings })
    }

    /// Looks at a machine, of which nothing can be changed then, not even to say that somebody looks.
    pub fn look(disk: &'d D, surroundings: Surroundings<'d>) -> Result<Self, Trouble> {
        Ok(Self { disk, journal: Log::look(disk)?, surroundings })
    }

    fn accounts(&self) -> Result<Accounts, Trouble> {
        let accounts = Accounts::load(self.disk, self.surroundings.live)?;
        Ok(if self.surroundings.root_user { accounts } else { accounts.alone() })
    }
}

impl<D: Disk> World for Machine<'_, D> {
    type Way = Way;

    fn observe(&self) -> Result<Snapshot, Trouble> {
        self.snapshot()
    }

    fn interrupted(&self) -> Result<Option<Interrupted>, Trouble> {
        self.open_transaction()
    }

    fn previous(&self) -> Result<Option<Recorded>, Trouble> {
        Ok(self.origin(Slot::Previous)?.map(|origin| origin.recorded))
    }

    fn os_units(&self, config: &MachineConfig) -> BTreeSet<String> {
        self.units_without(config)
    }

    fn prepare(&self, journey: &Journey<'_>) -> Result<Way, Trouble> {
        self.way(journey)
    }

    fn save(&self, entry: Entry<'_, Way>) -> Result<(), Trouble> {
        self.save_entry(entry)
    }

    fn run(&self, way: &Way, phase: Phase, told: Told<'_>) -> Result<PhaseOutcome, Trouble> {
        self.run_phase(way, phase, told)
    }

    fn omissions(&self, way: &Way) -> (Vec<Step>, bool) {
        (way.draft.left_out.clone(), way.draft.reboot)
    }

    fn os(&self, way: &Way) -> Option<OsChange> {
        way.os.clone()
    }

    fn awaits_reboot(&self, way: &Way) -> Result<bool, Trouble> {
        self.is_not_booted(way)
    }

    fn now(&self) -> u64 {
        (self.surroundings.now)()
    }

    fn boot(&self) -> BootMark {
        self.surroundings.boot.clone()
    }
}
