//! Many files written and removed durably, each old or new as a whole and never between.
//!
//! Owns the order of operations that makes it so, and taking everything back when it fails early. Refuses to decide what
//! is written: a batch as a whole is not atomic, so whoever needs that applies it again, or its reverse, after a crash.

mod directories;
mod error;
mod survey;
mod temporary;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use ostler_core::secret::Secret;

pub use self::error::{BatchError, Operation, Refusal};
pub use self::temporary::sweep;
pub(crate) use self::{directories::MADE, error::Failure, temporary::remove_leftover};

use self::directories::{MARKER, Touched};
use self::survey::{Pending, Stage, Unfinished, Work, survey};
use self::temporary::Tag;
use crate::disk::{Attributes, Disk, RootPath};

/// Up to this many files are made durable one by one; beyond it the whole filesystem at once is cheaper.
const FEW: usize = 16;

/// Files to write and files to remove.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Files that are to have these contents and attributes.
    pub writes: Vec<Write>,
    /// Files and links that are not to be there.
    pub removals: Vec<RootPath>,
}

/// One file as it is to be.
#[derive(Clone, Debug)]
pub struct Write {
    /// Where it is.
    pub path: RootPath,
    /// What is in it.
    pub contents: Secret<Vec<u8>>,
    /// Its mode and owner.
    pub attributes: Attributes,
}

/// How much there was to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Files made or replaced.
    pub written: usize,
    /// Files that were already as they should be.
    pub unchanged: usize,
    /// Files removed; those that were not there do not count.
    pub removed: usize,
}

/// Makes the disk agree with the batch, durably. The same batch may be applied again after any interruption, with the
/// same tag, and then also removes what the interrupted run left behind.
///
/// Contents of unchanged files are not made durable again: whoever wrote them has to have done so, as this does.
pub fn apply(disk: &impl Disk, batch: &Batch, tag: &str) -> Result<Counts, BatchError> {
    let tag = Tag::new(tag)?;
    let work = survey(disk, batch, tag)?;
    let mut staged = Staged::default();
    if let Err(failure) = stage(disk, &work, &mut staged) {
        return Err(staged.undo(disk, failure));
    }
    let mut changed = 0;
    if let Err(failure) = publish(disk, &work, &mut changed) {
        if changed == 0 {
            return Err(staged.undo(disk, failure));
        }
        // Whatever cannot be removed now is removed by the run that repairs this.
        let _ = staged.clear(disk);
        return Err(failure.partial());
    }
    settle(disk, batch, &work, tag).map_err(Failure::partial)?;
    Ok(Counts { written: work.pending.len(), unchanged: work.idle.len(), removed: work.removals.len() })
}

/// What there is to take away again.
#[derive(Default)]
struct Staged<'w> {
    markers: Vec<&'w RootPath>,
    directories: Vec<&'w RootPath>,
    temporaries: Vec<&'w RootPath>,
}

impl Staged<'_> {
    fn undo(&self, disk: &impl Disk, failure: Failure) -> BatchError {
        match self.clear(disk) {
            None => failure.untouched(),
            Some(left) => failure.residue(left),
        }
    }

    /// Removes everything that can be, and gives the first that could not. Directories that hold a file by now stay, and
    /// markers do until it is durable that no directory has.
    fn clear(&self, disk: &impl Disk) -> Option<RootPath> {
        let temporaries = self.temporaries.iter().map(|path| (*path, disk.remove(path)));
        let mut left = first_left(temporaries);
        let directories = self.directories.iter().rev().map(|path| (*path, disk.remove_directory(path)));
        left = left.or(first_left(directories));
        if left.is_none() && !self.directories.is_empty() {
            let mut marked = Touched::default();
            self.markers.iter().for_each(|marker| marked.entered(marker));
            left = marked.settle(disk, "").err().and_then(|_| self.markers.first().map(|marker| (*marker).clone()));
        }
        left.or_else(|| first_left(self.markers.iter().map(|path| (*path, disk.remove(path)))))
    }
}

/// Goes through all removals; the first thing that is still there.
fn first_left<'w>(removals: impl Iterator<Item = (&'w RootPath, io::Result<()>)>) -> Option<RootPath> {
    removals.fold(None, |left, (path, removed)| match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => left.or_else(|| Some(path.clone())),
        _ => left,
    })
}

