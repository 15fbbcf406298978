//! Where a path leads: the directory that holds its last element, held open, and that element's name.
//!
//! What is done at a place is done relative to the open directory and never through a
//! link, so directories that become links meanwhile change nothing.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat, fstatat};
use nix::unistd::{UnlinkatFlags, unlinkat};

use super::super::{Kind, RootPath, Stat};
use super::owner::Caller;
use super::walk::walk;

/// An open directory and a name in it, at which there may be nothing.
#[derive(Debug)]
pub(super) struct Place<'p> {
    /// Opened for its place only: it can be acted in but neither listed nor synced. Others may hold it too.
    pub(super) parent: Arc<OwnedFd>,
    /// One element, never `.` or `..`.
    pub(super) name: &'p str,
}

impl<'p> Place<'p> {
    /// Walks to a path's directory. Links on the way are followed, an absolute one or `..` no further than to the root, if
    /// they are root's or of who owns the directory behind them.
    pub(super) fn find(root: BorrowedFd<'_>, path: &'p RootPath, caller: Option<Caller>) -> io::Result<Self> {
        Ok(Self { parent: walk(root, path.directory(), caller)?.directory.into(), name: path.name() })
    }

    /// What stands here.
    pub(super) fn stat(&self) -> io::Result<Stat> {
        self.raw_stat().map(|stat| stat_of(&stat))
    }

    /// Opens what stands here, or makes it, as `flags` say; never through a link and never waiting for a pipe's other end.
    pub(super) fn open(&self, flags: OFlag, mode: Mode) -> io::Result<File> {
        let always = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
        retry(|| openat(&self.parent, self.name, flags | always, mode)).map(File::from)
    }

    /// Opens what stands here for reading if it is of one of these kinds.
    pub(super) fn open_existing(&self, kinds: &[Kind]) -> io::Result<(File, Stat)> {
        // Merely opening a device can do something, so it is looked at first; what was opened is looked at again because
        // it may be another thing by then.
        check(self.stat()?, kinds)?;
        let file = self.open(OFlag::O_RDONLY, Mode::empty())?;
        let stat = check(stat_of(&retry(|| fstat(&file))?), kinds)?;
        Ok((file, stat))
    }

    /// Opens the regular file that stands here, or makes an empty one that only its owner can use.
    pub(super) fn open_or_create(&self) -> io::Result<File> {
        match self.stat() {
            Ok(stat) => check(stat, &[Kind::File]).map(drop)?,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let file = self.open(OFlag::O_RDWR | OFlag::O_CREAT, Mode::S_IRUSR | Mode::S_IWUSR)?;
        check(stat_of(&retry(|| fstat(&file))?), &[Kind::File])?;
        Ok(file)
    }

    /// Whether this very file stands here.
    pub(super) fn holds(&self, file: &File) -> io::Result<bool> {
        let open = retry(|| fstat(file))?;
        match self.raw_stat() {
            Ok(here) => Ok((here.st_dev, here.st_ino) == (open.st_dev, open.st_ino)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Takes back a file that could not be finished, unless its name went to another one. A failure is not told: the
    /// error that led here is the one that counts.
    pub(super) fn withdraw(&self, file: &File) {
        if matches!(self.holds(file), Ok(true)) {
            let _ = retry(|| unlinkat(&self.parent, self.name, UnlinkatFlags::NoRemoveDir));
        }
    }

    /// The number of the filesystem that holds what stands here.
    pub(super) fn device(&self) -> io::Result<u64> {
        self.raw_stat().map(|stat| stat.st_dev)
    }

    fn raw_stat(&self) -> io::Result<FileStat> {
        retry(|| fstatat(&self.parent, self.name, AtFlags::AT_SYMLINK_NOFOLLOW))
    }
}

/// Opens a directory that is open for its place such that it can be synced.
pub(super) fn open_for_sync(directory: &OwnedFd) -> io::Result<File> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    retry(|| openat(directory, ".", flags, Mode::empty())).map(File::from)
}

/// Repeats a call that a signal interrupted.
pub(super) fn retry<T>(mut call: impl FnMut() -> nix::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(Errno::EINTR) => {}
            result => return result.map_err(io::Error::from),
        }
    }
}

/// The error for a thing of a kind that an operation is not for.
pub(super) fn unfit(kind: Kind) -> io::Error {
    let (error, what) = match kind {
        Kind::File => (ErrorKind::NotADirectory, "a regular file"),
        Kind::Directory => (ErrorKind::IsADirectory, "a directory"),
        Kind::Link => (ErrorKind::InvalidInput, "a symbolic link, which is not followed"),
        Kind::Special => (ErrorKind::InvalidInput, "a device, socket or pipe"),
    };
    io::Error::new(error, format!("the path is {what}"))
}

fn check(stat: Stat, kinds: &[Kind]) -> io::Result<Stat> {
    if kinds.contains(&stat.kind) { Ok(stat) } else { Err(unfit(stat.kind)) }
}

fn stat_of(raw: &FileStat) -> Stat {
    let format = SFlag::from_bits_truncate(raw.st_mode) & SFlag::S_IFMT;
    let kind = match format {
        SFlag::S_IFREG => Kind::File,
        SFlag::S_IFDIR => Kind::Directory,
        SFlag::S_IFLNK => Kind::Link,
        _ => Kind::Special,
    };
    Stat {
        kind,
        mode: raw.st_mode & 0o7777,
        uid: raw.st_uid,
        gid: raw.st_gid,
        size: u64::try_from(raw.st_size).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_call_is_repeated_and_a_failed_one_is_not() {
        let mut calls = 0;
        let result = retry(|| {
            calls += 1;
            if calls < 3 { Err(Errno::EINTR) } else { Ok(calls) }
        });
        assert_eq!(result.unwrap(), 3);
        let error = retry(|| Err::<(), _>(Errno::EIO)).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(Errno::EIO as i32));
    }
}
