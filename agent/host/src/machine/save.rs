//! What a transaction makes durable, and in which order: a record is there before what relies on it.

use ostler_core::reconcile::FORCE_FILE;
use ostler_core::secret::Secret;
use ostler_core::transaction::{Direction, Ending, Finished, Open, Phase, Purpose};
use serde::Serialize;

use super::prepare::Way;
use super::{Machine, progress};
use crate::disk::{Disk, RootPath};
use crate::journal::{Loaded, Slot};
use crate::transaction::{Entry, Trouble};

impl<D: Disk> Machine<'_, D> {
    pub(super) fn save_entry(&self, entry: Entry<'_, Way>) -> Result<(), Trouble> {
        match entry {
            Entry::Begin { open, way, next } => self.begin(open, way, &next.json),
            Entry::Abandon => self.abandon(),
            Entry::TurnBack(open) => self.turn_back(open),
            Entry::Done(direction, phase) => self.note(direction, phase),
            Entry::Finish(finished) => self.finish(finished),
        }
    }

    /// The plan comes last: it is what makes the transaction open.
    fn begin(&self, open: &Open, way: &Way, next: &Secret<Vec<u8>>) -> Result<(), Trouble> {
        let origin = way.origin.as_ref().and_then(super::origin::Origin::encode);
        self.journal.clear(Slot::Progress)?;
        self.journal.save(Slot::Origin, &origin.ok_or(Trouble::Lost { what: "origin" })?)?;
        self.journal.save(Slot::Next, next)?;
        self.put(Slot::Plan, open)
    }

    fn abandon(&self) -> Result<(), Trouble> {
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
        self.put(Slot::Last, finished)?;
        if applied && finished.purpose == Purpose::Update {
            self.consume_force()?;
        }
        self.journal.clear(Slot::Plan)?;
        // Of no use any more, and overwritten by the next one if they stay.
        for slot in [Slot::Progress, Slot::Origin, Slot::Next] {
            let _ = self.journal.clear(slot);
        }
        Ok(())
    }

    /// Only now has the wish been fulfilled: an update that failed can be forced again.
    fn consume_force(&self) -> Result<(), Trouble> {
        let path = RootPath::new(FORCE_FILE).map_err(Trouble::path(FORCE_FILE))?;
        if self.disk.stat(&path).map_err(Trouble::disk("inspect", &path))?.is_some() {
            self.disk.remove(&path).map_err(Trouble::disk("remove", &path))?;
        }
        Ok(())
    }

    fn put(&self, slot: Slot, record: &impl Serialize) -> Result<(), Trouble> {
        let payload = serde_json::to_vec(record).map_err(|_| Trouble::Lost { what: slot.name() })?;
        self.journal.save(slot, &Secret::new(payload))
    }
}
