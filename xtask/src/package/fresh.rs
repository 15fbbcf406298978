//! A system that has never seen Ostler, to install packages into: Debian's smallest with what they depend on, made once and
//! kept as an archive.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::{process, workspace};

/// Where this machine's distribution names itself.
const OS_RELEASE: &str = "/etc/os-release";
/// The release for machines that do not run Debian: programs need a C library that is not older than the one they were
/// linked with.
const NEWEST: &str = "testing";
/// What the packages depend on. The name of the archive changes with it.
const INCLUDED: &str = "systemd,dbus,libostree-1-1";

/// The archive, which is made if it is not there.
pub fn provide() -> Result<PathBuf> {
    let cache = workspace::cache()?.join("ostler/root");
    let release = release(&fs::read_to_string(OS_RELEASE).unwrap_or_default());
    let kept = cache.join(format!("{release}-{}.tar", INCLUDED.replace(',', "-")));
    fs::create_dir_all(&cache).with_context(|| format!("cannot make {}", cache.display()))?;
    let lock = File::create(cache.join("lock")).context("cannot make a lock file")?;
    lock.lock().context("cannot wait for somebody else who makes it")?;
    if !kept.exists() {
        make(&release, &cache, &kept)?;
    }
    Ok(kept)
}

/// What is there is whole: it is made beside its place and moved there at the end.
fn make(release: &str, cache: &Path, kept: &Path) -> Result<()> {
    let unfinished = cache.join("unfinished.tar");
    let mut command = Command::new("mmdebstrap");
    command.args(["--quiet", "--variant=essential", &format!("--include={INCLUDED}")]);
    process::run(command.args(["--aptopt=Acquire::Languages \"none\"", release]).arg(&unfinished))?;
    fs::rename(&unfinished, kept).with_context(|| format!("cannot make {}", kept.display()))
}

/// The release of Debian that programs of this machine run on: its own, where it runs Debian.
fn release(os_release: &str) -> String {
    let value = |key: &str| os_release.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    let codename = value("VERSION_CODENAME").filter(|_| value("ID") == Some("debian"));
    codename.unwrap_or(NEWEST).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_tried_on_the_release_they_were_built_on() {
        for (text, expected) in [
            ("VERSION_CODENAME=bookworm\nID=debian\n", "bookworm"),
            ("NAME=\"Debian GNU/Linux\"\nVERSION_CODENAME=forky\nID=debian\n", "forky"),
            ("ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=noble\n", NEWEST),
            ("ID=fedora\n", NEWEST),
            ("", NEWEST),
        ] {
            assert_eq!(release(text), expected, "{text}");
        }
    }
}
