//! Many files and links written and removed durably, each old or new as a whole and never between.
//!
//! Owns the order of operations that makes it so, and taking everything back when it fails early. Refuses to decide what
//! is written: a batch as a whole is not atomic, so whoever needs that applies it again, or its reverse, after a crash.

mod above;
mod crowd;
mod directories;
mod error;
mod names;
mod obstacles;
mod space;
mod stage;
mod survey;
mod temporary;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use ostler_core::secret::Secret;

pub use self::error::{BatchError, Operation, Refusal};
pub use self::temporary::{sweep, sweep_possible, unmake, unmake_marked, unmake_possible};
pub(crate) use self::{directories::MADE, error::Failure, temporary::remove_leftover};

use self::stage::{Staged, publish, settle, stage};
use self::survey::{Work, survey};
use self::temporary::Tag;
use crate::disk::{Attributes, Disk, RootPath, Xattrs};

/// Files, links and directories that are to be there, and files that are not.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Files that are to have these contents and attributes.
    pub writes: Vec<Write>,
    /// Symbolic links that are to have these targets.
    pub links: Vec<Link>,
    /// Files and links that are not to be there.
    pub removals: Vec<RootPath>,
    /// Directories that are to be there. Others that are needed are made too, open to everybody.
    pub directories: Vec<Directory>,
    /// Paths among all these that are the agent's own records: what changes there is not counted.
    pub records: BTreeSet<RootPath>,
}

impl Batch {
    /// Takes in all of another batch.
    pub fn extend(&mut self, other: Self) {
        self.writes.extend(other.writes);
        self.links.extend(other.links);
        self.removals.extend(other.removals);
        self.directories.extend(other.directories);
        self.records.extend(other.records);
    }

    /// Paths of files and links that are to be there.
    fn made(&self) -> impl Iterator<Item = &RootPath> {
        self.writes.iter().map(|write| &write.path).chain(self.links.iter().map(|link| &link.path))
    }

    /// Directories above anything that is to be there, some more than once.
    fn above(&self) -> impl Iterator<Item = RootPath> {
        self.made().chain(self.directories.iter().map(|directory| &directory.path)).flat_map(RootPath::ancestors)
    }
}

/// One file as it is to be.
#[derive(Clone, Debug)]
pub struct Write {
    /// Where it is.
    pub path: RootPath,
    /// What is in it. Shared, since a large text is costly to copy.
    pub contents: Arc<Secret<Vec<u8>>>,
    /// Its mode and owner.
    pub attributes: Attributes,
    /// Its SELinux label; `None` leaves that to the kernel.
    pub label: Option<String>,
    /// Other extended attributes that it is to have.
    pub xattrs: Xattrs,
}

/// One symbolic link as it is to be.
#[derive(Clone, Debug)]
pub struct Link {
    /// Where it is.
    pub path: RootPath,
    /// Where it points, as written in it.
    pub target: String,
}

/// One directory that is to be there; one that is stays as it is.
#[derive(Clone, Debug)]
pub struct Directory {
    /// Where it is.
    pub path: RootPath,
    /// Mode and owner that it is made with.
    pub attributes: Attributes,
    /// The SELinux label that it is made with; `None` leaves that to the kernel.
    pub label: Option<String>,
}

/// How much there was to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Files and links made or replaced.
    pub written: usize,
    /// Files and links that were already as they should be.
    pub unchanged: usize,
    /// Files and links removed; those that were not there do not count.
    pub removed: usize,
}

/// How much there would be to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forecast {
    /// Files and links that would be made or replaced.
    pub changed: usize,
    /// Files and links that are as they should be.
    pub unchanged: usize,
    /// Files and links that would be removed.
    pub removed: usize,
    /// Bytes of contents that would be written.
    pub bytes: u64,
    /// Directories that would be made, outermost first.
    pub directories: Vec<RootPath>,
}

/// Says what [`apply`] would do, and refuses what it would refuse, without changing anything.
pub fn forecast(disk: &impl Disk, batch: &Batch, tag: &str) -> Result<Forecast, BatchError> {
    Ok(surveyed(disk, batch, tag)?.forecast(batch))
}

fn surveyed<'b>(disk: &impl Disk, batch: &'b Batch, tag: &str) -> Result<Work<'b>, BatchError> {
    survey(disk, batch, Tag::new(tag)?).map_err(|error| obstacles::explain(disk, error))
}

/// Makes the disk agree with the batch, durably. The same batch may be applied again after any interruption, with the
/// same tag, and then also removes what the interrupted run left behind.
///
/// Contents of unchanged files are not made durable again: whoever wrote them has to have done so, as this does.
pub fn apply(disk: &impl Disk, batch: &Batch, tag: &str) -> Result<Counts, BatchError> {
    let work = surveyed(disk, batch, tag)?;
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
    settle(disk, batch, &work).map_err(Failure::partial)?;
    let Forecast { changed: written, unchanged, removed, .. } = work.forecast(batch);
    Ok(Counts { written, unchanged, removed })
}
