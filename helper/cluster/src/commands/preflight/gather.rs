//! Reading everything that checks need, until the time is over. A kind that cannot be read is noted as such: nothing here
//! ends the run.

use std::collections::BTreeSet;
use std::future::Future;

use futures_util::StreamExt as _;
use futures_util::stream;
use ostler_cluster_core::objects::{
    ClusterVersion, ConfigHead, ConfigMap, MCO_NAMESPACE, MachineConfigPool, OSImageStream, Resource,
    ValidationSettings, WholeConfig,
};
use ostler_cluster_core::preflight::{
    Configs, Inventory, Passage, Reading, Verdict, digest, image_setters, passage, wanted_configs, wanted_passages,
};
use ostler_cluster_core::streams::Policy;
use ostler_core::document;
use ostler_core::reconcile::Overrides;
use tokio::time::{Instant, timeout_at};

use super::boot;
use crate::source::{Narrow, ReadError, Source};

/// How many configurations are asked for at once; each may have more than a megabyte.
const AT_ONCE: usize = 4;

/// Reads a cluster. Also says whether the time was over before everything was read.
pub async fn inventory(source: &Source, deadline: Instant) -> (Inventory, bool) {
    let mut inventory = Inventory::default();
    let mut late = false;
    let clock = Clock { deadline };
    let version: Reading<Option<ClusterVersion>> = clock.one(source, None, ClusterVersion::NAME, &mut late).await;
    inventory.cluster_version = version.existing("ClusterVersion");
    inventory.settings = clock.one(source, None, ValidationSettings::NAME, &mut late).await;
    inventory.pools = clock.all(source, None, &mut late).await.populated("MachineConfigPools");
    inventory.built = clock.all(source, None, &mut late).await;
    inventory.stream = clock.one(source, None, OSImageStream::NAME, &mut late).await;
    inventory.policy = policy(clock.one(source, Some(MCO_NAMESPACE), Policy::CONFIG_MAP, &mut late).await);
    inventory.nodes = clock.all(source, None, &mut late).await;
    if inventory.counted_machines() > 0 {
        inventory.nodes = std::mem::take(&mut inventory.nodes).populated("Nodes, although pools count machines");
    }
    inventory.progress = clock.all(source, None, &mut late).await;
    inventory.boot = boot::boot(source, clock, &mut late).await;
    let found = configs(source, &inventory, clock, &mut late).await;
    inventory.configs = Reading::Read(found);
    (inventory, late)
}

/// When it is over.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    deadline: Instant,
}

impl Clock {
    pub(super) async fn all<T: Resource>(
        &self,
        source: &Source,
        namespace: Option<&str>,
        late: &mut bool,
    ) -> Reading<Vec<T>> {
        self.read(source.list(namespace), late).await
    }

    pub(super) async fn one<T: Resource>(
        &self,
        source: &Source,
        namespace: Option<&str>,
        name: &str,
        late: &mut bool,
    ) -> Reading<Option<T>> {
        self.read(source.get(namespace, name), late).await
    }

    async fn read<R>(&self, reading: impl Future<Output = Result<R, ReadError>>, late: &mut bool) -> Reading<R> {
        match timeout_at(self.deadline, reading).await {
            Ok(Ok(value)) => Reading::Read(value),
            Ok(Err(ReadError::UnknownKind { kind, .. })) => Reading::UnknownKind { kind },
            Ok(Err(error)) => Reading::Failed { reason: whole(&error) },
            Err(_) => {
                *late = true;
                Reading::NotRead
            }
        }
    }
}

/// An error with its causes, in one line.
fn whole(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |told, cause| format!("{told}: {cause}"))
}

/// The policy of the ConfigMap; none where there is no such map.
fn policy(map: Reading<Option<ConfigMap>>) -> Reading<Policy> {
    let unusable = |problem: String| Reading::Failed { reason: format!("ConfigMap {}: {problem}", Policy::CONFIG_MAP) };
    match map {
        Reading::Read(map) => {
            let Some(text) = map.and_then(|map| map.data.get(Policy::KEY).cloned()) else {
                return Reading::Read(Policy::default());
            };
            match document::parse(text.as_bytes()).map(Policy::from_document) {
                Ok(Ok(policy)) => Reading::Read(policy),
                Ok(Err(error)) => unusable(error.to_string()),
                Err(error) => unusable(error.to_string()),
            }
        }
        Reading::UnknownKind { kind } => Reading::UnknownKind { kind },
        Reading::Failed { reason } => Reading::Failed { reason },
        Reading::NotRead => Reading::NotRead,
    }
}

