//! The seam between a transaction and the machine it runs on: what is asked of a machine, and what it tells.

use std::collections::BTreeSet;

use ostler_core::disruption::Cause;
use ostler_core::machine_config::MachineConfig;
use ostler_core::os::behind::Behind;
use ostler_core::os::boot_mark::BootMark;
use ostler_core::os::goal::OsChange;
use ostler_core::recorded::Recorded;
use ostler_core::step::Step;
use ostler_core::transaction::{Direction, Finished, Open, Phase, Purpose, Rejected, ServiceFailure, Trial};

use super::Trouble;
use crate::os::Told;

/// A machine on which transactions run.
pub trait World {
    /// Everything one direction of a transaction needs, found and checked without changing anything.
    type Way;

    /// What the machine is in.
    fn observe(&self) -> Result<Snapshot, Trouble>;

    /// The transaction that is open. Nothing else of the machine is asked: whether one is can be told where the rest cannot.
    fn interrupted(&self) -> Result<Option<Interrupted>, Trouble>;

    /// The configuration before the current one, for the few who ask: a large one takes its time to read.
    fn previous(&self) -> Result<Option<Recorded>, Trouble>;

    /// Units of a configuration that are there without it too.
    fn os_units(&self, config: &MachineConfig) -> BTreeSet<String>;

    /// Checks a journey as far as that can be done without changing anything.
    fn prepare(&self, journey: &Journey<'_>) -> Result<Self::Way, Trouble>;

    /// Makes a record durable.
    fn save(&self, entry: Entry<'_, Self::Way>) -> Result<(), Trouble>;

    /// Runs one phase. Doing it again, whatever interrupted it, ends the same. What takes its time is told on the way.
    /// On the way back a unit that does not do its part is no error: it is in the outcome.
    fn run(&self, way: &Self::Way, phase: Phase, told: Told<'_>) -> Result<PhaseOutcome, Trouble>;

    /// What the way leaves out on this kind of machine, and whether the machine has to restart.
    fn omissions(&self, way: &Self::Way) -> (Vec<Step>, bool);

    /// What the way does to the operating system.
    fn os(&self, way: &Self::Way) -> Option<OsChange>;

    /// Whether the way is not at its end before the machine has restarted, because that is what changes the operating
    /// system.
    fn awaits_reboot(&self, way: &Self::Way) -> Result<bool, Trouble>;

    /// Now, in seconds since 1970.
    fn now(&self) -> u64;

    /// This boot of the machine.
    fn boot(&self) -> BootMark;
}

/// The result of a phase.
#[derive(Clone, Debug, Default)]
pub struct PhaseOutcome {
    /// How many files and links of the configuration changed.
    pub changed: usize,
    /// What failed on the way back and was passed over.
    pub service_failures: Vec<ServiceFailure>,
    /// Temporary files and directories that the way back could not remove.
    pub leftovers: Vec<String>,
}

impl PhaseOutcome {
    /// Of a phase that changed this many things, with nothing passed over.
    pub fn changed(changed: usize) -> Self {
        Self { changed, ..Self::default() }
    }

    const fn is_whole(&self) -> bool {
        self.service_failures.is_empty() && self.leftovers.is_empty()
    }

    /// Takes another phase's result in.
    pub(super) fn add(&mut self, other: Self) -> bool {
        let whole = other.is_whole();
        self.changed += other.changed;
        self.service_failures.extend(other.service_failures);
        self.leftovers.extend(other.leftovers);
        whole
    }
}

/// What a machine is in.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Its configuration.
    pub current: Recorded,
    /// The one it was installed with, if it is still known.
    pub install_time: Option<Recorded>,
    /// Whether that is only the earliest one known.
    pub base_kept: bool,
    /// Whether a person has asked for the next update to be forced.
    pub forced: bool,
    /// How its operating system is not the one of its configuration, where another agent left it so.
    pub behind: Option<Behind>,
    /// What was interrupted, with the phases that are done.
    pub interrupted: Option<Interrupted>,
    /// The configuration that it has yet to prove itself in.
    pub trial: Option<Trial>,
}

/// An open transaction as found.
#[derive(Clone, Debug)]
pub struct Interrupted {
    /// The transaction.
    pub open: Open,
    /// Where it leads, if that is still known.
    pub next: Option<Recorded>,
    /// Where it comes from, if that is still known.
    pub origin: Option<Recorded>,
    /// Phases done in the direction it is heading.
    pub done: Vec<Phase>,
}

/// One direction of a transaction.
#[derive(Clone, Copy, Debug)]
pub struct Journey<'a> {
    /// What the transaction is for.
    pub purpose: Purpose,
    /// Which direction.
    pub direction: Direction,
    /// The steps of this direction.
    pub steps: &'a [Step],
    /// The steps of the other one.
    pub reverse: &'a [Step],
    /// Which change causes which action, on a way that has not begun.
    pub causes: &'a [Cause],
    /// The configuration this direction leads to.
    pub target: &'a Recorded,
    /// The configuration it comes from.
    pub leaving: &'a Recorded,
    /// Phases that were done before.
    pub done: &'a [Phase],
    /// The boot in which the transaction began; none when it has not.
    pub boot: Option<&'a BootMark>,
    /// What it does to the operating system, once that is settled.
    pub os: Option<&'a OsChange>,
}

/// What is made durable.
#[derive(Debug)]
pub enum Entry<'a, W> {
    /// A transaction begins.
    Begin {
        /// The transaction.
        open: &'a Open,
        /// Its way forward, with what it takes to come back.
        way: &'a W,
        /// Where it leads.
        next: &'a Recorded,
    },
    /// It has not begun after all.
    NotBegun,
    /// It heads back.
    TurnBack(&'a Open),
    /// A phase is done.
    Done(Direction, Phase),
    /// Only the restart is missing.
    Await(&'a Open),
    /// It has ended.
    Finish(&'a Finished),
    /// A configuration is not to be tried again by itself.
    GiveUp {
        /// The configuration.
        rejected: &'a Rejected,
        /// The digest of the image that came with it, where one did.
        digest: Option<String>,
    },
}
