//! Whether the root disk of a machine that is off is whole: its file system, and the repository on it.
//!
//! Looked at from outside, where it takes a second and reads what is on the disk; a guest takes a minute of emulation, and
//! reads what it has in memory.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::command::answer;

/// What a mount replays first is what any boot would.
const LOOK: &str = "mount -t ext4 -o loop \"$1\" \"$2\" && ostree fsck --quiet --repo=\"$2/ostree/repo\" && umount \"$2\" && \
    e2fsck -f -n \"$1\"";

/// Checks the image of a disk; a directory is for what is needed meanwhile. The image is changed by it.
pub fn check(image: &Path, work: &Path) -> Result<()> {
    let at = work.join("fsck");
    fs::create_dir_all(&at)?;
    let mut look = Command::new("unshare");
    look.args(["--mount", "--propagation", "private", "sh", "-c", LOOK, "look"]).arg(image).arg(&at);
    answer(look.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")).map(drop).context("the disk is not whole")
}
