//! The files of a package where they will be on a node. Owns what is shipped, with which mode and time; `units` has the
//! layout already.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, Result, bail};

use super::binaries::PROGRAMS;
use crate::workspace;

/// Single files: where they are here, and there.
const FILES: [(&str, &str); 6] = [
    ("LICENSE", "usr/share/licenses/ostler/LICENSE"),
    ("README.md", "usr/share/doc/ostler/README.md"),
    ("CHANGELOG.md", "usr/share/doc/ostler/CHANGELOG.md"),
    ("docs/completions/ostler.bash", "usr/share/bash-completion/completions/ostler"),
    ("docs/completions/_ostler", "usr/share/zsh/site-functions/_ostler"),
    ("docs/completions/ostler.fish", "usr/share/fish/vendor_completions.d/ostler.fish"),
];
/// Whole directories.
const DIRECTORIES: [(&str, &str); 5] = [
    ("units", ""),
    ("docs/man", "usr/share/man/man1"),
    ("docs/usage", "usr/share/doc/ostler/usage"),
    ("packaging/manifests", "usr/share/ostler/manifests"),
    ("packaging/selinux", "usr/share/ostler/selinux"),
];
/// What only one kind of machine needs.
const OF_MACHINES: [(&str, &str); 1] = [("s390x", "packaging/s390x")];
/// No tree of ours is deeper.
const MOST_LEVELS: usize = 16;

/// Makes the tree anew, with the programs of a directory if one is given.
pub fn stage(tree: &Path, programs: Option<&Path>) -> Result<()> {
    if tree.exists() {
        fs::remove_dir_all(tree).with_context(|| format!("cannot clear {}", tree.display()))?;
    }
    let root = workspace::root();
    for (from, to) in DIRECTORIES {
        directory(&root.join(from), &tree.join(to), MOST_LEVELS)?;
    }
    for (from, to) in FILES {
        file(&root.join(from), &tree.join(to), 0o644)?;
    }
    for (machine, from) in OF_MACHINES {
        if std::env::consts::ARCH == machine {
            directory(&root.join(from), tree, MOST_LEVELS)?;
        }
    }
    for (name, to) in PROGRAMS {
        if let Some(programs) = programs {
            file(&programs.join(name), &tree.join(to), 0o755)?;
        }
    }
    fs::set_permissions(tree, fs::Permissions::from_mode(0o755))
        .with_context(|| format!("cannot set the mode of {}", tree.display()))
}

/// Gives everything below a directory, and itself, one time.
pub fn date(path: &Path, time: SystemTime) -> Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path).with_context(|| format!("cannot list {}", path.display()))? {
            date(&entry?.path(), time)?;
        }
    }
    let file = fs::File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    file.set_modified(time).with_context(|| format!("cannot date {}", path.display()))
}

fn directory(from: &Path, to: &Path, levels: usize) -> Result<()> {
    if levels == 0 {
        bail!("{} is too deep", from.display());
    }
    for entry in fs::read_dir(from).with_context(|| format!("cannot list {}", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            directory(&entry.path(), &target, levels - 1)?;
        } else {
            file(&entry.path(), &target, 0o644)?;
        }
    }
    Ok(())
}

/// Modes are those that are declared, whatever the checkout has.
fn file(from: &Path, to: &Path, mode: u32) -> Result<()> {
    let parent = to.parent().context("a file without a directory")?;
    make_directories(parent)?;
    fs::copy(from, to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    fs::set_permissions(to, fs::Permissions::from_mode(mode))
        .with_context(|| format!("cannot set the mode of {}", to.display()))
}

fn make_directories(directory: &Path) -> Result<()> {
    if directory.exists() {
        return Ok(());
    }
    directory.parent().map_or(Ok(()), make_directories)?;
    fs::create_dir(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    fs::set_permissions(directory, fs::Permissions::from_mode(0o755))
        .with_context(|| format!("cannot set the mode of {}", directory.display()))
}
