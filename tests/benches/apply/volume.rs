//! Where benchmarks write: a filesystem of their own where that can be had, so that a sync of it does not wait for what
//! other processes have written.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Failure, run};

const IMAGE_BYTES: u64 = 2 << 30;

/// A directory to write in, gone when dropped.
pub(super) struct Volume {
    directory: tempfile::TempDir,
    mount: Option<PathBuf>,
}

impl Volume {
    /// A new ext4 in an image, as only root can mount it; otherwise a directory on the disk that holds the build. Says
    /// which of them.
    pub(super) fn new() -> Result<Self, Failure> {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let mut volume = Self { directory, mount: None };
        let private = if fs::metadata("/proc/self")?.uid() == 0 { volume.mount() } else { Err("not root".into()) };
        match private {
            Ok(()) => println!("on an ext4 of its own, in an image"),
            Err(why) => println!("on the disk of the build, where the writing of others counts too: {why}"),
        }
        Ok(volume)
    }

    fn mount(&mut self) -> Result<(), Failure> {
        let image = self.directory.path().join("image");
        File::create(&image)?.set_len(IMAGE_BYTES)?;
        run(Command::new("mkfs.ext4").args(["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"]).arg(&image))?;
        let mount = self.directory.path().join("mount");
        fs::create_dir(&mount)?;
        run(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(&mount))?;
        self.mount = Some(mount);
        Ok(())
    }

    pub(super) fn path(&self) -> &Path {
        self.mount.as_deref().unwrap_or(self.directory.path())
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        let Some(mount) = &self.mount else { return };
        if let Err(why) = run(Command::new("umount").arg(mount)) {
            println!("{} is still mounted: {why}", mount.display());
        }
    }
}
