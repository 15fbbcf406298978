//! Directories that a batch names or needs: which are there, which are not, and which an interrupted run left unfinished.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::directories::MADE;
use super::error::{BatchError, Failure, Operation, Refusal, refused};
use super::survey::beside;
use super::temporary::Tag;
use super::{Batch, Directory};
use crate::disk::{Attributes, Disk, Kind, RootPath, Stat};

/// A directory that a run has to make, or began to make when it was cut off.
///
/// Making one is a name first and attributes later, and a crash between the two leaves a directory nobody else can enter.
/// What stands there then is not told from somebody's private directory by its looks; so beside the outermost of them a
/// marker is durable before, and until after, the directories are.
#[derive(Debug)]
pub(super) struct Unfinished<'b> {
    pub(super) path: RootPath,
    pub(super) stage: Stage,
    pub(super) attributes: Attributes,
    pub(super) label: Option<&'b str>,
}

/// How far a directory has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Not there.
    Missing,
    /// There, perhaps without its attributes or its label.
    Bare,
    /// There with attributes that somebody else gave it.
    Standing,
}

/// Directories above the targets, each looked at once.
pub(super) struct Above<'d, 't, D> {
    pub(super) disk: &'d D,
    pub(super) tag: Tag<'t>,
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
/// A directory may be born with this when the one above it has it.
const SETGID: u32 = 0o2000;

impl<'d, 't, D: Disk> Above<'d, 't, D> {
    /// Looks at all directories of a batch.
    pub(super) fn look(disk: &'d D, batch: &Batch, tag: Tag<'t>) -> Result<Self, BatchError> {
        let mut above = Self { disk, tag, seen: BTreeMap::new() };
        let listed = batch.directories.iter().map(|directory| directory.path.clone());
        let all: BTreeSet<RootPath> = batch.above().chain(listed).collect();
        // A directory sorts before what is in it.
        for directory in all {
            above.enter(directory)?;
        }
        Ok(above)
    }

    fn enter(&mut self, directory: RootPath) -> Result<(), BatchError> {
        let above = directory.parent().and_then(|parent| self.seen.get(&parent)).cloned();
        let stat = match &above {
            Some(Seen { stat: None, .. }) => None,
            _ => self.inspect(&directory)?,
        };
        let marker = match above.and_then(|above| above.marker) {
            Some(marker) => Some(marker),
            None => self.marker(&directory, stat)?,
        };
        self.seen.insert(directory, Seen { stat, marker });
        Ok(())
    }

    /// A link counts as the directory that it leads to; the disk sees to it that this one is below the root.
    fn inspect(&self, directory: &RootPath) -> Result<Option<Stat>, BatchError> {
        let inspected = self.disk.stat(directory).map_err(Failure::of(Operation::Inspect, directory));
        match inspected.map_err(Failure::untouched)? {
            Some(stat) if matches!(stat.kind, Kind::File | Kind::Special) => {
                Err(refused(directory, Refusal::NotADirectory))
            }
            Some(stat) if stat.kind == Kind::Link => self.follow(directory).map(|()| Some(stat)),
            stat => Ok(stat),
        }
    }

    fn follow(&self, link: &RootPath) -> Result<(), BatchError> {
        use std::io::ErrorKind::{NotADirectory, NotFound};
        match self.disk.free(Some(link)) {
            Ok(_) => Ok(()),
            Err(error) if [NotFound, NotADirectory].contains(&error.kind()) || is_loop(&error) => {
                Err(refused(link, Refusal::LeadsNowhere))
            }
            Err(error) => Err(Failure::of(Operation::Inspect, link)(error).untouched()),
        }
    }

    /// The marker of a directory that is not there, or that has one.
    fn marker(&self, directory: &RootPath, stat: Option<Stat>) -> Result<Option<RootPath>, BatchError> {
        let marker = beside(directory, &self.tag.marker(directory))?;
        if stat.is_none() {
            return Ok(Some(marker));
        }
        let found = self.disk.stat(&marker).map_err(Failure::of(Operation::Inspect, &marker));
        Ok(found.map_err(Failure::untouched)?.map(|_| marker))
    }

    /// The nearest directory above a path that is there; `None` is the root.
    pub(super) fn standing(&self, path: &RootPath) -> Option<RootPath> {
        let there = |directory: &RootPath| self.seen.get(directory).is_some_and(|seen| seen.stat.is_some());
        std::iter::successors(path.parent(), RootPath::parent).find(there)
    }

    /// The outermost directory above a path that is not there.
    pub(super) fn first_missing(&self, path: &RootPath) -> Option<RootPath> {
        let missing = |directory: &RootPath| self.seen.get(directory).is_some_and(|seen| seen.stat.is_none());
        path.ancestors().into_iter().find(missing)
    }

    /// What there is to do, outermost first, and the markers for it.
    pub(super) fn unfinished<'b>(&self, listed: &'b [Directory]) -> (Vec<Unfinished<'b>>, Vec<RootPath>) {
        let listed: BTreeMap<_, _> = listed.iter().map(|directory| (&directory.path, directory)).collect();
        let (mut directories, mut markers) = (Vec::new(), BTreeSet::new());
        for (path, Seen { stat, marker }) in &self.seen {
            let Some(marker) = marker else { continue };
            markers.insert(marker.clone());
            let (attributes, label) = match listed.get(path) {
                Some(directory) => (directory.attributes, directory.label.as_deref()),
                None => (MADE, None),
            };
            let stage = match stat {
                None => Stage::Missing,
                Some(stat) if stat.kind != Kind::Directory => continue,
                Some(stat) if is_between(stat.mode, attributes.mode) => Stage::Bare,
                Some(_) => Stage::Standing,
            };
            directories.push(Unfinished { path: path.clone(), stage, attributes, label });
        }
        (directories, markers.into_iter().collect())
    }
}

fn is_loop(error: &io::Error) -> bool {
    error.raw_os_error() == Some(nix::libc::ELOOP)
}

/// Whether a mode is one that a directory has on its way to the wanted one, or at its end. Whoever has given it another
/// one since has meant it.
fn is_between(mode: u32, wanted: u32) -> bool {
    mode == wanted || [BORN, BORN & wanted].contains(&(mode & !SETGID))
}