async fn configs(source: &Source, inventory: &Inventory, clock: Clock, late: &mut bool) -> Configs {
    let mut configs = Configs::default();
    let reads = stream::iter(wanted_configs(inventory)).map(|name| async move {
        let mut late = false;
        let read: Reading<Option<WholeConfig>> = clock.one(source, None, &name, &mut late).await;
        let kept = match &read {
            Reading::Read(Some(config)) => Ok(digest(config)),
            Reading::Read(None) => Err("there is none of this name".to_owned()),
            other => Err(other.needed().err().map(|undecided| undecided.reason).unwrap_or_default()),
        };
        (name, kept, late)
    });
    let mut reads = reads.buffer_unordered(AT_ONCE);
    while let Some((name, kept, was_late)) = reads.next().await {
        *late |= was_late;
        match kept {
            Ok(digest) => drop(configs.digests.insert(name, digest)),
            Err(why) => drop(configs.unread.insert(name, why)),
        }
    }
    for pool in inventory.pools.needed().map(Vec::as_slice).unwrap_or_default() {
        if pool.own_stream().is_some() {
            configs.setters.insert(pool.metadata.name.clone(), setters(source, pool, clock, late).await);
        }
    }
    let (passages, untried) = wanted_passages(inventory);
    configs.untried = untried;
    let overrides = match &inventory.settings {
        Reading::Read(Some(settings)) => Overrides::from(&settings.spec.irreconcilable_validation_overrides),
        _ => Overrides::default(),
    };
    let mut destination: Option<(String, WholeConfig)> = None;
    for wanted in passages {
        let (verdict, was_late) = verdict(source, &wanted, overrides, clock, &mut destination).await;
        *late |= was_late;
        configs.verdicts.insert(wanted, verdict);
    }
    configs
}

/// Who sets the OS image of a pool. A server is asked for what the pool selects, as all configurations would be too many;
/// what the pool was last rendered from is mostly the same.
async fn setters(
    source: &Source,
    pool: &MachineConfigPool,
    clock: Clock,
    late: &mut bool,
) -> Result<Vec<String>, String> {
    let selector = &pool.spec.machine_config_selector;
    let query = selector.query().filter(|query| !query.is_empty());
    let mut heads: Vec<ConfigHead> = Vec::new();
    if let Some(query) = &query {
        let narrow = Narrow { labels: Some(query), ..Narrow::default() };
        let found: Reading<Vec<ConfigHead>> = clock.read(source.list_some(None, narrow), late).await;
        heads.extend(found.into_needed()?);
    }
    let known: BTreeSet<String> = heads.iter().map(|head| head.metadata.name.clone()).collect();
    for name in pool.spec.configuration.source.iter().map(|source| &source.name) {
        if !name.is_empty() && !known.contains(name) {
            let found: Reading<Option<ConfigHead>> = clock.one(source, None, name, late).await;
            heads.extend(found.into_needed()?);
        }
    }
    Ok(image_setters(pool, heads.iter()))
}

/// Passages come sorted, so that those with one destination mostly follow each other.
async fn verdict(
    source: &Source,
    wanted: &Passage,
    overrides: Overrides,
    clock: Clock,
    destination: &mut Option<(String, WholeConfig)>,
) -> (Verdict, bool) {
    let mut late = false;
    if destination.as_ref().is_none_or(|(name, _)| name != &wanted.to) {
        match clock.one(source, None, &wanted.to, &mut late).await {
            Reading::Read(Some(config)) => *destination = Some((wanted.to.clone(), config)),
            _ => return (unreadable(&wanted.to), late),
        }
    }
    let from: Reading<Option<WholeConfig>> = clock.one(source, None, &wanted.from, &mut late).await;
    let verdict = match (from, destination) {
        (Reading::Read(Some(from)), Some((_, to))) => passage(&from, to, overrides),
        _ => unreadable(&wanted.from),
    };
    (verdict, late)
}

fn unreadable(config: &str) -> Verdict {
    Verdict::Unknown { reason: format!("{config} cannot be read") }
}
