//! What a batch will have to do, found without changing anything: every refusal happens here.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::error::{BatchError, Failure, Operation, Refusal};
use super::temporary::{PREFIX, Tag};
use super::{Batch, Write};
use crate::disk::{Disk, Kind, RootPath, Stat};

/// Files, written and removed, that one batch may have.
const MAX_FILES: usize = 100_000;

/// What is left to do for a batch on this disk.
#[derive(Debug)]
pub(super) struct Work<'b> {
    /// Directories that are not known to be made, outermost first.
    pub(super) directories: Vec<Unfinished>,
    /// Markers of directories that are to be made; see [`Unfinished`].
    pub(super) markers: Vec<RootPath>,
    /// Files that differ from what they should be.
    pub(super) pending: Vec<Pending<'b>>,
    /// Temporaries of files that are already as they should be, in case an earlier run left one.
    pub(super) idle: Vec<RootPath>,
    /// Files to remove that are there.
    pub(super) removals: Vec<&'b RootPath>,
}

/// A directory that a run has to make, or began to make when it was cut off.
///
/// Making one is a name first and attributes later, and a crash between the two leaves a directory nobody else can enter.
/// What stands there then is not told from somebody's private directory by its looks; so beside the outermost of them a
/// marker is durable before, and until after, the directories are.
#[derive(Debug)]
pub(super) struct Unfinished {
    pub(super) path: RootPath,
    pub(super) stage: Stage,
}

/// How far a directory has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Not there.
    Missing,
    /// There, without its attributes.
    Bare,
    /// There with attributes, of which it is not known that they are durable.
    Standing,
}

/// A file to write, and where it is written first.
#[derive(Debug)]
pub(super) struct Pending<'b> {
    pub(super) write: &'b Write,
    pub(super) temporary: RootPath,
}

/// Checks a batch against the disk.
pub(super) fn survey<'b>(disk: &impl Disk, batch: &'b Batch, tag: Tag<'_>) -> Result<Work<'b>, BatchError> {
    check_names(batch)?;
    let mut above = Above { disk, tag, first: batch.writes.len() + 1, seen: BTreeMap::new() };
    above.survey(batch)?;
    let (directories, markers) = above.unfinished();
    let mut work = Work { directories, markers, pending: Vec::new(), idle: Vec::new(), removals: Vec::new() };
    for (number, write) in batch.writes.iter().enumerate() {
        let temporary = beside(&write.path, &tag.name(number))?;
        let standing = look(disk, &write.path)?;
        if let Some(stat) = standing
            && same(disk, write, stat)?
        {
            work.idle.push(temporary);
        } else {
            work.pending.push(Pending { write, temporary });
        }
    }
    for path in &batch.removals {
        beside(path, &tag.name(usize::MAX))?;
        if look(disk, path)?.is_some() {
            work.removals.push(path);
        }
    }
    Ok(work)
}

fn refused(path: &RootPath, why: Refusal) -> BatchError {
    BatchError::Refused { path: path.clone(), why }
}

fn beside(path: &RootPath, name: &str) -> Result<RootPath, BatchError> {
    path.beside(name).map_err(|_| refused(path, Refusal::TooLong))
}

fn check_names(batch: &Batch) -> Result<(), BatchError> {
    let count = batch.writes.len().saturating_add(batch.removals.len());
    if count > MAX_FILES {
        return Err(BatchError::TooMany { count, most: MAX_FILES });
    }
    let mut files = BTreeSet::new();
    for path in batch.writes.iter().map(|write| &write.path).chain(&batch.removals) {
        if path.name().starts_with(PREFIX) {
            return Err(refused(path, Refusal::Reserved));
        }
        if !files.insert(path) {
            return Err(refused(path, Refusal::Repeated));
        }
    }
    let mut directories = batch.writes.iter().flat_map(|write| write.path.ancestors());
    match directories.find(|directory| files.contains(directory)) {
        Some(directory) => Err(refused(&directory, Refusal::Nested)),
        None => Ok(()),
    }
}

/// Directories above the targets, each looked at once.
struct Above<'d, 't, D> {
    disk: &'d D,
    tag: Tag<'t>,
    /// The first number for markers: the same batch gives each directory the same one again.
    first: usize,
    seen: BTreeMap<RootPath, Seen>,
}

