//! Changes of deployments, made by a process that does nothing else.

use std::error::Error;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use ostler_core::malformed::Malformed;
use ostler_host::os::lock::SysrootLock;
use ostree::gio::Cancellable;
use ostree::{Deployment, SysrootDeployTreeOpts, SysrootWriteDeploymentsOpts, gio, glib};
use serde::{Deserialize, Serialize};

/// An order is a line of kernel arguments at most.
const MOST_ORDER: u64 = 1 << 20;
const BETWEEN_TRIES: Duration = Duration::from_millis(100);
const NEVER: Option<&Cancellable> = None;
/// While it is there, a staged deployment is not finalised.
const LOCK: &str = "run/ostree/staged-deployment-locked";

/// The exit status of a change that found the disk, or a quota, full.
pub(super) const FULL: u8 = 28;

/// The exit status of a change that others did not let come to the lock.
pub(super) const BUSY: u8 = 16;

/// The exit status for an error of a change.
pub fn exit_status(error: &(dyn Error + 'static)) -> u8 {
    match error.downcast_ref::<glib::Error>() {
        Some(error) if is_full(error) => FULL,
        Some(error) if error.matches(gio::IOErrorEnum::Busy) => BUSY,
        Some(_) | None => 1,
    }
}

/// GIO has no code for a quota that is exceeded; libostree adds the system's words to its own.
fn is_full(error: &glib::Error) -> bool {
    error.matches(gio::IOErrorEnum::NoSpace) || error.message().ends_with("Disk quota exceeded")
}

/// A change, as the process that makes it is told it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Order {
    pub change: Change,
    /// How long it waits for others who change deployments.
    pub seconds: u64,
}

/// What can be changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "camelCase", deny_unknown_fields)]
pub enum Change {
    /// Stage what is staged, or booted, with other kernel arguments.
    Restage {
        /// All of them.
        kargs: Vec<String>,
    },
    /// Stage a deployment that is there, with the booted one's `/etc`.
    Again {
        /// Where it belongs.
        stateroot: String,
        /// Its commit.
        checksum: String,
        /// Which of those of that commit.
        serial: u32,
    },
    /// Drop the staged deployment.
    Discard,
    /// Have the boot loader start the booted deployment by itself.
    Stay,
    /// Drop the rollback deployment, unless it is pinned.
    Forget,
}

impl Change {
    /// Makes the change that standard input orders.
    pub fn from_standard_input(root: &Path) -> Result<(), Box<dyn Error>> {
        let mut text = Vec::new();
        std::io::stdin().lock().take(MOST_ORDER).read_to_end(&mut text)?;
        let Order { change, seconds } = serde_json::from_slice(&text).map_err(Malformed::from)?;
        Ok(change.make(root, Duration::from_secs(seconds))?)
    }

    fn make(&self, root: &Path, patience: Duration) -> Result<(), glib::Error> {
        let sysroot = ostree::Sysroot::new(Some(&gio::File::for_path(root)));
        sysroot.initialize_with_mount_namespace(NEVER)?;
        lock(&sysroot, root, patience)?;
        sysroot.load(NEVER)?;
        match self {
            Self::Restage { kargs } => restage(&sysroot, &root.join(LOCK), kargs),
            Self::Again { stateroot, checksum, serial } => {
                let wanted = |deployment: &&Deployment| {
                    deployment.osname() == *stateroot
                        && deployment.csum() == *checksum
                        && u32::try_from(deployment.deployserial()) == Ok(*serial)
                };
                let deployments = sysroot.deployments();
                match deployments.iter().find(wanted) {
                    Some(deployment) => again(&sysroot, deployment),
                    None => Err(glib::Error::new(gio::IOErrorEnum::NotFound, "the deployment is gone")),
                }
            }
            Self::Discard => discard(&sysroot),
            Self::Stay => stay(&sysroot),
            Self::Forget => forget(&sysroot),
        }
    }
}

/// Takes the lock on the deployments, which ends with this process. Waiting for it as libostree does would have no end.
fn lock(sysroot: &ostree::Sysroot, root: &Path, patience: Duration) -> Result<(), glib::Error> {
    let start = Instant::now();
    while !sysroot.try_lock()? {
        if start.elapsed() >= patience {
            let holder = SysrootLock::at(root).holder();
            let holder = holder.unwrap_or_else(|| "another process that holds the lock on the deployments".to_owned());
            return Err(glib::Error::new(gio::IOErrorEnum::Busy, &holder));
        }
        std::thread::sleep(BETWEEN_TRIES);
    }
    Ok(())
}

