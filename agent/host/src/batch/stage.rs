//! The doing: what order makes each file old or new as a whole, and how everything is taken back before the first is.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::Batch;
use super::above::{Stage, Unfinished};
use super::directories::Touched;
use super::error::{BatchError, Failure, Operation};
use super::survey::{Pending, Target, Work};
use super::temporary::remove_leftover;
use crate::disk::{Attributes, Disk, RootPath};

/// Up to this many files are made durable one by one; beyond it the whole filesystem at once is cheaper.
pub(super) const FEW: usize = 16;

/// What files get that only mark something.
const MARKER: Attributes = Attributes { mode: 0o600, uid: 0, gid: 0 };

/// What there is to take away again.
#[derive(Default)]
pub(super) struct Staged<'w> {
    markers: Vec<&'w RootPath>,
    directories: Vec<&'w RootPath>,
    temporaries: Vec<&'w RootPath>,
}

impl Staged<'_> {
    /// Takes everything away after a failure that left all targets as they were.
    pub(super) fn undo(&self, disk: &impl Disk, failure: Failure) -> BatchError {
        match self.clear(disk) {
            None => failure.untouched(),
            Some(left) => failure.residue(left),
        }
    }

    /// Removes everything that can be, and gives the first that could not. Directories that hold a file by now stay, and
    /// markers do until it is durable that no directory has.
    pub(super) fn clear(&self, disk: &impl Disk) -> Option<RootPath> {
        let temporaries = self.temporaries.iter().map(|path| (*path, disk.remove(path)));
        let mut left = first_left(temporaries);
        let directories = self.directories.iter().rev().map(|path| (*path, disk.remove_directory(path)));
        left = left.or(first_left(directories));
        if left.is_none() && !self.directories.is_empty() {
            let mut marked = Touched::default();
            self.markers.iter().for_each(|marker| marked.entered(marker));
            left = marked.settle(disk).err().and_then(|_| self.markers.first().map(|marker| (*marker).clone()));
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
pub(super) fn stage<'w>(disk: &impl Disk, work: &'w Work<'_>, staged: &mut Staged<'w>) -> Result<(), Failure> {
    for leftover in &work.stale {
        let in_the_way = || work.pending.iter().any(|pending| pending.temporary == *leftover);
        match disk.remove(leftover) {
            Err(_) if !in_the_way() => {}
            removed => removed.map_err(Failure::of(Operation::Remove, leftover))?,
        }
    }
    make_directories(disk, work, staged)?;
    Pending::each(disk, &work.pending, |disk, Pending { target, temporary, .. }| {
        // Noted first: a write that fails half-way may leave its half.
        staged.temporaries.push(temporary);
        write(disk, *target, temporary)
    })?;
    harden(disk, &work.pending)
}

fn write(disk: &impl Disk, target: Target<'_>, temporary: &RootPath) -> Result<(), Failure> {
    match target {
        Target::Link(link) => disk.link(temporary, &link.target).map_err(Failure::of(Operation::Write, &link.path)),
        Target::File(write) => {
            let made = disk.create(temporary, write.contents.expose(), write.attributes);
            made.map_err(Failure::of(Operation::Write, &write.path))?;
            if !write.xattrs.is_empty() {
                disk.set_xattrs(temporary, &write.xattrs).map_err(Failure::of(Operation::Write, &write.path))?;
            }
            label(disk, temporary, write.label.as_deref(), &write.path)
        }
    }
}

fn label(disk: &impl Disk, path: &RootPath, label: Option<&str>, named: &RootPath) -> Result<(), Failure> {
    let labelled = label.map_or(Ok(()), |label| disk.set_label(path, label));
    labelled.map_err(Failure::of(Operation::Label, named))
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
    marked.settle(disk)?;
    for Unfinished { path, stage, attributes, label: wanted } in &work.directories {
        let made = match stage {
            Stage::Missing => disk.make_directory(path, *attributes),
            Stage::Bare => disk.set_attributes(path, *attributes),
            Stage::Standing => Ok(()),
        };
        // Also when that failed half-way, and those that an earlier run made; but not what somebody else just did.
        if !made.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists) {
            staged.directories.push(path);
        }
        made.map_err(Failure::of(Operation::MakeDirectory, path))?;
        if *stage != Stage::Standing {
            label(disk, path, *wanted, path)?;
        }
    }
    Ok(())
}

/// Makes contents durable. A link's target is so with its name.
fn harden(disk: &impl Disk, pending: &[Pending<'_>]) -> Result<(), Failure> {
    let files = || pending.iter().filter(|pending| matches!(pending.target, Target::File(_)));
    if files().count() <= FEW {
        return Pending::each(disk, pending, |disk, Pending { target, temporary, .. }| match target {
            Target::File(_) => disk.sync(temporary).map_err(Failure::of(Operation::Sync, target.path())),
            Target::Link(_) => Ok(()),
        });
    }
    // A directory lies on one filesystem, and its temporaries with it; what is below it may be mounted from elsewhere.
    let directories: BTreeMap<_, _> = files().map(|one| (one.temporary.parent(), &one.temporary)).collect();
    let mut filesystems = BTreeSet::new();
    for temporary in directories.into_values() {
        let filesystem = disk.filesystem(temporary).map_err(Failure::of(Operation::Inspect, temporary))?;
        if filesystems.insert(filesystem) {
            disk.sync_filesystem(temporary).map_err(Failure::of(Operation::Sync, temporary))?;
        }
    }
    Ok(())
}

/// Gives everything its final name, and takes names away; counts what it did.
pub(super) fn publish(disk: &impl Disk, work: &Work<'_>, changed: &mut usize) -> Result<(), Failure> {
    Pending::each(disk, &work.pending, |disk, Pending { target, temporary, .. }| {
        disk.rename(temporary, target.path()).map_err(Failure::of(Operation::Replace, target.path()))?;
        *changed += 1;
        Ok(())
    })?;
    for path in &work.removals {
        disk.remove(path).map_err(Failure::of(Operation::Remove, path))?;
        *changed += 1;
    }
    Ok(())
}

/// Makes every name that changed durable. New directories come first, with their names: only then can a run that finds no
/// marker take them for durable.
pub(super) fn settle(disk: &impl Disk, batch: &Batch, work: &Work<'_>) -> Result<(), Failure> {
    let mut made = Touched::default();
    for directory in &work.directories {
        made.directory(&directory.path);
        made.entered(&directory.path);
    }
    made.settle(disk)?;
    for marker in &work.markers {
        remove_leftover(disk, marker)?;
    }
    let mut touched = Touched::default();
    batch.made().for_each(|path| touched.present(path));
    batch.directories.iter().for_each(|directory| touched.present(&directory.path));
    batch.removals.iter().for_each(|path| touched.absent(path));
    work.directories.iter().for_each(|directory| touched.forget(&directory.path));
    touched.settle(disk)
}
