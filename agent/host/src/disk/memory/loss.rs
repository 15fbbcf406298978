//! What a power cut takes: every change that was not synced may have reached the disk or not.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use super::inode::{Body, Change, Contents, Entries, Ino, Inode, Inodes, ROOT, Traits, Versions, apply};
use crate::disk::Attributes;

/// Decides, the same way for the same seed, which changes that were not synced survive a power cut.
#[derive(Clone, Debug)]
pub struct Loss {
    names: Names,
    inodes: Inner,
    state: u64,
}

#[derive(Clone, Copy, Debug)]
enum Names {
    Lost,
    Kept,
    Prefix,
    Subset,
}

#[derive(Clone, Copy, Debug)]
enum Inner {
    Lost,
    Kept,
    Random,
}

impl Loss {
    /// All that was not synced is lost.
    pub fn everything() -> Self {
        Self { names: Names::Lost, inodes: Inner::Lost, state: 0 }
    }

    /// All reached the disk just in time.
    pub fn nothing() -> Self {
        Self { names: Names::Kept, inodes: Inner::Kept, state: 0 }
    }

    /// Names reached the disk, contents and attributes did not: files of length zero.
    pub fn contents() -> Self {
        Self { names: Names::Kept, inodes: Inner::Lost, state: 0 }
    }

    /// Contents and attributes reached the disk, names did not.
    pub fn names() -> Self {
        Self { names: Names::Lost, inodes: Inner::Kept, state: 0 }
    }

    /// Of each directory the first few changes survive, as on a filesystem that keeps their order.
    pub fn ordered(seed: u64) -> Self {
        Self { names: Names::Prefix, inodes: Inner::Random, state: seed }
    }

    /// Of each directory any changes survive, which is all that POSIX promises.
    pub fn unordered(seed: u64) -> Self {
        Self { names: Names::Subset, inodes: Inner::Random, state: seed }
    }

    /// The four extremes first, then the two random kinds in turn: as many seeds as wanted, none wasted.
    pub fn seeded(seed: u64) -> Self {
        match seed {
            0 => Self::everything(),
            1 => Self::nothing(),
            2 => Self::contents(),
            3 => Self::names(),
            odd if odd % 2 == 1 => Self::ordered(odd),
            even => Self::unordered(even),
        }
    }

    /// A number below `choices` (splitmix64); 0 when there is no choice.
    fn choose(&mut self, choices: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        let choices = u64::try_from(choices).unwrap_or(u64::MAX);
        mixed.checked_rem(choices).and_then(|choice| usize::try_from(choice).ok()).unwrap_or(0)
    }

    fn coin(&mut self) -> bool {
        self.choose(2) == 1
    }

    fn surviving_names(&mut self, entries: &Entries) -> BTreeMap<String, Ino> {
        let pending = entries.pending.iter();
        let survivors: Vec<&Change> = match self.names {
            Names::Lost => Vec::new(),
            Names::Kept => pending.collect(),
            Names::Prefix => pending.take(self.choose(entries.pending.len() + 1)).collect(),
            Names::Subset => pending.filter(|_| self.coin()).collect(),
        };
        let mut names = entries.durable.clone();
        survivors.into_iter().for_each(|change| apply(&mut names, change));
        names
    }

    fn surviving_traits(&mut self, versions: &Versions) -> Traits {
        match self.inodes {
            Inner::Lost => versions.durable.clone(),
            Inner::Kept => versions.now().clone(),
            Inner::Random => {
                // Mode, owner, label and extended attributes are changed by calls of their own, of which each may be lost.
                let mode = self.version(versions).attributes.mode;
                let attributes = Attributes { mode, ..self.version(versions).attributes };
                let label = self.version(versions).label.clone();
                Traits { attributes, label, xattrs: self.version(versions).xattrs.clone() }
            }
        }
    }

    fn version<'v>(&mut self, versions: &'v Versions) -> &'v Traits {
        let choice = self.choose(versions.pending.len() + 1);
        versions.pending.get(choice).unwrap_or(&versions.durable)
    }

    fn surviving_bytes(&mut self, contents: &Contents) -> Arc<[u8]> {
        if contents.synced {
            return contents.bytes.clone();
        }
        match self.inodes {
            Inner::Lost => Arc::default(),
            // Bytes that the kernel has forgotten are never written, however much luck there is.
            Inner::Kept | Inner::Random if contents.forgotten => Arc::default(),
            Inner::Kept => contents.bytes.clone(),
            Inner::Random => self.torn(&contents.bytes).into(),
        }
    }

    fn torn(&mut self, bytes: &[u8]) -> Vec<u8> {
        match self.choose(5) {
            0 => Vec::new(),
            1 => bytes.to_vec(),
            2 => bytes.iter().copied().take(self.choose(bytes.len())).collect(),
            3 => vec![0; bytes.len()],
            _ => {
                // Real blocks are larger; small ones let small files tear too.
                let block = (bytes.len() / 4).clamp(1, 512);
                bytes
                    .chunks(block)
                    .flat_map(|part| if self.coin() { part.to_vec() } else { vec![0; part.len()] })
                    .collect()
            }
        }
    }
}

/// The disk as it is found after a power cut, with nothing pending.
pub(super) fn survivors(before: &Inodes, loss: &mut Loss) -> io::Result<Inodes> {
    let mut table = BTreeMap::new();
    let mut left = vec![ROOT];
    while let Some(ino) = left.pop() {
        if table.contains_key(&ino) {
            continue;
        }
        let inode = before.shared(ino)?;
        if inode.is_settled() {
            left.extend(before.names(ino).into_iter().flat_map(BTreeMap::values));
            table.insert(ino, inode.clone());
            continue;
        }
        let Inode { filesystem, attributes, body } = &**inode;
        let attributes = Versions::of(loss.surviving_traits(attributes));
        let body = match body {
            Body::File(contents) => {
                Body::File(Contents { bytes: loss.surviving_bytes(contents), synced: true, forgotten: false })
            }
            Body::Link(target) => Body::Link(target.clone()),
            Body::Directory(entries) => {
                let names = loss.surviving_names(entries);
                left.extend(names.values());
                Body::Directory(Entries::settled(names))
            }
        };
        table.insert(ino, Arc::new(Inode { filesystem: *filesystem, attributes, body }));
    }
    Ok(Inodes::from_table(table))
}
