//! What happens to the few objects that concern a node, as one endless stream.
//!
//! Owns listing, following and beginning anew; says only what differs from what it said before. Nothing runs while the
//! stream is not polled, and nothing is polled for: a quiet cluster costs the renewal of a few watches in five minutes.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::stream::{self, BoxStream, Stream, StreamExt};
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, ListParams, WatchEvent, WatchParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind, ObjectMeta, Resource, ResourceExt};
use ostler_core::api::{
    ControllerConfig, MachineConfigNode, MachineConfiguration, MachineConfigurationStatus, PinnedImageSet,
    controller_config, machine_configuration,
};
use ostler_core::node::{Gates, NodeView};
use serde::de::DeserializeOwned;
use tokio::sync::watch::Receiver;
use tokio::time::{Instant, sleep, timeout};

use super::access::Access;
use super::connect::Cluster;
use super::error::ClusterError;
use super::gates;
use super::pause;
use super::pinned;
use super::publish::{NodeObject, view};

/// How long the server keeps a watch open, in seconds.
const RENEWAL: u32 = 290;
/// A watch that ends after this many seconds ends as was asked; one that ends sooner broke, however politely.
const FULL_TERM: Duration = Duration::from_secs(285);
/// After this long without anything, not even the end, a connection is dead.
const DEAD: Duration = Duration::from_secs(295);
/// A watch that lived this long was a good one.
const GOOD: Duration = Duration::from_secs(60);
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How often in a row a kind has to be missing, or refused, before that is taken for true.
const BELIEVED: u32 = 4;
/// Longest pause for what only an administrator can change.
const RARE_PAUSE: Duration = Duration::from_secs(300);

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// The node as it is now, or that it was deleted.
    Node(Option<Box<NodeView>>),
    /// The node's own report, or that there is none.
    MachineConfigNode(Option<Box<MachineConfigNode>>),
    /// The cluster's settings, or that there are none.
    Settings(Option<Box<MachineConfiguration>>),
    /// The gates in force.
    Gates(Gates),
    /// What the operator hands to nodes, or that there is nothing.
    ControllerConfig(Option<Arc<ControllerConfig>>),
    /// All sets of images that this node is to keep.
    PinnedSets(Arc<Vec<PinnedImageSet>>),
    /// What a hosted cluster mounts for its node was replaced.
    Mounted,
    /// The API server does not accept the credentials as those of this node, in its own words.
    Denied(String),
    /// The cluster cannot be reached any more, and why.
    Lost(String),
    /// The cluster can be reached again.
    Back,
}

impl Cluster {
    /// Everything that happens, from what there is now; never ends.
    pub fn changes(&self) -> impl Stream<Item = Change> + Send + use<> {
        let client = || self.client.clone();
        let gates = ApiResource::from_gvk(&GroupVersionKind::gvk("config.openshift.io", "v1", "FeatureGate"));
        let report = Watch::new(Api::all(client()), "MachineConfigNode", &self.node, report_change);
        let settings =
            Watch::new(Api::all(client()), "MachineConfiguration", machine_configuration::NAME, settings_change);
        let gates = Watch::new(Api::all_with(client(), &gates), "FeatureGate", "cluster", gates_change);
        let certificates =
            Watch::new(Api::all(client()), "ControllerConfig", controller_config::NAME, controller_config_change);
        let changes = stream::select_all([
            reachability(self.health.follow()),
            self.own_node(),
            report.after(&self.answered.machine_config_node).stream(),
            settings.stream(),
            gates.stream(),
            certificates.stream(),
        ]);
        pinned::followed(client(), changes.boxed())
    }

    /// What happens to the node alone, for clusters that have nothing else of ours.
    pub fn node_changes(&self) -> impl Stream<Item = Change> + Send + use<> {
        stream::select_all([reachability(self.health.follow()), self.own_node()])
    }

    fn own_node(&self) -> BoxStream<'static, Change> {
        let node = Api::<NodeObject>::all_with(self.client.clone(), &ApiResource::erase::<Node>(&()));
        let own = Own { access: Arc::clone(&self.access), denied: Change::Denied };
        let watch = Watch::new(node, "node", &self.node, node_change).after(&self.answered.node);
        Watch { own: Some(own), ..watch }.stream()
    }
}

fn reachability(mut state: Receiver<Option<String>>) -> BoxStream<'static, Change> {
    // A loss that goes on is said again by watches that begin anew, so that its end is said too.
    if state.borrow().is_some() {
        state.mark_changed();
    }
    let next = |(mut state, mut was_lost): (Receiver<Option<String>>, bool)| async move {
        // Losses that were over before anybody asked are not told.
        loop {
            state.changed().await.ok()?;
            let lost = state.borrow_and_update().clone();
            if lost.is_some() != was_lost {
                was_lost = lost.is_some();
                return Some((lost.map_or(Change::Back, Change::Lost), (state, was_lost)));
            }
        }
    };
    stream::unfold((state, false), next).boxed()
}

