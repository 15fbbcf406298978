//! What SELinux's own tools say of `packaging/selinux`: whether the module compiles, and whether it can be joined to a
//! policy, which is where names are looked up that it only refers to.
//!
//! The policy is Debian's, out of its package and never installed; RHEL's and Fedora's come from the same sources, but are
//! not the same.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::{needs, process, workspace};

const TOOLS: [&str; 4] = ["checkmodule", "semodule_package", "semodule_link", "semodule_expand"];
const POLICY: &str = "selinux-policy-default";
/// Where its package has the part that everything else is joined to.
const BASE: &str = "usr/share/selinux/default/base.pp.bz2";

/// Compiles the module and joins it. What there is no tool or no policy for is told.
pub fn check() -> Result<()> {
    if !TOOLS.into_iter().all(needs::on_path) {
        println!("SKIPPED: the SELinux module, because one of {} is not installed", TOOLS.join(", "));
        return Ok(());
    }
    let source = workspace::root().join("packaging/selinux");
    let made = workspace::target().join("xtask/selinux");
    fs::create_dir_all(&made).with_context(|| format!("cannot make {}", made.display()))?;
    let [module, package, joined, policy] = ["ostler.mod", "ostler.pp", "joined", "policy"].map(|name| made.join(name));
    process::run(Command::new("checkmodule").args(["-M", "-m", "-o"]).arg(&module).arg(source.join("ostler.te")))?;
    let mut command = Command::new("semodule_package");
    process::run(command.arg("-o").arg(&package).arg("-m").arg(&module).arg("-f").arg(source.join("ostler.fc")))?;
    match base() {
        Ok(base) => {
            process::run(Command::new("semodule_link").arg("-o").arg(&joined).arg(base).arg(&package))?;
            process::run(Command::new("semodule_expand").arg(&joined).arg(&policy))
        }
        // A mirror that cannot be reached is no fault of the module.
        Err(error) => {
            println!("SKIPPED: joining the SELinux module to a policy, because none could be had: {error:#}");
            Ok(())
        }
    }
}

/// The base of a policy, which is kept once it was fetched.
fn base() -> Result<PathBuf> {
    let cache = workspace::cache()?.join("ostler/selinux");
    let kept = cache.join("base.pp");
    if !kept.exists() {
        let work = cache.join("unfinished");
        let _ = fs::remove_dir_all(&work);
        fs::create_dir_all(&work).with_context(|| format!("cannot make {}", work.display()))?;
        fetch(&work, &kept)?;
        fs::remove_dir_all(&work).with_context(|| format!("cannot clear {}", work.display()))?;
    }
    Ok(kept)
}

/// Apt checks the package against its signed index.
fn fetch(work: &Path, kept: &Path) -> Result<()> {
    process::run(Command::new("apt-get").args(["--quiet", "download", POLICY]).current_dir(work))?;
    let package = fs::read_dir(work)?.next().context("apt-get downloaded nothing")??.path();
    process::run(Command::new("dpkg-deb").arg("--extract").arg(package).arg(work))?;
    process::run(Command::new("bunzip2").arg(work.join(BASE)))?;
    let base = work.join(BASE.trim_end_matches(".bz2"));
    fs::rename(&base, kept).with_context(|| format!("cannot keep {}", base.display()))
}
