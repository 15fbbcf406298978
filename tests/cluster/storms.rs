//! Others that write to the node's objects as fast as they can, and watches whose past the server has thrown away.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use futures_util::StreamExt;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use nix::sys::signal::{Signal, kill};
use ostler_core::api::machine_config_node::ConditionStatus;
use serde_json::json;
use tokio::task::JoinHandle;

use super::agent::{Subject, condition, is, with_file};
use super::cluster::controller::{Controller, Told, annotation};
use super::cluster::drains::{Drains, is_unschedulable};
use super::cluster::loudly;
use super::cluster::server::Server;

/// A file whose change takes neither a drain nor a restart.
const QUIET: &str = "/var/lib/kubelet/config.json";
/// A file whose change takes both.
const LOUD: &str = "/etc/motd";
/// Requests that an update may take even where nobody else writes; beyond them, each has to have several writes of others
/// for a reason.
const BOUND: usize = 100;
/// So many of each kind.
const WRITERS: usize = 4;
/// A condition of others that nothing may happen to.
const THEIRS: &str = "PinnedImageSetsProgressing";

/// Writers that do not rest before they are told to.
struct Storm {
    over: Arc<AtomicBool>,
    count: Arc<AtomicUsize>,
    tasks: Vec<JoinHandle<()>>,
}

impl Storm {
    fn over(controller: &Controller, node: &'static str) -> Self {
        let storm = Self { over: Arc::default(), count: Arc::default(), tasks: Vec::new() };
        let writers = (0..WRITERS).flat_map(|_| {
            [
                storm.spawn(controller, move |by, number| async move { conditions(&by, node, number).await }),
                storm.spawn(controller, move |by, number| async move { labels(&by, node, number).await }),
                storm.spawn(controller, move |by, number| async move { of_node(&by, node, number).await }),
            ]
        });
        let tasks = writers.collect();
        Self { tasks, ..storm }
    }

    fn spawn<F>(
        &self,
        controller: &Controller,
        write: impl Fn(Controller, usize) -> F + Send + 'static,
    ) -> JoinHandle<()>
    where
        F: Future<Output = kube::Result<()>> + Send,
    {
        let (over, count, controller) = (Arc::clone(&self.over), Arc::clone(&self.count), controller.clone());
        tokio::spawn(async move {
            while !over.load(Ordering::SeqCst) {
                let number = count.fetch_add(1, Ordering::SeqCst);
                // They come into each other's way as well.
                let _ = write(controller.clone(), number).await;
            }
        })
    }

    /// Ends it; gives how many writes there were.
    async fn end(self) -> usize {
        self.over.store(true, Ordering::SeqCst);
        for task in self.tasks {
            task.await.unwrap();
        }
        self.count.load(Ordering::SeqCst)
    }
}

/// Puts all conditions back as they were a moment ago, and changes its own.
async fn conditions(controller: &Controller, node: &str, number: usize) -> kube::Result<()> {
    let read = controller.machine_config_nodes().get(node).await?;
    let told = |type_, message: String| Told { type_, status: ConditionStatus::False, reason: "Storm", message };
    let child = told("PinnedImageSetsDegraded", "storm".to_owned());
    controller.apply(&read, told(THEIRS, format!("storm {number}")), child).await
}

async fn labels(controller: &Controller, node: &str, number: usize) -> kube::Result<()> {
    let api = controller.machine_config_nodes();
    let mut object = api.get(node).await?;
    object.metadata.labels = Some(BTreeMap::from([("storm".to_owned(), number.to_string())]));
    api.replace(node, &PostParams::default(), &object).await.map(drop)
}

async fn of_node(controller: &Controller, node: &str, number: usize) -> kube::Result<()> {
    let patch = json!({"metadata": {"annotations": {"example.com/storm": number.to_string()}}});
    controller.nodes().patch(node, &PatchParams::default(), &Patch::Merge(patch)).await.map(drop)
}

fn requests(server: &Server, node: &str) -> usize {
    server.requests_by(&format!("system:node:{node}")).len()
}

