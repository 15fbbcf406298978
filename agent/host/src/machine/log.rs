//! The journal as a machine has it: to write, or to look at.

use ostler_core::secret::Secret;

use crate::disk::{Disk, RootPath};
use crate::journal::{ASIDE, Completed, DEFAULT_DIRECTORY, Journal, JournalError, Loaded, Slot, TextId, View};
use crate::transaction::Trouble;

/// A journal that is held, or one that is only looked at.
pub(super) enum Log<'d, D: Disk> {
    Held(Journal<'d, D>),
    Seen(View<'d, D>),
}

pub(super) fn directory() -> Result<RootPath, Trouble> {
    RootPath::new(DEFAULT_DIRECTORY).map_err(Trouble::path(DEFAULT_DIRECTORY))
}

impl<'d, D: Disk> Log<'d, D> {
    pub(super) fn open(disk: &'d D) -> Result<Self, Trouble> {
        Ok(Self::Held(Journal::open(disk, &directory()?)?))
    }

    /// Somebody else may be in the middle of writing, and then there is nothing to be seen that would last.
    pub(super) fn look(disk: &'d D) -> Result<Self, Trouble> {
        let directory = directory()?;
        let view = View::new(disk, &directory);
        if view.busy()? {
            return Err(JournalError::Busy { path: directory }.into());
        }
        Ok(Self::Seen(view))
    }

    pub(super) fn load(&self, slot: Slot) -> Result<Loaded<Secret<Vec<u8>>>, JournalError> {
        match self {
            Self::Held(journal) => journal.load(slot),
            Self::Seen(view) => view.load(slot),
        }
    }

    pub(super) fn text(&self, id: &TextId) -> Result<Loaded<Secret<Vec<u8>>>, JournalError> {
        match self {
            Self::Held(journal) => journal.text(id),
            Self::Seen(view) => view.text(id),
        }
    }

    pub(super) fn completed(&self) -> Result<Loaded<Completed>, JournalError> {
        match self {
            Self::Held(journal) => journal.completed(),
            Self::Seen(view) => view.completed(),
        }
    }

    pub(super) fn save(&self, slot: Slot, payload: &Secret<Vec<u8>>) -> Result<(), Trouble> {
        Ok(self.held()?.save(slot, payload)?)
    }

    pub(super) fn keep_both(
        &self,
        text: &Secret<Vec<u8>>,
        alike: &Secret<Vec<u8>>,
    ) -> Result<(TextId, TextId), Trouble> {
        Ok(self.held()?.keep_both(text, alike)?)
    }

    pub(super) fn sweep(&self, spared: &[TextId]) -> Result<(), Trouble> {
        Ok(self.held()?.sweep(spared)?)
    }

    pub(super) fn clear(&self, slot: Slot) -> Result<(), Trouble> {
        Ok(self.held()?.clear(slot)?)
    }

    pub(super) fn complete(&self, completed: &mut Completed, number: u32) -> Result<(), Trouble> {
        Ok(self.held()?.complete(completed, number)?)
    }

    /// Whether a damaged record of a slot was moved out of the way.
    pub(super) fn is_set_aside(&self, slot: Slot) -> Result<bool, Trouble> {
        let found = match self {
            Self::Held(journal) => journal.set_aside()?,
            Self::Seen(view) => view.set_aside()?,
        };
        let damaged = |name: &str| name.strip_prefix(slot.name()).is_some_and(|rest| rest.starts_with(ASIDE));
        Ok(found.iter().any(|path| damaged(path.name())))
    }

    pub(super) fn remove_set_aside(&self) -> Result<(), Trouble> {
        Ok(self.held()?.remove_set_aside()?)
    }

    /// Refuses where it is only looked at.
    pub(super) fn require_held(&self) -> Result<(), Trouble> {
        self.held().map(drop)
    }

    fn held(&self) -> Result<&Journal<'d, D>, Trouble> {
        match self {
            Self::Held(journal) => Ok(journal),
            Self::Seen(_) => Err(Trouble::OnlyLooking),
        }
    }
}
