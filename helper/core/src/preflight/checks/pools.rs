//! What pools say of themselves.

use jiff::SignedDuration;

use super::{Answer, Nature, risk};
use crate::objects::{MachineConfigPool, condition};
use crate::preflight::{Distance, Inventory, Objects, Severity, Target};
use crate::rollout::MASTER;

pub(super) const DEGRADED: &str = "MachineConfigPoolDegraded";
pub(super) const BUILD: &str = "MachineConfigPoolBuildInterrupted";
pub(super) const PAUSED: &str = "MachineConfigPoolPaused";
pub(super) const CERTIFICATES: &str = "MachineConfigPausedPoolCertExpiry";
pub(super) const UPDATING: &str = "MachineConfigPoolUpdating";

fn holds(pool: &MachineConfigPool, type_: &str) -> bool {
    condition(&pool.status.conditions, type_).is_some_and(|condition| condition.is_true())
}

pub(super) fn degraded(inventory: &Inventory, target: &Target) -> Answer {
    let mut objects = Objects::default();
    for pool in inventory.pools.needed()?.iter().filter(|pool| holds(pool, "Degraded")) {
        objects.add(&pool.metadata.name, "");
        let parts = pool.status.conditions.iter().filter(|part| part.is_true() && part.type_ != "Degraded");
        for part in parts.filter(|part| part.type_.ends_with("Degraded")) {
            objects.add(&pool.metadata.name, &format!("{}: {}", part.type_, part.message));
        }
    }
    Ok(risk(&objects, || Nature {
        name: DEGRADED,
        severity: Severity::Critical,
        url: target.book(),
        cause: "Pools are degraded, and an update stops at a degraded pool".to_owned(),
        remedy: "Repair what each condition names; 'ostler-cluster rollout status' shows which nodes failed and why."
            .to_owned(),
    }))
}

pub(super) fn build_interrupted(inventory: &Inventory, target: &Target) -> Answer {
    let mut objects = Objects::default();
    for pool in inventory.pools.needed()? {
        let interrupted = condition(&pool.status.conditions, "BuildInterrupted");
        if let Some(interrupted) = interrupted.filter(|interrupted| interrupted.is_true()) {
            objects.add(&pool.metadata.name, &interrupted.message);
        }
    }
    Ok(risk(&objects, || Nature {
        name: BUILD,
        severity: Severity::Critical,
        url: target.book(),
        cause: "The build of an OS image was interrupted, and the cluster is not updated before it is repeated"
            .to_owned(),
        remedy: "Start the MachineOSBuild of each pool again and wait for it to succeed.".to_owned(),
    }))
}

pub(super) fn paused(inventory: &Inventory, target: &Target) -> Answer {
    let mut objects = Objects::default();
    let pools: Vec<_> = inventory.pools.needed()?.iter().filter(|pool| pool.spec.paused).collect();
    for pool in &pools {
        let count = pool.status.machine_count;
        let machines = if count == 1 { "machine" } else { "machines" };
        objects.add(&pool.metadata.name, &format!("{count} {machines}"));
    }
    let control_plane = pools.iter().any(|pool| pool.metadata.name == MASTER);
    let skipping = match inventory.distance(target) {
        Distance::Skip(_) => " Over more than one minor release their kubelets fall further behind than is supported.",
        _ => "",
    };
    Ok(risk(&objects, || Nature {
        name: PAUSED,
        severity: if control_plane { Severity::Critical } else { Severity::Warning },
        url: target.update_book(),
        cause: format!(
            "Pools are paused, so their nodes stay behind and get no new certificates{}",
            if control_plane { "; the control plane must never be paused" } else { "" }
        ),
        remedy: format!("Unpause them (spec.paused: false), or plan when to; do not update again before.{skipping}"),
    }))
}

pub(super) fn certificates(inventory: &Inventory, target: &Target) -> Answer {
    let window = SignedDuration::from_hours(i64::from(target.window_days) * 24);
    let end = target.now.checked_add(window).unwrap_or(jiff::Timestamp::MAX);
    let mut objects = Objects::default();
    for pool in inventory.pools.needed()?.iter().filter(|pool| pool.spec.paused) {
        for certificate in &pool.status.cert_expirys {
            if let Some(expiry) = certificate.expiry.filter(|expiry| *expiry <= end) {
                let note = format!("{} in {} expires {expiry}", certificate.subject, certificate.bundle);
                objects.add(&pool.metadata.name, &note);
            }
        }
    }
    let days = target.window_days;
    Ok(risk(&objects, || Nature {
        name: CERTIFICATES,
        severity: Severity::Critical,
        url: target.update_book(),
        cause: format!(
            "Certificates on nodes of paused pools expire within {days} days, and new ones do not reach them"
        ),
        remedy: "Unpause the pools until the new certificates have arrived; 'oc logs' and 'oc exec' fail otherwise."
            .to_owned(),
    }))
}

pub(super) fn updating(inventory: &Inventory, target: &Target) -> Answer {
    let mut objects = Objects::default();
    for pool in inventory.pools.needed()? {
        let (wanted, reached) = (&pool.spec.configuration.name, &pool.status.configuration.name);
        if holds(pool, "Updated") && wanted == reached {
            continue;
        }
        let status = &pool.status;
        objects.add(
            &pool.metadata.name,
            &format!("{} of {} machines are updated", status.updated_machine_count, status.machine_count),
        );
        if wanted != reached {
            objects.add(&pool.metadata.name, &format!("all have reached {reached:?}, and {wanted:?} is wanted"));
        }
    }
    Ok(risk(&objects, || Nature {
        name: UPDATING,
        severity: Severity::Warning,
        url: target.update_book(),
        cause: "Pools have not reached their present configuration".to_owned(),
        remedy: "Wait until every pool is updated; 'ostler-cluster rollout status' shows what they wait for."
            .to_owned(),
    }))
}
