//! Whether everything that is to be written fits, found before anything is.

use std::collections::BTreeMap;

use super::above::{Above, Stage};
use super::error::{BatchError, Failure, Operation};
use super::survey::Work;
use crate::disk::{Disk, Free, RootPath};

/// What files and directories take of most filesystems at a time.
const BLOCK: u64 = 4096;

/// What a file or directory takes of a filesystem.
#[derive(Clone, Copy)]
pub(super) struct Takes {
    pub(super) bytes: u64,
    /// Each name takes an inode, until the file that it replaces is gone.
    pub(super) files: u64,
}

/// What is asked of one filesystem.
struct Demand<'w> {
    first: &'w RootPath,
    bytes: u64,
    files: u64,
    free: Free,
}

impl Demand<'_> {
    fn refuse(&self) -> Result<(), BatchError> {
        let path = || self.first.clone();
        if self.bytes > self.free.bytes {
            return Err(BatchError::Space { path: path(), needed: self.bytes, free: self.free.bytes });
        }
        if self.files > self.free.files {
            return Err(BatchError::Files { path: path(), needed: self.files, free: self.free.files });
        }
        Ok(())
    }
}

/// Refuses work for which some filesystem has too little space. A little more than is left may still be refused by the
/// filesystem itself, which knows its own needs.
pub(super) fn check<D: Disk>(above: &Above<'_, '_, D>, work: &Work<'_>) -> Result<(), BatchError> {
    let targets = work.pending.iter().map(|pending| (pending.target.path(), pending.takes()));
    let missing = work.directories.iter().filter(|directory| directory.stage == Stage::Missing);
    let directories = missing.map(|directory| (&directory.path, Takes { bytes: BLOCK, files: 1 }));
    let markers = work.markers.iter().map(|marker| (marker, Takes { bytes: 0, files: 1 }));
    let mut known: BTreeMap<Option<RootPath>, Free> = BTreeMap::new();
    let mut demands: BTreeMap<u64, Demand<'_>> = BTreeMap::new();
    for (path, takes) in targets.chain(directories).chain(markers) {
        let directory = above.standing(path);
        let free = match known.get(&directory) {
            Some(free) => *free,
            None => {
                let inspected = above.disk.free(directory.as_ref()).map_err(Failure::of(Operation::Inspect, path));
                let free = inspected.map_err(Failure::untouched)?;
                known.insert(directory, free);
                free
            }
        };
        // Two directories of one filesystem may have been asked at different times; the first answer counts.
        let demand = demands.entry(free.filesystem).or_insert(Demand { first: path, bytes: 0, files: 0, free });
        demand.bytes = demand.bytes.saturating_add(takes.bytes);
        demand.files = demand.files.saturating_add(takes.files);
    }
    demands.values().try_for_each(Demand::refuse)
}

/// Bytes in whole blocks.
pub(super) fn blocks(bytes: u64) -> u64 {
    bytes.checked_next_multiple_of(BLOCK).unwrap_or(u64::MAX)
}
