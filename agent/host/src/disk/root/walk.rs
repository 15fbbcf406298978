//! The walk along a path to a directory, within the root and through no link that somebody could have laid as a trap.
//!
//! A path without links is resolved by one call of the kernel. Where links are on the way, the walk goes on element by
//! element in open directories, so that what was judged is what is used, whatever is renamed meanwhile.

use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat, openat2, readlinkat};
use nix::sys::stat::{Mode, SFlag, fstat};

use super::super::ForeignLink;
use super::obstacle::kernel_filesystem;
use super::owner::Caller;
use super::place::retry;

/// The kernel gives up a walk whenever anything on the machine is renamed meanwhile; it is begun anew this often.
const WALK_TRIES: usize = 1000;
/// As many as the kernel follows.
const MOST_LINKS: usize = 40;

const PLACE: OFlag = OFlag::O_PATH.union(OFlag::O_CLOEXEC);

/// A directory, opened for its place only.
#[derive(Debug)]
pub(super) struct Reached {
    pub(super) directory: OwnedFd,
    /// Its path below the root, without links; `/` for the root itself.
    pub(super) path: OsString,
}

/// Walks to a directory below the root. What is the caller's passes for root's.
pub(super) fn walk(root: BorrowedFd<'_>, directory: &str, caller: Option<Caller>) -> io::Result<Reached> {
    match open_plain(root, directory) {
        Ok(found) => Ok(Reached { directory: found, path: directory.into() }),
        Err(Errno::ELOOP) => Walk { root, caller, above: Vec::new(), links: 0 }.go(directory),
        Err(Errno::EAGAIN) => {
            Err(io::Error::new(ErrorKind::ResourceBusy, "directories on the way keep being renamed by another process"))
        }
        Err(errno) => Err(walk_error(errno)),
    }
}

/// Opens a directory whose path has no link in it, resolved by the kernel as if the root were the machine's.
fn open_plain(root: BorrowedFd<'_>, directory: &str) -> nix::Result<OwnedFd> {
    let resolve = ResolveFlag::RESOLVE_IN_ROOT | ResolveFlag::RESOLVE_NO_SYMLINKS;
    let how = OpenHow::new().flags(PLACE | OFlag::O_DIRECTORY).resolve(resolve);
    // Relative, so that the walk begins at the root even if the kernel were ever told less about resolving.
    let relative = match directory.trim_start_matches('/') {
        "" => ".",
        below => below,
    };
    for _ in 0..WALK_TRIES {
        match openat2(root, relative, how) {
            Err(Errno::EAGAIN | Errno::EINTR) => {}
            opened => return opened,
        }
    }
    Err(Errno::EAGAIN)
}

/// What is left of a way.
enum Element {
    Name(OsString),
    Up,
    /// The end of a link's target.
    End(Link),
}

struct Link {
    path: OsString,
    owner: u32,
}

/// A walk under way, element by element.
struct Walk<'r> {
    root: BorrowedFd<'r>,
    caller: Option<Caller>,
    /// Directories from the root, which is not among them, to where the walk is.
    above: Vec<(OwnedFd, OsString)>,
    links: usize,
}

impl Walk<'_> {
    fn go(mut self, directory: &str) -> io::Result<Reached> {
        let mut left = Vec::new();
        push(&mut left, OsStr::new(directory));
        while let Some(element) = left.pop() {
            match element {
                Element::Up => drop(self.above.pop()),
                Element::End(link) => self.judge(&link)?,
                Element::Name(name) => self.enter(name, &mut left)?,
            }
        }
        let path = self.path();
        let directory = match self.above.pop() {
            Some((directory, _)) => directory,
            None => retry(|| openat(self.root, ".", PLACE | OFlag::O_DIRECTORY, Mode::empty()))?,
        };
        Ok(Reached { directory, path })
    }

    fn here(&self) -> BorrowedFd<'_> {
        self.above.last().map_or(self.root, |(directory, _)| directory.as_fd())
    }

    fn path(&self) -> OsString {
        let mut path = OsString::new();
        for (_, name) in &self.above {
            path.push("/");
            path.push(name);
        }
        if path.is_empty() { "/".into() } else { path }
    }

    /// Goes into a directory, or takes a link's target for what comes next.
    fn enter(&mut self, name: OsString, left: &mut Vec<Element>) -> io::Result<()> {
        let flags = PLACE | OFlag::O_NOFOLLOW;
        match retry(|| openat(self.here(), name.as_os_str(), flags | OFlag::O_DIRECTORY, Mode::empty())) {
            Ok(directory) => {
                self.above.push((directory, name));
                return Ok(());
            }
            Err(error) if error.kind() == ErrorKind::NotADirectory => {}
            Err(error) => return Err(error),
        }
        let found = retry(|| openat(self.here(), name.as_os_str(), flags, Mode::empty()))?;
        let stat = retry(|| fstat(&found))?;
        if SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT != SFlag::S_IFLNK {
            return Err(Errno::ENOTDIR.into());
        }
        self.links += 1;
        // A link of procfs may lead to what no path leads to, whatever its text says.
        if self.links > MOST_LINKS || kernel_filesystem(&found)? == Some("proc") {
            return Err(Errno::ELOOP.into());
        }
        let target = retry(|| readlinkat(&found, ""))?;
        let mut path = if self.above.is_empty() { OsString::new() } else { self.path() };
        path.push("/");
        path.push(&name);
        left.push(Element::End(Link { path, owner: stat.st_uid }));
        if target.as_bytes().starts_with(b"/") {
            self.above.clear();
        }
        push(left, &target);
        Ok(())
    }

    /// A link is good whose owner could do there what is done there, or is root.
    fn judge(&self, link: &Link) -> io::Result<()> {
        let found = retry(|| fstat(self.here()))?.st_uid;
        if link.owner == found || link.owner == 0 || self.caller.is_some_and(|caller| caller.owns(link.owner)) {
            return Ok(());
        }
        Err(ForeignLink { link: link.path.to_string_lossy().into_owned(), owner: link.owner, found }.into())
    }
}

/// Puts the elements of a path before all that is left.
fn push(left: &mut Vec<Element>, path: &OsStr) {
    left.extend(path.as_bytes().rsplit(|byte| *byte == b'/').filter_map(|element| match element {
        b"" | b"." => None,
        b".." => Some(Element::Up),
        name => Some(Element::Name(OsStr::from_bytes(name).to_owned())),
    }));
}

fn walk_error(errno: Errno) -> io::Error {
    match errno {
        // Opening a directory for its place is permitted to everybody, so this is a filter that does not know the call.
        Errno::ENOSYS | Errno::EPERM => io::Error::new(
            ErrorKind::Unsupported,
            format!(
                "the system call openat2 is needed (Linux 5.6, and a container runtime that lets it pass): {errno}"
            ),
        ),
        errno => errno.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_or_filter_without_openat2_is_named() {
        for errno in [Errno::ENOSYS, Errno::EPERM] {
            let error = walk_error(errno);
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert!(error.to_string().contains("openat2") && error.to_string().contains("Linux 5.6"), "{error}");
        }
        assert_eq!(walk_error(Errno::EACCES).kind(), ErrorKind::PermissionDenied);
    }
}