/// Everything up to the point where the first target changes.
fn stage<'w>(disk: &impl Disk, work: &'w Work<'_>, staged: &mut Staged<'w>) -> Result<(), Failure> {
    for leftover in work.idle.iter().chain(work.pending.iter().map(|pending| &pending.temporary)) {
        remove_leftover(disk, leftover)?;
    }
    make_directories(disk, work, staged)?;
    for Pending { write, temporary } in &work.pending {
        // Noted first: a write that fails half-way may leave its half.
        staged.temporaries.push(temporary);
        disk.create(temporary, write.contents.expose(), write.attributes)
            .map_err(Failure::of(Operation::Write, &write.path))?;
    }
    harden(disk, &work.pending)
}

fn make_directories<'w>(disk: &impl Disk, work: &'w Work<'_>, staged: &mut Staged<'w>) -> Result<(), Failure> {
    let mut marked = Touched::default();
    for marker in &work.markers {
        staged.markers.push(marker);
        if disk.stat(marker).map_err(Failure::of(Operation::Inspect, marker))?.is_none() {
            disk.create(marker, &[], MARKER).map_err(Failure::of(Operation::Write, marker))?;
        }
        marked.entered(marker);
    }
    marked.settle(disk, "")?;
    for Unfinished { path, stage } in &work.directories {
        let made = match stage {
            Stage::Missing => disk.make_directory(path, MADE),
            Stage::Bare => disk.set_attributes(path, MADE),
            Stage::Standing => Ok(()),
        };
        // Also when that failed half-way, and those that an earlier run made; but not what somebody else just did.
        if !made.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists) {
            staged.directories.push(path);
        }
        made.map_err(Failure::of(Operation::MakeDirectory, path))?;
    }
    Ok(())
}

/// Makes every name that changed durable. New directories come first, with their names: only then can a run that finds no
/// marker take them for durable.
fn settle(disk: &impl Disk, batch: &Batch, work: &Work<'_>, tag: Tag<'_>) -> Result<(), Failure> {
    let marker = tag.name(batch.writes.len());
    let mut touched = Touched::default();
    for directory in &work.directories {
        touched.directory(&directory.path);
        touched.entered(&directory.path);
    }
    touched.settle(disk, &marker)?;
    for marker in &work.markers {
        remove_leftover(disk, marker)?;
    }
    work.directories.iter().for_each(|directory| touched.present(&directory.path));
    batch.writes.iter().for_each(|write| touched.present(&write.path));
    batch.removals.iter().for_each(|path| touched.absent(path));
    work.directories.iter().for_each(|directory| touched.forget(&directory.path));
    touched.settle(disk, &marker)
}

fn harden(disk: &impl Disk, pending: &[Pending<'_>]) -> Result<(), Failure> {
    if pending.len() <= FEW {
        return pending.iter().try_for_each(|Pending { write, temporary }| {
            disk.sync(temporary).map_err(Failure::of(Operation::Sync, &write.path))
        });
    }
    // A directory lies on one filesystem, and its temporaries with it; what is below it may be mounted from elsewhere.
    let directories: BTreeMap<_, _> = pending.iter().map(|one| (one.temporary.parent(), &one.temporary)).collect();
    let mut filesystems = BTreeSet::new();
    for temporary in directories.into_values() {
        let filesystem = disk.filesystem(temporary).map_err(Failure::of(Operation::Inspect, temporary))?;
        if filesystems.insert(filesystem) {
            disk.sync_filesystem(temporary).map_err(Failure::of(Operation::Sync, temporary))?;
        }
    }
    Ok(())
}

fn publish(disk: &impl Disk, work: &Work<'_>, changed: &mut usize) -> Result<(), Failure> {
    for Pending { write, temporary } in &work.pending {
        disk.rename(temporary, &write.path).map_err(Failure::of(Operation::Replace, &write.path))?;
        *changed += 1;
    }
    for path in &work.removals {
        disk.remove(path).map_err(Failure::of(Operation::Remove, path))?;
        *changed += 1;
    }
    Ok(())
}
