//! What has to be read to know where a rollout stands: pods only of nodes that are being drained.

use anyhow::Result;
use ostler_cluster_core::objects::{MCO_NAMESPACE, Node, Pod, Resource};
use ostler_cluster_core::rollout::{Drain, Fleet, drain};

use crate::commands::Trouble;
use crate::source::{Narrow, ReadError, Source};

/// Most nodes whose pods are looked at. More are not drained at once in any sane pool.
const MOST_DRAINS: usize = 64;
const OPERATOR: &str = "k8s-app=machine-config-operator";

/// Reads it, with what could not be read and can be done without.
pub async fn fleet(source: &Source) -> Result<(Fleet, Vec<String>)> {
    let mut notes = Vec::new();
    let mut fleet = Fleet { pools: source.list(None).await?, nodes: source.list(None).await?, ..Fleet::default() };
    if fleet.pools.is_empty() {
        return Err(Trouble::no_answer("there are no MachineConfigPools, so nothing updates nodes here").into());
    }
    fleet.progress = optional(source.list(None).await, &mut notes, "how long things took is not known");
    fleet.built = optional(source.list(None).await, &mut notes, "pools are taken to build no image of their own");
    let operator = Narrow { labels: Some(OPERATOR), ..Narrow::default() };
    let pods: Result<Vec<Pod>, _> = source.list_some(Some(MCO_NAMESPACE), operator).await;
    fleet.pods = optional(pods, &mut notes, "which control-plane node goes last is not known");
    fleet.pods.retain(|pod| pod.metadata.labels.get("k8s-app").is_some_and(|app| app == "machine-config-operator"));
    let draining: Vec<&Node> = fleet.nodes.iter().filter(|node| drain(node) == Some(Drain::Leaving)).collect();
    if draining.is_empty() {
        return Ok((fleet, notes));
    }
    let names: Vec<String> = draining.iter().take(MOST_DRAINS).map(|node| node.metadata.name.clone()).collect();
    if draining.len() > names.len() {
        notes.push(format!("{} nodes drain; what keeps them is told for {} only", draining.len(), names.len()));
    }
    fleet.budgets = optional(source.list(None).await, &mut notes, "what keeps pods on draining nodes is not known");
    let pods = on_nodes(source, &names).await;
    fleet.pods.extend(optional(pods, &mut notes, "what keeps draining nodes is not known"));
    Ok((fleet, notes))
}

async fn on_nodes(source: &Source, names: &[String]) -> Result<Vec<Pod>, ReadError> {
    let mut pods = Vec::new();
    if source.live().is_none() {
        pods = source.list(None).await?;
        pods.retain(|pod: &Pod| names.contains(&pod.spec.node_name));
        return Ok(pods);
    }
    for name in names {
        let fields = format!("spec.nodeName={name}");
        let narrow = Narrow { fields: Some(&fields), ..Narrow::default() };
        let found: Vec<Pod> = source.list_some(None, narrow).await?;
        pods.extend(found.into_iter().filter(|pod| &pod.spec.node_name == name));
    }
    Ok(pods)
}

/// What there is; nothing, and a note, where it cannot be read. A kind that the cluster does not know needs no note.
fn optional<T: Resource>(read: Result<Vec<T>, ReadError>, notes: &mut Vec<String>, lost: &str) -> Vec<T> {
    match read {
        Ok(objects) => objects,
        Err(error) if error.is_unknown_kind() => Vec::new(),
        Err(error) => {
            notes.push(format!("{lost}: {error}"));
            Vec::new()
        }
    }
}
