//! Whether nodes may be away at all, and not too many of them.

use super::{Answer, Nature, risk};
use crate::objects::MachineConfigPool;
use crate::preflight::{Inventory, Objects, Severity, Target};
use crate::rollout::{MASTER, capacity, max_unavailable};

pub(super) const CONTROL_PLANE: &str = "MachineConfigControlPlaneMaxUnavailable";
pub(super) const NONE_LEFT: &str = "MachineConfigNoUpdateCapacity";

pub(super) fn control_plane(inventory: &Inventory, target: &Target) -> Answer {
    let is_master = |pool: &&MachineConfigPool| pool.metadata.name == MASTER;
    let Some(pool) = inventory.pools.needed()?.iter().find(is_master) else { return Ok(None) };
    let views = inventory.views();
    let counted =
        views.ok().and_then(|views| views.iter().find(|view| view.name() == MASTER).map(|view| view.nodes.len()));
    let said = || usize::try_from(pool.status.machine_count).unwrap_or_default();
    let machines = counted.filter(|counted| *counted > 0).unwrap_or_else(said);
    let most = max_unavailable(pool, machines);
    if most <= 1 {
        return Ok(None);
    }
    let quorum = machines / 2 + 1;
    let breaks = machines.saturating_sub(most) < quorum;
    let mut objects = Objects::default();
    objects.add(MASTER, &format!("{most} at a time of {machines} nodes, {quorum} needed for a quorum"));
    Ok(risk(&objects, || Nature {
        name: CONTROL_PLANE,
        severity: if breaks { Severity::Critical } else { Severity::Warning },
        url: target.update_book(),
        cause: format!(
            "Several control-plane nodes may be updated at once{}",
            if breaks { ", which takes the quorum of etcd away" } else { "" }
        ),
        remedy: "Set spec.maxUnavailable of the pool to 1.".to_owned(),
    }))
}

pub(super) fn none_left(inventory: &Inventory, target: &Target) -> Answer {
    let mut objects = Objects::default();
    for view in inventory.views()?.iter().filter(|view| !view.nodes.is_empty()) {
        let capacity = capacity(view);
        if capacity.unavailable < capacity.max {
            continue;
        }
        objects.add(view.name(), &format!("{} unavailable, {} allowed", capacity.unavailable, capacity.max));
        for (node, why) in view.unavailable() {
            objects.add(view.name(), &format!("{}: {why}", node.metadata.name));
        }
    }
    Ok(risk(&objects, || Nature {
        name: NONE_LEFT,
        severity: Severity::Warning,
        url: target.update_book(),
        cause: "As many nodes as may be unavailable already are, so no node of these pools would be updated".to_owned(),
        remedy: "Make the nodes ready and uncordon them, or raise spec.maxUnavailable of the pool.".to_owned(),
    }))
}
