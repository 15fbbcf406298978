//! The facts that decide whether the operating system can be changed, gathered before a node is drained.
//!
//! Owns the looking: free space, registries, policy, versions. Refuses to judge, which is core's
//! [`findings`](ostler_core::os::preflight::findings), and to stop at what it cannot find out: that is a fact too.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, ErrorKind};
use std::path::Path;

use ostler_core::os::image::Pinned;
use ostler_core::os::mirrors::{self, Place};
use ostler_core::os::preflight::{Answer, Asked, Facts, FailedTarget, Releases, Space, Trust, sysroot_need};
use ostler_core::os::release::{self, ALEPH_PATHS, Aleph, Base, DECISION_PATH, Decision};
use ostler_core::os::trust::{self, Policy, Requirement};
use ostler_core::registries;

use super::registry::{self, Description};
use super::skopeo::{Skopeo, path};
use crate::disk::{Disk, Kind, RootPath};

const MOST_FILE: u64 = 4 * 1024 * 1024;
const MOST_DROP_INS: usize = 256;
const MOST_BOOT_ENTRIES: usize = 64;
const MOST_LINKS: usize = 8;

/// What is known of the machine already.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The major version that runs.
    pub booted_major: Option<u32>,
    /// The kernel that runs, as `uname -r` has it.
    pub kernel: String,
    /// The kernel's command line, with the argument that says which deployment was booted.
    pub command_line: String,
    /// Digests of layers that the sysroot has already.
    pub layers: Vec<String>,
    /// Who is changing the operating system right now.
    pub occupant: Option<String>,
    /// What has failed here before.
    pub failed: Vec<FailedTarget>,
    /// Whether the machine has never run anything but what it was installed from.
    pub first_boot: bool,
}

/// A machine to look at.
#[derive(Debug)]
pub struct Survey<'m, D> {
    disk: &'m D,
    root: &'m Path,
    skopeo: &'m Skopeo,
}

impl<'m, D: Disk> Survey<'m, D> {
    /// `root` is where the disk is rooted.
    pub const fn new(disk: &'m D, root: &'m Path, skopeo: &'m Skopeo) -> Self {
        Self { disk, root, skopeo }
    }

    /// Gathers everything about a change to an image. Takes as long as the registries take to answer.
    pub fn facts(&self, image: &Pinned, known: Known) -> Facts {
        let (asked, description) = match self.places(image) {
            Ok(places) => {
                let (asked, description) = self.ask(places);
                (Ok(asked), description)
            }
            Err(why) => (Err(why), None),
        };
        let manifest = description.as_ref().map(|description| description.manifest.clone());
        let labels = description.as_ref().map(|description| description.labels.clone()).unwrap_or_default();
        let space = description.map(|description| self.space(&description, &known)).unwrap_or_default();
        Facts {
            image: image.clone(),
            manifest,
            space,
            asked,
            trust: self.trust(image),
            releases: self.releases(&labels, &known),
            occupant: known.occupant,
            failed: known.failed,
        }
    }

    /// Asks one place after the other until one has the image, as a pull would.
    fn ask(&self, places: Vec<Place>) -> (Vec<Asked>, Option<Description>) {
        let mut description = None;
        let mut asked = Vec::with_capacity(places.len());
        for place in places {
            let answer = if description.is_some() || place.blocked.is_some() {
                Answer::NotAsked
            } else {
                match registry::describe(self.skopeo, &place) {
                    Ok(described) => {
                        description = Some(described);
                        Answer::Has
                    }
                    Err(error) => error.answer(),
                }
            };
            asked.push(Asked { place, answer });
        }
        (asked, description)
    }

