//! The journal as others may read it while its owner writes: nothing is locked, moved or changed.

use std::io;

use super::completed::Completed;
use super::{JournalError, Loaded, Slot, TextId, name_in, read, set_aside, texts};
use crate::batch::{Failure, Operation};
use crate::disk::{Disk, RootPath};
use ostler_core::secret::Secret;

/// A journal to be looked at. Each record is whole, old or new; two of them may be of different moments.
#[derive(Debug)]
pub struct View<'d, D> {
    disk: &'d D,
    directory: RootPath,
}

impl<'d, D: Disk> View<'d, D> {
    /// Looks at the journal in a directory, which need not be there.
    pub fn new(disk: &'d D, directory: &RootPath) -> Self {
        Self { disk, directory: directory.clone() }
    }

    /// What a slot holds. A damaged record stays where it is, and that is where it is said to be.
    pub fn load(&self, slot: Slot) -> Result<Loaded<Secret<Vec<u8>>>, JournalError> {
        let path = name_in(&self.directory, slot.name())?;
        Ok(match read(self.disk, slot, &path)? {
            None => Loaded::Absent,
            Some(Ok(payload)) => Loaded::Intact(payload),
            Some(Err(why)) => Loaded::Damaged { aside: path, why },
        })
    }

    /// A text that a record names. A damaged one stays where it is, and that is where it is said to be.
    pub fn text(&self, id: &TextId) -> Result<Loaded<Secret<Vec<u8>>>, JournalError> {
        texts::look(self.disk, &self.directory, id)
    }

    /// The steps that are done.
    pub fn completed(&self) -> Result<Loaded<Completed>, JournalError> {
        Ok(match self.load(Slot::Progress)? {
            Loaded::Absent => Loaded::Absent,
            Loaded::Damaged { aside, why } => Loaded::Damaged { aside, why },
            Loaded::Intact(payload) => match Completed::decode(payload.expose()) {
                Ok(completed) => Loaded::Intact(completed),
                Err(why) => Loaded::Damaged { aside: name_in(&self.directory, Slot::Progress.name())?, why },
            },
        })
    }

    /// Damaged records that were moved out of the way.
    pub fn set_aside(&self) -> Result<Vec<RootPath>, JournalError> {
        set_aside(self.disk, &self.directory)
    }

    /// Whether another process has the journal open. The lock is held for a moment to find out.
    pub fn busy(&self) -> Result<bool, JournalError> {
        let path = name_in(&self.directory, super::LOCK)?;
        if self.disk.stat(&path).map_err(Failure::of(Operation::Inspect, &path))?.is_none() {
            return Ok(false);
        }
        match self.disk.lock(&path) {
            // Nobody is at work where nothing can be written, and the state is to be had there all the same.
            Err(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => Ok(false),
            lock => Ok(lock.map_err(Failure::of(Operation::Lock, &path))?.is_none()),
        }
    }
}
