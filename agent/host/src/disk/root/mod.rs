//! The disk of a real machine, as a capability on one directory.
//!
//! Owns the system calls behind [`Disk`] and their order. Refuses to know why anything is written, and to find anything
//! by a path that the kernel did not resolve within the root in the same call. Which SELinux label is right is the
//! caller's to know.

mod label;
mod obstacle;
mod owner;
mod place;
#[cfg(test)]
mod tests;
mod walk;
mod xattr;

use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use nix::dir::Dir;
use nix::fcntl::{AT_FDCWD, OFlag, PosixFadviseAdvice, openat, posix_fadvise, readlinkat, renameat};
use nix::sys::stat::{Mode, fstat, mkdirat};
use nix::unistd::{UnlinkatFlags, symlinkat, syncfs, unlinkat};

use super::{Attributes, Disk, Free, Kind, Obstacle, RootPath, Stat, Xattrs};
use owner::{Caller, Grant};
use place::{Place, open_for_sync, retry, unfit};
use walk::walk;

/// No directory that is listed has more names; one that does is not ours, and would only cost memory.
const MOST_NAMES: usize = 1 << 20;
/// Bytes that are compared at a time.
const MOST_COMPARED: usize = 64 << 10;
/// Bytes that take longer to write than a sync takes by itself.
const LARGE: usize = 256 << 10;
/// A lock file that is replaced more often than this while it is being locked is somebody's attack.
const LOCK_TRIES: usize = 100;

/// The files below a directory of the machine; nothing outside it can be reached through this.
#[derive(Debug)]
pub struct RootDisk {
    root: Arc<OwnedFd>,
    caller: Option<Caller>,
    found: Option<Found>,
}

/// A directory that was looked for already.
#[derive(Debug)]
struct Found {
    path: String,
    directory: Arc<OwnedFd>,
}

/// Lets the kernel begin to write a large file now, rather than when it is synced: until then others are, and it is no
/// longer waited for. Only a hint, so a failure is none.
fn start_writing(file: &File, length: usize) {
    if length >= LARGE {
        let _ = posix_fadvise(file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED);
    }
}

/// Held while the lock on a file is; given back when dropped.
#[derive(Debug)]
pub struct RootLock(File);

impl Drop for RootLock {
    fn drop(&mut self) {
        // Closing alone would leave the lock with a child that was forked and has not yet come to its exec. A failure is
        // no loss: the descriptor is closed next.
        let _ = self.0.unlock();
    }
}

impl RootDisk {
    /// Takes hold of a root directory. It stays the same one, whatever is done to its name later.
    pub fn open(directory: &Path) -> io::Result<Self> {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let root = retry(|| openat(AT_FDCWD, directory, flags, Mode::empty()))?;
        let caller = Caller::current();
        // A kernel that cannot walk safely is named now and not in the middle of a change.
        walk(root.as_fd(), "/", caller)?;
        Ok(Self { root: root.into(), caller, found: None })
    }

    fn place<'p>(&self, path: &'p RootPath) -> io::Result<Place<'p>> {
        match &self.found {
            Some(found) if found.path == path.directory() => {
                Ok(Place { parent: Arc::clone(&found.directory), name: path.name() })
            }
            _ => Place::find(self.root.as_fd(), path, self.caller),
        }
    }

    /// A directory, for its place, through a link too; the root when none is named.
    fn directory(&self, path: Option<&RootPath>) -> io::Result<OwnedFd> {
        walk(self.root.as_fd(), path.map_or("/", RootPath::as_str), self.caller).map(|reached| reached.directory)
    }
}

impl Disk for RootDisk {
    type Lock = RootLock;

    fn beside<T>(&self, path: &RootPath, work: impl FnOnce(&Self) -> T) -> T {
        // Where it is not found, each thing that is tried there says so.
        let found =
            self.place(path).ok().map(|place| Found { path: path.directory().to_owned(), directory: place.parent });
        work(&Self { root: Arc::clone(&self.root), caller: self.caller, found })
    }