    /// Where an image is looked for.
    pub(crate) fn places(&self, image: &Pinned) -> Result<Vec<Place>, String> {
        let main = self.text(registries::PATH, MOST_FILE).map_err(|error| format!("{}: {error}", registries::PATH))?;
        let drop_ins = self.drop_ins().map_err(|error| format!("{}: {error}", mirrors::DROP_INS))?;
        let merged = mirrors::merge(&main.unwrap_or_default(), &drop_ins).map_err(|error| told(&error))?;
        mirrors::places(&merged, image).map_err(|error| told(&error))
    }

    fn drop_ins(&self) -> io::Result<Vec<(String, String)>> {
        let directory = path(mirrors::DROP_INS)?;
        let names = match self.disk.list(&directory) {
            Ok(names) => names,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let names = names.iter().filter_map(|name| name.to_str()).filter(|name| name.ends_with(".conf"));
        let mut drop_ins = Vec::new();
        for name in names.take(MOST_DROP_INS) {
            let path = format!("{}/{name}", mirrors::DROP_INS);
            if let Some(text) = self.text(&path, MOST_FILE)? {
                drop_ins.push((path, text));
            }
        }
        Ok(drop_ins)
    }

    fn trust(&self, image: &Pinned) -> Result<Trust, String> {
        let unread = |why: String| format!("{} cannot be read: {why}", trust::PATH);
        let text = self.text(trust::PATH, MOST_FILE).map_err(|error| unread(error.to_string()))?;
        let text = text.ok_or_else(|| unread("it does not exist".to_owned()))?;
        let ruling = Policy::parse(&text).map_err(|error| told(&error))?.ruling(image);
        let keys = match &ruling.requirement {
            Requirement::Signed { keys } => keys.clone(),
            Requirement::AcceptsAnything | Requirement::Rejected => Vec::new(),
        };
        let missing = keys.into_iter().filter(|key| !self.is_there(key)).collect();
        Ok(Trust { ruling, missing })
    }

    fn is_there(&self, file: &str) -> bool {
        let stat = path(file).and_then(|path| self.disk.stat(&path));
        stat.is_ok_and(|stat| stat.is_some_and(|stat| stat.kind != Kind::Directory))
    }

    fn releases(&self, labels: &BTreeMap<String, String>, known: &Known) -> Releases {
        let aleph = ALEPH_PATHS.iter().find_map(|name| self.text(name, release::MOST_BYTES).ok().flatten());
        let decision =
            self.text(DECISION_PATH, release::MOST_BYTES).map_err(|error| format!("{DECISION_PATH}: {error}"));
        let parsed =
            decision.and_then(|text| Decision::parse(&text.unwrap_or_default()).map_err(|error| error.to_string()));
        Releases {
            booted: known.booted_major,
            target: Base::of_labels(labels),
            boot_image: aleph.and_then(|text| Aleph::parse(&text)?.base()).map(|base| base.major),
            first_boot: known.first_boot,
            decision: parsed,
        }
    }

    /// What cannot be measured is left to the backend to find out.
    fn space(&self, description: &Description, known: &Known) -> Vec<Space> {
        let layers: Vec<(String, u64)> =
            description.layers.iter().map(|layer| (layer.digest.clone(), layer.size)).collect();
        let need = |total| sysroot_need(&layers, &known.layers, total);
        let sysroot = self.room("/sysroot", need(self.total("sysroot"))).ok();
        let other_kernel = release::kernel(&description.labels).is_none_or(|kernel| kernel != known.kernel);
        let boot = if other_kernel { self.boot(&known.command_line).ok() } else { None };
        match (sysroot, boot) {
            // A machine without a boot partition keeps its kernels in the sysroot.
            (Some((mut sysroot, one)), Some((boot, other))) if one == other => {
                sysroot.needed = sysroot.needed.saturating_add(boot.needed);
                vec![sysroot]
            }
            (sysroot, boot) => sysroot.into_iter().chain(boot).map(|(space, _)| space).collect(),
        }
    }

    /// Bytes that a filesystem has in all; none where it cannot be asked.
    fn total(&self, below: &str) -> u64 {
        rustix::fs::statvfs(self.root.join(below)).map_or(0, |stat| stat.f_blocks.saturating_mul(stat.f_frsize))
    }

    fn room(&self, directory: &str, needed: u64) -> io::Result<(Space, u64)> {
        let free = self.disk.free(Some(&path(directory)?))?;
        let space = Space { directory: directory.to_owned(), free: free.bytes, needed, reclaimable: 0 };
        Ok((space, free.filesystem))
    }

    /// A new kernel with its initial ramdisk is taken to be as large as the largest there is; all but the booted one can
    /// be removed for it.
    fn boot(&self, command_line: &str) -> io::Result<(Space, u64)> {
        let entries = self.boot_entries()?;
        let largest = entries.iter().map(|(_, size)| *size).max().unwrap_or(0);
        let booted = booted_entry(command_line);
        let others = entries.iter().filter(|(name, _)| booted.as_ref().is_some_and(|booted| booted != name));
        let reclaimable = others.fold(0_u64, |sum, (_, size)| sum.saturating_add(*size));
        let (space, filesystem) = self.room("/boot", largest)?;
        Ok((Space { reclaimable, ..space }, filesystem))
    }

    fn boot_entries(&self) -> io::Result<Vec<(String, u64)>> {
        let directory = path("/boot/ostree")?;
        let mut entries = Vec::new();
        for name in self.disk.list(&directory)?.iter().filter_map(|name| name.to_str()).take(MOST_BOOT_ENTRIES) {
            let Ok(entry) = directory.join(name) else { continue };
            entries.push((name.to_owned(), self.size(&entry)?));
        }
        Ok(entries)
    }

    fn size(&self, directory: &RootPath) -> io::Result<u64> {
        let mut size = 0_u64;
        for name in self.disk.list(directory)? {
            let file = name.to_str().and_then(|name| directory.join(name).ok());
            let stat = file.map(|file| self.disk.stat(&file)).transpose()?.flatten();
            size = size.saturating_add(stat.filter(|stat| stat.kind == Kind::File).map_or(0, |stat| stat.size));
        }
        Ok(size)
    }

    /// Where links at a path lead; other readers of these files follow them too.
    fn followed(&self, mut file: RootPath) -> io::Result<RootPath> {
        for _ in 0..MOST_LINKS {
            if self.disk.stat(&file)?.is_none_or(|stat| stat.kind != Kind::Link) {
                return Ok(file);
            }
            let target = self.disk.read_link(&file)?;
            let parent = file.parent().map(|parent| parent.to_string()).unwrap_or_default();
            file = path(&joined(&parent, &target.to_string_lossy()))?;
        }
        Err(io::Error::other("links lead nowhere"))
    }

    /// None where there is no such file.
    fn text(&self, name: &str, most: u64) -> io::Result<Option<String>> {
        match self.followed(path(name)?).and_then(|path| self.disk.read(&path, most)) {
            Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| ErrorKind::InvalidData.into()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// `ostree=/ostree/boot.1/rhcos/CHECKSUM/0` was booted from `/boot/ostree/rhcos-CHECKSUM`.
fn booted_entry(command_line: &str) -> Option<String> {
    let argument = command_line.split_whitespace().find_map(|word| word.strip_prefix("ostree="))?;
    let mut parts = argument.split('/').skip(3);
    let (stateroot, checksum) = (parts.next()?, parts.next()?);
    Some(format!("{stateroot}-{checksum}"))
}

/// A link's target, from the directory it lies in.
fn joined(parent: &str, target: &str) -> String {
    let start = if target.starts_with('/') { "" } else { parent };
    let mut elements: Vec<&str> = Vec::new();
    for element in start.split('/').chain(target.split('/')) {
        match element {
            "" | "." => {}
            ".." => {
                elements.pop();
            }
            element => elements.push(element),
        }
    }
    format!("/{}", elements.join("/"))
}

/// An error with its causes.
fn told(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

#[cfg(test)]
mod tests;
