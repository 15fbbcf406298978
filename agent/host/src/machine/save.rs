//! What a transaction makes durable, and in which order: a record is there before what relies on it.

use ostler_core::os::preflight::FailedTarget;
use ostler_core::reconcile::FORCE_FILE;
use ostler_core::secret::Secret;
use ostler_core::transaction::{Direction, Ending, Finished, Open, OrderedRestart, Phase, Purpose};
use serde::Serialize;

use super::prepare::Way;
use super::{Machine, progress};
use crate::disk::{Disk, RootPath};
use crate::journal::{Damage, Loaded, Slot, TextId};
use crate::transaction::{Entry, Trouble};

/// More failures than these say nothing more.
pub(super) const MOST_FAILED: usize = 16;

impl<D: Disk> Machine<'_, D> {
    pub(super) fn save_entry(&self, entry: Entry<'_, Way>) -> Result<(), Trouble> {
        match entry {
            Entry::Begin { open, way, next } => self.begin(open, way, &next.json),
            Entry::NotBegun => self.not_begun(),
            Entry::TurnBack(open) => self.turn_back(open),
            Entry::Await(open) => {
                if self.surroundings.live {
                    self.unlock_staged()?;
                }
                self.put(Slot::Plan, open)
            }
            Entry::Done(direction, phase) => self.note(direction, phase),
            Entry::Finish(finished) => self.finish(finished),
            Entry::GiveUp { rejected, digest } => self.give_up(rejected, digest),
        }
    }

    /// The plan comes last: it is what makes the transaction open. A text comes before the record that names it.
    fn begin(&self, open: &Open, way: &Way, next: &Secret<Vec<u8>>) -> Result<(), Trouble> {
        let lost = || Trouble::Lost { what: "origin" };
        let origin = way.origin.as_ref().ok_or_else(lost)?;
        self.journal.clear(Slot::Progress)?;
        let (config, next) = self.journal.keep_both(&origin.recorded.json, next)?;
        self.journal.save(Slot::Origin, &origin.encode(&config).ok_or_else(lost)?)?;
        self.journal.save(Slot::Next, &Secret::new(next.as_str().as_bytes().to_vec()))?;
        self.put(Slot::Plan, open)
    }

    fn not_begun(&self) -> Result<(), Trouble> {
        self.journal.clear(Slot::Plan)?;
        self.make_room();
        let _ = self.journal.clear(Slot::Origin);
        Ok(())
    }

    /// What brings a way to its turn is often a full disk, and then the turn finds no room either. What only the way
    /// forward needs gives way to it: whoever finds the plan without that turns back as well. The notes stay if they can,
    /// because they tell which services have heard of the change.
    fn turn_back(&self, open: &Open) -> Result<(), Trouble> {
        let turned = self.put(Slot::Plan, open).or_else(|_| {
            self.make_room();
            self.put(Slot::Plan, open)
        });
        turned.inspect(|()| {
            let _ = self.journal.clear(Slot::Next);
        })
    }

    /// Drops what a way back can do without; if it stays, only its room is missed.
    fn make_room(&self) {
        for slot in [Slot::Progress, Slot::Next] {
            let _ = self.journal.clear(slot);
        }
        let _ = self.sweep(None);
    }

    /// The text of the configuration that the machine is in at the end of the transaction.
    fn settled_text(&self, applied: bool) -> Result<Option<TextId>, Trouble> {
        if applied { self.next_text() } else { Ok(self.stored_origin(Slot::Origin)?.map(|stored| stored.config)) }
    }

    /// Removes the texts that no record names, but for one that the next transaction will need. Where a record cannot be
    /// read, all stay.
    fn sweep(&self, spared: Option<TextId>) -> Result<(), Trouble> {
        let mut named = Vec::from_iter(spared);
        for slot in [Slot::Origin, Slot::Next] {
            if matches!(self.journal.load(slot)?, Loaded::Damaged { why: Damage::Unreadable, .. }) {
                return Ok(());
            }
        }
        for slot in [Slot::Origin, Slot::Previous] {
            named.extend(self.stored_origin(slot)?.map(|stored| stored.config));
        }
        named.extend(self.next_text()?);
        self.journal.sweep(&named)
    }

    fn note(&self, direction: Direction, phase: Phase) -> Result<(), Trouble> {
        let Some(number) = progress::number(direction, phase) else { return Ok(()) };
        let mut completed = match self.journal.completed()? {
            Loaded::Intact(completed) => completed,
            Loaded::Absent | Loaded::Damaged { .. } => Default::default(),
        };
        self.journal.complete(&mut completed, number)
    }

    /// What a rollback needs is there before the transaction is closed.
    fn finish(&self, finished: &Finished) -> Result<(), Trouble> {
        let applied = matches!(finished.ending, Ending::Applied);
        if applied
            && finished.purpose != Purpose::Repair
            && let Loaded::Intact(origin) = self.journal.load(Slot::Origin)?
        {
            self.journal.save(Slot::Previous, &origin)?;
        }
        if !applied {
            self.make_room();
        }
        self.remember(applied)?;
        self.judge(finished)?;
        self.owe(finished)?;
        self.settle_hold(finished)?;
        self.settle_left(finished)?;
        self.put(Slot::Last, finished)?;
        if applied && finished.purpose == Purpose::Update {
            self.consume_force()?;
        }
        if applied && finished.purpose != Purpose::Repair && self.charge()?.is_some() {
            // From now on the configuration is our own work.
            self.journal.clear(Slot::Charge)?;
        }
        let settled = self.settled_text(applied);
        // A plan that was set aside keeps its transaction open.
        self.journal.remove_set_aside()?;
        self.journal.clear(Slot::Plan)?;
        // Of no use any more, and overwritten by the next one if they stay.
        for slot in [Slot::Progress, Slot::Origin, Slot::Next] {
            let _ = self.journal.clear(slot);
        }
        let _ = settled.and_then(|settled| self.sweep(settled));
        Ok(())
    }

    /// An operating system that was given up is remembered, and one that runs is not held against itself any more.
    fn remember(&self, applied: bool) -> Result<(), Trouble> {
        let Loaded::Intact(plan) = self.journal.load(Slot::Plan)? else { return Ok(()) };
        let Ok(Open { os: Some(change), to, reason, target_failed, .. }) = serde_json::from_slice(plan.expose()) else {
            return Ok(());
        };
        let Some(digest) = change.goal.digest.filter(|_| applied || target_failed) else { return Ok(()) };
        let mut failed = self.failed()?;
        let known = failed.len();
        failed.retain(|other| other.digest != digest);
        if target_failed && !applied {
            failed.insert(0, FailedTarget { config: Some(to), digest, reason: reason.unwrap_or_default() });
            failed.truncate(MOST_FAILED);
        } else if failed.len() == known {
            return Ok(());
        }
        self.put(Slot::Failed, &failed)
    }

    /// A restart is ordered: only another boot will prove that it happened.
    pub fn order_restart(&self, rationale: &str) -> Result<(), Trouble> {
        let (boot, ordered) = (self.surroundings.boot.clone(), (self.surroundings.now)());
        self.put(Slot::Restart, &OrderedRestart { boot, ordered, rationale: rationale.to_owned() })
    }

    /// Only now has the wish been fulfilled: an update that failed can be forced again.
    fn consume_force(&self) -> Result<(), Trouble> {
        let path = RootPath::new(FORCE_FILE).map_err(Trouble::path(FORCE_FILE))?;
        if self.disk.stat(&path).map_err(Trouble::disk("inspect", &path))?.is_some() {
            self.disk.remove(&path).map_err(Trouble::disk("remove", &path))?;
        }
        Ok(())
    }

    pub(super) fn put(&self, slot: Slot, record: &impl Serialize) -> Result<(), Trouble> {
        let payload = serde_json::to_vec(record).map_err(|_| Trouble::Lost { what: slot.name() })?;
        self.journal.save(slot, &Secret::new(payload))
    }
}
