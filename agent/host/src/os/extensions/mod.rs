//! The extensions of an OS image as a package repository, without a container, a mount or an image store.
//!
//! Owns `/run/ostler/extensions` and the repository file that points there, from their making to their removal. Refuses
//! to layer packages, which is the backend's work. What is pulled is verified by skopeo against the machine's policy,
//! and by its digests again here.

mod unpack;

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use nix::fcntl::OFlag;
use ostler_core::os::image::Pinned;
use ostler_core::os::layer::{self, LayerError};
use ostler_core::os::manifest::{self, Image, Manifest};
use ostler_core::protocol::Class;

use super::registry::{self, RegistryError, digest_of};
use super::skopeo::{Mirrors, Skopeo, ensure_directory, path};
use crate::disk::{Attributes, Disk, RootDisk};
pub use unpack::UnpackError;
use unpack::{TREE, Unpacker, remove_tree};

/// Where everything is; gone after a restart.
const DIRECTORY: &str = "/run/ostler/extensions";
/// Where the image is while it is unpacked.
const IMAGE: &str = "/run/ostler/extensions/image";
/// What it is unpacked to.
const UNPACKED: &str = "/run/ostler/extensions/tree";
/// What tells rpm-ostree of the packages. It must never outlive them: with it, nothing else could be layered.
const REPOSITORY: &str = "/etc/yum.repos.d/coreos-extensions.repo";
/// The repository file before it is complete; nobody reads a file with this name.
const DRAFT: &str = "/etc/yum.repos.d/.ostler-coreos-extensions";

/// Pulling may take long; an image that takes longer than this will not come.
const LIMIT: Duration = Duration::from_secs(20 * 60);
const MOST_WORDS: usize = 1024 * 1024;
const MOST_LAYER: u64 = 16 * 1024 * 1024 * 1024;
const MOST_DEPTH: usize = 64;

/// Why there are no extensions.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExtensionsError {
    /// It could not be pulled.
    #[error("the extensions image {image} could not be pulled")]
    Pull {
        /// Which.
        image: String,
        /// Why.
        #[source]
        source: RegistryError,
    },
    /// It is not what it should be.
    #[error("what was pulled as {image} is something else: its manifest has the digest {found}")]
    Other {
        /// Which.
        image: String,
        /// What it is.
        found: String,
    },
    /// It cannot be unpacked.
    #[error("the extensions image {image} could not be unpacked")]
    Unpack {
        /// Which.
        image: String,
        /// Why.
        #[source]
        source: UnpackError,
    },
    /// It holds no extensions.
    #[error("{image} is no extensions image: it has nothing in {TREE}")]
    Empty {
        /// Which.
        image: String,
    },
    /// The disk did not play along.
    #[error("could not {action} {path}")]
    Disk {
        /// What was being done.
        action: &'static str,
        /// To what.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl ExtensionsError {
    /// Whose fault it is.
    pub fn class(&self) -> Class {
        match self {
            Self::Pull { source: RegistryError::Said { permanent, .. }, .. } if !permanent => Class::Transient,
            Self::Pull { source: RegistryError::Command(_), .. } | Self::Disk { .. } => Class::Transient,
            Self::Unpack { source: UnpackError::Disk { .. } | UnpackError::Layer(_), .. } => Class::Transient,
            Self::Pull { .. } | Self::Other { .. } | Self::Unpack { .. } | Self::Empty { .. } => Class::Refusal,
        }
    }
}

/// The extensions of a machine.
#[derive(Debug)]
pub struct Extensions<'m, D> {
    disk: &'m D,
}

impl<'m, D: Disk> Extensions<'m, D> {
    /// On a machine's disk.
    pub const fn new(disk: &'m D) -> Self {
        Self { disk }
    }

    /// Pulls an image and offers its packages to rpm-ostree. Whatever was offered before is gone, and nothing is left
    /// where this fails.
    pub fn provide(&self, skopeo: &Skopeo, image: &Pinned) -> Result<(), ExtensionsError> {
        self.remove()?;
        let provided = self.pull(skopeo, image).and_then(|()| self.unpack(skopeo, image)).and_then(|()| self.offer());
        if provided.is_err() {
            // The first error is the one to tell; what is left now is removed by the next attempt or by recovery.
            let _ = self.remove();
        }
        provided
    }

    /// Takes the offer back and removes everything; says whether there was anything. Can be done at any time and again.
    pub fn remove(&self) -> Result<bool, ExtensionsError> {
        let mut found = false;
        for name in [REPOSITORY, DRAFT] {
            found |= self.remove_file(name)?;
        }
        let directory = path(DIRECTORY).map_err(failed("remove", DIRECTORY))?;
        let removed = remove_tree(self.disk, &directory, MOST_DEPTH).map_err(failed("remove", DIRECTORY))?;
        Ok(found || removed)
    }

    fn remove_file(&self, name: &str) -> Result<bool, ExtensionsError> {
        let unremoved = || failed("remove", name);
        let file = path(name).map_err(unremoved())?;
        match self.disk.remove(&file) {
            Ok(()) => {}
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(false),
            Err(error) => return Err(unremoved()(error)),
        }
        self.disk.sync_directory(file.parent().as_ref()).map_err(unremoved())?;
        Ok(true)
    }

