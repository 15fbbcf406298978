//! What a stream would mean for a pool, before it gets there: its images, and what stands in the way.

use serde::Serialize;

use super::crio::{self, RuntimeTrouble};
use super::deprecation::Policy;
use super::injection::{Injected, merge_order};
use super::labels::{Labels, stream_class};
use super::movement::{Compared, Evidence, compare, last_known, under_way};
use super::pool::{Choice, Effective, effective, followers, reported};
use super::version::Version;
use crate::objects::{MachineConfig, MachineConfigPool, OSImageStreamStatus, StreamSet};

/// What is known of a cluster.
#[derive(Clone, Copy, Debug)]
pub struct Cluster<'a> {
    /// Its streams.
    pub offered: &'a OSImageStreamStatus,
    /// All its pools.
    pub pools: &'a [MachineConfigPool],
    /// All its configurations, rendered ones included.
    pub configs: &'a [MachineConfig],
    /// What a person says of streams.
    pub policy: &'a Policy,
    /// Its release.
    pub release: Option<&'a Version>,
}

/// Something that stands in the way, or ought to be known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Obstacle {
    /// A word for programs.
    pub reason: &'static str,
    /// Whether the pool could not be rendered, or the change is refused, because of it.
    pub blocks: bool,
    /// A sentence for people.
    pub message: String,
}

/// What a stream means for a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assessment {
    /// The stream and where it comes from.
    pub effective: Effective,
    /// Its images, if the cluster offers it.
    pub set: Option<StreamSet>,
    /// The images the pool's configuration gets.
    pub injected: Option<Injected>,
    /// Where the pool was.
    pub last_known: Option<Evidence>,
    /// The stream the operator should report for the pool as it is now.
    pub reported: Option<String>,
    /// What stands in the way.
    pub obstacles: Vec<Obstacle>,
}

/// Assesses a pool as it is, or with another stream of its own. `labels` are those of the image that somebody set instead
/// of the stream's, if they are known.
pub fn assess(
    cluster: &Cluster<'_>,
    pool: &MachineConfigPool,
    stream: Option<&str>,
    labels: Option<&Labels>,
) -> Assessment {
    let followed = match stream {
        Some(stream) => Effective { stream: stream.to_owned(), choice: Choice::Explicit },
        None => effective(pool, cluster.pools, &cluster.offered.default_stream),
    };
    assess_with(cluster, pool, followed, labels)
}

/// Assesses the pools that a pool takes along when it names a stream, by their names.
pub fn assess_followers(cluster: &Cluster<'_>, pool: &MachineConfigPool, stream: &str) -> Vec<(String, Assessment)> {
    let inherited = || Effective { stream: stream.to_owned(), choice: Choice::Inherited };
    let along = followers(pool, cluster.pools).into_iter();
    along.map(|pool| (pool.metadata.name.clone(), assess_with(cluster, pool, inherited(), None))).collect()
}

fn assess_with(
    cluster: &Cluster<'_>,
    pool: &MachineConfigPool,
    effective: Effective,
    labels: Option<&Labels>,
) -> Assessment {
    let sources = merge_order(pool, cluster.configs);
    let named = |name: &str| cluster.configs.iter().find(|config| !name.is_empty() && config.metadata.name == name);
    let applied = named(&pool.status.configuration.name);
    let set = cluster.offered.set(&effective.stream).cloned();
    let injected = set.as_ref().map(|set| Injected::new(set, &sources));
    let last_known = last_known(pool, applied, Some(cluster.offered));
    let mut obstacles = Vec::new();
    obstacles.extend(absent(cluster, &effective, set.as_ref()));
    obstacles.extend(injected.iter().flat_map(|injected| overridden(&effective, injected)));
    obstacles.extend(runc(&effective, injected.as_ref(), &sources, labels));
    let under_way = under_way(pool, named(&pool.spec.configuration.name), cluster.offered);
    obstacles.extend(back(&effective, last_known.as_ref(), under_way.as_ref()));
    obstacles.extend(ending(cluster, &effective));
    let reported = reported(pool, applied, &sources, cluster.offered);
    Assessment { effective, set, injected, last_known, reported, obstacles }
}

fn absent(cluster: &Cluster<'_>, effective: &Effective, set: Option<&StreamSet>) -> Option<Obstacle> {
    let names = || cluster.offered.names().join(", ");
    set.is_none().then(|| Obstacle {
        reason: "StreamMissing",
        blocks: true,
        message: format!("the cluster does not offer stream {}; it has: {}", effective.stream, names()),
    })
}

