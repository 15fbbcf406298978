//! The operating system of a machine in memory: deployments, a boot loader's list, and a backend that fails where it is
//! told to. Its state is on the disk, so that work on it can be cut off anywhere.

use std::cell::RefCell;

use ostler_core::os::backend::Backend;
use ostler_core::os::goal::{Goal, OsChange, Platform};
use ostler_core::os::order::Order;
use ostler_core::os::preflight::{FailedTarget, Finding, Severity};
use ostler_core::os::state::{Installed, OsState};
use serde::{Deserialize, Serialize};

use super::{LOCK, NEW, PLAIN, STAGED, STATE};
use crate::disk::memory::MemoryDisk;
use crate::disk::{Disk, RootPath};
use crate::os::{IsWanted, OsBackend, OsError, OsHost, Outlook, Sysroot, Told};

/// What the boot loader of the machine knows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Loader {
    pub(super) deployments: Vec<Installed>,
    pub(super) booted: Installed,
}

/// The operating system of a machine in memory. Its state is on the disk, so that work on it can be cut off anywhere.
pub(super) struct Deployments<'d> {
    pub(super) disk: &'d MemoryDisk,
    /// Texts of errors that the backend gives, one for each order.
    pub(super) broken: RefCell<Vec<&'static str>>,
    /// Whether the deployments can be read, asked before each reading.
    pub(super) readable: Box<dyn Fn() -> bool + 'd>,
    /// What is found before a change.
    pub(super) findings: Vec<Finding>,
}

/// While this file is there, the lock goes with a staged deployment that is replaced, as with libostree 2026.4.
pub(super) const NEWER_LIBOSTREE: &str = "/run/newer-libostree";

pub(super) fn path(text: &str) -> RootPath {
    RootPath::new(text).unwrap()
}

fn disk_error(error: std::io::Error) -> OsError {
    OsError::Sysroot { action: "change", source: error.into() }
}

impl<'d> Deployments<'d> {
    pub(super) fn of(disk: &'d MemoryDisk) -> Self {
        Self { disk, broken: RefCell::default(), readable: Box::new(|| true), findings: Vec::new() }
    }

    fn load<T: for<'a> Deserialize<'a> + Default>(&self, at: &str) -> Result<Option<T>, OsError> {
        let path = path(at);
        if self.disk.stat(&path).map_err(disk_error)?.is_none() {
            return Ok(None);
        }
        Ok(serde_json::from_slice(&self.disk.read(&path, 1 << 20).map_err(disk_error)?).ok())
    }

    fn store(&self, at: &str, what: &impl Serialize) -> Result<(), OsError> {
        let (path, fresh) = (path(at), path(&format!("{at}.new")));
        let text = serde_json::to_vec(what).unwrap();
        if self.disk.stat(&fresh).map_err(disk_error)?.is_some() {
            self.disk.remove(&fresh).map_err(disk_error)?;
        }
        self.disk.create(&fresh, &text, PLAIN).map_err(disk_error)?;
        self.disk.sync(&fresh).map_err(disk_error)?;
        self.disk.rename(&fresh, &path).map_err(disk_error)?;
        self.disk.sync_directory(path.parent().as_ref()).map_err(disk_error)
    }

    fn stage_as(&self, made: &Installed) -> Result<(), OsError> {
        self.store(STAGED, made)
    }
}

impl Sysroot for Deployments<'_> {
    fn read(&self) -> Result<OsState, OsError> {
        if !(self.readable)() {
            return Err(disk_error(std::io::Error::other("libostree failed")));
        }
        let loader: Loader = self.load(STATE)?.unwrap_or_default();
        let staged: Option<Installed> = self.load(STAGED)?;
        let rollback = loader.deployments.iter().find(|other| **other != loader.booted).cloned();
        Ok(OsState {
            deployments: staged.iter().cloned().chain(loader.deployments).collect(),
            booted: Some(loader.booted),
            staged,
            rollback,
            ..OsState::default()
        })
    }

    fn may_be_staged(&self) -> bool {
        self.disk.stat(&path(STAGED)).map_or(true, |stat| stat.is_some())
    }

    fn restage(&self, kargs: &[String]) -> Result<(), OsError> {
        let state = self.read()?;
        let base = state.staged.or(state.booted).unwrap_or_default();
        self.stage_as(&Installed { kargs: kargs.to_vec(), ..base })
    }

    fn stage_again(&self, deployment: &Installed) -> Result<(), OsError> {
        self.stage_as(&Installed { serial: deployment.serial + 1, ..deployment.clone() })
    }

    fn stay(&self) -> Result<(), OsError> {
        let mut loader: Loader = self.load(STATE)?.unwrap_or_default();
        loader.deployments.retain(|other| *other != loader.booted);
        loader.deployments.insert(0, loader.booted.clone());
        self.store(STATE, &loader)
    }

    fn forget(&self) -> Result<(), OsError> {
        let mut loader: Loader = self.load(STATE)?.unwrap_or_default();
        loader.deployments.retain(|other| *other == loader.booted || other.pinned);
        self.store(STATE, &loader)
    }

    fn discard(&self) -> Result<(), OsError> {
        // As libostree does: the lock goes with the deployment, and stays where there is none.
        for at in [STAGED, LOCK] {
            match self.disk.stat(&path(at)).map_err(disk_error)? {
                Some(_) => self.disk.remove(&path(at)).map_err(disk_error)?,
                None => break,
            }
        }
        Ok(())
    }
}

