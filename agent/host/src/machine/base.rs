//! What the machine was installed with: by the installer's own record, or by the earliest configuration that was known
//! when that record was found lost.
//!
//! Owns that the second is kept once and only where the first is of no use. It only serves a report.

use ostler_core::recorded::Recorded;

use super::Machine;
use super::observe::{read, recorded};
use super::place::{INSTALL_TIME, KEPT_BASE};
use super::prepare::TAG;
use crate::batch::{self, Batch, Write};
use crate::disk::{Attributes, Disk, RootPath};
use crate::transaction::Trouble;

const PRIVATE: Attributes = Attributes { mode: 0o600, uid: 0, gid: 0 };

/// The configuration, and whether it is the one that was kept. A damaged one is none.
pub(super) fn base(disk: &impl Disk) -> Result<(Option<Recorded>, bool), Trouble> {
    for (path, kept) in [(INSTALL_TIME, false), (KEPT_BASE, true)] {
        let found = read(disk, path)?.and_then(|text| recorded(text).ok()).filter(|found| !found.is_empty());
        if found.is_some() {
            return Ok((found, kept));
        }
    }
    Ok((None, false))
}

impl<D: Disk> Machine<'_, D> {
    /// Keeps a configuration as the one that the machine was installed with, unless there is one; says whether it did.
    pub fn keep_base(&self, config: &Recorded) -> Result<bool, Trouble> {
        self.journal.require_held()?;
        if base(self.disk)?.0.is_some() {
            return Ok(false);
        }
        let path = RootPath::new(KEPT_BASE).map_err(Trouble::path(KEPT_BASE))?;
        let (contents, xattrs) = (config.json.clone(), Default::default());
        let write = Write { path, contents, attributes: PRIVATE, label: None, xattrs };
        batch::apply(self.disk, &Batch { writes: vec![write], ..Batch::default() }, TAG)?;
        Ok(true)
    }
}