    fn stat(&self, path: &RootPath) -> io::Result<Option<Stat>> {
        match self.place(path).and_then(|place| place.stat()) {
            Ok(stat) => Ok(Some(self.caller.map_or(stat, |caller| caller.see(stat)))),
            // Below something that is no directory there is nothing, just as below something missing.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn filesystem(&self, path: &RootPath) -> io::Result<u64> {
        self.place(path)?.device()
    }

    fn resolve(&self, path: &RootPath) -> io::Result<RootPath> {
        let reached = walk(self.root.as_fd(), path.directory(), self.caller)?;
        let not_text = "a link on the way leads to a name that is not UTF-8";
        let above = reached.path.to_str().ok_or_else(|| io::Error::new(ErrorKind::InvalidData, not_text))?;
        let resolved = format!("{}/{}", above.trim_end_matches('/'), path.name());
        RootPath::new(resolved).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
    }

    fn obstacle(&self, path: &RootPath) -> io::Result<Option<Obstacle>> {
        obstacle::find(&self.place(path)?)
    }

    fn read(&self, path: &RootPath, most: u64) -> io::Result<Vec<u8>> {
        let (file, stat) = self.place(path)?.open_existing(&[Kind::File])?;
        if stat.size > most {
            return Err(too_large(most));
        }
        let mut contents = Vec::new();
        contents.try_reserve_exact(usize::try_from(stat.size).unwrap_or(usize::MAX))?;
        // One byte more than is allowed tells a file that grew meanwhile, or whose size the kernel does not say.
        file.take(most.saturating_add(1)).read_to_end(&mut contents)?;
        if u64::try_from(contents.len()).unwrap_or(u64::MAX) > most {
            return Err(too_large(most));
        }
        Ok(contents)
    }

    fn holds(&self, path: &RootPath, contents: &[u8]) -> io::Result<bool> {
        let (file, stat) = self.place(path)?.open_existing(&[Kind::File])?;
        let same = u64::try_from(contents.len()).is_ok_and(|length| length == stat.size);
        if same { has_rest(file, contents) } else { Ok(false) }
    }

    fn read_link(&self, path: &RootPath) -> io::Result<OsString> {
        let place = self.place(path)?;
        retry(|| readlinkat(&place.parent, place.name))
    }

    fn list(&self, directory: &RootPath) -> io::Result<Vec<OsString>> {
        let file = self.place(directory)?.open(OFlag::O_RDONLY | OFlag::O_DIRECTORY, Mode::empty())?;
        let mut entries = Dir::from_fd(file.into())?;
        let mut names = Vec::new();
        for entry in entries.iter() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            if names.len() == MOST_NAMES {
                return Err(io::Error::other(format!("the directory has more than {MOST_NAMES} names")));
            }
            names.push(OsStr::from_bytes(name).to_owned());
        }
        names.sort();
        Ok(names)
    }

    fn make_directory(&self, path: &RootPath, attributes: Attributes) -> io::Result<()> {
        let grant = Grant::new(attributes, self.caller)?;
        let place = self.place(path)?;
        retry(|| mkdirat(&place.parent, place.name, Mode::S_IRWXU))?;
        let made = place
            .open(OFlag::O_RDONLY | OFlag::O_DIRECTORY, Mode::empty())
            .and_then(|directory| grant.give(&directory));
        if made.is_err() {
            // The first error is the one that counts. Only an empty directory goes, so nobody else's work is lost.
            let _ = unlinkat(&place.parent, place.name, UnlinkatFlags::RemoveDir);
        }
        made
    }

    fn create(&self, path: &RootPath, contents: &[u8], attributes: Attributes) -> io::Result<()> {
        let grant = Grant::new(attributes, self.caller)?;
        let place = self.place(path)?;
        let mut file = place.open(OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_WRONLY, Mode::S_IRUSR | Mode::S_IWUSR)?;
        let made = file.write_all(contents).and_then(|()| grant.give(&file));
        match &made {
            Ok(()) => start_writing(&file, contents.len()),
            Err(_) => place.withdraw(&file),
        }
        made
    }

    fn link(&self, path: &RootPath, target: &str) -> io::Result<()> {
        let place = self.place(path)?;
        retry(|| symlinkat(target, &place.parent, place.name))
    }

    fn set_attributes(&self, path: &RootPath, attributes: Attributes) -> io::Result<()> {
        let grant = Grant::new(attributes, self.caller)?;
        let (file, _) = self.place(path)?.open_existing(&[Kind::File, Kind::Directory])?;
        grant.give(&file)
    }

    fn label(&self, path: &RootPath) -> io::Result<Option<String>> {
        let place = self.place(path)?;
        match place.stat()?.kind {
            Kind::Link | Kind::Special => Ok(None),
            Kind::File | Kind::Directory => label::read(&place.open_existing(&[Kind::File, Kind::Directory])?.0),
        }
    }

    fn set_label(&self, path: &RootPath, label: &str) -> io::Result<()> {
        let stored = label::stored(label)?;
        let (file, _) = self.place(path)?.open_existing(&[Kind::File, Kind::Directory])?;
        label::write(&file, &stored)
    }