/// What is known of a directory.
#[derive(Clone)]
struct Seen {
    stat: Option<Stat>,
    /// The marker of the outermost unfinished directory that this is, or is in.
    marker: Option<RootPath>,
}

/// How a directory looks between its making and its getting attributes.
const BORN: u32 = 0o700;

impl<D: Disk> Above<'_, '_, D> {
    fn survey(&mut self, batch: &Batch) -> Result<(), BatchError> {
        let all: BTreeSet<RootPath> = batch.writes.iter().flat_map(|write| write.path.ancestors()).collect();
        // A directory sorts before what is in it.
        for (number, directory) in all.into_iter().enumerate() {
            let above = directory.parent().and_then(|parent| self.seen.get(&parent)).cloned();
            let stat = match &above {
                Some(Seen { stat: None, .. }) => None,
                _ => self.look(&directory)?,
            };
            let marker = match above.and_then(|above| above.marker) {
                Some(marker) => Some(marker),
                None => self.marker(&directory, number, stat)?,
            };
            self.seen.insert(directory, Seen { stat, marker });
        }
        Ok(())
    }

    /// A link counts as a directory: where it leads, and whether that stays below the root, is the disk's to judge.
    fn look(&self, directory: &RootPath) -> Result<Option<Stat>, BatchError> {
        let inspected = self.disk.stat(directory).map_err(Failure::of(Operation::Inspect, directory));
        match inspected.map_err(Failure::untouched)? {
            Some(stat) if matches!(stat.kind, Kind::File | Kind::Special) => {
                Err(refused(directory, Refusal::NotADirectory))
            }
            stat => Ok(stat),
        }
    }

    /// The marker of a directory that is not there, or that has one.
    fn marker(&self, directory: &RootPath, number: usize, stat: Option<Stat>) -> Result<Option<RootPath>, BatchError> {
        let marker = beside(directory, &self.tag.name(self.first + number))?;
        if stat.is_none() {
            return Ok(Some(marker));
        }
        let found = self.disk.stat(&marker).map_err(Failure::of(Operation::Inspect, &marker));
        Ok(found.map_err(Failure::untouched)?.map(|_| marker))
    }

    fn unfinished(self) -> (Vec<Unfinished>, Vec<RootPath>) {
        let (mut directories, mut markers) = (Vec::new(), BTreeSet::new());
        for (path, Seen { stat, marker }) in self.seen {
            let Some(marker) = marker else { continue };
            markers.insert(marker);
            let stage = match stat {
                None => Stage::Missing,
                Some(stat) if stat.kind != Kind::Directory => continue,
                // Whoever has given it other attributes since has meant them.
                Some(stat) if stat.mode == BORN => Stage::Bare,
                Some(_) => Stage::Standing,
            };
            directories.push(Unfinished { path, stage });
        }
        (directories, markers.into_iter().collect())
    }
}

/// What stands at a target, if it is something that a file may replace.
fn look(disk: &impl Disk, path: &RootPath) -> Result<Option<Stat>, BatchError> {
    let stat = match disk.stat(path) {
        // Something above the file is no directory, so it is not there.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => None,
        stat => stat.map_err(Failure::of(Operation::Inspect, path)).map_err(Failure::untouched)?,
    };
    match stat.map(|stat| stat.kind) {
        Some(Kind::Directory) => Err(refused(path, Refusal::Directory)),
        Some(Kind::Special) => Err(refused(path, Refusal::Special)),
        Some(Kind::File | Kind::Link) | None => Ok(stat),
    }
}

/// Whether a file is already what it should be; contents are read only when everything else agrees.
fn same(disk: &impl Disk, write: &Write, stat: Stat) -> Result<bool, BatchError> {
    let contents = write.contents.expose();
    let length = u64::try_from(contents.len()).unwrap_or(u64::MAX);
    let wanted = write.attributes;
    if stat.kind != Kind::File
        || (stat.mode, stat.uid, stat.gid) != (wanted.mode, wanted.uid, wanted.gid)
        || stat.size != length
    {
        return Ok(false);
    }
    match disk.read(&write.path, length) {
        Ok(found) => Ok(found == *contents),
        // It has grown since.
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Ok(false),
        Err(source) => Err(Failure::of(Operation::Inspect, &write.path)(source).untouched()),
    }
}
