//! SELinux labels of files: which line of the policy's `file_contexts` counts for a path, as libselinux finds it.
//!
//! Owns reading those texts and the precedence of their lines: a path written out beats a pattern, and among equals the
//! last line wins, the administrator's file coming last. Refuses to read files and to judge whether the policy knows a
//! label.

mod alias;
mod pattern;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;

use alias::Aliases;
use pattern::{Pattern, Stem};

/// A distribution's policy has some 7,000 lines.
const MOST_SPECS: usize = 100_000;
/// Longest line that is read; a path alone can have 4,095 bytes.
const MOST_LINE: usize = 8192;
/// What a line says in the place of a label to have files left as they are.
const UNLABELLED: &str = "<<none>>";

/// What is to be labelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
}

/// The labels of a policy, by path.
pub struct FileContexts {
    exact: HashMap<String, Vec<Rule>>,
    patterns: Vec<(Pattern, Rule)>,
    local: Aliases,
    distribution: Aliases,
    bad_lines: usize,
}

/// What a line says of the paths it is about.
struct Rule {
    /// `None`: of every kind.
    kind: Option<FileKind>,
    /// `None`: such a file is to have no label.
    label: Option<String>,
}

impl FileContexts {
    /// Reads `file_contexts`, its `.homedirs` and `.local`, then the aliases of paths in its `.subs_dist` and `.subs`.
    /// Lines that cannot be read are left out and counted.
    pub fn parse(base: &str, homedirs: &str, local: &str, subs_dist: &str, subs: &str) -> Self {
        let mut contexts = Self {
            exact: HashMap::new(),
            patterns: Vec::new(),
            local: Aliases::parse(subs),
            distribution: Aliases::parse(subs_dist),
            bad_lines: 0,
        };
        let lines = [base, homedirs, local].into_iter().flat_map(str::lines);
        for (specs, line) in lines.map(read).filter(|line| !matches!(line, Line::Nothing)).enumerate() {
            match line {
                Line::Spec { path, rule } if specs < MOST_SPECS => contexts.add(path, rule),
                _ => contexts.bad_lines += 1,
            }
        }
        contexts
    }

    /// The label that a path is to have; `None` when the policy gives it none.
    pub fn lookup(&self, path: &str, kind: FileKind) -> Option<&str> {
        let path = plain(path)?;
        let path = self.local.apply(&path).unwrap_or(path);
        let path = self.distribution.apply(&path).unwrap_or(path);
        let rule = self.exact_rule(&path, kind).or_else(|| self.pattern_rule(&path, kind))?;
        rule.label.as_deref()
    }

    /// Lines left out so far: those that could not be read, and those whose pattern turned out, when a path came near it,
    /// to need what the `regex` crate does not do.
    pub fn skipped(&self) -> usize {
        self.bad_lines + self.patterns.iter().filter(|(pattern, _)| pattern.is_unusable()).count()
    }

    fn add(&mut self, path: &str, rule: Rule) {
        match Stem::of(path) {
            Stem::Whole(path) => self.exact.entry(path).or_default().push(rule),
            Stem::Prefix(stem) => self.patterns.push((Pattern::new(stem, path), rule)),
        }
    }

    fn exact_rule(&self, path: &str, kind: FileKind) -> Option<&Rule> {
        self.exact.get(path)?.iter().rev().find(|rule| rule.is_for(kind))
    }

    fn pattern_rule(&self, path: &str, kind: FileKind) -> Option<&Rule> {
        let (_, rule) =
            self.patterns.iter().rev().find(|(pattern, rule)| rule.is_for(kind) && pattern.matches(path))?;
        Some(rule)
    }
}

impl fmt::Debug for FileContexts {
    /// Counts only: the lines are thousands.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileContexts")
            .field("exact", &self.exact.len())
            .field("patterns", &self.patterns.len())
            .field("skipped", &self.skipped())
            .finish_non_exhaustive()
    }
}

impl Rule {
    fn is_for(&self, kind: FileKind) -> bool {
        self.kind.is_none_or(|own| own == kind)
    }
}

enum Line<'t> {
    /// Empty, a comment, or about devices, sockets and pipes, which nobody asks for here.
    Nothing,
    Bad,
    Spec {
        path: &'t str,
        rule: Rule,
    },
}

fn read(line: &str) -> Line<'_> {
    let mut fields = line.split_ascii_whitespace();
    let (path, kind, context) = match (fields.next(), fields.next(), fields.next()) {
        (None, ..) => return Line::Nothing,
        (Some(comment), ..) if comment.starts_with('#') => return Line::Nothing,
        (Some(path), Some(context), None) => (path, None, context),
        (Some(path), Some(kind), Some(context)) => (path, Some(kind), context),
        (Some(_), None, _) => return Line::Bad,
    };
    // libselinux reads ASCII only.
    if line.len() > MOST_LINE || !line.is_ascii() {
        return Line::Bad;
    }
    let kind = match kind {
        None => None,
        Some("--") => Some(FileKind::File),
        Some("-d") => Some(FileKind::Directory),
        Some("-l") => Some(FileKind::Link),
        Some("-b" | "-c" | "-p" | "-s") => return Line::Nothing,
        Some(_) => return Line::Bad,
    };
    let label = (context != UNLABELLED).then(|| context.to_owned());
    Line::Spec { path, rule: Rule { kind, label } }
}

/// A path without doubled slashes and without one at its end.
fn plain(path: &str) -> Option<String> {
    let elements: Vec<&str> = path.split('/').filter(|element| !element.is_empty()).collect();
    path.starts_with('/').then(|| format!("/{}", elements.join("/")))
}
