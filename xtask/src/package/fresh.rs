//! A system that has never seen Ostler, to install packages into: Debian's smallest with what they depend on, made once and
//! kept as an archive.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::{process, workspace};

/// The oldest release whose systemd and libostree will do.
const RELEASE: &str = "bookworm";
/// What the packages depend on. The name of the archive changes with it.
const INCLUDED: &str = "systemd,dbus,libostree-1-1";

/// The archive, which is made if it is not there.
pub fn provide() -> Result<PathBuf> {
    let cache = workspace::cache()?.join("ostler/root");
    let kept = cache.join(format!("{RELEASE}-{}.tar", INCLUDED.replace(',', "-")));
    fs::create_dir_all(&cache).with_context(|| format!("cannot make {}", cache.display()))?;
    let lock = File::create(cache.join("lock")).context("cannot make a lock file")?;
    lock.lock().context("cannot wait for somebody else who makes it")?;
    if !kept.exists() {
        make(&cache, &kept)?;
    }
    Ok(kept)
}

/// What is there is whole: it is made beside its place and moved there at the end.
fn make(cache: &Path, kept: &Path) -> Result<()> {
    let unfinished = cache.join("unfinished.tar");
    let mut command = Command::new("mmdebstrap");
    command.args(["--quiet", "--variant=essential", &format!("--include={INCLUDED}")]);
    process::run(command.args(["--aptopt=Acquire::Languages \"none\"", RELEASE]).arg(&unfinished))?;
    fs::rename(&unfinished, kept).with_context(|| format!("cannot make {}", kept.display()))
}
