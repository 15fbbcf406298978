//! Disks told apart, so that a check that depends on nothing else need not look at the same disk twice.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use sha2::{Digest, Sha256};

use super::inode::{Body, Ino, Inode, Inodes, ROOT};

/// A sum of everything that operations or power cuts can bring to light. Inodes count by the order in which they are met,
/// because their numbers show nowhere.
pub(super) fn fingerprint(inodes: &Inodes) -> u128 {
    let mut met = Met { numbers: BTreeMap::from([(ROOT, 0)]), left: vec![ROOT] };
    let mut text = Text(Vec::new());
    while let Some(ino) = met.left.pop() {
        if let Ok(inode) = inodes.get(ino) {
            describe(inode, &mut met, &mut text);
        }
    }
    let sum = Sha256::digest(&text.0);
    sum.iter().take(16).fold(0, |number, byte| number << 8 | u128::from(*byte))
}

fn describe(Inode { filesystem, attributes, body }: &Inode, met: &mut Met, text: &mut Text) {
    (filesystem, attributes).hash(text);
    match body {
        Body::File(contents) => (0, contents).hash(text),
        Body::Link(target) => (1, target).hash(text),
        Body::Directory(entries) => {
            (2, entries.now.len(), entries.durable.len(), entries.pending.len()).hash(text);
            for (name, ino) in entries.now.iter().chain(&entries.durable) {
                (name, met.number(*ino)).hash(text);
            }
            for change in &entries.pending {
                change.len().hash(text);
                for (name, ino) in change {
                    (name, ino.map(|ino| met.number(ino))).hash(text);
                }
            }
        }
    }
}

/// Inodes that were met, and those of them that are not described yet.
struct Met {
    numbers: BTreeMap<Ino, usize>,
    left: Vec<Ino>,
}

impl Met {
    fn number(&mut self, ino: Ino) -> usize {
        let next = self.numbers.len();
        *self.numbers.entry(ino).or_insert_with(|| {
            self.left.push(ino);
            next
        })
    }
}

/// Keeps what is hashed instead of hashing it, for a sum with more bits.
struct Text(Vec<u8>);

impl Hasher for Text {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}
