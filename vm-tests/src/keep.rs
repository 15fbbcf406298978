//! Where what takes long to make is kept: outside the checkout, under a name made of what went into it.
//!
//! What is there is whole: it is made beside its place and moved there at the end. Only a few of a kind are kept.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

const UNFINISHED: &str = "unfinished-";
/// How many of a kind stay; the eldest go first.
const KEPT: usize = 2;

/// The directory of everything that is kept.
pub fn directory() -> Result<PathBuf> {
    let named = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = named("XDG_CACHE_HOME").or_else(|| Some(named("HOME")?.join(".cache")));
    let at = cache.context("neither XDG_CACHE_HOME nor HOME says where to keep images")?.join("ostler/vm");
    fs::create_dir_all(&at).with_context(|| format!("cannot make {}", at.display()))?;
    Ok(at)
}

/// A name for what is made of these.
#[derive(Default)]
pub struct Key(Sha256);

impl Key {
    /// Takes a text in.
    pub fn text(mut self, text: &str) -> Self {
        self.0.update(text.len().to_le_bytes());
        self.0.update(text);
        self
    }

    /// Takes a file's contents in.
    pub fn file(mut self, path: &Path) -> Result<Self> {
        let contents = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        self.0.update(contents.len().to_le_bytes());
        self.0.update(contents);
        Ok(self)
    }

    /// The name.
    pub fn name(self) -> String {
        self.0.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// What is kept of a kind under a name; made first where it is not there.
pub fn provide(kind: &str, name: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let directory = directory()?;
    let at = directory.join(format!("{kind}-{name}"));
    let lock = File::create(directory.join(format!("{kind}.lock"))).context("cannot make a lock file")?;
    lock.lock().context("cannot wait for another run")?;
    if at.exists() {
        // Its age is that of its last use.
        let _ = File::open(&at).and_then(|file| file.set_modified(SystemTime::now()));
        return Ok(at);
    }
    println!("vm: making {kind} {name}");
    let (start, work) = (Instant::now(), directory.join(format!("{UNFINISHED}{kind}")));
    clear(&work)?;
    fs::create_dir(&work)?;
    let made = make(&work);
    if made.is_ok() {
        fs::rename(&work, &at).with_context(|| format!("cannot make {}", at.display()))?;
    }
    clear(&work)?;
    made.with_context(|| format!("{kind} cannot be made"))?;
    println!("vm: {kind} {name} took {:.0} s", start.elapsed().as_secs_f64());
    forget(&directory, kind)?;
    Ok(at)
}

/// Removes the eldest of a kind.
fn forget(directory: &Path, kind: &str) -> Result<()> {
    let mut all: Vec<(SystemTime, PathBuf)> = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let own = entry.file_name().to_str().is_some_and(|name| name.starts_with(&format!("{kind}-")));
        if own && entry.file_type()?.is_dir() {
            all.push((entry.metadata()?.modified()?, entry.path()));
        }
    }
    all.sort();
    all.iter().rev().skip(KEPT).try_for_each(|(_, eldest)| clear(eldest))
}

/// Removes a directory, if it is there; ostree makes deployments immutable.
fn clear(at: &Path) -> Result<()> {
    if !at.exists() {
        return Ok(());
    }
    let _ = std::process::Command::new("chattr").args(["-R", "-f", "-i"]).arg(at).status();
    fs::remove_dir_all(at).with_context(|| format!("cannot remove {}", at.display()))
}