    fn xattrs(&self, path: &RootPath) -> io::Result<Xattrs> {
        xattr::read(&self.place(path)?.open_existing(&[Kind::File])?.0)
    }

    fn set_xattrs(&self, path: &RootPath, xattrs: &Xattrs) -> io::Result<()> {
        xattr::write(&self.place(path)?.open_existing(&[Kind::File])?.0, xattrs)
    }

    fn rename(&self, from: &RootPath, to: &RootPath) -> io::Result<()> {
        let beside = from.directory() == to.directory();
        let from = self.place(from)?;
        // Most renames stay in their directory, and then need no second walk.
        let other = if beside { None } else { Some(self.place(to)?) };
        // The kernel would move a directory too, over an empty one. One that comes in after this look is moved within
        // the root all the same.
        match from.stat()?.kind {
            Kind::File | Kind::Link => {}
            kind @ (Kind::Directory | Kind::Special) => return Err(unfit(kind)),
        }
        let target = other.as_ref().map_or(&from.parent, |place| &place.parent);
        retry(|| renameat(&from.parent, from.name, target, to.name()))
    }

    fn remove(&self, path: &RootPath) -> io::Result<()> {
        let place = self.place(path)?;
        retry(|| unlinkat(&place.parent, place.name, UnlinkatFlags::NoRemoveDir))
    }

    fn remove_directory(&self, path: &RootPath) -> io::Result<()> {
        let place = self.place(path)?;
        retry(|| unlinkat(&place.parent, place.name, UnlinkatFlags::RemoveDir))
    }

    fn sync(&self, path: &RootPath) -> io::Result<()> {
        let (file, _) = self.place(path)?.open_existing(&[Kind::File, Kind::Directory])?;
        make_durable(&file)
    }

    fn sync_directory(&self, directory: Option<&RootPath>) -> io::Result<()> {
        make_durable(&open_for_sync(&self.directory(directory)?)?)
    }

    fn sync_filesystem(&self, path: &RootPath) -> io::Result<()> {
        let place = self.place(path)?;
        let file = match place.stat()?.kind {
            Kind::File | Kind::Directory => place.open_existing(&[Kind::File, Kind::Directory])?.0,
            // These cannot be opened, and stand on the filesystem that holds their directory.
            Kind::Link | Kind::Special => open_for_sync(&place.parent)?,
        };
        retry(|| syncfs(&file))
    }

    fn free(&self, directory: Option<&RootPath>) -> io::Result<Free> {
        let directory = self.directory(directory)?;
        let filesystem = retry(|| fstat(&directory))?.st_dev;
        let space = rustix::io::retry_on_intr(|| rustix::fs::fstatvfs(&directory))?;
        // One that is made of no blocks at all, such as a tmpfs without a limit, does not count them.
        let bytes = if space.f_blocks == 0 { u64::MAX } else { space.f_bavail.saturating_mul(space.f_frsize) };
        let files = if space.f_files == 0 { u64::MAX } else { space.f_favail };
        Ok(Free { filesystem, bytes, files })
    }

    fn lock(&self, path: &RootPath) -> io::Result<Option<RootLock>> {
        let place = self.place(path)?;
        for _ in 0..LOCK_TRIES {
            let file = place.open_or_create()?;
            match file.try_lock() {
                // A lock on a file that lost its name meanwhile would keep nobody out.
                Ok(()) if place.holds(&file)? => return Ok(Some(RootLock(file))),
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Err(io::Error::new(ErrorKind::ResourceBusy, "the lock file keeps being replaced by another process"))
    }
}

/// A filesystem that cannot sync one file or directory answers EINVAL, and is synced as a whole.
fn make_durable(file: &File) -> io::Result<()> {
    match file.sync_all() {
        Err(error) if error.kind() == ErrorKind::InvalidInput => retry(|| syncfs(file)),
        synced => synced,
    }
}

/// Whether these bytes are all that is left of a file; read no further than to the first difference.
fn has_rest(mut file: File, contents: &[u8]) -> io::Result<bool> {
    let mut rest = contents;
    let mut buffer = vec![0; MOST_COMPARED.min(contents.len().saturating_add(1))];
    loop {
        let length = match file.read(&mut buffer) {
            Ok(0) => return Ok(rest.is_empty()),
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        match buffer.get(..length).and_then(|found| rest.strip_prefix(found)) {
            Some(after) => rest = after,
            None => return Ok(false),
        }
    }
}

fn too_large(most: u64) -> io::Error {
    io::Error::new(ErrorKind::FileTooLarge, format!("the file is longer than {most} bytes"))
}
