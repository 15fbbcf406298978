//! A whole disk at a glance, to compare before and after.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::sync::Arc;

use super::inode::{Body, Inodes, ROOT, Traits};
use crate::disk::{Attributes, Xattrs};

/// What stands at one path.
#[derive(Clone, PartialEq, Eq)]
pub enum Node {
    /// A regular file.
    File {
        /// Its bytes, which `Debug` tells apart but does not show.
        contents: Arc<[u8]>,
        /// Its mode and owner.
        attributes: Attributes,
        /// Its SELinux label.
        label: Option<String>,
        /// Its other extended attributes.
        xattrs: Xattrs,
    },
    /// A directory.
    Directory {
        /// Its mode and owner.
        attributes: Attributes,
        /// Its SELinux label.
        label: Option<String>,
    },
    /// A symbolic link.
    Link {
        /// Where it points, as written in it.
        target: String,
    },
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { contents, attributes: Attributes { mode, uid, gid }, label, xattrs } => {
                let mut hasher = DefaultHasher::new();
                contents.hash(&mut hasher);
                let label = label.as_deref().unwrap_or("-");
                write!(f, "file {mode:04o} {uid}:{gid} {label}, {} bytes, #{:016x}", contents.len(), hasher.finish())?;
                if xattrs.is_empty() { Ok(()) } else { write!(f, ", {xattrs:?}") }
            }
            Self::Directory { attributes: Attributes { mode, uid, gid }, label } => {
                write!(f, "directory {mode:04o} {uid}:{gid} {}", label.as_deref().unwrap_or("-"))
            }
            Self::Link { target } => write!(f, "link to {target}"),
        }
    }
}

/// Everything below the root by its path.
pub(super) fn tree(inodes: &Inodes) -> io::Result<BTreeMap<String, Node>> {
    let mut nodes = BTreeMap::new();
    let mut left = vec![(String::new(), ROOT)];
    while let Some((path, ino)) = left.pop() {
        let inode = inodes.get(ino)?;
        let Traits { attributes, label, xattrs } = inode.attributes.now().clone();
        let node = match &inode.body {
            Body::File(contents) => Node::File { contents: contents.bytes.clone(), attributes, label, xattrs },
            Body::Link(target) => Node::Link { target: target.clone() },
            Body::Directory(entries) => {
                left.extend(entries.now.iter().map(|(name, ino)| (format!("{path}/{name}"), *ino)));
                Node::Directory { attributes, label }
            }
        };
        if ino != ROOT {
            nodes.insert(path, node);
        }
    }
    Ok(nodes)
}
