//! Names of temporary files: `.ostler-<tag>-<number>`, so that leftovers tell whose they are. A marker is named after its
//! directory instead, so that another batch with the same tag finds it too.

use std::io::ErrorKind;

use sha2::{Digest, Sha256};

use super::error::{BatchError, Failure, Operation};
use crate::disk::{Disk, Kind, RootPath, Stat};

/// What every temporary's name starts with.
pub(super) const PREFIX: &str = ".ostler-";

const MAX_TAG: usize = 64;

/// A checked tag.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tag<'t>(&'t str);

impl<'t> Tag<'t> {
    pub(super) fn new(tag: &'t str) -> Result<Self, BatchError> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if tag.is_empty() || tag.len() > MAX_TAG || !tag.bytes().all(allowed) {
            return Err(BatchError::Tag);
        }
        Ok(Self(tag))
    }

    /// The name of a temporary.
    pub(super) fn name(self, number: usize) -> String {
        format!("{PREFIX}{}-{number}", self.0)
    }

    /// The name of the marker beside a directory, of one length whatever the directory is called.
    pub(super) fn marker(self, directory: &RootPath) -> String {
        let digest = Sha256::digest(directory.name().as_bytes());
        let short: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        format!("{PREFIX}{}-of-{short}", self.0)
    }

    /// Whether a name is that of a marker.
    fn marks(self, name: &str) -> bool {
        name.strip_prefix(PREFIX)
            .and_then(|rest| rest.strip_prefix(self.0))
            .is_some_and(|rest| rest.starts_with("-of-"))
    }

    /// Whether a name is one of this tag's; another tag that merely starts alike is told apart by the number.
    pub(super) fn owns(self, name: &str) -> bool {
        name.strip_prefix(PREFIX)
            .and_then(|rest| rest.strip_prefix(self.0))
            .and_then(|rest| rest.strip_prefix('-'))
            .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    }
}

/// What stands at a temporary's path, if it is something that a run left.
pub(super) fn leftover(disk: &impl Disk, path: &RootPath) -> Result<Option<Stat>, Failure> {
    let stat = disk.stat(path).map_err(Failure::of(Operation::Inspect, path))?;
    Ok(stat.filter(|stat| matches!(stat.kind, Kind::File | Kind::Link)))
}

/// Removes a leftover if there is one; says whether there was.
pub(crate) fn remove_leftover(disk: &impl Disk, path: &RootPath) -> Result<bool, Failure> {
    let there = leftover(disk, path)?.is_some();
    if there {
        disk.remove(path).map_err(Failure::of(Operation::Remove, path))?;
    }
    Ok(there)
}

/// Takes directories that a transaction made away again, durably, and what marked them; those that hold something, and
/// those that are not there, are passed over. Given outermost first.
pub fn unmake(disk: &impl Disk, directories: &[RootPath], tag: &str) -> Result<(), BatchError> {
    let tag = Tag::new(tag)?;
    for directory in directories.iter().rev() {
        unmake_one(disk, directory, tag).map_err(Failure::sweep)?;
    }
    Ok(())
}

/// As [`unmake`], passing over what cannot be taken away; gives those that are still there.
pub fn unmake_possible(disk: &impl Disk, directories: &[RootPath], tag: &str) -> Result<Vec<String>, BatchError> {
    let tag = Tag::new(tag)?;
    let still_there = |directory: &&RootPath| unmake_one(disk, directory, tag).is_err();
    Ok(directories.iter().rev().filter(still_there).map(ToString::to_string).collect())
}

/// As [`unmake_possible`], of those directories in `parents` alone whose markers say that an interrupted transaction was
/// making them, and what is below; markers of directories that it had yet to make go too.
pub fn unmake_marked(disk: &impl Disk, parents: &[RootPath], tag: &str) -> Result<Vec<String>, BatchError> {
    let marks = Tag::new(tag)?;
    let mut left = Vec::new();
    for parent in parents {
        let names = disk.list(parent).unwrap_or_default();
        let inside = |name: &str| parent.join(name).ok();
        let found: Vec<RootPath> = names.iter().filter_map(|name| inside(name.to_str()?)).collect();
        for marker in found.iter().filter(|path| marks.marks(path.name())) {
            let made = found.iter().find(|path| marks.marker(path) == marker.name());
            let below = parents.iter().filter(|path| made.is_some_and(|made| path.ancestors().contains(made)));
            let made: Vec<RootPath> = made.into_iter().chain(below).cloned().collect();
            left.extend(unmake_possible(disk, &made, tag)?);
            left.extend(remove_leftover(disk, marker).err().map(|failure| failure.path.to_string()));
        }
    }
    Ok(left)
}

