//! The paths of a batch by themselves: what is refused without a look at the disk.

use std::collections::BTreeSet;

use super::error::{BatchError, Refusal, refused};
use super::temporary::PREFIX;
use super::{Batch, Link};
use crate::disk::RootPath;

/// Entries of all kinds that one batch may have.
const MAX_ENTRIES: usize = 200_000;
const MAX_TARGET: usize = 4095;

/// Refuses a batch that contradicts itself.
pub(super) fn check(batch: &Batch) -> Result<(), BatchError> {
    let counts = [batch.writes.len(), batch.links.len(), batch.removals.len(), batch.directories.len()];
    let count = counts.into_iter().fold(0, usize::saturating_add);
    if count > MAX_ENTRIES {
        return Err(BatchError::TooMany { count, most: MAX_ENTRIES });
    }
    let mut files = BTreeSet::new();
    let removals = batch.removals.iter();
    batch.made().chain(removals).try_for_each(|path| enter(&mut files, path))?;
    // A directory may be above others, but stands for nothing else.
    let mut all = files.clone();
    batch.directories.iter().try_for_each(|directory| enter(&mut all, &directory.path))?;
    batch.links.iter().try_for_each(check_target)?;
    match batch.above().find(|directory| files.contains(directory)) {
        Some(directory) => Err(refused(&directory, Refusal::Nested)),
        None => Ok(()),
    }
}

fn enter<'b>(known: &mut BTreeSet<&'b RootPath>, path: &'b RootPath) -> Result<(), BatchError> {
    if path.name().starts_with(PREFIX) {
        return Err(refused(path, Refusal::Reserved));
    }
    if !known.insert(path) {
        return Err(refused(path, Refusal::Repeated));
    }
    Ok(())
}

fn check_target(Link { path, target }: &Link) -> Result<(), BatchError> {
    if target.is_empty() || target.len() > MAX_TARGET || target.contains('\0') {
        return Err(refused(path, Refusal::Target));
    }
    Ok(())
}
