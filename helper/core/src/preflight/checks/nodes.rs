//! What nodes say of themselves, and what would stop them.

use ostler_core::node::keys;

use super::{Answer, Nature, partly, risk};
use crate::objects::Node;
use crate::preflight::configs::Verdict;
use crate::preflight::{Inventory, Objects, Severity, Target, Undecided};
use crate::rollout::{Membership, membership};

pub(super) const UNRECONCILABLE: &str = "MachineConfigUnreconcilable";
pub(super) const IRRECONCILABLE: &str = "MachineConfigIrreconcilableChanges";
pub(super) const OVERRIDES: &str = "MachineConfigIrreconcilableOverrides";
pub(super) const AMBIGUOUS: &str = "MachineConfigAmbiguousPool";
pub(super) const KERNEL: &str = "MachineConfigKernelVersionMismatch";

/// A refusal of the planner counts as much as one that a node has already found; so both are asked for, and what one of
/// them lacks does not hide what the other says.
pub(super) fn unreconcilable(inventory: &Inventory, target: &Target) -> Answer {
    let mut objects = Objects::default();
    for node in inventory.nodes.needed()? {
        if let Some(state @ (keys::STATE_UNRECONCILABLE | keys::STATE_DEGRADED)) = node.annotation(keys::STATE) {
            let reason = node.annotation(keys::REASON).unwrap_or("without a reason");
            objects.add(&format!("node {}", node.metadata.name), &format!("{state}: {reason}"));
        }
    }
    let mut remedies: Vec<&str> = Vec::new();
    let unknown = refusals(inventory, &mut objects, &mut remedies).err();
    remedies.sort_unstable();
    remedies.dedup();
    let given = remedies.first().map(|remedy| format!(" For the pools: {remedy}.")).unwrap_or_default();
    let found = risk(&objects, || Nature {
        name: UNRECONCILABLE,
        severity: Severity::Critical,
        url: target.book(),
        cause: "Nodes cannot reach the configuration that their pool wants".to_owned(),
        remedy: format!("Correct the MachineConfig that asks for it, or install the node again.{given}"),
    });
    partly(found, unknown)
}

fn refusals<'a>(inventory: &'a Inventory, objects: &mut Objects, remedies: &mut Vec<&'a str>) -> Result<(), Undecided> {
    inventory.settings.or_none()?;
    let configs = inventory.configs.needed()?;
    let mut unknown = match configs.untried {
        0 => None,
        untried => Some(format!("{untried} ways from one rendered configuration to another were not tried")),
    };
    for (passage, verdict) in &configs.verdicts {
        match verdict {
            Verdict::Refused { reason, remedy } => {
                let name = format!("pool {} from {} to {}", passage.pool, passage.from, passage.to);
                objects.add(&name, reason);
                remedies.push(remedy);
            }
            Verdict::Unknown { reason } => {
                let (from, to) = (&passage.from, &passage.to);
                unknown.get_or_insert(format!("{from} could not be compared with {to}: {reason}"));
            }
            Verdict::Passable => {}
        }
    }
    unknown.map_or(Ok(()), |reason| Err(Undecided::because(reason)))
}

/// The differences themselves may hold secrets; only where they are is told.
pub(super) fn irreconcilable(inventory: &Inventory, target: &Target) -> Answer {
    let mut objects = Objects::default();
    for progress in inventory.progress.needed()? {
        for change in &progress.status.irreconcilable_changes {
            objects.add(&progress.metadata.name, &change.field_path);
        }
    }
    Ok(risk(&objects, || Nature {
        name: IRRECONCILABLE,
        severity: Severity::Warning,
        url: target.book(),
        cause: "Nodes differ from their configuration in what only a new installation can apply".to_owned(),
        remedy: "Install these nodes again when it suits, so that they are like new ones; the update itself goes on."
            .to_owned(),
    }))
}

pub(super) fn overrides(inventory: &Inventory, target: &Target) -> Answer {
    let settings = inventory.settings.or_none()?.and_then(Option::as_ref);
    let mut objects = Objects::default();
    for section in settings.iter().flat_map(|settings| &settings.spec.irreconcilable_validation_overrides.storage) {
        objects.add(&format!("{section:?}"), "");
    }
    Ok(risk(&objects, || Nature {
        name: OVERRIDES,
        severity: Severity::Info,
        url: target.book(),
        cause: "Changes to these parts of storage are let through without being applied to nodes that exist".to_owned(),
        remedy: "Remove spec.irreconcilableValidationOverrides.storage from MachineConfiguration 'cluster' when all \
                 nodes are alike again."
            .to_owned(),
    }))
}

pub(super) fn ambiguous(inventory: &Inventory, target: &Target) -> Answer {
    let pools = inventory.pools.needed()?;
    let mut objects = Objects::default();
    for node in inventory.nodes.needed()? {
        if let Membership::Ambiguous(several) = membership(node, pools) {
            objects.add(&node.metadata.name, &several.join(" and "));
        }
    }
    Ok(risk(&objects, || Nature {
        name: AMBIGUOUS,
        severity: Severity::Critical,
        url: target.book(),
        cause: "Nodes are selected by more than one custom pool and would not be updated at all".to_owned(),
        remedy: "Remove labels from each node until one custom pool at most selects it.".to_owned(),
    }))
}

pub(super) fn kernel(inventory: &Inventory, target: &Target) -> Answer {
    let Some(floor) = target.kernel_floor else { return Ok(None) };
    let mut objects = Objects::default();
    let mut silent = 0_usize;
    for node in inventory.nodes.needed()?.iter().filter(|node| !is_windows(node)) {
        let version = &node.status.node_info.kernel_version;
        match kernel_version(version) {
            Some(found) if found < floor => objects.add(&node.metadata.name, version),
            Some(_) => {}
            None => silent += 1,
        }
    }
    let unknown = || Undecided::because(format!("{silent} nodes do not tell the version of their kernel"));
    let minor = target.version.minor_text();
    let found = risk(&objects, || Nature {
        name: KERNEL,
        severity: Severity::Warning,
        url: format!("https://docs.openshift.com/container-platform/{minor}/updating/kernel-compatibility.html"),
        cause: format!("Kernels are older than {}.{}, which {} is made for", floor.0, floor.1, target.version),
        remedy: "Update the pools of these nodes to the present release first, or replace the nodes.".to_owned(),
    });
    partly(found, (silent > 0).then(unknown))
}

fn is_windows(node: &Node) -> bool {
    node.metadata.labels.get("kubernetes.io/os").is_some_and(|os| os == "windows")
}

fn kernel_version(text: &str) -> Option<(u64, u64)> {
    let mut numbers = text.split(['.', '-', '+']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}
