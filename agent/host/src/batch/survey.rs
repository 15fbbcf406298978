//! What a batch will have to do, found without changing anything: every refusal happens here.

use std::io;

use super::above::{Above, Stage, Unfinished};
use super::crowd::Crowd;
use super::error::{BatchError, Failure, Operation, Refusal, refused};
use super::temporary::{Tag, leftover};
use super::{Batch, Forecast, Link, Write, names, obstacles, space};
use crate::disk::{Disk, Kind, RootPath, Stat, is_unreadable};

/// What is left to do for a batch on this disk.
#[derive(Debug)]
pub(super) struct Work<'b> {
    /// Directories that are not known to be made, outermost first.
    pub(super) directories: Vec<Unfinished<'b>>,
    /// Markers of directories that are to be made; see [`Unfinished`].
    pub(super) markers: Vec<RootPath>,
    /// Files and links that differ from what they should be; those of one directory stand together.
    pub(super) pending: Vec<Pending<'b>>,
    /// How many are already as they should be.
    pub(super) unchanged: usize,
    /// Temporaries that an earlier run left.
    pub(super) stale: Vec<RootPath>,
    /// Files to remove that are there.
    pub(super) removals: Vec<&'b RootPath>,
}

impl Work<'_> {
    /// The work without the doing.
    pub(super) fn forecast(&self, batch: &Batch) -> Forecast {
        let counts = |path: &RootPath| !batch.records.contains(path);
        let missing = self.directories.iter().filter(|directory| directory.stage == Stage::Missing);
        Forecast {
            changed: self.pending.iter().filter(|pending| counts(pending.target.path())).count(),
            unchanged: self.unchanged,
            removed: self.removals.iter().filter(|path| counts(path)).count(),
            bytes: self.pending.iter().map(|pending| pending.target.bytes()).fold(0, u64::saturating_add),
            directories: missing.map(|directory| directory.path.clone()).collect(),
        }
    }
}

/// A file or link as it is to be.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target<'b> {
    File(&'b Write),
    Link(&'b Link),
}

impl<'b> Target<'b> {
    pub(super) fn path(self) -> &'b RootPath {
        match self {
            Self::File(write) => &write.path,
            Self::Link(link) => &link.path,
        }
    }

    /// Whether another one is in the same directory.
    fn is_beside(self, other: Target<'_>) -> bool {
        self.path().directory() == other.path().directory()
    }

    /// Bytes of contents; a link has none.
    fn bytes(self) -> u64 {
        match self {
            Self::File(write) => u64::try_from(write.contents.expose().len()).unwrap_or(u64::MAX),
            Self::Link(_) => 0,
        }
    }
}

/// What is to be written, and where it is written first.
#[derive(Debug)]
pub(super) struct Pending<'b> {
    pub(super) target: Target<'b>,
    pub(super) temporary: RootPath,
    /// Bytes of an earlier run's temporary, which gives back what it takes.
    left: Option<u64>,
}

impl Pending<'_> {
    /// All of one directory at a time, each with the disk on which that directory is found already.
    pub(super) fn each<'p, D: Disk>(
        disk: &D,
        pending: &'p [Self],
        mut work: impl FnMut(&D, &'p Self) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        for together in pending.chunk_by(|one, next| one.target.is_beside(next.target)) {
            let Some(first) = together.first() else { continue };
            disk.beside(&first.temporary, |disk| together.iter().try_for_each(|one| work(disk, one)))?;
        }
        Ok(())
    }

    /// What it takes of the disk.
    pub(super) fn takes(&self) -> space::Takes {
        let bytes = space::blocks(self.target.bytes()).saturating_sub(self.left.map_or(0, space::blocks));
        space::Takes { bytes, files: u64::from(self.left.is_none()) }
    }
}

