//! The lock that all writers of the password files share.
//!
//! Owns taking part in glibc's `lckpwdf`, which `usermod`, `passwd` and systemd use: a lock of fcntl's kind on the whole of
//! `/etc/.pwd.lock`. That of [`crate::disk::Disk::lock`] is of another kind and would not keep them out. Refuses to sleep.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, FcntlArg, OFlag, OpenHow, ResolveFlag, fcntl, openat, openat2};
use nix::libc;
use nix::sys::stat::Mode;

const LOCK_FILE: &str = "etc/.pwd.lock";
/// The kernel gives up a walk whenever anything is renamed meanwhile; it is begun anew this often.
const WALK_TRIES: usize = 1000;

/// Held while nobody else may write the password files; given back when dropped.
#[derive(Debug)]
pub struct PasswordLock {
    file: File,
}

impl PasswordLock {
    /// Takes the lock of the machine below a root, trying at least once and at most so often and calling `wait` in
    /// between; `None` when another process held it every time.
    pub fn take(root: &Path, tries: usize, wait: &mut dyn FnMut()) -> io::Result<Option<Self>> {
        let file = open(root)?;
        for left in (0..tries.max(1)).rev() {
            match set(&file, libc::F_WRLCK) {
                Ok(()) => return Ok(Some(Self { file })),
                Err(Errno::EAGAIN | Errno::EACCES | Errno::EINTR) if left > 0 => wait(),
                Err(Errno::EAGAIN | Errno::EACCES | Errno::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(None)
    }
}

impl Drop for PasswordLock {
    fn drop(&mut self) {
        // Closing alone would leave the lock with a child that was forked and has not yet come to its exec. A failure is
        // no loss: the descriptor is closed next.
        let _ = set(&self.file, libc::F_UNLCK);
    }
}

fn open(root: &Path) -> io::Result<File> {
    let place = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let root = openat(AT_FDCWD, root, place, Mode::empty())?;
    let flags = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let how = OpenHow::new()
        .flags(flags)
        .mode(Mode::S_IRUSR | Mode::S_IWUSR)
        .resolve(ResolveFlag::RESOLVE_IN_ROOT | ResolveFlag::RESOLVE_NO_MAGICLINKS);
    for _ in 0..WALK_TRIES {
        match openat2(&root, LOCK_FILE, how) {
            Ok(descriptor) => return regular(File::from(descriptor)),
            Err(Errno::EAGAIN | Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Err(io::Error::new(ErrorKind::ResourceBusy, "directories on the way keep being renamed by another process"))
}

fn regular(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(ErrorKind::InvalidInput, format!("/{LOCK_FILE} is no regular file")))
}

/// Locks or unlocks the whole file for this very descriptor, which a classic lock of another process conflicts with. A
/// classic one of our own would be lost as soon as any other descriptor of the file were closed.
fn set(file: &File, kind: libc::c_int) -> nix::Result<()> {
    let whole = libc::flock {
        l_type: libc::c_short::try_from(kind).map_err(|_| Errno::EINVAL)?,
        l_whence: libc::c_short::try_from(libc::SEEK_SET).map_err(|_| Errno::EINVAL)?,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    fcntl(file, FcntlArg::F_OFD_SETLK(&whole)).map(drop)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// Tries the lock as glibc's `lckpwdf` does, says whether it got it, and holds it until its input ends.
    const CLASSIC: &str = "
import fcntl, os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o600)
try:
    fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    print('got', flush=True)
except OSError:
    print('busy', flush=True)
sys.stdin.read()
";

    /// Another process and what it said; `None` where there is no Python to run it.
    fn other_process(root: &Path) -> Option<(Child, String)> {
        let started = Command::new("python3")
            .arg("-c")
            .arg(CLASSIC)
            .arg(root.join(LOCK_FILE))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = match started {
            Ok(child) => child,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let _ = writeln!(io::stderr(), "SKIPPED: no python3 here to hold a classic lock");
                return None;
            }
            Err(error) => panic!("{error}"),
        };
        let mut said = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
        Some((child, said.trim().to_owned()))
    }

    fn end(mut child: Child) {
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    fn root() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("etc")).unwrap();
        root
    }

    #[test]
    fn a_free_lock_is_taken_once_and_again_when_given_back() {
        let root = root();
        let held = PasswordLock::take(root.path(), 1, &mut || panic!("no need to wait")).unwrap().unwrap();
        let mode = std::fs::metadata(root.path().join(LOCK_FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600);
        let mut waits = 0;
        assert!(PasswordLock::take(root.path(), 3, &mut || waits += 1).unwrap().is_none());
        assert_eq!(waits, 2);
        drop(held);
        assert!(PasswordLock::take(root.path(), 0, &mut || ()).unwrap().is_some());
    }

    #[test]
    fn it_waits_for_a_process_that_holds_the_classic_lock() {
        let root = root();
        let Some((child, said)) = other_process(root.path()) else { return };
        assert_eq!(said, "got");
        assert!(PasswordLock::take(root.path(), 2, &mut || ()).unwrap().is_none());
        let mut holder = Some(child);
        let taken = PasswordLock::take(root.path(), 2, &mut || end(holder.take().unwrap())).unwrap();
        assert!(taken.is_some());
    }

    #[test]
    fn it_keeps_out_a_process_that_wants_the_classic_lock() {
        let root = root();
        let held = PasswordLock::take(root.path(), 1, &mut || ()).unwrap().unwrap();
        let Some((child, said)) = other_process(root.path()) else { return };
        end(child);
        assert_eq!(said, "busy");
        drop(held);
        let (child, said) = other_process(root.path()).unwrap();
        end(child);
        assert_eq!(said, "got");
    }

    #[test]
    fn a_link_or_pipe_in_its_place_and_a_missing_directory_are_errors() {
        let outside = tempfile::tempdir().unwrap();
        let linked = root();
        symlink(outside.path().join("x"), linked.path().join(LOCK_FILE)).unwrap();
        assert!(PasswordLock::take(linked.path(), 1, &mut || ()).is_err());
        assert!(!outside.path().join("x").exists());
        let piped = root();
        nix::unistd::mkfifo(&piped.path().join(LOCK_FILE), Mode::S_IRWXU).unwrap();
        assert!(PasswordLock::take(piped.path(), 1, &mut || ()).is_err());
        let empty = tempfile::tempdir().unwrap();
        assert_eq!(PasswordLock::take(empty.path(), 1, &mut || ()).unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn a_link_on_the_way_does_not_lead_out_of_the_root() {
        let outside = root();
        let inside = tempfile::tempdir().unwrap();
        symlink(outside.path().join("etc"), inside.path().join("etc")).unwrap();
        assert!(PasswordLock::take(inside.path(), 1, &mut || ()).is_err());
        assert!(!outside.path().join(LOCK_FILE).exists());
    }
}
