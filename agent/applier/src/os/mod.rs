//! The operating system of the machine this process runs on: its deployments, its backend, its registries.
//!
//! Owns which driver is used and how long each may take. Refuses to decide what is deployed.

mod facts;

use std::path::Path;
use std::time::Duration;

use ostler_core::os::backend::{Backend, Host, choose};
use ostler_core::os::goal::{Goal, OsChange, Platform};
use ostler_core::os::image::Pinned;
use ostler_core::os::preflight::{self, FailedTarget};
use ostler_core::os_release::OsRelease;
use ostler_host::disk::RootDisk;
use ostler_host::machine;
use ostler_host::os::bootc::{Bootc, Settings};
use ostler_host::os::extensions::Extensions;
use ostler_host::os::external::External;
use ostler_host::os::lock::SysrootLock;
use ostler_host::os::preflight::{Known, Survey};
use ostler_host::os::rpm_ostree::{self, RpmOstree, Trust};
use ostler_host::os::skopeo::Skopeo;
use ostler_host::os::{OsBackend, OsError, OsHost, Outlook, Sysroot, auth, registry};
use ostler_host::systemd::bus;

use crate::sysroot::{Libostree, OTHERS};
pub(crate) use facts::told_failure;

const CALL: Duration = Duration::from_secs(60);
/// What the unit of the rpm-ostree daemon is given, and a little more.
const START: Duration = Duration::from_secs(6 * 60);
/// Images are gigabytes, and some nodes have thin lines.
const TRANSACTION: Duration = Duration::from_secs(2 * 60 * 60);
const BOOTC: &str = "/usr/bin/bootc";

/// The machine's operating system.
pub struct LiveOs<'d> {
    disk: &'d RootDisk,
    root: &'d Path,
    sysroot: Libostree,
    host: Host,
}

impl<'d> LiveOs<'d> {
    /// That of the machine with this root; none where it was not booted from a deployment.
    pub fn of(disk: &'d RootDisk, root: &'d Path) -> Option<Self> {
        let sysroot = Libostree::at(root)?;
        let booted = sysroot.read().ok().and_then(|state| state.booted).unwrap_or_default();
        let host = facts::host(disk, &booted);
        host.ostree_booted.then_some(Self { disk, root, sysroot, host })
    }

    /// What changes the operating system when no packages are wanted, for people.
    pub fn usual_backend(&self) -> Option<Backend> {
        choose(&self.host, false).ok()
    }

    /// Which release runs.
    pub fn release(&self) -> &OsRelease {
        &self.host.release
    }

    /// What bootc says of a restart of user space into the staged deployment, where bootc is what changes it.
    pub fn soft_reboot_capable(&self) -> Result<Option<bool>, OsError> {
        if self.usual_backend() != Some(Backend::Bootc) {
            return Ok(None);
        }
        let staged = self.bootc(false)?.status()?.staged;
        Ok(Some(staged.is_some_and(|staged| staged.soft_reboot_capable)))
    }

    fn bootc(&self, enforce_signatures: bool) -> Result<Bootc<RootDisk>, OsError> {
        let limits = bus::Limits { call: CALL, job: TRANSACTION };
        let settings = Settings {
            program: BOOTC.to_owned(),
            address: None,
            limits,
            patience: TRANSACTION,
            others: OTHERS,
            enforce_signatures,
        };
        let disk =
            RootDisk::open(self.root).map_err(|error| OsError::Sysroot { action: "reach", source: error.into() })?;
        Ok(Bootc::new(settings, disk, Box::new(self.sysroot.clone()), SysrootLock::at(self.root)))
    }

    fn skopeo(&self) -> Result<Skopeo, OsError> {
        Skopeo::prepare(self.disk, self.root).map_err(OsError::Skopeo)
    }
}

impl OsHost for LiveOs<'_> {
    fn sysroot(&self) -> &dyn Sysroot {
        &self.sysroot
    }

    fn platform(&self) -> Platform {
        Platform { el: self.host.release.is_el(), aarch64: std::env::consts::ARCH == "aarch64" }
    }

    fn backend(&self, goal: &Goal) -> Result<Box<dyn OsBackend + '_>, OsError> {
        let image = goal.image.as_deref().and_then(|image| Pinned::parse(image).ok());
        let signed = image.is_some_and(|image| facts::insists_on_signatures(self.disk, &image));
        Ok(match choose(&self.host, goal.has_packages())? {
            Backend::RpmOstree => {
                auth::link_credentials(self.disk)?;
                let limits = rpm_ostree::Limits { start: START, call: CALL, transaction: TRANSACTION, others: OTHERS };
                let trust = if signed { Trust::Signed } else { Trust::Policy };
                let deployments = (Box::new(self.sysroot.clone()) as Box<dyn Sysroot>, SysrootLock::at(self.root));
                Box::new(RpmOstree::new(None, limits, trust, deployments)?)
            }
            Backend::Bootc => {
                auth::link_credentials(self.disk)?;
                Box::new(self.bootc(signed)?)
            }
            Backend::External => Box::new(External::new(Box::new(self.sysroot.clone()))),
        })
    }

    fn findings(&self, change: &OsChange, failed: Vec<FailedTarget>) -> Result<Outlook, OsError> {
        let pinned = change.goal.image.as_deref().and_then(|image| Pinned::parse(image).ok());
        let image = pinned.filter(|_| !change.goal.is_image_of(&change.before));
        let Some(image) = image else {
            return Ok(Outlook { findings: Vec::new(), manifest: change.goal.manifest.clone() });
        };
        let known = Known {
            booted_major: self.host.release.major().filter(|_| self.host.release.is_el()),
            kernel: facts::kernel(),
            command_line: facts::command_line(),
            occupant: self.backend(&change.goal)?.occupant()?,
            failed,
            // Where they cannot be read, all are taken to be needed.
            layers: self.sysroot.layers().unwrap_or_default(),
            first_boot: machine::is_first_boot(self.disk).unwrap_or(false),
        };
        let skopeo = self.skopeo()?;
        let facts = Survey::new(self.disk, self.root, &skopeo).facts(&image, known);
        Ok(Outlook { findings: preflight::findings(&facts), manifest: facts.manifest })
    }

    fn resolve(&self, reference: &str) -> Option<String> {
        registry::resolve(&self.skopeo().ok()?, reference).ok()
    }

    fn last_words(&self) -> Option<String> {
        facts::finalization_failure()
    }

    fn open_extensions(&self, image: &str) -> Result<(), OsError> {
        let Ok(image) = Pinned::parse(image) else { return Ok(()) };
        Ok(Extensions::new(self.disk).provide(&self.skopeo()?, &image)?)
    }

    fn close_extensions(&self) -> Result<(), OsError> {
        Extensions::new(self.disk).remove()?;
        Ok(())
    }
}
