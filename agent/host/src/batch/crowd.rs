//! What earlier runs left in directories that a batch writes many files into, found by one look into each.

use std::collections::{BTreeMap, BTreeSet};

use super::Batch;
use super::error::{BatchError, Failure, Operation};
use super::temporary::Tag;
use crate::disk::{Disk, Kind, RootPath};

/// From this many files on, listing their directory costs less than looking for each one's leftover.
const MANY: usize = 8;

/// Names of leftovers in the directories that were listed.
#[derive(Debug)]
pub(super) struct Crowd {
    listed: BTreeMap<RootPath, BTreeSet<String>>,
}

impl Crowd {
    /// Lists the directories of a batch that are worth it.
    pub(super) fn list(disk: &impl Disk, batch: &Batch, tag: Tag<'_>) -> Result<Self, BatchError> {
        let mut counts: BTreeMap<RootPath, usize> = BTreeMap::new();
        for directory in batch.made().filter_map(RootPath::parent) {
            *counts.entry(directory).or_default() += 1;
        }
        let mut listed = BTreeMap::new();
        for directory in counts.into_iter().filter(|(_, count)| *count >= MANY).map(|(directory, _)| directory) {
            let inspected = disk.stat(&directory).map_err(Failure::of(Operation::Inspect, &directory));
            if inspected.map_err(Failure::untouched)?.is_some_and(|stat| stat.kind == Kind::Directory) {
                let names = disk.list(&directory).map_err(Failure::of(Operation::List, &directory));
                let names = names.map_err(Failure::untouched)?;
                let left = names.iter().filter_map(|name| name.to_str()).filter(|name| tag.owns(name));
                listed.insert(directory.clone(), left.map(str::to_owned).collect());
            }
        }
        Ok(Self { listed })
    }

    /// Whether something may stand at a temporary's path: known in listed directories, possible in others.
    pub(super) fn may_hold(&self, temporary: &RootPath) -> bool {
        let names = temporary.parent().and_then(|directory| self.listed.get(&directory));
        names.is_none_or(|names| names.contains(temporary.name()))
    }
}
