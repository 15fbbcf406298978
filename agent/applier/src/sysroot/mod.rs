//! The deployments of a machine through libostree.
//!
//! Owns everything of libostree: nothing of it leaves this module but plain data. Reading happens in place. Changing
//! happens in a process of its own, because libostree then takes a mount namespace for all of its process.

mod change;
mod read;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use nix::mount::{MsFlags, mount};
use ostler_core::os::state::{Installed, OsState};
use ostler_host::os::{OsError, Sysroot};

use change::Order;
pub use change::{Change, exit_status};

const SYSROOT: &str = "/sysroot";

/// How long others who change deployments are waited for.
pub(crate) const OTHERS: Duration = Duration::from_secs(10 * 60);

/// What is kept of the words of a change that failed.
const MOST_WORDS: usize = 4096;

/// The sysroot of a machine by its root directory.
#[derive(Clone, Debug)]
pub struct Libostree {
    root: PathBuf,
}

impl Libostree {
    /// The sysroot at a root directory; none where there is no ostree repository.
    pub fn at(root: &Path) -> Option<Self> {
        root.join("ostree/repo").is_dir().then(|| Self { root: root.to_owned() })
    }

    /// Whether this libostree can make a deployment the root that a restart of user space leads to.
    pub fn prepares_next_root() -> bool {
        ostree::check_version(2025, 3)
    }

    /// Whether the booted and the staged deployment have the same SELinux policy.
    pub fn same_policy(&self) -> Result<bool, OsError> {
        read::same_policy(&self.root).map_err(|error| OsError::Sysroot { action: "read", source: Box::new(error) })
    }

    /// Digests of the layers of images that are here already.
    pub fn layers(&self) -> Result<Vec<String>, OsError> {
        read::layers(&self.root).map_err(|error| OsError::Sysroot { action: "read", source: Box::new(error) })
    }

    fn change(&self, action: &'static str, change: &Change) -> Result<(), OsError> {
        let failed = |source| OsError::Sysroot { action, source };
        let order = Order { change: change.clone(), seconds: OTHERS.as_secs() };
        let order = serde_json::to_vec(&order).map_err(|error| failed(error.into()))?;
        let program = std::env::current_exe().map_err(|error| failed(error.into()))?;
        let mut child = Command::new(program)
            .arg("--sysroot")
            .arg(&self.root)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failed(error.into()))?;
        if let Some(mut input) = child.stdin.take() {
            // A child that did not read it says why.
            let _ = input.write_all(&order);
        }
        let ended = child.wait_with_output().map_err(|error| failed(error.into()))?;
        if ended.status.success() {
            return Ok(());
        }
        let words = String::from_utf8_lossy(&ended.stderr);
        let tail: String = words.trim().chars().rev().take(MOST_WORDS).collect::<Vec<_>>().into_iter().rev().collect();
        Err(failure(action, ended.status, tail))
    }
}

/// Makes the sysroot writable for this process, which has mounts of its own. A running machine has it read-only.
pub fn make_writable() -> io::Result<()> {
    let flags = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_SILENT;
    Ok(mount(None::<&str>, SYSROOT, None::<&str>, flags, None::<&str>)?)
}

/// Why a change failed. A full disk is an error of the disk, as it is everywhere else.
fn failure(action: &'static str, status: ExitStatus, words: String) -> OsError {
    let words = if words.is_empty() { status.to_string() } else { words };
    match status.code() {
        Some(code) if code == i32::from(change::FULL) => {
            OsError::Sysroot { action, source: io::Error::new(io::ErrorKind::StorageFull, words).into() }
        }
        Some(code) if code == i32::from(change::BUSY) => {
            let occupant = words.strip_prefix(crate::LOG_PREFIX).unwrap_or(&words).to_owned();
            OsError::Busy { occupant, seconds: OTHERS.as_secs() }
        }
        Some(_) | None => OsError::Sysroot { action, source: words.into() },
    }
}

/// What libostree keeps from the staging of a deployment to the end of the boot.
const STAGED: &str = "run/ostree/staged-deployment";

impl Sysroot for Libostree {
    fn read(&self) -> Result<OsState, OsError> {
        read::state(&self.root).map_err(|error| OsError::Sysroot { action: "read", source: Box::new(error) })
    }

    fn may_be_staged(&self) -> bool {
        self.root.join(STAGED).try_exists().unwrap_or(true)
    }

    fn restage(&self, kargs: &[String]) -> Result<(), OsError> {
        self.change("stage", &Change::Restage { kargs: kargs.to_vec() })
    }

    fn stage_again(&self, deployment: &Installed) -> Result<(), OsError> {
        let Installed { stateroot, checksum, serial, .. } = deployment.clone();
        self.change("stage", &Change::Again { stateroot, checksum, serial })
    }

    fn stay(&self) -> Result<(), OsError> {
        self.change("reorder", &Change::Stay)
    }

    fn discard(&self) -> Result<(), OsError> {
        self.change("unstage", &Change::Discard)
    }

    fn forget(&self) -> Result<(), OsError> {
        self.change("clean up", &Change::Forget)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use ostler_core::protocol::Class;

    use super::*;

    #[test]
    fn a_full_disk_and_a_lock_are_of_the_moment_and_any_other_failure_is_not() {
        for (code, words, class) in [
            (i32::from(change::FULL), "write: No space left on device", Class::Transient),
            (i32::from(change::FULL), "", Class::Transient),
            (i32::from(change::BUSY), "ostler-applier: bootc, process 7", Class::Transient),
            (1, "write: Input/output error", Class::Inoperable),
        ] {
            let error = failure("stage", ExitStatus::from_raw(code << 8), words.to_owned());
            let said = crate::machine::causes(&error).join(": ");
            assert!(said.contains(words.trim_start_matches(crate::LOG_PREFIX)), "{said}");
            assert_eq!(error.class(), class, "{code} {words}");
        }
    }
}
