//! The first boot as the machine remembers it: from its beginning until the machine is in its configuration, through the
//! restart in between.
//!
//! Owns our mark and the file that others tell a first boot by. The file goes before the restart, because others look
//! whether it is there early in the boot after it; the mark stays until all is done.

use ostler_core::protocol::FirstBoot;

use super::Machine;
use super::place::{ENCAPSULATED, ENCAPSULATED_DONE, FIRST_BOOT};
use super::prepare::TAG;
use crate::batch::{self, Batch, Write};
use crate::disk::{Attributes, Disk, RootPath};
use crate::transaction::Trouble;

const PRIVATE: Attributes = Attributes { mode: 0o600, uid: 0, gid: 0 };

/// Whether the first boot was begun and not ended.
pub fn is_first_boot(disk: &impl Disk) -> Result<bool, Trouble> {
    let path = RootPath::new(FIRST_BOOT).map_err(Trouble::path(FIRST_BOOT))?;
    Ok(disk.stat(&path).map_err(Trouble::disk("inspect", &path))?.is_some())
}

impl<D: Disk> Machine<'_, D> {
    /// Notes how far the first boot is.
    pub fn first_boot(&self, stage: FirstBoot) -> Result<(), Trouble> {
        self.journal.require_held()?;
        let path = RootPath::new(FIRST_BOOT).map_err(Trouble::path(FIRST_BOOT))?;
        if stage == FirstBoot::Begins {
            let (contents, xattrs) = Default::default();
            let write = Write { path, contents, attributes: PRIVATE, label: None, xattrs };
            batch::apply(self.disk, &Batch { writes: vec![write], ..Batch::default() }, TAG)?;
            return Ok(());
        }
        self.move_aside(ENCAPSULATED, ENCAPSULATED_DONE)?;
        if stage == FirstBoot::Ends && is_first_boot(self.disk)? {
            batch::apply(self.disk, &Batch { removals: vec![path], ..Batch::default() }, TAG)?;
        }
        Ok(())
    }
}