/// Checks a batch against the disk.
pub(super) fn survey<'b>(disk: &impl Disk, batch: &'b Batch, tag: Tag<'_>) -> Result<Work<'b>, BatchError> {
    names::check(batch)?;
    let above = Above::look(disk, batch, tag)?;
    let (directories, markers) = above.unfinished(&batch.directories);
    let (pending, stale, removals) = (Vec::new(), Vec::new(), Vec::new());
    let mut work = Work { directories, markers, pending, unchanged: 0, stale, removals };
    let crowd = Crowd::list(disk, batch, tag)?;
    for numbered in in_directories(batch).chunk_by(|(_, one), (_, next)| one.is_beside(*next)) {
        let Some((_, first)) = numbered.first() else { continue };
        disk.beside(first.path(), |disk| {
            numbered.iter().try_for_each(|&(number, target)| {
                let temporary = beside(target.path(), &tag.name(number))?;
                let left = if crowd.may_hold(&temporary) { leftover(disk, &temporary) } else { Ok(None) };
                work.enter(disk, target, temporary, left.map_err(Failure::untouched)?)
            })
        })?;
    }
    for path in &batch.removals {
        beside(path, &tag.name(usize::MAX))?;
        if look(disk, path)?.is_some() {
            work.removals.push(path);
        }
    }
    obstacles::check(&above, &work)?;
    space::check(&above, &work)?;
    Ok(work)
}

/// What is to be there, numbered as in the batch; what is in one directory stands together.
fn in_directories(batch: &Batch) -> Vec<(usize, Target<'_>)> {
    let targets = batch.writes.iter().map(Target::File).chain(batch.links.iter().map(Target::Link));
    let mut numbered: Vec<_> = targets.enumerate().collect();
    numbered.sort_by_key(|(_, target)| target.path().directory());
    numbered
}

impl<'b> Work<'b> {
    fn enter(
        &mut self,
        disk: &impl Disk,
        target: Target<'b>,
        temporary: RootPath,
        left: Option<Stat>,
    ) -> Result<(), BatchError> {
        if left.is_some() {
            self.stale.push(temporary.clone());
        }
        let standing = look(disk, target.path())?;
        let same = match (target, standing) {
            (_, None) => false,
            (Target::File(write), Some(stat)) => agrees(same(disk, write, stat), &write.path)?,
            (Target::Link(link), Some(stat)) => agrees(same_link(disk, link, stat), &link.path)?,
        };
        if same {
            self.unchanged += 1;
        } else {
            self.pending.push(Pending { target, temporary, left: left.map(|stat| stat.size) });
        }
        Ok(())
    }
}

pub(super) fn beside(path: &RootPath, name: &str) -> Result<RootPath, BatchError> {
    path.beside(name).map_err(|_| refused(path, Refusal::TooLong))
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

/// What cannot be read is not what it should be, and is replaced like anything else that differs.
fn agrees(compared: io::Result<bool>, path: &RootPath) -> Result<bool, BatchError> {
    match compared {
        Err(error) if is_unreadable(&error) => Ok(false),
        compared => compared.map_err(Failure::of(Operation::Inspect, path)).map_err(Failure::untouched),
    }
}

/// Whether a file is already what it should be; contents are read only when everything else agrees.
fn same(disk: &impl Disk, write: &Write, stat: Stat) -> io::Result<bool> {
    let contents = write.contents.expose();
    let length = u64::try_from(contents.len()).unwrap_or(u64::MAX);
    let wanted = write.attributes;
    if stat.kind != Kind::File
        || (stat.mode, stat.uid, stat.gid) != (wanted.mode, wanted.uid, wanted.gid)
        || stat.size != length
    {
        return Ok(false);
    }
    if write.label.is_some() && disk.label(&write.path)? != write.label {
        return Ok(false);
    }
    if !write.xattrs.is_empty() && disk.xattrs(&write.path)? != write.xattrs {
        return Ok(false);
    }
    disk.holds(&write.path, contents)
}

fn same_link(disk: &impl Disk, link: &Link, stat: Stat) -> io::Result<bool> {
    Ok(stat.kind == Kind::Link && disk.read_link(&link.path)? == link.target.as_str())
}
