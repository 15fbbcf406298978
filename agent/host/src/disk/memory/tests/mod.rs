//! The model itself, and that it has teeth: work that leaves out a sync is caught.

mod durability;
mod errors;
mod faults;
mod properties;

use super::*;
use crate::disk::{Disk, Kind};

const OLD: Attributes = Attributes { mode: 0o644, uid: 0, gid: 0 };
const NEW: Attributes = Attributes { mode: 0o640, uid: 7, gid: 8 };
const SEEDS: u64 = 64;

fn path(text: &str) -> RootPath {
    RootPath::new(text).unwrap()
}

fn disk(files: &[(&str, &str, u32)]) -> MemoryDisk {
    MemoryDisk::with(files).unwrap()
}

fn file(contents: &str, attributes: Attributes) -> Option<Node> {
    Some(Node::File { contents: contents.as_bytes().into(), attributes, label: None, xattrs: Default::default() })
}

/// What a path may be after a power cut, over many seeds.
fn outcomes(disk: &MemoryDisk, at: &str) -> Vec<Option<Node>> {
    let mut found: Vec<Option<Node>> = Vec::new();
    for seed in 0..SEEDS {
        let node = disk.reboot(seed).tree().remove(at);
        if !found.contains(&node) {
            found.push(node);
        }
    }
    found
}
