//! The files of a package where they will be on a machine. Owns with which mode and time they are shipped; which they are
//! is the product's business.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, Result, bail};

use super::product::{AGENT, Product};
use crate::workspace;

/// Man pages here, and there.
const PAGES: (&str, &str) = ("docs/man", "usr/share/man/man1");
/// What the agent needs on one kind of machine only.
const OF_MACHINES: [(&str, &str); 1] = [("s390x", "packaging/s390x")];
/// No tree of ours is deeper.
const MOST_LEVELS: usize = 16;

/// Makes the tree of a product anew, with the programs of a directory if one is given.
pub fn stage(product: &Product, tree: &Path, programs: Option<&Path>) -> Result<()> {
    if tree.exists() {
        fs::remove_dir_all(tree).with_context(|| format!("cannot clear {}", tree.display()))?;
    }
    let root = workspace::root();
    for (from, to) in product.directories {
        directory(&root.join(from), &tree.join(to), MOST_LEVELS)?;
    }
    for (from, to) in product.files {
        file(&root.join(from), &tree.join(to), 0o644)?;
    }
    pages(product, &root.join(PAGES.0), &tree.join(PAGES.1))?;
    for (machine, from) in OF_MACHINES {
        if product.name == AGENT.name && std::env::consts::ARCH == machine {
            directory(&root.join(from), tree, MOST_LEVELS)?;
        }
    }
    for program in product.programs {
        if let Some(programs) = programs {
            file(&programs.join(program.name), &tree.join(program.to), 0o755)?;
        }
    }
    fs::set_permissions(tree, fs::Permissions::from_mode(0o755))
        .with_context(|| format!("cannot set the mode of {}", tree.display()))
}

fn pages(product: &Product, from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from).with_context(|| format!("cannot list {}", from.display()))? {
        let name = entry?.file_name();
        if (product.explains)(&name.to_string_lossy()) {
            file(&from.join(&name), &to.join(&name), 0o644)?;
        }
    }
    Ok(())
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
