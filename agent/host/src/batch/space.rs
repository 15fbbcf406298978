//! Whether everything that is to be written fits, found before anything is.

use std::collections::BTreeMap;

use super::above::{Above, Stage};
use super::error::{BatchError, Failure, Operation};
use super::survey::Work;
use crate::disk::{Disk, Free, RootPath};

/// What files and directories take of most filesystems at a time.
const BLOCK: u64 = 4096;

/// What is asked of one filesystem.
struct Demand<'w> {
    first: &'w RootPath,
    needed: u64,
    free: u64,
}

/// Refuses work for which some filesystem has too little space. A little more than is left may still be refused by the
/// filesystem itself, which knows its own needs.
pub(super) fn check<D: Disk>(above: &Above<'_, '_, D>, work: &Work<'_>) -> Result<(), BatchError> {
    let targets = work.pending.iter().map(|pending| (pending.target.path(), pending.bytes()));
    let missing = work.directories.iter().filter(|directory| directory.stage == Stage::Missing);
    let mut known: BTreeMap<Option<RootPath>, Free> = BTreeMap::new();
    let mut demands: BTreeMap<u64, Demand<'_>> = BTreeMap::new();
    for (path, bytes) in targets.chain(missing.map(|directory| (&directory.path, BLOCK))) {
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
        let demand = demands.entry(free.filesystem).or_insert(Demand { first: path, needed: 0, free: free.bytes });
        demand.needed = demand.needed.saturating_add(bytes);
    }
    // Two directories of one filesystem may have been asked at different times; the first answer counts.
    match demands.into_values().find(|demand| demand.needed > demand.free) {
        Some(Demand { first, needed, free }) => Err(BatchError::Space { path: first.clone(), needed, free }),
        None => Ok(()),
    }
}

/// Bytes in whole blocks.
pub(super) fn blocks(bytes: u64) -> u64 {
    bytes.checked_next_multiple_of(BLOCK).unwrap_or(u64::MAX)
}