pub(super) fn finding(severity: Severity, cause: &str) -> Finding {
    Finding { severity, subject: "the image".into(), cause: cause.into(), remedy: "none".into() }
}

/// A deployment as a backend makes it.
pub(super) fn made(order: &Order, base: &Installed) -> Installed {
    let image = order.image.clone().or_else(|| base.image.clone());
    Installed {
        digest: image.as_ref().and_then(|image| image.split_once('@')).map(|(_, digest)| digest.to_owned()),
        checksum: format!("commit of {image:?}"),
        image,
        kargs: order.kargs.clone().unwrap_or_else(|| base.kargs.clone()),
        ..Installed::default()
    }
}

impl OsBackend for &Deployments<'_> {
    fn backend(&self) -> Backend {
        Backend::RpmOstree
    }

    fn occupant(&self) -> Result<Option<String>, OsError> {
        Ok(None)
    }

    fn accepts(&self, order: &Order) -> Result<(), OsError> {
        match order.packages.is_empty() {
            true => Ok(()),
            false => Err(OsError::Unable { backend: Backend::RpmOstree, what: "layer packages".to_owned() }),
        }
    }

    fn stage_while(&self, order: &Order, _told: Told<'_>, wanted: IsWanted<'_>) -> Result<(), OsError> {
        if !wanted() {
            return Err(OsError::GivenUp { backend: Backend::Bootc, action: "stage" });
        }
        if let Some(message) = self.broken.borrow_mut().pop() {
            let (backend, action) = (Backend::RpmOstree, "stage");
            return Err(OsError::Failed { backend, action, message: message.to_owned() });
        }
        let booted = self.read()?.booted.unwrap_or_default();
        // As rpm-ostree does it: first the image, then the kernel arguments.
        self.stage_as(&made(&Order { kargs: None, ..order.clone() }, &booted))?;
        self.stage_as(&made(order, &booted))?;
        if self.disk.stat(&path(NEWER_LIBOSTREE)).map_err(disk_error)?.is_some() {
            self.disk.remove(&path(LOCK)).map_err(disk_error)?;
        }
        Ok(())
    }

    fn discard(&self) -> Result<(), OsError> {
        Sysroot::discard(*self)
    }

    fn forget(&self) -> Result<(), OsError> {
        Sysroot::forget(*self)
    }
}

impl OsHost for Deployments<'_> {
    fn sysroot(&self) -> &dyn Sysroot {
        self
    }

    fn platform(&self) -> Platform {
        Platform { el: true, aarch64: false }
    }

    fn backend(&self, _goal: &Goal) -> Result<Box<dyn OsBackend + '_>, OsError> {
        Ok(Box::new(self))
    }

    fn findings(&self, change: &OsChange, failed: Vec<FailedTarget>) -> Result<Outlook, OsError> {
        let known = failed.into_iter().filter(|failed| Some(&failed.digest) == change.goal.digest.as_ref());
        let found = known.map(|failed| finding(Severity::Refusal, &failed.reason));
        Ok(Outlook { findings: self.findings.iter().cloned().chain(found).collect(), manifest: None })
    }

    fn resolve(&self, _reference: &str) -> Option<String> {
        NEW.split_once('@').map(|(_, digest)| digest.to_owned())
    }

    fn last_words(&self) -> Option<String> {
        None
    }

    fn open_extensions(&self, _image: &str) -> Result<(), OsError> {
        Ok(())
    }

    fn close_extensions(&self) -> Result<(), OsError> {
        Ok(())
    }
}
