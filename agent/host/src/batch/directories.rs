//! Directories of a batch: made where they are missing, and made durable when their names have changed.

use std::collections::BTreeMap;
use std::io;

use super::error::{Failure, Operation};
use super::temporary::remove_leftover;
use crate::disk::{Attributes, Disk, Kind, RootPath};

/// What directories get that had to be made for a file below them.
pub(crate) const MADE: Attributes = Attributes { mode: 0o755, uid: 0, gid: 0 };

/// What files get that only mark something.
pub(super) const MARKER: Attributes = Attributes { mode: 0o600, uid: 0, gid: 0 };

/// Directories whose names are to be made durable; `None` is the root directory.
#[derive(Debug, Default)]
pub(super) struct Touched {
    /// With an entry that stands in it, where one is known.
    changed: BTreeMap<Option<RootPath>, Option<RootPath>>,
}

impl Touched {
    /// Notes that a file or directory has, or may have, a new name. The directories above it are noted too: a run that
    /// was killed may have removed a marker from them, and this run cannot tell.
    pub(super) fn present(&mut self, path: &RootPath) {
        self.entered(path);
        for ancestor in path.ancestors() {
            let Some(above) = ancestor.parent() else { continue };
            self.changed.entry(Some(above)).or_insert_with(|| Some(ancestor));
        }
    }

    /// Notes a file or directory that has a new name in a directory that is not new.
    pub(super) fn entered(&mut self, path: &RootPath) {
        self.changed.insert(path.parent(), Some(path.clone()));
    }

    /// Notes a directory itself.
    pub(super) fn directory(&mut self, path: &RootPath) {
        self.changed.entry(Some(path.clone())).or_default();
    }

    /// Forgets a directory that is durable already.
    pub(super) fn forget(&mut self, path: &RootPath) {
        self.changed.remove(&Some(path.clone()));
    }

    /// Notes a path whose name is gone.
    pub(super) fn absent(&mut self, path: &RootPath) {
        self.changed.entry(path.parent()).or_default();
    }

    /// Makes all of them durable, each once. `marker` names a file that may be made where there is no other way.
    pub(super) fn settle(&self, disk: &impl Disk, marker: &str) -> Result<(), Failure> {
        for (directory, entry) in &self.changed {
            settle(disk, directory.as_ref(), entry.as_ref(), marker)?;
        }
        Ok(())
    }
}

/// The root directory has no path, and a link cannot be synced in place of the directory it leads to: both are reached
/// through something that stands in them.
fn settle(
    disk: &impl Disk,
    directory: Option<&RootPath>,
    entry: Option<&RootPath>,
    marker: &str,
) -> Result<(), Failure> {
    if let Some(directory) = directory {
        match disk.stat(directory).map_err(Failure::of(Operation::Inspect, directory))?.map(|stat| stat.kind) {
            Some(Kind::Directory) => return disk.sync(directory).map_err(Failure::of(Operation::Sync, directory)),
            Some(Kind::Link) => {}
            _ => return Ok(()),
        }
    }
    if let Some(entry) = entry {
        return disk.sync_filesystem(entry).map_err(Failure::of(Operation::Sync, entry));
    }
    let marker = match directory {
        Some(directory) => directory.join(marker),
        None => RootPath::new(format!("/{marker}")),
    };
    // The survey has refused paths that leave no room for a marker.
    let Ok(marker) = marker else { return Ok(()) };
    through_marker(disk, &marker)
}

fn through_marker(disk: &impl Disk, marker: &RootPath) -> Result<(), Failure> {
    remove_leftover(disk, marker)?;
    match disk.create(marker, &[], MARKER) {
        // A link that leads nowhere: nothing can have been removed behind it.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Ok(()),
        created => created.map_err(Failure::of(Operation::Write, marker))?,
    }
    let synced = disk.sync_filesystem(marker).map_err(Failure::of(Operation::Sync, marker));
    disk.remove(marker).map_err(Failure::of(Operation::Remove, marker))?;
    synced
}
