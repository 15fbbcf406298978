//! What virtual machines are made of, in layers: packages, a bootable tree of them, images of that tree in a registry, and the
//! disks of a machine that runs the first image. Each is made once for what went into it.

mod disks;
mod initramfs;
mod layers;
mod rootfs;
mod tree;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::command::answer;
use crate::keep::{self, Key};
use crate::tools::Tools;

pub use layers::{NAMES, VERSIONS};

/// The programs that go into a machine.
pub struct Programs {
    /// The agent's Debian package.
    pub package: PathBuf,
    /// The directory with the stand-ins and `lab`.
    pub standins: PathBuf,
    /// The top of the checkout.
    pub checkout: PathBuf,
}

impl Programs {
    fn lab(&self) -> PathBuf {
        self.standins.join("lab")
    }

    /// Everything of the checkout that is in an image, and what an image is made with.
    fn files(&self) -> Result<Vec<PathBuf>> {
        let mut files: Vec<_> = ["bootc", "rpm-ostreed", "lab"].map(|name| self.standins.join(name)).into();
        files.push(self.package.clone());
        for directory in ["tests/standins/files", "vm-tests/guest"] {
            let directory = self.checkout.join(directory);
            let listed = answer(Command::new("find").arg(&directory).args(["-type", "f"]))?;
            files.extend(listed.lines().map(PathBuf::from));
        }
        files.sort();
        Ok(files)
    }

    fn key(&self) -> Result<Key> {
        self.files()?.iter().try_fold(Key::default(), |key, file| {
            let place = file.strip_prefix(&self.checkout).unwrap_or(file);
            key.text(&place.display().to_string()).file(file)
        })
    }
}

/// A machine that has never been switched on, and the registry its updates come from.
pub struct Image {
    at: PathBuf,
    name: String,
}

impl Image {
    /// That of these programs; made first where it is not there.
    pub fn provide(programs: &Programs, tools: &Tools) -> Result<Self> {
        let root = rootfs::provide()?;
        let name = Self::name(programs)?;
        let at = keep::provide("image", &name, |work| make(work, &root, programs, tools))?;
        Ok(Self { at, name })
    }

    /// Has in the cache what images are made of; within some minutes, or not at all.
    pub fn fetch() -> Result<()> {
        Tools::provide()?;
        rootfs::provide().map(drop)
    }

    fn name(programs: &Programs) -> Result<String> {
        let made_by = [include_str!("disks.rs"), include_str!("initramfs.rs"), include_str!("layers.rs")];
        let made_by = made_by.into_iter().chain([include_str!("tree.rs"), include_str!("rootfs.rs")]);
        Ok(made_by.fold(programs.key()?, Key::text).text(&rootfs::name()).name())
    }

    /// The image of a disk.
    pub fn disk(&self, name: &str) -> PathBuf {
        self.at.join(format!("{name}.img"))
    }

    /// What the registry serves.
    pub fn registry(&self) -> PathBuf {
        self.at.join("registry")
    }

    /// The digest of one of [`NAMES`].
    pub fn digest(&self, name: &str) -> Result<String> {
        let at = self.at.join(format!("digest-{name}"));
        fs::read_to_string(&at).with_context(|| format!("cannot read {}", at.display()))
    }

    /// What it goes by.
    pub fn key(&self) -> &str {
        &self.name
    }
}

fn make(work: &Path, root: &Path, programs: &Programs, tools: &Tools) -> Result<()> {
    // Trees with owners of their own are made and thrown away beside the result.
    let scratch = work.join("scratch");
    fs::create_dir(&scratch)?;
    let tree = scratch.join("tree");
    tree::make(&tree, root, tools, programs)?;
    let layout = scratch.join("oci");
    layers::make(&layout, &tree, programs, work)?;
    disks::make(&scratch, &layout, programs, work)?;
    let _ = Command::new("chattr").args(["-R", "-f", "-i"]).arg(&scratch).status();
    fs::remove_dir_all(&scratch).context("cannot remove what an image was made of")
}
