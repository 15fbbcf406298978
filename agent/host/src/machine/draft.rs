//! The steps of one direction as what is to be at which path, and what systemd is to be told.
//!
//! Owns how steps that meet at one path are reconciled: what is written there wins over what is removed there, because
//! one configuration cannot have both. Refuses to change anything.

use std::collections::{BTreeMap, BTreeSet};

use ostler_core::secret::Secret;
use ostler_core::step::Step;

use super::record;
use crate::batch::{Batch, Directory, Link, Write};
use crate::disk::RootPath;
use crate::originals::Standing;
use crate::systemd::offline::Wish;

/// What is to be at a path.
#[derive(Clone, Debug)]
pub(super) enum Action {
    /// A file.
    Write(Write),
    /// A symbolic link with this target.
    Link(String),
    /// Nothing.
    Remove,
}

impl Action {
    /// What puts something back as it stood.
    pub(super) fn put_back(path: &RootPath, standing: Option<Standing>) -> Self {
        match standing {
            None => Self::Remove,
            Some(Standing::Link { target }) => Self::Link(target),
            Some(Standing::File { contents, attributes, label, xattrs }) => {
                Self::Write(Write { path: path.clone(), contents: contents.into(), attributes, label, xattrs })
            }
        }
    }
}

/// A password that is to have this hash, or to be locked.
#[derive(Clone, Debug)]
pub(super) struct Password {
    pub(super) user: String,
    pub(super) hash: Option<Secret<String>>,
    /// The day of the last change that is to be shown, where it is not today.
    pub(super) day: Option<u64>,
}

/// Whether a unit is to start at boot.
#[derive(Clone, Debug)]
pub(super) struct Enablement {
    pub(super) unit: String,
    pub(super) wish: Wish,
}

/// One direction of a transaction, worked out.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    pub(super) preserve: Actions,
    pub(super) write: Actions,
    pub(super) tidy: BTreeSet<RootPath>,
    /// What an abandoned change left, put back as far as that can be done.
    pub(super) left: Actions,
    /// What of it cannot even be read.
    pub(super) left_behind: Vec<RootPath>,
    pub(super) directories: Vec<Directory>,
    pub(super) passwords: Vec<Password>,
    pub(super) enablement: Vec<Enablement>,
    /// Links that stand for the enablement on a running machine whose service manager cannot be asked.
    pub(super) links: Actions,
    pub(super) services: Vec<Step>,
    pub(super) left_out: Vec<Step>,
    pub(super) reloads: bool,
    pub(super) reboot: bool,
}

/// Actions by their paths.
#[derive(Clone, Debug, Default)]
pub(super) struct Actions(BTreeMap<RootPath, Action>);

impl Actions {
    /// Notes what is to be at a path; a removal gives way to anything else.
    pub(super) fn set(&mut self, path: RootPath, action: Action) {
        match action {
            Action::Remove => {
                self.0.entry(path).or_insert(Action::Remove);
            }
            action => {
                self.0.insert(path, action);
            }
        }
    }

    /// Notes what is to be at a path, whatever was noted for it.
    pub(super) fn replace(&mut self, path: RootPath, action: Action) {
        self.0.insert(path, action);
    }

    /// Leaves a path as it is.
    pub(super) fn forget(&mut self, path: &RootPath) {
        self.0.remove(path);
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    pub(super) fn write(&mut self, write: Write) {
        self.set(write.path.clone(), Action::Write(write));
    }

    pub(super) fn get(&self, path: &RootPath) -> Option<&Action> {
        self.0.get(path)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&RootPath, &Action)> {
        self.0.iter()
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &RootPath> {
        self.0.keys()
    }

    /// As a batch.
    pub(super) fn batch(&self, directories: &[Directory]) -> Batch {
        let records = self.paths().filter(|path| record::is_record(path)).cloned().collect();
        let mut batch = Batch { directories: directories.to_vec(), records, ..Batch::default() };
        for (path, action) in &self.0 {
            match action {
                Action::Write(write) => batch.writes.push(write.clone()),
                Action::Link(target) => batch.links.push(Link { path: path.clone(), target: target.clone() }),
                Action::Remove => batch.removals.push(path.clone()),
            }
        }
        batch
    }
}

impl Draft {
    /// Originals that are no longer needed.
    pub(super) fn tidying(&self) -> Batch {
        Batch { removals: self.tidy.iter().cloned().collect(), records: self.tidy.clone(), ..Batch::default() }
    }

    /// Every path that changes in any phase.
    pub(super) fn touched(&self) -> BTreeSet<RootPath> {
        let kept = self.preserve.paths().chain(&self.tidy);
        kept.chain(self.write.paths()).chain(self.left.paths()).cloned().collect()
    }
}
