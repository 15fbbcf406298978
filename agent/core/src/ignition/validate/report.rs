//! The problems found so far and where in the config they are.

use std::collections::HashSet;
use std::fmt;

use super::Problem;

/// Most problems that are collected: a config with more has one cause, and nobody reads on.
pub(super) const MOST: usize = 32;

/// Most characters of a name that a message repeats.
const MOST_QUOTED: usize = 80;

/// A path into the config. Nothing is formatted until there is a problem to report.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    Root,
    Field(&'a Place<'a>, &'static str),
    Item(&'a Place<'a>, usize),
}

impl Place<'_> {
    pub(super) const fn field(&self, name: &'static str) -> Place<'_> {
        Place::Field(self, name)
    }

    pub(super) const fn item(&self, index: usize) -> Place<'_> {
        Place::Item(self, index)
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Root => Ok(()),
            Place::Field(Place::Root, name) => f.write_str(name),
            Place::Field(outer, name) => write!(f, "{outer}.{name}"),
            Place::Item(list, index) => write!(f, "{list}[{index}]"),
        }
    }
}

/// Collects problems of a config of one spec version.
pub(super) struct Report {
    /// The config was written in spec 3.`minor`.
    pub(super) minor: u64,
    problems: Vec<Problem>,
}

impl Report {
    pub(super) const fn new(minor: u64) -> Self {
        Self { minor, problems: Vec::new() }
    }

    pub(super) fn add(&mut self, at: Place<'_>, what: impl Into<String>) {
        if self.problems.len() < MOST {
            self.problems.push(Problem { at: at.to_string(), what: what.into() });
        }
    }

    /// Reports every item whose key an earlier item has. Keys may be secrets: the message names the place alone.
    pub(super) fn unique<'k>(
        &mut self,
        list: Place<'_>,
        keys: impl ExactSizeIterator<Item = &'k str>,
        what: &'static str,
    ) {
        if keys.len() < 2 {
            return;
        }
        let mut seen = HashSet::with_capacity(keys.len());
        for (index, key) in keys.enumerate() {
            if !seen.insert(key) {
                self.add(list.item(index), what);
            }
        }
    }

    /// Requires the absolute path of a file or device, in its shortest spelling.
    pub(super) fn path(&mut self, at: Place<'_>, path: &str) {
        let fault = if path.is_empty() {
            "is empty; write an absolute path"
        } else if !path.starts_with('/') {
            "is relative; write an absolute path"
        } else if !is_shortest(path) {
            "is not the shortest spelling; leave out //, /./, /../ and a slash at the end"
        } else {
            return;
        };
        self.add(at, format!("{} {fault}", quoted(path)));
    }

    pub(super) fn into_problems(self) -> Vec<Problem> {
        self.problems
    }
}

fn is_shortest(path: &str) -> bool {
    path == "/" || path.split('/').skip(1).all(|component| !matches!(component, "" | "." | ".."))
}

/// A name from the config, fit for one line of text.
pub(super) fn quoted(name: &str) -> String {
    match name.char_indices().nth(MOST_QUOTED).and_then(|(end, _)| name.get(..end)) {
        Some(start) => format!("{start:?}..."),
        None => format!("{name:?}"),
    }
}
