//! The links of `/etc/systemd/system`: those that stand, and what becomes of them.

use std::collections::{BTreeMap, BTreeSet};

use super::name::Name;
use super::{Links, OfflineError, UnitText, UnitTexts};
use crate::disk::{Disk, Kind, RootPath};

pub(super) const CONFIG: &str = "/etc/systemd/system";
const DEPENDENCIES: &[&str] = &[".wants", ".requires", ".upholds"];

/// Links by their path below [`CONFIG`]: an alias has no slash in it, a dependency has one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Existing {
    links: BTreeMap<String, String>,
    /// Whether `/lib` is a link, so that two ways of writing a target mean the same.
    merged: bool,
}

impl Existing {
    /// Reads the links of the root, without those that mask and those that the transaction replaces by a file.
    pub fn scan(disk: &impl Disk, texts: &impl UnitTexts) -> Result<Self, OfflineError> {
        let config = fixed(CONFIG)?;
        let merged = stat(disk, &fixed("/lib")?)? == Some(Kind::Link);
        let mut existing = Self { links: BTreeMap::new(), merged };
        for entry in list(disk, &config)? {
            let Ok(path) = config.join(&entry) else { continue };
            match stat(disk, &path)? {
                Some(Kind::Link) => {
                    let replaced = match texts.unit(&entry).map_err(OfflineError::read(&entry))? {
                        UnitText::File { path: file, .. } => file == path,
                        UnitText::Masked => true,
                        UnitText::Absent | UnitText::Link(_) => false,
                    };
                    if !replaced {
                        existing.take(disk, &path, entry)?;
                    }
                }
                Some(Kind::Directory) if DEPENDENCIES.iter().any(|ending| entry.ends_with(ending)) => {
                    existing.scan_dependencies(disk, &path, &entry)?;
                }
                _ => {}
            }
        }
        Ok(existing)
    }

    fn scan_dependencies(&mut self, disk: &impl Disk, at: &RootPath, directory: &str) -> Result<(), OfflineError> {
        for entry in list(disk, at)? {
            let Ok(path) = at.join(&entry) else { continue };
            if stat(disk, &path)? == Some(Kind::Link) {
                self.take(disk, &path, format!("{directory}/{entry}"))?;
            }
        }
        Ok(())
    }

    fn take(&mut self, disk: &impl Disk, path: &RootPath, key: String) -> Result<(), OfflineError> {
        let target = disk.read_link(path).map_err(OfflineError::read(path.as_str()))?;
        if target != "/dev/null" {
            self.links.insert(key, target.to_string_lossy().into_owned());
        }
        Ok(())
    }

    /// Removes every link that starts one of these units, and every alias of theirs with what hangs on it.
    pub fn remove(&mut self, units: &BTreeSet<String>) {
        let mut marked = units.clone();
        loop {
            let doomed: Vec<String> = self
                .links
                .iter()
                .filter(|(key, target)| hit(&marked, key, target))
                .map(|(key, _)| key.clone())
                .collect();
            if doomed.is_empty() {
                return;
            }
            for key in doomed {
                self.links.remove(&key);
                if !key.contains('/') {
                    marked.insert(key);
                }
            }
        }
    }

    /// Where an alias leads, if there is one.
    pub fn alias(&self, name: &str) -> Option<&str> {
        self.links.get(name).map(String::as_str)
    }

    /// Whether a dependency of this name stands.
    pub fn starts(&self, unit: &str) -> bool {
        self.links.keys().any(|key| key.contains('/') && base(key) == unit)
    }

    /// Whether instances of this template are started, or the unit has a second name.
    pub fn touches(&self, unit: &str) -> bool {
        let instance = |name: &str| Name::of(name).template().as_deref() == Some(unit);
        self.links.iter().any(|(key, target)| instance(base(key)) || (key != unit && base(target) == unit))
    }

    /// Puts a link, keeping the way an equal one is written.
    pub fn put(&mut self, key: String, target: &str) {
        let merged = self.merged;
        let kept = self.links.get(&key).is_some_and(|old| equal(merged, old, target));
        if !kept {
            self.links.insert(key, target.to_owned());
        }
    }

    /// What leads from here to there.
    pub fn difference(&self, after: &Self) -> Result<Links, OfflineError> {
        let mut links = Links::default();
        for (key, target) in &after.links {
            if !self.links.get(key).is_some_and(|old| equal(self.merged, old, target)) {
                links.add.push((place(key)?, target.clone()));
            }
        }
        for key in self.links.keys().filter(|key| !after.links.contains_key(*key)) {
            links.remove.push(place(key)?);
        }
        links.add.sort();
        links.remove.sort();
        Ok(links)
    }
}

fn hit(marked: &BTreeSet<String>, key: &str, target: &str) -> bool {
    let named = |name: &str| {
        marked.contains(name) || Name::of(name).template().is_some_and(|template| marked.contains(&template))
    };
    named(base(key)) || named(base(target))
}

pub(super) fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Debian writes `/lib`, others `/usr/lib`; where one is a link to the other both are right.
fn equal(merged: bool, one: &str, other: &str) -> bool {
    let plain = |target: &str| match target.strip_prefix("/lib/") {
        Some(below) if merged => format!("/usr/lib/{below}"),
        _ => target.to_owned(),
    };
    plain(one) == plain(other)
}

fn place(key: &str) -> Result<RootPath, OfflineError> {
    RootPath::new(format!("{CONFIG}/{key}")).map_err(|source| OfflineError::Path { unit: base(key).to_owned(), source })
}

pub(super) fn fixed(path: &str) -> Result<RootPath, OfflineError> {
    RootPath::new(path).map_err(|source| OfflineError::Path { unit: path.to_owned(), source })
}

pub(super) fn stat(disk: &impl Disk, path: &RootPath) -> Result<Option<Kind>, OfflineError> {
    Ok(disk.stat(path).map_err(OfflineError::read(path.as_str()))?.map(|stat| stat.kind))
}

/// Names in a directory that may not be there. Those that are not text name no unit, and hidden ones are passed over as
/// systemd does: they are temporaries, ours among them.
pub(super) fn list(disk: &impl Disk, directory: &RootPath) -> Result<Vec<String>, OfflineError> {
    if stat(disk, directory)? != Some(Kind::Directory) {
        return Ok(Vec::new());
    }
    let names = disk.list(directory).map_err(OfflineError::read(directory.as_str()))?;
    let visible = |name: &String| !name.starts_with('.');
    Ok(names.into_iter().filter_map(|name| name.into_string().ok()).filter(visible).collect())
}