fn unmake_one(disk: &impl Disk, directory: &RootPath, tag: Tag<'_>) -> Result<(), Failure> {
    let stat = disk.stat(directory).map_err(Failure::of(Operation::Inspect, directory))?;
    if stat.is_some_and(|stat| stat.kind == Kind::Directory) {
        match disk.remove_directory(directory) {
            Err(error) if matches!(error.kind(), ErrorKind::DirectoryNotEmpty | ErrorKind::NotFound) => {}
            removed => removed.map_err(Failure::of(Operation::Remove, directory))?,
        }
    }
    if let Ok(marker) = directory.beside(&tag.marker(directory)) {
        remove_leftover(disk, &marker)?;
    }
    // Also where nothing changed now: a run that was killed may have removed it and not come to this.
    let parent = directory.parent();
    let standing = match &parent {
        Some(parent) => disk.stat(parent).map_err(Failure::of(Operation::Inspect, parent))?.is_some(),
        None => true,
    };
    if standing {
        disk.sync_directory(parent.as_ref()).map_err(Failure::of(Operation::Sync, directory))?;
    }
    Ok(())
}

/// Removes what an interrupted transaction with this tag left in the directories, durably; says how many files.
/// Directories that are not there are passed over.
pub fn sweep(disk: &impl Disk, directories: &[RootPath], tag: &str) -> Result<usize, BatchError> {
    let tag = Tag::new(tag)?;
    let mut swept = 0;
    for directory in directories {
        swept += sweep_one(disk, directory, tag).map_err(Failure::sweep)?;
    }
    Ok(swept)
}

/// As [`sweep`], passing over what cannot be removed; gives what is still there, or the directory where that cannot be told.
pub fn sweep_possible(disk: &impl Disk, directories: &[RootPath], tag: &str) -> Result<Vec<String>, BatchError> {
    let tag = Tag::new(tag)?;
    let mut left = Vec::new();
    for directory in directories {
        left.extend(sweep_one(disk, directory, tag).err().map(|failure| failure.path.to_string()));
    }
    Ok(left)
}

fn sweep_one(disk: &impl Disk, directory: &RootPath, tag: Tag<'_>) -> Result<usize, Failure> {
    let kind = disk.stat(directory).map_err(Failure::of(Operation::Inspect, directory))?.map(|stat| stat.kind);
    if !matches!(kind, Some(Kind::Directory)) {
        return Ok(0);
    }
    let names = disk.list(directory).map_err(Failure::of(Operation::List, directory))?;
    let (mut swept, mut failed) = (0, Ok(()));
    for name in names.iter().filter_map(|name| name.to_str()).filter(|name| tag.owns(name)) {
        let Ok(path) = directory.join(name) else { continue };
        match remove_leftover(disk, &path) {
            Ok(removed) => swept += usize::from(removed),
            Err(failure) => failed = failed.and(Err(failure)),
        }
    }
    failed?;
    if swept > 0 {
        disk.sync(directory).map_err(Failure::of(Operation::Sync, directory))?;
    }
    Ok(swept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_owns_its_own_names_only() {
        let tag = Tag::new("t-1").unwrap();
        assert!(tag.owns(&tag.name(0)) && tag.owns(&tag.name(usize::MAX)));
        for other in
            ["", ".ostler-", ".ostler-t-1", ".ostler-t-1-", ".ostler-t-1-x", ".ostler-t-1-2-3", ".ostler-t-12-3"]
        {
            assert!(!tag.owns(other), "{other:?}");
        }
        assert!(!Tag::new("t").unwrap().owns(&tag.name(0)));
    }

    #[test]
    fn a_tag_that_could_lead_elsewhere_is_refused() {
        for tag in ["", "a/b", "..", "a b", "ü", &"a".repeat(65)] {
            assert!(matches!(Tag::new(tag), Err(BatchError::Tag)), "{tag:?}");
        }
    }
}