fn node_change(node: Option<NodeObject>) -> Change {
    Change::Node(node.map(|node| Box::new(view(&node))))
}

fn report_change(report: Option<MachineConfigNode>) -> Change {
    Change::MachineConfigNode(report.map(|mut report| {
        report.metadata.managed_fields = None;
        Box::new(report)
    }))
}

fn settings_change(settings: Option<MachineConfiguration>) -> Change {
    Change::Settings(settings.map(|settings| {
        let ObjectMeta { name, uid, generation, .. } = settings.metadata;
        let metadata = ObjectMeta { name, uid, generation, ..ObjectMeta::default() };
        // Conditions concern boot images alone, and their times would make news of nothing.
        let status = settings.status.map(|status| MachineConfigurationStatus { conditions: Vec::new(), ..status });
        Box::new(MachineConfiguration { metadata, spec: settings.spec, status })
    }))
}

fn gates_change(gate: Option<DynamicObject>) -> Change {
    Change::Gates(gate.map_or_else(Gates::default, |gate| gates::read(&gate.data)))
}

fn controller_config_change(config: Option<ControllerConfig>) -> Change {
    Change::ControllerConfig(config.map(|config| {
        let ObjectMeta { name, annotations, resource_version, .. } = config.metadata;
        let metadata = ObjectMeta { name, annotations, resource_version, ..ObjectMeta::default() };
        Arc::new(ControllerConfig { metadata, spec: config.spec })
    }))
}

/// One object, followed; `C` is what is said of it.
pub(super) struct Watch<K, C = Change> {
    api: Api<K>,
    what: String,
    selector: String,
    change: fn(Option<K>) -> C,
    answered: Option<Arc<AtomicU64>>,
    own: Option<Own<C>>,
    step: Step<K>,
    said: Option<C>,
    /// The newest version that was heard of.
    reached: u64,
    failures: u32,
    absences: u32,
    refusals: u32,
    pause: Duration,
    since: Instant,
}

/// The node's own object, which every kubelet may read: whoever may not has the credentials of somebody else.
struct Own<C> {
    access: Arc<Access>,
    denied: fn(String) -> C,
}

enum Step<K> {
    /// To find out what there is.
    List,
    /// To ask for what happens after this version.
    Open(String),
    /// Hearing what happens after this version.
    Follow(String, BoxStream<'static, kube::Result<WatchEvent<K>>>),
}

impl<K, C> Watch<K, C>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
    K::DynamicType: Send + Sync,
    C: Clone + PartialEq + Send + 'static,
{
    /// The object of a kind that has this name, from what it is now.
    pub(super) fn new(api: Api<K>, kind: &str, name: &str, change: fn(Option<K>) -> C) -> Self {
        Self {
            api,
            what: format!("watch {kind} {name}"),
            selector: format!("metadata.name={name}"),
            change,
            answered: None,
            own: None,
            step: Step::List,
            said: None,
            reached: 0,
            failures: 0,
            absences: 0,
            refusals: 0,
            pause: Duration::ZERO,
            since: Instant::now(),
        }
    }

    /// Passes over events from before the version in `answered`.
    fn after(self, answered: &Arc<AtomicU64>) -> Self {
        Self { answered: Some(Arc::clone(answered)), ..self }
    }

    /// All that is to be said of it; never ends.
    pub(super) fn stream(self) -> BoxStream<'static, C> {
        stream::unfold(self, |mut watch| async move { Some((watch.next().await, watch)) }).boxed()
    }

    async fn next(&mut self) -> C {
        loop {
            let outcome = match std::mem::replace(&mut self.step, Step::List) {
                Step::List => self.list().await,
                Step::Open(version) => self.open(version).await,
                Step::Follow(version, events) => self.follow(version, events).await,
            };
            let news = match outcome {
                Ok(news) => news,
                Err(error) => self.failed(error),
            };
            if let Some(change) = news.filter(|change| self.said.as_ref() != Some(change)) {
                self.said = Some(change.clone());
                return change;
            }
        }
    }

    async fn rest(&mut self) {
        let pause = sleep(std::mem::take(&mut self.pause));
        match self.own.as_ref().filter(|_| self.refusals > 0) {
            Some(own) => tokio::select! { () = pause => {} () = own.access.replaced() => {} },
            None => pause.await,
        }
        self.since = Instant::now();
    }

