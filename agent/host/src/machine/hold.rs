//! The hold that a person's rollback leaves: asked for before the rollback, so that whoever finishes it honours it.

use ostler_core::rollback::RollbackHold;
use ostler_core::transaction::{Direction, Ending, Finished, Purpose};

use super::Machine;
use crate::disk::Disk;
use crate::journal::Slot;
use crate::transaction::{Interrupted, Trouble, World};

impl<D: Disk> Machine<'_, D> {
    /// Records that a person wants the configuration before the current one. To go back to the configuration that an
    /// earlier rollback has left releases that one's hold, and leaves none.
    pub fn hold_rollback(&self, desired: Option<String>) -> Result<Option<RollbackHold>, Trouble> {
        let (from, to) = self.way_back()?;
        if self.rollback_hold()?.is_some_and(|hold| hold.from == to) {
            self.journal.clear(Slot::Hold)?;
            return Ok(None);
        }
        let desired = desired.filter(|desired| *desired != from);
        let hold = RollbackHold { from, to, desired, since: (self.surroundings.now)() };
        self.put(Slot::Hold, &hold)?;
        Ok(Some(hold))
    }

    /// Releases the hold; gives the one there was.
    pub fn release_rollback(&self) -> Result<Option<RollbackHold>, Trouble> {
        let hold = self.rollback_hold()?;
        self.journal.clear(Slot::Hold)?;
        Ok(hold)
    }

    /// Whether the machine is where the hold keeps it: another rollback would lead forward again.
    pub fn is_rolled_back(&self) -> Result<bool, Trouble> {
        let current = self.observe()?.current.config.name.clone();
        Ok(self.rollback_hold()?.is_some_and(|hold| hold.is_reached(Some(&current))))
    }

    /// What a rollback leaves now, and where it leads. A change that only waits for its restart is taken back instead.
    fn way_back(&self) -> Result<(String, String), Trouble> {
        let snapshot = self.observe()?;
        match snapshot.interrupted {
            Some(Interrupted { open, .. })
                if open.direction == Direction::Forward && open.awaits_restart(&self.boot()) =>
            {
                Ok((open.to, open.from))
            }
            Some(Interrupted { open, .. }) => Err(Trouble::Interrupted { from: open.from, to: open.to }),
            None => {
                let previous = self.previous()?.ok_or(Trouble::NoPrevious)?;
                Ok((snapshot.current.config.name.clone(), previous.config.name.clone()))
            }
        }
    }

    fn rollback_hold(&self) -> Result<Option<RollbackHold>, Trouble> {
        self.record(Slot::Hold)
    }

    /// Another configuration that was applied releases the hold; a rollback that failed would be tried again for ever.
    pub(super) fn settle_hold(&self, finished: &Finished) -> Result<(), Trouble> {
        let Some(hold) = self.rollback_hold()? else { return Ok(()) };
        let released = match (finished.purpose, &finished.ending) {
            (Purpose::Update, Ending::Applied) => finished.to != hold.to,
            (Purpose::Rollback, Ending::Undone { .. } | Ending::Abandoned { .. }) => true,
            (Purpose::Update | Purpose::Rollback | Purpose::Repair, _) => false,
        };
        if released { Ok(self.journal.clear(Slot::Hold)?) } else { Ok(()) }
    }
}
