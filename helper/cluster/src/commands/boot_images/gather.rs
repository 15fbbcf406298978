//! Reads all that a decision about boot images needs. What is missing from a dump is told, and assumed where that is safe.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use ostler_cluster_core::boot_images::history::{HISTORY, History};
use ostler_cluster_core::boot_images::stub::UserData;
use ostler_cluster_core::boot_images::{BOOT_IMAGES, Cluster, Kind, Machine, Mode, ShippedImages};
use ostler_cluster_core::objects::{
    AwsMachineTemplate, AzureMachineTemplate, ClusterMachineSet, ClusterVersion, ConfigMap, ControlPlaneMachineSet,
    GcpMachineTemplate, Infrastructure, MCO_NAMESPACE, MachineConfiguration, MachineDeployment, MachineSet, Node,
    Resource, Secret, Whole,
};
use ostler_cluster_core::stream_metadata::Architecture;
use serde_json::Value;

use crate::cli::boot_images::BasisOptions;
use crate::commands::Trouble;
use crate::source::{ReadError, Source};

/// Largest list of known images.
const MAX_LIST: u64 = 32 * 1024 * 1024;

/// What was read.
pub struct Gathered {
    /// What decisions are made on.
    pub cluster: Cluster,
    /// What was done before.
    pub history: History,
    /// Nodes.
    pub nodes: Vec<Node>,
    /// What was assumed or left out, for people.
    pub notes: Vec<String>,
}

/// Reads it all.
pub async fn gather(source: &Source, basis: &BasisOptions) -> Result<Gathered> {
    let offline = source.live().is_none();
    let mut notes = Vec::new();
    let mut cluster = Cluster {
        shipped: one::<ConfigMap>(source, Some(MCO_NAMESPACE), BOOT_IMAGES)
            .await?
            .map(|map| map.map(|map| ShippedImages::of(&map))),
        infrastructure: one(source, None, Infrastructure::NAME).await?,
        version: one(source, None, ClusterVersion::NAME).await?,
        configuration: one(source, None, MachineConfiguration::NAME).await?,
        mode: if basis.own { Mode::Own } else { Mode::Observe },
        with_capi: basis.include_capi,
        ..Cluster::default()
    };
    cluster.machines = machines(source).await?;
    if cluster.machines.iter().any(|machine| machine.kind.is_capi()) {
        cluster.templates = templates(source).await?;
    }
    let nodes = nodes(source, offline, &mut notes).await?;
    cluster.control_plane = control_plane(&nodes, basis.architecture, offline, &mut notes);
    cluster.user_data = user_data(source, &cluster.machines, basis.own, &mut notes).await?;
    let history = history(source).await?;
    cluster.attempts = history.guard();
    learn(source, &mut cluster, &history, &basis.known).await?;
    if offline {
        remark(&cluster, &mut notes);
    }
    notes.extend(source.notes());
    Ok(Gathered { cluster, history, nodes, notes })
}

/// What was done before.
pub async fn history(source: &Source) -> Result<History, ReadError> {
    let map = one::<ConfigMap>(source, Some(MCO_NAMESPACE), HISTORY).await?;
    Ok(map.ok().flatten().map(|map| History::of(&map)).unwrap_or_default())
}

/// A malformed object is a problem of those that need it; an unreachable cluster is everybody's.
async fn one<T: Resource>(
    source: &Source,
    namespace: Option<&str>,
    name: &str,
) -> Result<Result<Option<T>, String>, ReadError> {
    match source.get(namespace, name).await {
        Ok(object) => Ok(Ok(object)),
        Err(error) if error.is_unknown_kind() => Ok(Ok(None)),
        Err(error @ ReadError::Malformed { .. }) => {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
            Ok(Err(format!("{error}{cause}")))
        }
        Err(error) => Err(error),
    }
}

async fn all<T: Resource>(source: &Source) -> Result<Vec<T>, ReadError> {
    match source.list(None).await {
        Err(error) if error.is_unknown_kind() => Ok(Vec::new()),
        read => read,
    }
}

/// The machine resources of every kind.
pub async fn machines(source: &Source) -> Result<Vec<Machine>, ReadError> {
    let of = |kind: Kind| move |object: Whole| Machine::new(kind, object);
    let sets = all(source).await?.into_iter().map(|MachineSet(object)| object).map(of(Kind::MachineSet));
    let control = all(source).await?.into_iter().map(|ControlPlaneMachineSet(object)| object);
    let capi = all(source).await?.into_iter().map(|ClusterMachineSet(object)| object);
    let deployments = all(source).await?.into_iter().map(|MachineDeployment(object)| object);
    let control = control.map(of(Kind::ControlPlaneMachineSet));
    let capi = capi.map(of(Kind::ClusterMachineSet));
    Ok(sets.chain(control).chain(capi).chain(deployments.map(of(Kind::MachineDeployment))).collect())
}

/// Templates of the Cluster API.
pub async fn templates(source: &Source) -> Result<Vec<Whole>, ReadError> {
    let aws = all(source).await?.into_iter().map(|AwsMachineTemplate(object)| object);
    let azure = all(source).await?.into_iter().map(|AzureMachineTemplate(object)| object);
    let gcp = all(source).await?.into_iter().map(|GcpMachineTemplate(object)| object);
    Ok(aws.chain(azure).chain(gcp).collect())
}

