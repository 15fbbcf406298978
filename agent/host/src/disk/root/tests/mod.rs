//! The real disk on temporary directories, as root or as anybody.

mod attacks;
mod labels;
mod obstacles;
mod operations;
mod races;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use nix::unistd::{getegid, geteuid};
use tempfile::TempDir;

use super::RootDisk;
use crate::disk::{Attributes, Disk, RootPath};

/// A root directory with a directory beside it that nobody may touch.
struct Machine {
    _temporary: TempDir,
    root: PathBuf,
    outside: PathBuf,
    canary: BTreeMap<PathBuf, Entry>,
    disk: RootDisk,
}

/// All of an entry that an attack could change, the directory's own time included.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    mode: u32,
    owner: (u32, u32),
    inode: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    contents: Vec<u8>,
}

impl Machine {
    fn new() -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path().join("root");
        let outside = temporary.path().join("outside");
        fs::create_dir_all(root.join("etc")).unwrap();
        fs::create_dir_all(outside.join("deep/empty")).unwrap();
        fs::write(outside.join("secret"), "canary").unwrap();
        fs::write(outside.join("deep/secret"), "deep canary").unwrap();
        symlink("secret", outside.join("link")).unwrap();
        let disk = RootDisk::open(&root).unwrap();
        let canary = snapshot(&outside);
        Self { _temporary: temporary, root, outside, canary, disk }
    }

    fn host(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    fn link(&self, at: &str, target: impl AsRef<Path>) {
        symlink(target, self.host(at)).unwrap();
    }

    #[track_caller]
    fn assert_outside_is_untouched(&self, after: &str) {
        assert_eq!(snapshot(&self.outside), self.canary, "the canary changed after {after}");
    }
}

fn snapshot(directory: &Path) -> BTreeMap<PathBuf, Entry> {
    let mut entries = BTreeMap::new();
    let mut open = vec![directory.to_owned()];
    while let Some(path) = open.pop() {
        let stat = fs::symlink_metadata(&path).unwrap();
        let contents = if stat.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            Vec::new()
        } else if stat.is_symlink() {
            OsString::from(fs::read_link(&path).unwrap()).into_vec()
        } else {
            fs::read(&path).unwrap()
        };
        let entry = Entry {
            mode: stat.mode(),
            owner: (stat.uid(), stat.gid()),
            inode: stat.ino(),
            modified: (stat.mtime(), stat.mtime_nsec()),
            changed: (stat.ctime(), stat.ctime_nsec()),
            contents,
        };
        entries.insert(path, entry);
    }
    entries
}

fn at(path: &str) -> RootPath {
    RootPath::new(path).unwrap()
}

/// Attributes that anybody may give: their own.
fn mine(mode: u32) -> Attributes {
    Attributes { mode, uid: geteuid().as_raw(), gid: getegid().as_raw() }
}

/// Everything that changes or reveals something at a path, by name.
fn everything(disk: &RootDisk, path: &str) -> Vec<(&'static str, io::Result<()>)> {
    let path = at(path);
    let spare = at("/spare");
    vec![
        ("read", disk.read(&path, 1000).map(drop)),
        ("list", disk.list(&path).map(drop)),
        ("make_directory", disk.make_directory(&path, mine(0o700))),
        ("create", disk.create(&path, b"attack", mine(0o666))),
        ("link", disk.link(&path, "anything")),
        ("set_attributes", disk.set_attributes(&path, mine(0o777))),
        ("set_label", disk.set_label(&path, "attack")),
        ("sync", disk.sync(&path)),
        ("lock", disk.lock(&path).map(drop)),
        ("rename", disk.rename(&path, &spare)),
        ("remove", disk.remove(&path)),
        ("remove_directory", disk.remove_directory(&path)),
    ]
}