#[tokio::test]
async fn an_update_comes_through_a_storm_of_other_writers() {
    let Some(server) = Server::shared().await else { return };
    let controller = Controller::new(server.admin().await);
    let config = with_file("rendered-storm-1", LOUD, "1");
    let mut subject = Subject::installed("storm", server.node("storm"), controller, &config).await;
    subject.start();
    subject.done("rendered-storm-1").await;
    let next = "rendered-storm-2";
    subject.make(next, &with_file(next, LOUD, "2")["spec"]["config"]).await;
    let drains = Drains::answer(subject.controller.clone(), "storm");
    let before = requests(server, "storm");
    let storm = Storm::over(&subject.controller, "storm");
    want(&subject, next).await;
    subject.node_until("Rebooting", |node| annotation(node, "post-config-action") == Some("Rebooting")).await;
    subject.restart();
    let node = subject.node_until("Done", |node| annotation(node, "state") == Some("Done") && is_in(node, next)).await;
    let writes = storm.end().await;
    let asked = requests(server, "storm") - before;
    let conflicts = server.requests_by("system:node:storm").iter().filter(|request| request.code == Some(409)).count();
    loudly(&format!("{asked} requests of the node, {conflicts} of them in conflict with {writes} writes of others"));
    assert!(!is_unschedulable(&node), "{node:?}");
    subject.done(next).await;
    let object = subject.object_until("an end of the update", |object| is(object, "UpdateComplete", "False")).await;
    for type_ in ["UpdatePrepared", "UpdateExecuted", "AppliedFilesAndOS", "RebootedNode", "NodeDegraded", "Drained"] {
        assert!(is(&object, type_, "False"), "{:?}", condition(&object, type_));
    }
    assert!(condition(&object, THEIRS).unwrap().message.starts_with("storm"), "{object:?}");
    assert_eq!(condition(&object, "PinnedImageSetsDegraded").unwrap().message, "storm");
    assert!(object.metadata.labels.unwrap().contains_key("storm"));
    assert_eq!(object.spec.config_version.desired, next);
    assert_eq!(drains.asked(), ["drain-rendered-storm-2", "uncordon-rendered-storm-2"]);
    assert!(asked < BOUND + writes / 3, "{asked} requests during {writes} writes of others");
}

fn is_in(node: &k8s_openapi::api::core::v1::Node, config: &str) -> bool {
    annotation(node, "currentConfig") == Some(config)
}

/// The operator is in its own storm, and persists.
async fn want(subject: &Subject, config: &str) {
    let patch = Patch::Merge(json!({"spec": {"configVersion": {"desired": config}}}));
    let objects = subject.controller.machine_config_nodes();
    objects.patch(&subject.name, &PatchParams::default(), &patch).await.unwrap();
    subject.controller.annotate(&subject.name, &[("desiredConfig", Some(config))]).await;
}

/// Whether the server has no past to begin a watch with.
async fn is_forgotten(controller: &Controller, version: &str) -> bool {
    let first = async {
        let events = controller.nodes().watch(&WatchParams::default(), version).await?;
        std::pin::pin!(events).next().await.expect("an answer")
    };
    match first.await {
        Err(kube::Error::Api(status)) | Ok(WatchEvent::Error(status)) => status.code == 410,
        _ => false,
    }
}

/// The agent sleeps while its watches break, the store forgets its past and the server comes back without any.
#[tokio::test]
async fn a_wish_is_heard_after_the_past_of_a_watch_was_thrown_away() {
    let Some(mut server) = Server::start().await else { return };
    let controller = Controller::new(server.admin().await);
    let config = with_file("rendered-old-1", QUIET, "1");
    let mut subject = Subject::installed("old", server.node("old"), controller, &config).await;
    subject.start();
    subject.done("rendered-old-1").await;
    subject.make("rendered-old-2", &with_file("rendered-old-2", QUIET, "2")["spec"]["config"]).await;
    let known = subject.controller.nodes().get("old").await.unwrap().resource_version().unwrap();
    kill(subject.pid(), Signal::SIGSTOP).unwrap();
    for number in 0..200 {
        of_node(&subject.controller, "old", number).await.unwrap();
    }
    subject.want("rendered-old-2").await;
    server.compact().await;
    server.kill();
    server.start_again().await;
    assert!(is_forgotten(&subject.controller, &known).await);
    kill(subject.pid(), Signal::SIGCONT).unwrap();
    subject.done("rendered-old-2").await;
    assert_eq!(subject.file(QUIET).as_deref(), Some("2"));
}
