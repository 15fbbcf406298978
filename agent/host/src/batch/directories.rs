//! Directories whose names have changed, made durable.

use std::collections::BTreeMap;
use std::io;

use super::error::{Failure, Operation};
use crate::disk::{Attributes, Disk, Kind, RootPath};

/// What directories get that had to be made for a file below them.
pub(crate) const MADE: Attributes = Attributes { mode: 0o755, uid: 0, gid: 0 };

/// Up to this many directories of a filesystem are made durable one by one; each may cost as much as the whole.
pub(super) const FEW_DIRECTORIES: usize = 4;

/// Directories whose names are to be made durable; `None` is the root directory.
#[derive(Debug, Default)]
pub(super) struct Touched {
    changed: BTreeMap<Option<RootPath>, Reason>,
}

#[derive(Debug)]
struct Reason {
    /// Something in the directory, by which to name the root.
    entry: RootPath,
    /// Whether the directory has to be there.
    expected: bool,
}

impl Touched {
    /// Notes that a file or directory has, or may have, a new name. The directories above it are noted too: a run that
    /// was killed may have removed a marker from them, and this run cannot tell.
    pub(super) fn present(&mut self, path: &RootPath) {
        let mut entry = path.clone();
        while let Some(directory) = entry.parent() {
            self.note(Some(directory.clone()), &entry, true);
            entry = directory;
        }
        self.note(None, &entry, true);
    }

    /// Notes a file or directory that has a new name in a directory that is not new.
    pub(super) fn entered(&mut self, path: &RootPath) {
        self.note(path.parent(), path, true);
    }

    /// Notes a directory itself.
    pub(super) fn directory(&mut self, path: &RootPath) {
        self.note(Some(path.clone()), path, true);
    }

    /// Notes a path whose name is gone, perhaps with its directory.
    pub(super) fn absent(&mut self, path: &RootPath) {
        self.note(path.parent(), path, false);
    }

    /// Forgets a directory that is durable already.
    pub(super) fn forget(&mut self, path: &RootPath) {
        self.changed.remove(&Some(path.clone()));
    }

    fn note(&mut self, directory: Option<RootPath>, entry: &RootPath, expected: bool) {
        let reason = self.changed.entry(directory).or_insert_with(|| Reason { entry: entry.clone(), expected });
        reason.expected |= expected;
    }

    /// Makes all of them durable.
    pub(super) fn settle(&self, disk: &impl Disk) -> Result<(), Failure> {
        if self.changed.len() <= FEW_DIRECTORIES {
            return self.changed.iter().try_for_each(|(directory, reason)| reason.sync(disk, directory.as_ref()));
        }
        let mut filesystems: BTreeMap<u64, Vec<_>> = BTreeMap::new();
        for (directory, reason) in &self.changed {
            let free = disk.free(directory.as_ref()).map(Some);
            if let Some(free) = reason.judge(Operation::Inspect, directory.as_ref(), free)? {
                filesystems.entry(free.filesystem).or_default().push((directory.as_ref(), reason));
            }
        }
        filesystems.values().try_for_each(|directories| settle_filesystem(disk, directories))
    }
}

impl Reason {
    fn sync(&self, disk: &impl Disk, directory: Option<&RootPath>) -> Result<(), Failure> {
        let synced = disk.sync_directory(directory).map(Some);
        self.judge(Operation::Sync, directory, synced).map(drop)
    }

    /// Takes a directory that is not there for nothing to do, unless it has to be.
    fn judge<T>(
        &self,
        operation: Operation,
        directory: Option<&RootPath>,
        outcome: io::Result<Option<T>>,
    ) -> Result<Option<T>, Failure> {
        let gone = |error: &io::Error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
        match outcome {
            Err(error) if !self.expected && gone(&error) => Ok(None),
            outcome => outcome.map_err(Failure::of(operation, directory.unwrap_or(&self.entry))),
        }
    }
}

fn settle_filesystem(disk: &impl Disk, directories: &[(Option<&RootPath>, &Reason)]) -> Result<(), Failure> {
    if directories.len() > FEW_DIRECTORIES {
        // A link stands on another filesystem, maybe, than the directory it leads to.
        for path in directories.iter().filter_map(|(directory, _)| *directory) {
            let stat = disk.stat(path).map_err(Failure::of(Operation::Inspect, path))?;
            if stat.is_some_and(|stat| stat.kind == Kind::Directory) {
                return disk.sync_filesystem(path).map_err(Failure::of(Operation::Sync, path));
            }
        }
    }
    directories.iter().try_for_each(|(directory, reason)| reason.sync(disk, *directory))
}
