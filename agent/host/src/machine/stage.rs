//! A deployment that is staged before the change that needs it, and the lock that keeps it from being booted without it.
//!
//! libostree does not finalise a staged deployment while a file in `/run` is there, whoever orders the restart. It removes the
//! file with the deployment, and a restart takes both away: a machine that goes down before the change is made comes up as it was.

use std::io;

use ostler_core::os::backend::Backend;
use ostler_core::transaction::{Direction, Phase, Progress};

use super::Machine;
use crate::disk::{Attributes, Disk, RootPath};
use crate::os::IsWanted;
use crate::os::skopeo::ensure_directory;
use crate::transaction::{self, Listener, Proposal, Trouble};

pub(super) const LOCK: &str = "/run/ostree/staged-deployment-locked";
/// Names the configuration that a deployment was staged ahead for. Others lock deployments of theirs too.
const MARK: &str = "/run/ostler/staged-for";
const ATTRIBUTES: Attributes = Attributes { mode: 0o640, uid: 0, gid: 0 };
const MOST_NAME: u64 = 4096;

/// The configuration that a deployment was staged ahead for.
pub(super) fn staged_for(disk: &impl Disk) -> Result<Option<String>, Trouble> {
    let mark = path(MARK)?;
    match disk.read(&mark, MOST_NAME) {
        Ok(name) => Ok(Some(String::from_utf8_lossy(&name).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Trouble::disk("read", &mark)(error)),
    }
}

impl<D: Disk> Machine<'_, D> {
    /// Stages the deployment of a proposal, if it has one, and leaves it locked until [`transaction::run`] is at its end. Nothing
    /// that runs is touched. A deployment that cannot be used, or is not wanted any more, is dropped.
    pub fn stage_ahead(
        &self,
        proposal: &Proposal,
        listener: Listener<'_>,
        wanted: IsWanted<'_>,
    ) -> Result<bool, Trouble> {
        let direction = Direction::Forward;
        listener(Progress { direction, phase: Phase::Check, subject: None });
        let way = transaction::check(self, proposal)?;
        let (Some(host), Some(change)) = (&self.surroundings.os, &way.os) else { return Ok(false) };
        if host.backend(&change.goal)?.backend() == Backend::External {
            // Another controller stages, and what it has staged is not ours to lock or to drop.
            return Ok(false);
        }
        listener(Progress { direction, phase: Phase::Stage, subject: None });
        self.create(MARK, proposal.to().as_bytes())?;
        let mut told =
            |line: &str| listener(Progress { direction, phase: Phase::Stage, subject: Some(line.to_owned()) });
        match self.stage(&way, &mut told, wanted) {
            Ok(()) => Ok(true),
            Err(trouble) => {
                // One that stays is locked, and replaced by the next.
                let _ = self.unstage();
                Err(trouble)
            }
        }
    }

    /// Drops the deployment that was staged for a change that is not made, if there is one. One that was there before, and fits,
    /// has no lock of ours and stays.
    pub fn unstage(&self) -> Result<(), Trouble> {
        let Some(host) = &self.surroundings.os else { return Ok(()) };
        if staged_for(self.disk)?.is_none() {
            return Ok(());
        }
        let lock = path(LOCK)?;
        if self.disk.stat(&lock).map_err(Trouble::disk("inspect", &lock))?.is_some() {
            host.sysroot().discard()?;
        }
        self.unlock_staged()
    }

    /// From now on no restart boots what is staged, or will be.
    pub(super) fn lock_staged(&self) -> Result<(), Trouble> {
        let lock = path(LOCK)?;
        // One that is there is not replaced: there must be no moment without it.
        match self.disk.stat(&lock).map_err(Trouble::disk("inspect", &lock))? {
            Some(_) => Ok(()),
            None => self.create(LOCK, b""),
        }
    }

    fn create(&self, at: &str, contents: &[u8]) -> Result<(), Trouble> {
        let path = path(at)?;
        if let Some(directory) = path.parent() {
            ensure_directory(self.disk, &directory).map_err(Trouble::disk("make", &directory))?;
        }
        self.remove(at)?;
        self.disk.create(&path, contents, ATTRIBUTES).map_err(Trouble::disk("create", &path))
    }

    fn remove(&self, at: &str) -> Result<(), Trouble> {
        let path = path(at)?;
        match self.disk.remove(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Trouble::disk("remove", &path)(error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// The next restart boots what is staged.
    pub(super) fn unlock_staged(&self) -> Result<(), Trouble> {
        [LOCK, MARK].iter().try_for_each(|at| self.remove(at))
    }
}

fn path(at: &str) -> Result<RootPath, Trouble> {
    RootPath::new(at).map_err(Trouble::path(at))
}
