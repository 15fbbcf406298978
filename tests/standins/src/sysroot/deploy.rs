//! Writing a new deployment: staged on a booted sysroot, plainly on one that nobody booted.

use std::path::Path;

use anyhow::{Context, Result};
use ostree_ext::{glib, ostree};

use super::NONE;

/// A deployment to be written.
pub struct NewDeployment<'a> {
    /// The OS it is for.
    pub osname: &'a str,
    /// The commit.
    pub commit: &'a str,
    /// Its origin.
    pub origin: &'a glib::KeyFile,
    /// Its kernel arguments; none keeps those of the merge deployment.
    pub kargs: Option<&'a [String]>,
    /// Whether it shall not be finalised at shutdown.
    pub locked: bool,
}

/// The file that keeps a staged deployment from being finalised.
pub fn finalization_lock() -> &'static Path {
    Path::new("/run/ostree/staged-deployment-locked")
}

/// Writes `new`; the `/etc` it merges is that of the booted deployment, else of the first of its OS.
pub fn write(sysroot: &ostree::Sysroot, new: &NewDeployment<'_>) -> Result<()> {
    let merge = sysroot.merge_deployment(Some(new.osname));
    let kargs: Option<Vec<&str>> = new.kargs.map(|kargs| kargs.iter().map(String::as_str).collect());
    let options = ostree::SysrootDeployTreeOpts { override_kernel_argv: kargs.as_deref(), ..Default::default() };
    let (osname, origin) = (Some(new.osname), Some(new.origin));
    if sysroot.booted_deployment().is_some() {
        // As the real ones do: a lock that somebody has put there before stays.
        if new.locked {
            set_lock(true)?;
        }
        sysroot.stage_tree_with_options(osname, new.commit, origin, merge.as_ref(), &options, NONE)?;
    } else {
        let made =
            sysroot.deploy_tree_with_options(osname, new.commit, origin, merge.as_ref(), Some(&options), NONE)?;
        let flags = ostree::SysrootSimpleWriteDeploymentFlags::NO_CLEAN;
        sysroot.simple_write_deployment(osname, &made, merge.as_ref(), flags, NONE)?;
    }
    sysroot.cleanup(NONE).context("cleaning up the sysroot")
}

/// Locks or unlocks the finalisation of the staged deployment.
pub fn set_lock(locked: bool) -> Result<()> {
    let path = finalization_lock();
    if locked {
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        return std::fs::write(path, []).with_context(|| format!("writing {}", path.display()));
    }
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("removing {}", path.display()))
        }
        _ => Ok(()),
    }
}
