//! The machine's files, as the few operations whose durability matters.
//!
//! Owns the seam between what is done to files and what they are stored on. Refuses to know what a file is for. Nothing
//! here is atomic or durable but what is said to be: those who need more build it from these operations.

#[cfg(any(test, feature = "fault-injection"))]
pub mod memory;

mod root;
mod xattrs;

use std::error::Error;
use std::ffi::OsString;
use std::io;

use nix::errno::Errno;

pub use ostler_core::root_path::{PathError, RootPath};
pub use root::{RootDisk, RootLock};
pub use xattrs::Xattrs;

/// What stands at a path, the last element itself and not what it may link to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// What it is.
    pub kind: Kind,
    /// Permission bits, at most 07777.
    pub mode: u32,
    /// Owning user.
    pub uid: u32,
    /// Owning group.
    pub gid: u32,
    /// Bytes, for a file.
    pub size: u64,
}

/// Kinds of directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A device, socket or pipe.
    Special,
}

/// Mode and owner that a new file gets before it can be seen under its final name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Attributes {
    /// Permission bits.
    pub mode: u32,
    /// Owning user.
    pub uid: u32,
    /// Owning group.
    pub gid: u32,
}

/// What is left of a filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Free {
    /// Which filesystem it is, as [`Disk::filesystem`] numbers them.
    pub filesystem: u64,
    /// Bytes that anybody may still take; `u64::MAX` where they are not counted.
    pub bytes: u64,
    /// Files that may still be made (inodes); `u64::MAX` where they are not counted.
    pub files: u64,
}

/// Why nothing can be made, replaced or removed at a path, whatever its permissions are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// A filesystem of this type, whose files the kernel makes.
    #[error("lies on {0}, a filesystem of the kernel")]
    Kernel(&'static str),
    /// A read-only filesystem, or a read-only mount of one.
    #[error("lies on a filesystem that is mounted read-only")]
    ReadOnly,
    /// Something is mounted here.
    #[error("is a mount point")]
    MountPoint,
    /// Set on the file or its directory.
    #[error("is immutable, or its directory is (chattr +i)")]
    Immutable,
    /// Set on the file or its directory.
    #[error("is append-only, or its directory is (chattr +a)")]
    AppendOnly,
}

/// A symbolic link that is not followed: its owner may not write where it leads, and would have it written by us.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the symbolic link {link} belongs to user {owner} and leads to a directory of user {found}: it is not followed"
)]
pub struct ForeignLink {
    pub link: String,
    pub owner: u32,
    /// The owner of the directory that it leads to.
    pub found: u32,
}

impl ForeignLink {
    /// Whether an error is this one.
    pub fn is(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<Self>())
    }
}

impl From<ForeignLink> for io::Error {
    fn from(link: ForeignLink) -> Self {
        Self::new(io::ErrorKind::PermissionDenied, link)
    }
}

/// Errors of the disk among the causes of an error.
pub(crate) fn disk_errors<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e io::Error> {
    std::iter::successors(Some(error), |cause| (*cause).source()).filter_map(|cause| cause.downcast_ref())
}

/// Whether a disk or a quota had no room left: trouble of the moment.
pub(crate) fn is_full(error: &(dyn Error + 'static)) -> bool {
    let full = |error: &io::Error| matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
    disk_errors(error).any(full)
}

/// Whether what stands at a path is there and cannot be read: a bad sector, or metadata that does not agree with itself.
pub(crate) fn is_unreadable(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw);
    matches!(errno, Some(Errno::EIO | Errno::EBADMSG | Errno::EUCLEAN))
}

/// Operations on files below one root directory. No path leads out of it, whatever links it passes; one that passes a link
/// of somebody who is neither root nor the owner of the directory behind it is an error that holds a [`ForeignLink`].
///
/// Durability is POSIX's: contents are safe after [`Disk::sync`] of the file, a name (created, renamed or removed) after
/// [`Disk::sync`] of its directory, and [`Disk::sync_filesystem`] does both for everything on a filesystem. A rename
/// replaces its target atomically; that is all that is atomic.
pub trait Disk {
    /// Held while the lock on a file is.
    type Lock;

    /// Does several things in the directory that holds a path, which is then looked for once: what `work` does in it, it
    /// does in the directory that was found first, whatever takes that one's name meanwhile. The rest is as always.
    fn beside<T>(&self, _path: &RootPath, work: impl FnOnce(&Self) -> T) -> T {
        work(self)
    }

