//! Fresh sysroots without a boot loader, and their first deployment.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use ostree_ext::container::OstreeImageReference;
use ostree_ext::glib;

use super::run;
use crate::faults::Faults;
use crate::narrator::Narrator;
use crate::sysroot::deploy::{self, NewDeployment};
use crate::sysroot::image::Pulled;
use crate::sysroot::{image, open, origin};

/// Makes an empty sysroot at `path` with the OS `osname`.
pub fn init(path: &Path, osname: &str) -> Result<()> {
    std::fs::create_dir_all(path).with_context(|| format!("making {}", path.display()))?;
    if !path.join("ostree/repo").exists() {
        run(Command::new("ostree").args(["admin", "init-fs"]).arg(path))?;
        let repo = format!("--repo={}", path.join("ostree/repo").display());
        run(Command::new("ostree").args([&repo, "config", "set", "sysroot.bootloader", "none"]))?;
        // Filling the last of a small test disk must be the test's doing, not a rule of libostree.
        run(Command::new("ostree").args([&repo, "config", "set", "core.min-free-space-percent", "0"]))?;
    }
    if !path.join("ostree/deploy").join(osname).exists() {
        run(Command::new("ostree").args(["admin", "os-init", osname]).arg(format!("--sysroot={}", path.display())))?;
    }
    Ok(())
}

/// Deploys `reference` into the sysroot at `path` with the kernel arguments `kargs`.
pub async fn deploy(path: &Path, osname: &str, reference: &OstreeImageReference, kargs: &[String]) -> Result<Pulled> {
    let (listener, hearing) = tokio::sync::mpsc::channel(1);
    drop(hearing);
    let (_cancel, cancelled) = tokio::sync::watch::channel(false);
    let narrator = Narrator::new(listener, cancelled, Faults::default());
    let sysroot = open(path)?;
    sysroot.lock()?;
    let pulled = image::pull(&sysroot, reference, &narrator).await?;
    let origin = glib::KeyFile::new();
    origin::set_image(&origin, reference);
    let new = NewDeployment { osname, commit: &pulled.commit, origin: &origin, kargs: Some(kargs), locked: false };
    let written = deploy::write(&sysroot, &new);
    sysroot.unlock();
    written.map(|()| pulled)
}