fn restage(sysroot: &ostree::Sysroot, lock: &Path, kargs: &[String]) -> Result<(), glib::Error> {
    let booted = sysroot.require_booted_deployment()?;
    let Some(base) = sysroot.staged_deployment() else { return stage(sysroot, &booted, &booted, kargs) };
    if lock.exists() {
        // libostree removes the lock after it has staged what replaces a deployment: a shutdown right then would finalise it.
        // Without clean-up, the commit stays.
        let opts = SysrootWriteDeploymentsOpts { do_postclean: false };
        sysroot.write_deployments_with_options(&without_staged(&sysroot.deployments()), &opts, NEVER)?;
        File::create(lock).map_err(|error| glib::Error::new(gio::IOErrorEnum::Failed, &error.to_string()))?;
    }
    stage(sysroot, &base, &booted, kargs)
}

fn without_staged(deployments: &[Deployment]) -> Vec<Deployment> {
    deployments.iter().filter(|deployment| !deployment.is_staged()).cloned().collect()
}

fn again(sysroot: &ostree::Sysroot, deployment: &Deployment) -> Result<(), glib::Error> {
    let booted = sysroot.require_booted_deployment()?;
    stage(sysroot, deployment, &booted, &super::read::kargs(deployment))
}

fn stage(
    sysroot: &ostree::Sysroot,
    base: &Deployment,
    booted: &Deployment,
    kargs: &[String],
) -> Result<(), glib::Error> {
    let arguments: Vec<&str> = kargs.iter().map(String::as_str).collect();
    let options = SysrootDeployTreeOpts { override_kernel_argv: Some(&arguments), ..Default::default() };
    let origin = base.origin();
    if let Some(origin) = &origin {
        Deployment::origin_remove_transient_state(origin);
    }
    let (name, commit) = (base.osname(), base.csum());
    sysroot.stage_tree_with_options(Some(&name), &commit, origin.as_ref(), Some(booted), &options, NEVER)?;
    Ok(())
}

fn discard(sysroot: &ostree::Sysroot) -> Result<(), glib::Error> {
    let deployments = sysroot.deployments();
    let kept = without_staged(&deployments);
    if kept.len() == deployments.len() {
        return Ok(());
    }
    sysroot.write_deployments(&kept, NEVER)?;
    sysroot.cleanup(NEVER)
}

fn stay(sysroot: &ostree::Sysroot) -> Result<(), glib::Error> {
    let booted = sysroot.require_booted_deployment()?;
    let mut deployments = sysroot.deployments();
    if deployments.first().is_some_and(|first| first.equal(&booted)) {
        return Ok(());
    }
    deployments.retain(|other| !other.equal(&booted));
    deployments.insert(0, booted);
    sysroot.write_deployments(&deployments, NEVER)
}

fn forget(sysroot: &ostree::Sysroot) -> Result<(), glib::Error> {
    let deployments = sysroot.deployments();
    let Some(rollback) = super::read::rollback(sysroot, &deployments).filter(|rollback| !rollback.is_pinned()) else {
        return Ok(());
    };
    let kept: Vec<Deployment> = deployments.iter().filter(|other| !other.equal(&rollback)).cloned().collect();
    sysroot.write_deployments(&kept, NEVER)?;
    sysroot.cleanup(NEVER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_from_every_other_error() {
        use gio::IOErrorEnum::{Failed, NoSpace, ReadOnly};
        for (code, message, full) in [
            (NoSpace, "Installing kernel: write: Kein Platz mehr", true),
            (Failed, "fsetxattr: Disk quota exceeded", true),
            (Failed, "Disk quota exceeded is no name of a deployment", false),
            (ReadOnly, "mkdirat: Read-only file system", false),
        ] {
            let error = glib::Error::new(code, message);
            assert_eq!(exit_status(&error) == FULL, full, "{message}");
        }
        assert_eq!(exit_status(&std::io::Error::from(std::io::ErrorKind::StorageFull)), 1);
    }
}