    /// What stands at the path; `None` when nothing does, nor when something on the way is no directory.
    fn stat(&self, path: &RootPath) -> io::Result<Option<Stat>>;

    /// The path with all links on the way to its last element followed.
    fn resolve(&self, path: &RootPath) -> io::Result<RootPath>;

    /// What keeps something at the path, which may be there or not, from being made, replaced or removed.
    fn obstacle(&self, path: &RootPath) -> io::Result<Option<Obstacle>>;

    /// A regular file's bytes. One that is longer than `most` is an error of kind `FileTooLarge`, anything else at the
    /// path an error too; a link at the path is not followed.
    fn read(&self, path: &RootPath, most: u64) -> io::Result<Vec<u8>>;

    /// Whether a regular file has these bytes and no others; anything else at the path is an error, as for [`Disk::read`].
    fn holds(&self, path: &RootPath, contents: &[u8]) -> io::Result<bool> {
        match self.read(path, u64::try_from(contents.len()).unwrap_or(u64::MAX)) {
            Ok(found) => Ok(found == contents),
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Where a symbolic link points, as written in it.
    fn read_link(&self, path: &RootPath) -> io::Result<OsString>;

    /// Names in a directory, sorted.
    fn list(&self, directory: &RootPath) -> io::Result<Vec<OsString>>;

    /// Makes one directory; its parent exists. Its mode is exactly the one of its attributes, whatever access control list
    /// a new directory would inherit.
    fn make_directory(&self, path: &RootPath, attributes: Attributes) -> io::Result<()>;

    /// Makes a file that was not there, with all its contents and exactly the mode of its attributes. Not durable yet.
    fn create(&self, path: &RootPath, contents: &[u8], attributes: Attributes) -> io::Result<()>;

    /// Makes a symbolic link that was not there.
    fn link(&self, path: &RootPath, target: &str) -> io::Result<()>;

    /// Changes mode and owner of a file or directory, never through a link.
    fn set_attributes(&self, path: &RootPath, attributes: Attributes) -> io::Result<()>;

    /// The SELinux label of a file or directory; `None` when it has none, its filesystem keeps none, or a link or anything
    /// else stands at the path.
    fn label(&self, path: &RootPath) -> io::Result<Option<String>>;

    /// Gives a file or directory an SELinux label, never through a link. As durable as mode and owner are.
    fn set_label(&self, path: &RootPath, label: &str) -> io::Result<()>;

    /// The extended attributes of a regular file that are kept; none where its filesystem keeps none. Too many are an error
    /// of kind `FileTooLarge`.
    fn xattrs(&self, path: &RootPath) -> io::Result<Xattrs>;

    /// Gives a regular file extended attributes, never through a link. Those that its filesystem or this user may not set
    /// are left out. As durable as mode and owner are.
    fn set_xattrs(&self, path: &RootPath, xattrs: &Xattrs) -> io::Result<()>;

    /// Gives a file or link another name on the same filesystem, replacing a file or link that has it.
    fn rename(&self, from: &RootPath, to: &RootPath) -> io::Result<()>;

    /// Removes a file or link, never a directory.
    fn remove(&self, path: &RootPath) -> io::Result<()>;

    /// Removes an empty directory.
    fn remove_directory(&self, path: &RootPath) -> io::Result<()>;

    /// Makes a file's contents, or a directory's names, durable.
    fn sync(&self, path: &RootPath) -> io::Result<()>;

    /// Makes a directory's names durable; `None` is the root directory. Unlike with [`Disk::sync`], a link at the path is
    /// followed, no further than to the root.
    fn sync_directory(&self, directory: Option<&RootPath>) -> io::Result<()>;

    /// Makes everything on the filesystem that holds the path durable.
    fn sync_filesystem(&self, path: &RootPath) -> io::Result<()>;

    /// Which filesystem holds what stands at the path, as a number that differs between filesystems.
    fn filesystem(&self, path: &RootPath) -> io::Result<u64>;

    /// What is left of the filesystem that a directory lies on; `None` is the root directory, and a link is followed.
    fn free(&self, directory: Option<&RootPath>) -> io::Result<Free>;

    /// Takes the lock on a file, which is made if it is not there; `None` when another process holds it.
    fn lock(&self, path: &RootPath) -> io::Result<Option<Self::Lock>>;
}