    fn pull(&self, skopeo: &Skopeo, image: &Pinned) -> Result<(), ExtensionsError> {
        let directory = path(IMAGE).map_err(failed("make", IMAGE))?;
        for above in directory.ancestors().iter().chain([&directory]) {
            ensure_directory(self.disk, above).map_err(failed("make", IMAGE))?;
        }
        let mut target = OsString::from("dir:");
        target.push(skopeo.below(IMAGE));
        let command = skopeo.call(Mirrors::Followed, LIMIT, MOST_WORDS);
        let command = command.arguments(["copy", "--quiet", "--preserve-digests"]).arguments(skopeo.auth_options());
        let command = command.arguments([OsString::from(format!("docker://{image}")), target]);
        let pulled = command.run().map(|_| ()).map_err(registry::said);
        pulled.map_err(|source| ExtensionsError::Pull { image: image.to_string(), source })
    }

    fn unpack(&self, skopeo: &Skopeo, image: &Pinned) -> Result<(), ExtensionsError> {
        let manifest = self.manifest(skopeo, image)?;
        let tree = path(UNPACKED).map_err(failed("make", UNPACKED))?;
        ensure_directory(self.disk, &tree).map_err(failed("make", UNPACKED))?;
        let below = RootDisk::open(&skopeo.below(UNPACKED)).map_err(failed("open", UNPACKED))?;
        let found = unpack_image(&below, &skopeo.below(IMAGE), &manifest)
            .map_err(|source| ExtensionsError::Unpack { image: image.to_string(), source })?;
        if !found {
            return Err(ExtensionsError::Empty { image: image.to_string() });
        }
        let packed = path(IMAGE).map_err(failed("remove", IMAGE))?;
        remove_tree(self.disk, &packed, MOST_DEPTH).map_err(failed("remove", IMAGE))?;
        Ok(())
    }

    /// The manifest that was pulled: that of the image itself, or the one for this machine in the list it names.
    fn manifest(&self, skopeo: &Skopeo, image: &Pinned) -> Result<Image, ExtensionsError> {
        let file = path(&format!("{IMAGE}/manifest.json")).map_err(failed("read", IMAGE))?;
        let most = u64::try_from(manifest::MOST_BYTES).unwrap_or(u64::MAX);
        let bytes = self.disk.read(&file, most).map_err(failed("read", IMAGE))?;
        let found = digest_of(&bytes);
        let pull = |source| ExtensionsError::Pull { image: image.to_string(), source };
        if found != image.digest() && !listed(&registry::manifest_of(skopeo, image).map_err(pull)?, &found) {
            return Err(ExtensionsError::Other { image: image.to_string(), found });
        }
        match Manifest::parse(&bytes).map_err(|error| pull(error.into()))? {
            Manifest::Image(manifest) => Ok(manifest),
            Manifest::List(_) => Err(ExtensionsError::Other { image: image.to_string(), found }),
        }
    }

    /// Writes the repository file. It need not survive a restart, but nobody must see half of it.
    fn offer(&self) -> Result<(), ExtensionsError> {
        let unwritten = || failed("write", REPOSITORY);
        let (draft, repository) = (path(DRAFT).map_err(unwritten())?, path(REPOSITORY).map_err(unwritten())?);
        for above in repository.ancestors() {
            ensure_directory(self.disk, &above).map_err(unwritten())?;
        }
        let attributes = Attributes { mode: 0o644, uid: 0, gid: 0 };
        self.disk.create(&draft, repository_file().as_bytes(), attributes).map_err(unwritten())?;
        self.disk.sync(&draft).map_err(unwritten())?;
        self.disk.rename(&draft, &repository).map_err(unwritten())
    }
}

fn listed(manifest: &Manifest, digest: &str) -> bool {
    match manifest {
        Manifest::List(entries) => {
            manifest::entry_for(entries, std::env::consts::ARCH).is_some_and(|entry| entry.digest == digest)
        }
        Manifest::Image(_) => false,
    }
}

/// As the machine-config-daemon writes it, but for the directory.
fn repository_file() -> String {
    format!(
        "[coreos-extensions]\nenabled=1\nmetadata_expire=1m\nbaseurl={UNPACKED}{TREE}/\ngpgcheck=0\nskip_if_unavailable=False\n"
    )
}

/// Unpacks the layers of an image in skopeo's `dir:` layout; says whether it had any extensions. A layer is removed once
/// it is unpacked for the last time: all of it lies in memory.
fn unpack_image(tree: &RootDisk, directory: &Path, image: &Image) -> Result<bool, UnpackError> {
    let mut unpacker = Unpacker::new(tree);
    let packed = RootDisk::open(directory).map_err(|source| UnpackError::Disk { path: IMAGE.to_owned(), source })?;
    let mut layers = image.layers.iter();
    while let Some(blob) = layers.next() {
        let unread = |source| LayerError::Read { digest: blob.digest.clone(), source };
        let name = blob.digest.strip_prefix("sha256:").unwrap_or_default();
        let source = open(&directory.join(name)).map_err(unread)?;
        layer::read(source, blob, MOST_LAYER, |archive| unpacker.layer(archive))?;
        if !layers.clone().any(|later| later.digest == blob.digest) {
            path(&format!("/{name}")).and_then(|file| packed.remove(&file)).map_err(unread)?;
        }
    }
    Ok(!unpacker.is_empty()?)
}

/// No link in the place of a layer is followed.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(OFlag::O_NOFOLLOW.bits()).open(path)
}

fn failed(action: &'static str, path: &str) -> impl FnOnce(io::Error) -> ExtensionsError {
    let path = path.to_owned();
    move |source| ExtensionsError::Disk { action, path, source }
}