    async fn list(&mut self) -> kube::Result<Option<C>> {
        self.rest().await;
        let newest = self.reached.max(self.answered());
        let list = self.api.list(&ListParams::default().fields(&self.selector)).await?;
        self.absences = 0;
        self.refusals = 0;
        let version = list.metadata.resource_version.unwrap_or_default();
        self.reached = number(&version);
        if self.reached < newest {
            self.forget();
        }
        self.step = Step::Open(version);
        Ok(Some((self.change)(list.items.into_iter().next())))
    }

    async fn open(&mut self, version: String) -> kube::Result<Option<C>> {
        self.rest().await;
        let parameters = WatchParams::default().fields(&self.selector).timeout(RENEWAL);
        let events = self.api.watch(&parameters, &version).await?.boxed();
        self.step = Step::Follow(version, events);
        Ok(None)
    }

    async fn follow(
        &mut self,
        version: String,
        mut events: BoxStream<'static, kube::Result<WatchEvent<K>>>,
    ) -> kube::Result<Option<C>> {
        let event = match timeout(DEAD, events.next()).await {
            Ok(Some(event)) => event,
            Ok(None) if self.since.elapsed() >= FULL_TERM => {
                self.ended(Step::Open(version));
                return Ok(None);
            }
            _ => {
                self.ended(Step::List);
                return Ok(None);
            }
        };
        let (object, gone) = match event? {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => (object, false),
            WatchEvent::Deleted(object) => (object, true),
            WatchEvent::Bookmark(mark) => {
                self.reached = number(&mark.metadata.resource_version);
                self.step = Step::Follow(mark.metadata.resource_version, events);
                return Ok(None);
            }
            WatchEvent::Error(status) => return Err(kube::Error::Api(status)),
        };
        let version = object.resource_version().unwrap_or_default();
        let stale = self.is_stale(&version);
        self.reached = number(&version);
        self.step = Step::Follow(version, events);
        Ok((!stale).then(|| (self.change)((!gone).then_some(object))))
    }

    fn is_stale(&self, version: &str) -> bool {
        version.parse::<u64>().is_ok_and(|version| version < self.answered())
    }

    fn answered(&self) -> u64 {
        self.answered.as_ref().map_or(0, |answered| answered.load(Ordering::Relaxed))
    }

    /// The cluster was set back to an older state: its versions count anew, and what was said may be undone.
    fn forget(&mut self) {
        self.said = None;
        if let Some(answered) = &self.answered {
            answered.store(0, Ordering::Relaxed);
        }
    }

    /// The usual end of a watch, which goes on from where it was, or one that came too soon: a server that went away may
    /// come back with an older state, in which the version is one of the future and nothing would be heard for long.
    fn ended(&mut self, next: Step<K>) {
        self.count();
        self.pause = if self.failures > 1 { self.back_off() } else { Duration::ZERO };
        self.step = next;
    }

    /// Begins anew, from a list: after a loss the cluster may have been set back to an older state.
    fn failed(&mut self, error: kube::Error) -> Option<C> {
        self.count();
        self.step = Step::List;
        let error = ClusterError::new(&self.what, error);
        if error.is_not_found() {
            return self.absent();
        }
        if error.is_transient() {
            self.pause = self.back_off();
            return None;
        }
        self.refused(error)
    }

    /// A refusal is no answer, and is believed only when it is repeated: a server that starts refuses nodes for as long as
    /// it has not read what they may do. Logged once; what passes is told by the client as a whole.
    fn refused(&mut self, error: ClusterError) -> Option<C> {
        self.refusals = self.refusals.saturating_add(1);
        let longest = if self.own.is_some() { LONGEST_PAUSE } else { RARE_PAUSE };
        self.pause = pause::after(self.failures, FIRST_PAUSE, longest);
        if self.refusals != BELIEVED {
            return None;
        }
        let error = if self.own.is_some() { error.of_own_node() } else { error };
        tracing::warn!("{error}");
        let ClusterError::NotThisNode { message, .. } = error else { return None };
        self.own.as_ref().map(|own| (own.denied)(message))
    }

    /// A whole kind that was there before is believed gone only when that is heard repeatedly: a server that starts, or
    /// something in its place, may say so as well.
    fn absent(&mut self) -> Option<C> {
        self.absences = self.absences.saturating_add(1);
        let none = (self.change)(None);
        let expected = self.said.as_ref().is_none_or(|said| *said == none);
        if expected || self.absences >= BELIEVED {
            self.pause = pause::spread(RARE_PAUSE);
            return Some(none);
        }
        self.pause = self.back_off();
        None
    }

    fn count(&mut self) {
        if self.since.elapsed() >= GOOD {
            self.failures = 0;
        }
        self.failures = self.failures.saturating_add(1);
    }

    fn back_off(&self) -> Duration {
        pause::after(self.failures, FIRST_PAUSE, LONGEST_PAUSE)
    }
}

/// A version that is no number is older than all others.
fn number(version: &str) -> u64 {
    version.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests;
