//! Waiting for something that checks might answer differently for. A running cluster tells of changes; a directory does not,
//! and neither does a cluster of ConfigMaps and Secrets, so that there is a longest pause besides.

use std::time::Duration;

use ostler_cluster_core::objects::{
    ClusterVersion, ControlPlaneMachineSet, MachineConfigNode, MachineConfigPool, MachineConfiguration,
    MachineOSConfig, MachineSet, Node, OSImageStream, Resource,
};
use ostler_cluster_core::preflight::{Inventory, Reading};
use tokio::time::{Instant, sleep, sleep_until};

use crate::source::{Live, Mark, Source};

/// Longest pause where a cluster tells of changes.
const TOLD: Duration = Duration::from_secs(300);
/// Longest pause where nobody does.
const UNTOLD: Duration = Duration::from_secs(30);
/// Changes come together: a short while after the first one the rest is there, too.
const SETTLING: Duration = Duration::from_secs(2);
/// Between two readings of the whole cluster lies at least this, however much happens in it.
const PACE: Duration = Duration::from_secs(10);

/// Where the kinds stood before they were read.
#[derive(Default)]
pub struct Marks {
    version: Option<Mark>,
    pools: Option<Mark>,
    nodes: Option<Mark>,
    progress: Option<Mark>,
    built: Option<Mark>,
    stream: Option<Mark>,
    configuration: Option<Mark>,
    sets: Option<Mark>,
    control: Option<Mark>,
}

impl Marks {
    /// Those of a source; none of a directory.
    pub async fn of(source: &Source) -> Self {
        let Some(live) = source.live() else { return Self::default() };
        let (version, pools, nodes, progress, built, stream, configuration, sets, control) = tokio::join!(
            live.mark::<ClusterVersion>(),
            live.mark::<MachineConfigPool>(),
            live.mark::<Node>(),
            live.mark::<MachineConfigNode>(),
            live.mark::<MachineOSConfig>(),
            live.mark::<OSImageStream>(),
            live.mark::<MachineConfiguration>(),
            live.mark::<MachineSet>(),
            live.mark::<ControlPlaneMachineSet>(),
        );
        Self { version, pools, nodes, progress, built, stream, configuration, sets, control }
    }
}

/// Waits until something is other than it was read, and then a little longer; or until the longest pause is over.
pub async fn wait(source: &Source, marks: Marks, inventory: &Inventory, longest: Option<Duration>, begin: Instant) {
    let longest = longest.unwrap_or(if source.live().is_some() { TOLD } else { UNTOLD });
    let over = sleep(longest);
    match source.live() {
        None => over.await,
        Some(live) => tokio::select! {
            () = over => {}
            () = change(live, marks, inventory) => {
                sleep_until((Instant::now() + SETTLING).max(begin + PACE)).await;
            }
        },
    }
}

async fn change(live: &Live, marks: Marks, inventory: &Inventory) {
    let boot = &inventory.boot;
    let version: Vec<ClusterVersion> = match &inventory.cluster_version {
        Reading::Read(version) => vec![version.clone()],
        _ => Vec::new(),
    };
    let (stream, configuration) = (one(&inventory.stream), one(&boot.configuration));
    tokio::select! {
        () = live.change(marks.version, &version) => {}
        () = live.change(marks.pools, all(&inventory.pools)) => {}
        () = live.change(marks.nodes, all(&inventory.nodes)) => {}
        () = live.change(marks.progress, all(&inventory.progress)) => {}
        () = live.change(marks.built, all(&inventory.built)) => {}
        () = live.change(marks.stream, &stream) => {}
        () = live.change(marks.configuration, &configuration) => {}
        () = live.change::<MachineSet>(marks.sets, &[]) => {}
        () = live.change::<ControlPlaneMachineSet>(marks.control, &[]) => {}
    }
}

fn all<T>(read: &Reading<Vec<T>>) -> &[T] {
    read.needed().map(Vec::as_slice).unwrap_or_default()
}

fn one<T: Resource + Clone>(read: &Reading<Option<T>>) -> Vec<T> {
    read.needed().ok().cloned().flatten().into_iter().collect()
}