async fn nodes(source: &Source, offline: bool, notes: &mut Vec<String>) -> Result<Vec<Node>, ReadError> {
    match all(source).await {
        Err(error) if offline => {
            notes.push(format!("nodes are left out: {error}"));
            Ok(Vec::new())
        }
        read => read,
    }
}

/// That of the control plane's nodes, else of all nodes where they agree. A dump without nodes is taken to be of the
/// usual architecture; a cluster never is.
fn control_plane(
    nodes: &[Node],
    given: Option<Architecture>,
    offline: bool,
    notes: &mut Vec<String>,
) -> Option<Architecture> {
    let of = |nodes: &mut dyn Iterator<Item = &Node>| {
        let found: BTreeSet<Architecture> = nodes.filter_map(|node| Architecture::of_go(node.architecture())).collect();
        if found.len() == 1 { found.first().copied() } else { None }
    };
    let found = given
        .or_else(|| of(&mut nodes.iter().filter(|node| node.is_control_plane())))
        .or_else(|| of(&mut nodes.iter()));
    if found.is_none() && offline {
        notes.push(
            "no node says which architecture the control plane has: x86_64 is assumed; --architecture says it"
                .to_owned(),
        );
        return Some(Architecture::X86_64);
    }
    found
}

/// Only the secrets that machine resources name are read. A dump without any secret was stripped of them.
async fn user_data(source: &Source, machines: &[Machine], own: bool, notes: &mut Vec<String>) -> Result<UserData> {
    let complete = match source.live() {
        Some(_) => true,
        None => !matches!(source.list::<Secret>(None).await, Ok(secrets) if secrets.is_empty()),
    };
    let mut wanted = BTreeSet::new();
    for machine in machines {
        let name = match machine.kind.is_capi() {
            true => Some(machine.object.text("/spec/template/spec/bootstrap/dataSecretName")),
            false => machine.provider_spec().and_then(|spec| spec.pointer("/userDataSecret/name")?.as_str()),
        };
        wanted.extend(name.filter(|name| !name.is_empty()).map(|name| (machine.kind.namespace(), name.to_owned())));
    }
    let (mut found, mut failed) = (Vec::new(), Vec::new());
    let mut forbidden = false;
    for (namespace, name) in wanted {
        match source.get::<Secret>(Some(namespace), &name).await {
            Ok(secret) => found.extend(secret),
            Err(error @ ReadError::Malformed { .. }) => failed.push((namespace, name, error.to_string())),
            Err(error @ ReadError::Forbidden { .. }) if own => failed.push((namespace, name, error.to_string())),
            Err(ReadError::Forbidden { .. }) => forbidden = true,
            Err(error) => return Err(error.into()),
        }
    }
    if forbidden {
        notes.push("not allowed to read secrets with user data: they are not checked".to_owned());
    }
    let mut user_data = UserData::new(found, complete && !forbidden);
    failed.into_iter().for_each(|(namespace, name, why)| user_data.unreadable(namespace, &name, why));
    Ok(user_data)
}

/// AMIs of the release, of earlier ones that are in the dump or were set before, and of lists.
async fn learn(source: &Source, cluster: &mut Cluster, history: &History, lists: &[std::path::PathBuf]) -> Result<()> {
    if let Ok(Some(shipped)) = &cluster.shipped {
        cluster.known.learn(shipped);
    }
    if source.live().is_none() {
        let maps = source.list::<ConfigMap>(None).await.unwrap_or_default();
        let earlier = maps.iter().filter(|map| map.metadata.name.starts_with(BOOT_IMAGES));
        earlier.for_each(|map| cluster.known.learn(&ShippedImages::of(map)));
    }
    let set_before = history.entries().values().flat_map(|entry| &entry.details).map(|record| record.to.as_str());
    let set_before: Vec<&str> = set_before.filter(|image| image.starts_with("ami-")).collect();
    // A record that somebody spoilt teaches nothing.
    let _ = cluster.known.learn_file(&Value::from(set_before).to_string());
    for list in lists {
        let text =
            read(list).map_err(|error| error.context(Trouble::input(format!("cannot use {}", list.display()))))?;
        let learnt = cluster.known.learn_file(&text);
        learnt.map_err(|error| Trouble::input(format!("cannot use {}: {error}", list.display())))?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<String> {
    let size = fs::metadata(path).context("it cannot be read")?.len();
    anyhow::ensure!(size <= MAX_LIST, "it has more than {} MiB", MAX_LIST / (1024 * 1024));
    fs::read_to_string(path).context("it cannot be read")
}

fn remark(cluster: &Cluster, notes: &mut Vec<String>) {
    if matches!(cluster.version, Ok(None)) {
        notes
            .push("ClusterVersion version is not in the directory: the cluster is taken not to be updating".to_owned());
    }
    if matches!(cluster.configuration, Ok(None)) {
        notes.push(
            "MachineConfiguration cluster is not in the directory: the defaults of the platform are assumed".to_owned(),
        );
    }
}
