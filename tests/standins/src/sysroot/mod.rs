//! The deploy library under both stand-ins: a real ostree sysroot, opened, read, and changed under its lock.
//!
//! GObjects of libostree stay on the thread that opened them; what leaves it are the plain structs of [`facts`]. Policy
//! (which request is allowed, what is said about it) belongs to the stand-ins.

pub mod deploy;
pub mod facts;
pub mod image;
pub mod kargs;
pub mod origin;
mod policy;
pub mod tidy;

use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result};
use ostree_ext::gio::prelude::*;
use ostree_ext::{gio, ostree};

/// No cancellable: steps of libostree are short, and cancellation is looked at between them.
pub(crate) const NONE: Option<&gio::Cancellable> = gio::Cancellable::NONE;

/// Files of commits are read up to this size.
const MAX_FILE: u64 = 1 << 20;

/// The deployments of one OS, told apart by what they are for.
#[derive(Debug, Default)]
pub struct Roles {
    /// What boots next instead of the booted one.
    pub pending: Option<ostree::Deployment>,
    /// What is booted. On a sysroot nobody booted, the first deployment, or the second when there are more: the first
    /// then stands for a pending one, so that every operation has the same shape as on a booted machine.
    pub booted: Option<ostree::Deployment>,
    /// What was booted before.
    pub rollback: Option<ostree::Deployment>,
}

impl Roles {
    /// The deployment whose origin and kernel arguments a new one starts from: the pending one, else the booted one.
    pub fn origin_merge(&self) -> Option<&ostree::Deployment> {
        self.pending.as_ref().or(self.booted.as_ref())
    }
}

/// Opens and loads the sysroot at `path`. Mounts that are read-only are remounted by libostree when it writes, which is
/// only right in a mount namespace of one's own.
pub fn open(path: &Path) -> Result<ostree::Sysroot> {
    let sysroot = ostree::Sysroot::new(Some(&gio::File::for_path(path)));
    sysroot.initialize().with_context(|| format!("opening the sysroot {}", path.display()))?;
    sysroot.set_mount_namespace_in_use();
    sysroot.load(NONE).with_context(|| format!("loading the sysroot {}", path.display()))?;
    Ok(sysroot)
}

/// The deployments of `osname` by role.
pub fn roles(sysroot: &ostree::Sysroot, osname: &str) -> Roles {
    let of_os: Vec<_> = sysroot.deployments().into_iter().filter(|deployment| deployment.osname() == osname).collect();
    let booted = match sysroot.booted_deployment() {
        Some(booted) => of_os.iter().position(|deployment| deployment.equal(&booted)),
        None => of_os.len().checked_sub(1).map(|last| last.min(1)),
    };
    let Some(booted) = booted else {
        return Roles { pending: of_os.first().cloned(), ..Roles::default() };
    };
    Roles {
        pending: of_os.first().filter(|_| booted > 0).cloned(),
        booted: of_os.get(booted).cloned(),
        rollback: of_os.get(booted.saturating_add(1)).cloned(),
    }
}

/// The names of the OSes that have deployments, in boot order.
pub fn osnames(sysroot: &ostree::Sysroot) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for deployment in sysroot.deployments() {
        let name = deployment.osname().to_string();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The text of the file `path` in the tree of `commit`, where it has one.
pub fn file_of_commit(sysroot: &ostree::Sysroot, commit: &str, path: &str) -> Option<String> {
    let (root, _) = sysroot.repo().read_commit(commit, NONE).ok()?;
    let file = root.resolve_relative_path(path).downcast::<ostree::RepoFile>().ok()?;
    file.ensure_resolved().ok()?;
    let (stream, ..) = sysroot.repo().load_file(&file.checksum(), NONE).ok()?;
    std::io::read_to_string(stream?.into_read().take(MAX_FILE)).ok()
}
