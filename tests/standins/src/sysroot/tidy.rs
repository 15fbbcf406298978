//! Dropping and reordering deployments: cleanup and rollback.

use anyhow::{Result, bail};
use ostree_ext::ostree;

use super::{NONE, roles};

/// Drops the pending and rollback deployments of `osname` that are asked for; pinned ones stay. Tells whether the list
/// changed.
pub fn drop_deployments(sysroot: &ostree::Sysroot, osname: &str, pending: bool, rollback: bool) -> Result<bool> {
    let roles = roles(sysroot, osname);
    let dropped: Vec<_> = [roles.pending.filter(|_| pending), roles.rollback.filter(|_| rollback)]
        .into_iter()
        .flatten()
        .filter(|deployment| !deployment.is_pinned())
        .collect();
    let all = sysroot.deployments();
    let kept: Vec<_> =
        all.iter().filter(|deployment| !dropped.iter().any(|gone| gone.equal(deployment))).cloned().collect();
    let changed = kept.len() < all.len();
    if changed {
        sysroot.write_deployments(&kept, NONE)?;
        sysroot.load(NONE)?;
    }
    sysroot.cleanup(NONE)?;
    Ok(changed)
}

/// The deployment a rollback of `osname` would put first: the rollback one, else the booted one in front of which a
/// pending one stands.
pub fn rollback_target(sysroot: &ostree::Sysroot, osname: &str) -> Result<ostree::Deployment> {
    let roles = roles(sysroot, osname);
    match (roles.rollback, roles.pending, roles.booted) {
        (Some(rollback), _, _) => Ok(rollback),
        (None, Some(_), Some(booted)) => Ok(booted),
        _ => bail!("No rollback deployment found"),
    }
}

/// Puts `first` in front of all deployments; a staged one is dropped.
pub fn make_default(sysroot: &ostree::Sysroot, first: &ostree::Deployment) -> Result<()> {
    let mut order = vec![first.clone()];
    let others = sysroot.deployments().into_iter().filter(|other| !other.equal(first) && !other.is_staged());
    order.extend(others);
    sysroot.write_deployments(&order, NONE)?;
    sysroot.load(NONE)?;
    Ok(())
}

/// Drops the staged deployment, where there is one.
pub fn drop_staged(sysroot: &ostree::Sysroot) -> Result<()> {
    let all = sysroot.deployments();
    let kept: Vec<_> = all.iter().filter(|deployment| !deployment.is_staged()).cloned().collect();
    if kept.len() < all.len() {
        sysroot.write_deployments(&kept, NONE)?;
        sysroot.load(NONE)?;
    }
    Ok(())
}