fn overridden(effective: &Effective, injected: &Injected) -> Vec<Obstacle> {
    let mut obstacles = os_overridden(effective, injected);
    obstacles.extend(injected.extensions_overridden_by.as_ref().map(|config| Obstacle {
        reason: "ExtensionsImageOverridden",
        blocks: false,
        message: format!(
            "MachineConfig {config} sets baseOSExtensionsContainerImage to {}: extensions do not follow the stream",
            injected.extensions_image
        ),
    }));
    obstacles
}

fn os_overridden(effective: &Effective, injected: &Injected) -> Vec<Obstacle> {
    let Some(config) = &injected.overridden_by else { return Vec::new() };
    let explicit = effective.choice == Choice::Explicit;
    let end = if explicit {
        "the pool names a stream as well, so it cannot be rendered; remove one of the two"
    } else {
        "the pool's OS does not follow its stream"
    };
    let message = format!("MachineConfig {config} sets osImageURL to {}: {end}", injected.os_image);
    let mut obstacles = vec![Obstacle {
        reason: if explicit { "OSImageURLConflict" } else { "OSImageURLOverridden" },
        blocks: explicit,
        message,
    }];
    if !injected.is_pinned() {
        let message = format!("{} has no digest: nodes may run different systems under this name", injected.os_image);
        obstacles.push(Obstacle { reason: "OSImageURLNotPinned", blocks: false, message });
    }
    obstacles
}

/// Names of streams that have no `runc`.
const WITHOUT_RUNC: [&str; 2] = ["rhel-10", "centos-10"];

fn runc(
    effective: &Effective,
    injected: Option<&Injected>,
    sources: &[&MachineConfig],
    labels: Option<&Labels>,
) -> Vec<Obstacle> {
    let foreign = injected.filter(|injected| injected.overridden_by.is_some());
    let stream = match (foreign, labels) {
        (Some(_), Some(Labels::Found(labels))) => stream_class(labels),
        (Some(injected), _) => return Vec::from_iter(runc_somewhere(injected, sources)),
        (None, _) => Some(effective.stream.as_str()),
    };
    let Some(stream) = stream.filter(|stream| WITHOUT_RUNC.contains(stream)) else { return Vec::new() };
    let (runtime, troubles) = crio::runtime(sources);
    let told = |trouble: &RuntimeTrouble| {
        let message = format!("whether containers run with runc is not certain: {trouble}");
        Obstacle { reason: "RuntimeUnknown", blocks: false, message }
    };
    let mut obstacles: Vec<Obstacle> = troubles.iter().map(told).collect();
    if let Some(runtime) = runtime.filter(|runtime| runtime.name == "runc") {
        obstacles.push(Obstacle {
            reason: "RuncOnRHEL10",
            blocks: true,
            message: format!(
                "stream {stream} has no runc, but {} of MachineConfig {} makes it the default runtime; change it to crun first",
                runtime.path, runtime.config
            ),
        });
    }
    obstacles
}

/// Of an image that is no stream's and that nobody has looked at, it is not known whether it has `runc`.
fn runc_somewhere(injected: &Injected, sources: &[&MachineConfig]) -> Option<Obstacle> {
    let (runtime, _) = crio::runtime(sources);
    let runtime = runtime.filter(|runtime| runtime.name == "runc")?;
    let message = format!(
        "whether {} has runc is not known, and {} of MachineConfig {} makes it the default runtime; RHEL 10 has none; give \
         the labels of the image with --image-labels",
        injected.os_image, runtime.path, runtime.config
    );
    Some(Obstacle { reason: "RuntimeUnknown", blocks: false, message })
}

/// Going back from where the pool is, or from where some of its machines may be already.
fn back(effective: &Effective, last_known: Option<&Evidence>, under_way: Option<&Evidence>) -> Option<Obstacle> {
    let to = &effective.stream;
    let is = |compared: Compared| move |evidence: &&Evidence| compare(&evidence.stream, to) == compared;
    if let Some(Evidence { stream, found_in }) = last_known.into_iter().chain(under_way).find(is(Compared::Back)) {
        let message = format!("the pool is in stream {stream} (by {found_in}); going back to {to} is not supported");
        return Some(Obstacle { reason: "StreamDowngrade", blocks: true, message });
    }
    let Evidence { stream, found_in } = last_known.filter(is(Compared::Unknown))?;
    let message =
        format!("the pool is in stream {stream} (by {found_in}); whether {to} is older cannot be told by its name");
    Some(Obstacle { reason: "StreamIncomparable", blocks: false, message })
}

fn ending(cluster: &Cluster<'_>, effective: &Effective) -> Option<Obstacle> {
    let release = cluster.release?;
    let condition = super::deprecation::pool_condition(cluster.policy, &effective.stream, release);
    let message = condition.is_true().then_some(condition.message)?;
    Some(Obstacle { reason: "OSStreamDeprecated", blocks: false, message })
}

#[cfg(test)]
mod tests;
