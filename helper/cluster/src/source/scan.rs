//! Which files of a tree may hold objects of which kinds: a walk with bounds, and a cheap look at every file.
//!
//! Owns the bounds. Links are not followed: a dump is somebody else's. Files are parsed elsewhere, when a kind is asked for.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ostler_core::document::MAX_BYTES;

use super::ReadError;

/// How much of a tree is read.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Most entries of all directories together.
    pub entries: usize,
    /// Most bytes of all files together.
    pub bytes: u64,
    /// Deepest directory.
    pub depth: usize,
}

impl Default for Bounds {
    /// A must-gather of a large cluster has some ten thousand files and a few gigabytes, most of them logs.
    fn default() -> Self {
        Self { entries: 500_000, bytes: 8 << 30, depth: 48 }
    }
}

/// A file that may hold objects.
#[derive(Debug)]
pub struct Candidate {
    /// Where it is.
    pub path: PathBuf,
    /// Words that follow `kind:` in it.
    pub kinds: BTreeSet<String>,
}

/// What a walk found.
#[derive(Debug, Default)]
pub struct Scan {
    /// Files that may hold objects, by path.
    pub candidates: Vec<Candidate>,
    /// What was left out, and why.
    pub notes: Vec<String>,
    entries: usize,
    bytes: u64,
}

/// Looks at all files of a tree.
pub fn scan(root: &Path, bounds: Bounds) -> Result<Scan, ReadError> {
    let mut scan = Scan::default();
    scan.directory(root, root, bounds)?;
    scan.candidates.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(scan)
}

impl Scan {
    fn directory(&mut self, root: &Path, top: &Path, bounds: Bounds) -> Result<(), ReadError> {
        let mut waiting = vec![(top.to_owned(), 0)];
        while let Some((directory, depth)) = waiting.pop() {
            let failed = |cause| ReadError::Directory { path: directory.clone(), cause };
            for entry in fs::read_dir(&directory).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                self.entries += 1;
                if self.entries > bounds.entries {
                    return Err(too_much(root, format!("{} files", bounds.entries)));
                }
                let kind = entry.file_type().map_err(failed)?;
                if kind.is_dir() && depth < bounds.depth {
                    waiting.push((entry.path(), depth + 1));
                } else if kind.is_dir() {
                    self.notes.push(format!("{} is too deep and left out", entry.path().display()));
                } else if kind.is_file() && is_document(&entry.path()) {
                    self.file(root, entry.path(), bounds)?;
                }
            }
        }
        Ok(())
    }

    fn file(&mut self, root: &Path, path: PathBuf, bounds: Bounds) -> Result<(), ReadError> {
        let bytes = match read(&path) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => {
                self.notes.push(format!("{} has more than {} MiB and is left out", path.display(), MAX_BYTES >> 20));
                return Ok(());
            }
            Err(error) => {
                self.notes.push(format!("{} cannot be read and is left out: {error}", path.display()));
                return Ok(());
            }
        };
        self.bytes += bytes.len() as u64;
        if self.bytes > bounds.bytes {
            return Err(too_much(root, format!("{} MiB of objects", bounds.bytes >> 20)));
        }
        let kinds = kinds(&bytes);
        if !kinds.is_empty() {
            self.candidates.push(Candidate { path, kinds });
        }
        Ok(())
    }
}

fn too_much(root: &Path, most: String) -> ReadError {
    ReadError::TooMuch { path: root.to_owned(), most }
}

fn is_document(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ["yaml", "yml", "json"].iter().any(|known| ending.eq_ignore_ascii_case(known)))
}

/// All of a file; nothing where it is larger than any document may be.
pub fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(Some(bytes).filter(|bytes| bytes.len() <= MAX_BYTES))
}

/// Words that follow `kind:` anywhere, in YAML or JSON: never too few, perhaps too many.
fn kinds(bytes: &[u8]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut rest = bytes;
    while let Some(at) = rest.windows(4).position(|window| window == b"kind") {
        rest = rest.get(at + 4..).unwrap_or_default();
        let blank = |byte: &u8| matches!(byte, b'"' | b'\'' | b' ' | b'\t' | b'\r' | b'\n');
        let mut after = rest.iter().skip_while(|byte| blank(byte));
        if after.next() != Some(&b':') {
            continue;
        }
        let word: Vec<u8> =
            after.skip_while(|byte| blank(byte)).take(128).copied().take_while(u8::is_ascii_alphanumeric).collect();
        if let Ok(word) = String::from_utf8(word)
            && !word.is_empty()
        {
            found.insert(word);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_seen_however_they_are_written() {
        for text in [
            "kind: Node\n",
            "{\"kind\":\"Node\"}",
            "{ \"kind\" :\n \"Node\" }",
            "x: 1\nkind: 'Node'",
            "a:\n- kind:   Node",
        ] {
            assert_eq!(kinds(text.as_bytes()).into_iter().collect::<Vec<_>>(), ["Node"], "{text}");
        }
        assert!(kinds(b"kindness: great\nkind").is_empty());
    }

    #[test]
    fn a_tree_beyond_its_bounds_is_refused_and_links_are_not_followed() {
        let tree = tempfile::tempdir().unwrap();
        for number in 0..4 {
            std::fs::write(tree.path().join(format!("{number}.yaml")), "kind: Node\n").unwrap();
        }
        std::os::unix::fs::symlink("/", tree.path().join("root")).unwrap();
        std::os::unix::fs::symlink(tree.path().join("0.yaml"), tree.path().join("link.yaml")).unwrap();
        let bounds = Bounds { entries: 6, bytes: 44, depth: 1 };
        assert_eq!(scan(tree.path(), bounds).unwrap().candidates.len(), 4);
        for tight in [Bounds { entries: 5, ..bounds }, Bounds { bytes: 43, ..bounds }] {
            assert!(matches!(scan(tree.path(), tight), Err(ReadError::TooMuch { .. })), "{tight:?}");
        }
        std::fs::create_dir_all(tree.path().join("a/b/c")).unwrap();
        let deep = scan(tree.path(), Bounds { entries: 100, ..bounds }).unwrap();
        assert!(deep.notes.iter().any(|note| note.contains("too deep")), "{:?}", deep.notes);
    }
}
