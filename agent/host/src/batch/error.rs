//! What can go wrong with a batch, told by how much of it has happened. Never holds contents.

use std::fmt;
use std::io;

use crate::disk::{Obstacle, RootPath};

/// Why a batch was not applied, or not wholly.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    /// The tag could not be part of a file's name.
    #[error("a transaction's tag is 1 to 64 ASCII letters, digits, \"-\" or \"_\"")]
    Tag,
    /// More entries than one batch may have.
    #[error("the batch has {count} entries, more than the {most} allowed: split it")]
    TooMany {
        /// How many it has.
        count: usize,
        /// How many it may have.
        most: usize,
    },
    /// Refused before anything was written.
    #[error("{path}: {why}; nothing was changed")]
    Refused {
        /// The target, or the element above it that is in the way.
        path: RootPath,
        /// What is wrong with it.
        why: Refusal,
    },
    /// Refused before anything was written: a filesystem has too little space for it.
    #[error(
        "the filesystem that holds {path} has {free} bytes left and {needed} are needed: free space on it; nothing was \
         changed"
    )]
    Space {
        /// The first target on that filesystem.
        path: RootPath,
        /// Bytes that everything to be written there takes.
        needed: u64,
        /// Bytes that are left.
        free: u64,
    },
    /// Refused before anything was written: a filesystem can hold too few more files.
    #[error(
        "the filesystem that holds {path} has {free} inodes left and {needed} are needed: remove files from it; nothing \
         was changed"
    )]
    Files {
        /// The first target on that filesystem.
        path: RootPath,
        /// Files, links and directories that are made there.
        needed: u64,
        /// How many it can still hold.
        free: u64,
    },
    /// Failed before the first file was replaced; the tree is as it was.
    #[error("could not {operation} {path}; nothing was changed")]
    Untouched {
        /// What was being done.
        operation: Operation,
        /// What it was done to.
        path: RootPath,
        /// What the disk answered.
        source: io::Error,
    },
    /// Failed before the first file was replaced, and a temporary file or new directory could not be taken away again.
    #[error("could not {operation} {path}; no file was changed, but {left} could not be removed again")]
    Residue {
        /// What was being done.
        operation: Operation,
        /// What it was done to.
        path: RootPath,
        /// The first thing that is still there; a sweep removes it.
        left: RootPath,
        /// What the disk answered.
        source: io::Error,
    },
    /// Failed when some files were already replaced or removed, each as a whole.
    #[error("could not {operation} {path} after other files were changed: apply the batch again, or its reverse")]
    Partial {
        /// What was being done.
        operation: Operation,
        /// What it was done to.
        path: RootPath,
        /// What the disk answered.
        source: io::Error,
    },
    /// Leftovers could not be swept; no file but leftovers was touched.
    #[error("could not {operation} {path} while sweeping up after an interrupted transaction")]
    Sweep {
        /// What was being done.
        operation: Operation,
        /// What it was done to.
        path: RootPath,
        /// What the disk answered.
        source: io::Error,
    },
}

/// Why a path cannot be written or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// A directory stands at the target.
    #[error("a directory is in the way")]
    Directory,
    /// A device, socket or pipe stands at the target.
    #[error("a device, socket or pipe is in the way")]
    Special,
    /// Something that is no directory stands above the target.
    #[error("is to hold other files but is not a directory")]
    NotADirectory,
    /// A link above the target ends nowhere, or at something else than a directory.
    #[error("is a link that leads to no directory below the root")]
    LeadsNowhere,
    /// The path is named more than once.
    #[error("is in the batch more than once")]
    Repeated,
    /// The path is a file in the batch and a directory of something else in it.
    #[error("is a file in the batch and the directory of another")]
    Nested,
    /// The name is one that temporaries have.
    #[error("names that start with \".ostler-\" are kept for temporary files")]
    Reserved,
    /// No temporary can have a name beside it.
    #[error("the path is too long for a temporary file beside it")]
    TooLong,
    /// A link cannot have this target.
    #[error("the target of a link has 1 to 4095 bytes and no NUL")]
    Target,
    /// Nothing can be changed there.
    #[error("{0}")]
    Obstructed(Obstacle),
    /// A link on the way leads to where the kernel keeps its own files.
    #[error("leads below {0} by a symbolic link")]
    KernelTree(&'static str),
    /// A link on the way leads to the agent's own files.
    #[error("leads by a symbolic link to a file that belongs to the node agent")]
    AgentFile,
}

impl Refusal {
    /// What a person can do about it.
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::Obstructed(Obstacle::ReadOnly) => {
                "put the file into the OS image if its place is read-only by design, as /usr is; else mount the filesystem \
                 writable"
            }
            Self::Obstructed(Obstacle::Immutable | Obstacle::AppendOnly) => "take the flag off: chattr -ia PATH",
            Self::Obstructed(Obstacle::MountPoint) => "unmount it, or take the path out of the config",
            Self::Obstructed(Obstacle::Kernel(_)) | Self::KernelTree(_) => {
                "take the file out of the config, and set such values through sysctl.d, tmpfiles.d, udev or a systemd unit"
            }
            Self::AgentFile => "take the path out of the config, or remove the link",
            Self::Directory
            | Self::Special
            | Self::NotADirectory
            | Self::LeadsNowhere
            | Self::Repeated
            | Self::Nested
            | Self::Reserved
            | Self::TooLong
            | Self::Target => "move what is in the way, or correct the config",
        }
    }
}

/// What was being done when the disk failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operation {
    /// Looking at what is there.
    Inspect,
    /// Listing a directory.
    List,
    /// Making a directory.
    MakeDirectory,
    /// Writing a temporary file.
    Write,
    /// Giving a file or directory its SELinux label.
    Label,
    /// Making a file or directory durable.
    Sync,
    /// Giving a file its final name.
    Replace,
    /// Removing a file.
    Remove,
    /// Reading a file.
    Read,
    /// Taking a lock.
    Lock,
    /// Moving a damaged file out of the way.
    SetAside,
    /// Closing a directory to others.
    Restrict,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Inspect => "inspect",
            Self::List => "list",
            Self::MakeDirectory => "make the directory",
            Self::Write => "write",
            Self::Label => "label",
            Self::Sync => "make durable",
            Self::Replace => "replace",
            Self::Remove => "remove",
            Self::Read => "read",
            Self::Lock => "lock",
            Self::SetAside => "move aside",
            Self::Restrict => "close to other users",
        })
    }
}

/// For a path that is refused.
pub(super) fn refused(path: &RootPath, why: Refusal) -> BatchError {
    BatchError::Refused { path: path.clone(), why }
}

/// A failed operation, before it is known what that means for the batch.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) operation: Operation,
    pub(crate) path: RootPath,
    pub(crate) source: io::Error,
}

impl Failure {
    /// For `map_err` behind an operation on a path.
    pub(crate) fn of(operation: Operation, path: &RootPath) -> impl FnOnce(io::Error) -> Self {
        move |source| Self { operation, path: path.clone(), source }
    }

    pub(super) fn untouched(self) -> BatchError {
        BatchError::Untouched { operation: self.operation, path: self.path, source: self.source }
    }

    pub(super) fn residue(self, left: RootPath) -> BatchError {
        BatchError::Residue { operation: self.operation, path: self.path, left, source: self.source }
    }

    pub(super) fn partial(self) -> BatchError {
        BatchError::Partial { operation: self.operation, path: self.path, source: self.source }
    }

    pub(super) fn sweep(self) -> BatchError {
        BatchError::Sweep { operation: self.operation, path: self.path, source: self.source }
    }
}
