//! A directory tree as a value that can be compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// What stands at one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub kind: &'static str,
    pub mode: u32,
    pub owner: (u32, u32),
    /// A file's contents or a link's target.
    pub holds: Vec<u8>,
    /// When it was last changed, where that is looked at.
    pub changed: Option<(i64, i64)>,
}

/// Everything below a directory, by its path from there.
pub type Tree = BTreeMap<PathBuf, Entry>;

/// Everything below a directory.
pub fn tree(directory: &Path) -> Tree {
    walk(directory, false)
}

/// Everything below a directory and itself, with the times of change: something made and removed again shows too.
pub fn tree_with_times(directory: &Path) -> Tree {
    let mut tree = walk(directory, true);
    tree.insert(PathBuf::new(), entry(directory, &fs::symlink_metadata(directory).unwrap(), true));
    tree
}

fn walk(directory: &Path, times: bool) -> Tree {
    let mut tree = Tree::new();
    let mut open = vec![directory.to_owned()];
    while let Some(next) = open.pop() {
        for found in fs::read_dir(next).unwrap() {
            let found = found.unwrap();
            let metadata = found.metadata().unwrap();
            if metadata.is_dir() {
                open.push(found.path());
            }
            let below = found.path().strip_prefix(directory).unwrap().to_owned();
            tree.insert(below, entry(&found.path(), &metadata, times));
        }
    }
    tree
}

fn entry(path: &Path, metadata: &Metadata, times: bool) -> Entry {
    let kind = metadata.file_type();
    let (kind, holds) = if kind.is_symlink() {
        ("link", fs::read_link(path).unwrap().into_os_string().into_encoded_bytes())
    } else if kind.is_file() {
        ("file", fs::read(path).unwrap())
    } else if kind.is_dir() {
        ("directory", Vec::new())
    } else if kind.is_fifo() {
        ("pipe", Vec::new())
    } else {
        ("special", Vec::new())
    };
    Entry {
        kind,
        mode: metadata.mode() & 0o7777,
        owner: (metadata.uid(), metadata.gid()),
        holds,
        changed: times.then(|| (metadata.mtime(), metadata.mtime_nsec())),
    }
}

/// Paths at which two trees differ, for a message; contents stay out of it.
pub fn differences(before: &Tree, after: &Tree) -> Vec<String> {
    let paths: BTreeSet<&PathBuf> = before.keys().chain(after.keys()).collect();
    let say = |entry: Option<&Entry>| match entry {
        None => "nothing".to_owned(),
        Some(entry) => {
            format!("{} {:o} {:?} {} bytes {:?}", entry.kind, entry.mode, entry.owner, entry.holds.len(), entry.changed)
        }
    };
    let differs = paths.into_iter().filter(|path| before.get(*path) != after.get(*path));
    differs.map(|path| format!("{}: {} -> {}", path.display(), say(before.get(path)), say(after.get(path)))).collect()
}
