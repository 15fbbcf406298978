//! What ostree's merge of `/etc` does to a configuration when another deployment is booted, and how it is put right.
//!
//! Every deployment has an `/etc` of its own, merged when it is finalised: what equals the old image's default counts as
//! unmodified and becomes the new image's. So after every change of the booted deployment, planned or not, the whole
//! configuration is compared with the machine, and not only what a plan changes.

mod conflict;
mod next;

use std::collections::BTreeSet;

use ostler_core::drift::{Difference, Subject};
use ostler_core::machine_config::MachineConfig;
use ostler_core::os::boot_mark::Restarted;
use ostler_core::os::state::Installed;
use ostler_core::step::Step;
use ostler_core::transaction::{Direction, Ending, Finished};
use serde::{Deserialize, Serialize};

use super::draft::{Action, Draft};
use super::origin::Origin;
use super::wanted::Wanted;
use super::{Machine, back, charge, drift};
use crate::disk::Disk;
use crate::journal::Slot;
use crate::transaction::{self, Journey, Listener, Trouble};

pub use next::{NextEtc, write_next};

/// The deployment whose `/etc` was last compared with the whole configuration.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Compared {
    stateroot: String,
    checksum: String,
    serial: u32,
}

impl Compared {
    fn of(booted: &Installed) -> Self {
        let Installed { stateroot, checksum, serial, .. } = booted.clone();
        Self { stateroot, checksum, serial }
    }
}

impl<D: Disk> Machine<'_, D> {
    /// The steps that put right what the merge changed of a journey's target, in a boot after the one it began in. Paths of
    /// its own steps are in them too.
    pub(super) fn merge_repairs(&self, journey: &Journey<'_>) -> Result<Vec<Step>, Trouble> {
        if journey.os.is_none() || self.restarted(journey) == Restarted::Nothing {
            return Ok(Vec::new());
        }
        match self.repairs_of(&journey.target.config) {
            // The way back ends without them; what differs then is drift.
            Err(_) if journey.direction == Direction::Back => Ok(Vec::new()),
            repairs => repairs,
        }
    }

    /// The steps that make the machine agree with a configuration. Drop-ins that somebody added are not the merge's.
    pub(super) fn repairs_of(&self, config: &MachineConfig) -> Result<Vec<Step>, Trouble> {
        let mut differs = self.drift_from(config)?;
        differs.retain(|drift| drift.difference != Difference::Extra);
        drift::repair_steps(config, &differs)
    }

    /// The way back. In another operating system than the old one nothing is written: its `/etc` is merged by the restart.
    pub(super) fn back(
        &self,
        journey: &Journey<'_>,
        origin: &Origin,
        repairs: &[Step],
        wanted: &Wanted<'_>,
    ) -> Result<Draft, Trouble> {
        if self.writes_after_restart(journey) {
            return Ok(Draft::default());
        }
        let mut draft = back::draft(self.disk, journey, origin, wanted)?;
        self.repair_back(&mut draft, repairs, wanted)?;
        Ok(draft)
    }

    /// Adds repairs to the way back. It has to end, so each of their paths is put right only if that is possible.
    fn repair_back(&self, draft: &mut Draft, repairs: &[Step], wanted: &Wanted<'_>) -> Result<(), Trouble> {
        let mut own = Draft::default();
        back::draft_steps(&mut own, self.disk, repairs, wanted)?;
        let touched: BTreeSet<_> = draft.write.paths().cloned().collect();
        let others = own.write.iter().filter(|(path, _)| !touched.contains(*path));
        let others: Vec<(_, Action)> = others.map(|(path, action)| (path.clone(), action.clone())).collect();
        others.into_iter().for_each(|(path, action)| draft.left.replace(path, action));
        draft.directories.extend(own.directories);
        let known: Vec<String> = draft.passwords.iter().map(|password| password.user.clone()).collect();
        draft.passwords.extend(own.passwords.into_iter().filter(|password| !known.contains(&password.user)));
        let known: Vec<String> = draft.enablement.iter().map(|enablement| enablement.unit.clone()).collect();
        draft.enablement.extend(own.enablement.into_iter().filter(|enablement| !known.contains(&enablement.unit)));
        draft.reloads |= own.reloads;
        Ok(())
    }

    /// Whether a way back waits for the old operating system before it writes anything: what stands in the new one's `/etc`
    /// is merged by the restart, and may be in the way of what the old configuration has there.
    fn writes_after_restart(&self, journey: &Journey<'_>) -> bool {
        let (Some(change), Some(host)) = (journey.os, self.surroundings.os.as_deref()) else { return false };
        if journey.direction == Direction::Forward || self.restarted(journey) == Restarted::Nothing {
            return false;
        }
        let booted = host.sysroot().read().ok().and_then(|state| state.booted);
        booted.is_some_and(|booted| change.check(Direction::Back, &booted).is_err())
    }

    /// Compares the whole configuration with a deployment that was not compared with it before, and repairs the machine.
    /// A path that cannot be repaired is left to the search for drift. `None` where there was nothing to do.
    pub fn repair_after_merge(&self, listener: Listener<'_>) -> Result<Option<Finished>, Trouble> {
        let Some(booted) = self.booted()? else { return Ok(None) };
        let compared = Compared::of(&booted);
        if self.record::<Compared>(Slot::Deployment)?.is_some_and(|known| known == compared) {
            return Ok(None);
        }
        let snapshot = transaction::settled(self)?;
        let config = &snapshot.current.config;
        if !charge::is_ours(&config.name, self.charge()?.as_ref(), self.last()?.as_ref()) {
            return Ok(None);
        }
        let steps = self.repairs_of(config)?;
        let finished = match transaction::propose_repair(snapshot, steps) {
            Some(proposal) => Some(transaction::run(self, &proposal, listener)?),
            None => None,
        };
        let whole = |finished: &Finished| finished.ending == Ending::Applied && finished.leftovers.is_empty();
        if finished.as_ref().is_none_or(whole) {
            self.put(Slot::Deployment, &compared)?;
        }
        Ok(finished)
    }

    fn booted(&self) -> Result<Option<Installed>, Trouble> {
        let Some(host) = self.surroundings.os.as_deref().filter(|_| self.surroundings.live) else { return Ok(None) };
        Ok(host.sysroot().read()?.booted)
    }
}

/// Whether a subject is below `/etc`, and so a part of what is merged.
fn is_merged(subject: &Subject) -> bool {
    subject.path().starts_with("/etc/")
}
