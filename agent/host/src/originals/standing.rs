//! Something read from the disk whole, such that it can be put back or elsewhere.

use std::io;

use ostler_core::secret::Secret;

use crate::disk::{Attributes, Disk, Kind, PathError, RootPath, Xattrs};

/// A file or link as it stood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// A regular file.
    File {
        /// Its bytes.
        contents: Secret<Vec<u8>>,
        /// Its mode and owner.
        attributes: Attributes,
        /// Its SELinux label.
        label: Option<String>,
        /// Its other extended attributes, among them its access control list.
        xattrs: Xattrs,
    },
    /// A symbolic link.
    Link {
        /// Where it points, as written in it.
        target: String,
    },
}

/// Why an original could not be found out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OriginalsError {
    /// The path is too long to have something kept beside it.
    #[error("there is no place to keep the original of {path}; shorten the path in the config")]
    Place {
        /// The path of the configuration.
        path: RootPath,
        /// Why.
        #[source]
        source: PathError,
    },
    /// It is unknown what stands there.
    #[error("cannot see what stands at {path}")]
    Look {
        /// Where.
        path: RootPath,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// What stands there could not be read.
    #[error("cannot read {path} to keep it or put it back")]
    Read {
        /// Where.
        path: RootPath,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A directory, device, socket or pipe stands where only files and links are kept.
    #[error("{path} is neither a file nor a link and cannot be kept or put back; remove it or correct the config")]
    NotAFile {
        /// Where.
        path: RootPath,
    },
    /// A link's target is no text.
    #[error("the link {path} points to a name that is not UTF-8 and cannot be kept or put back; remove it")]
    LinkTarget {
        /// Where.
        path: RootPath,
    },
}

impl Standing {
    /// Whether it has the contents, mode and owner that an image has.
    pub fn is_default(&self, image: &Self) -> bool {
        match (self, image) {
            (Self::File { contents, attributes, .. }, Self::File { contents: others, attributes: other, .. }) => {
                contents == others && attributes == other
            }
            (Self::Link { .. }, _) | (_, Self::Link { .. }) => false,
        }
    }

    /// The same wherever it stands: labels go by the path.
    pub fn without_label(mut self) -> Self {
        if let Self::File { label, .. } = &mut self {
            *label = None;
        }
        self
    }

    /// Bytes that it takes to keep it, beyond its contents.
    pub fn extra_bytes(&self) -> u64 {
        match self {
            Self::File { xattrs, .. } => u64::try_from(xattrs.bytes()).unwrap_or(u64::MAX),
            Self::Link { .. } => 0,
        }
    }
}

/// Reads what stands at a path, a file of at most so many bytes or a link; `None` when nothing does.
pub fn read_standing(disk: &impl Disk, path: &RootPath, most: u64) -> Result<Option<Standing>, OriginalsError> {
    let stat = disk.stat(path).map_err(|source| OriginalsError::Look { path: path.clone(), source })?;
    let Some(stat) = stat else { return Ok(None) };
    let unread = |source| OriginalsError::Read { path: path.clone(), source };
    match stat.kind {
        Kind::File => {
            let contents = Secret::new(disk.read(path, most).map_err(unread)?);
            let label = disk.label(path).map_err(unread)?;
            let attributes = Attributes { mode: stat.mode, uid: stat.uid, gid: stat.gid };
            let xattrs = disk.xattrs(path).map_err(unread)?;
            Ok(Some(Standing::File { contents, attributes, label, xattrs }))
        }
        Kind::Link => {
            let target = disk.read_link(path).map_err(unread)?;
            let target = target.into_string().map_err(|_| OriginalsError::LinkTarget { path: path.clone() })?;
            Ok(Some(Standing::Link { target }))
        }
        Kind::Directory | Kind::Special => Err(OriginalsError::NotAFile { path: path.clone() }),
    }
}
