//! The controller that answers drains: cordons, reports and acknowledges by copying the request.
//!
//! Nothing is evicted: there are no workloads. It can be told to hold its answers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Patch, PatchParams};
use kube::runtime::{WatchStreamExt, watcher};
use ostler_core::api::machine_config_node::ConditionStatus::{True, Unknown};
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::controller::{Controller, Told, annotation};

/// The controller for one node. Ends with its owner.
pub struct Drains {
    task: JoinHandle<()>,
    gate: watch::Sender<bool>,
    /// Whether workloads refuse to leave: the node is cordoned, and the drain is tried again later.
    failing: Arc<AtomicBool>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Drains {
    /// Answers a node from now on.
    pub fn answer(controller: Controller, node: &str) -> Self {
        Self::start(controller, node, true)
    }

    /// Answers a node once released.
    pub fn hold_from_the_start(controller: Controller, node: &str) -> Self {
        Self::start(controller, node, false)
    }

    fn start(controller: Controller, node: &str, open: bool) -> Self {
        let (gate, opened) = watch::channel(open);
        let (failing, asked) = (Arc::<AtomicBool>::default(), Arc::default());
        let (node, failing_too) = (node.to_owned(), Arc::clone(&failing));
        let work = Work { controller, node, opened, failing: failing_too, asked: Arc::clone(&asked) };
        Self { task: tokio::spawn(work.run()), gate, failing, asked }
    }

    /// Keeps answers back from now on.
    pub fn hold(&self) {
        self.gate.send_replace(false);
    }

    /// Gives them.
    pub fn release(&self) {
        self.gate.send_replace(true);
    }

    /// Lets drains fail after the cordon, or succeed again.
    pub fn fail(&self, failing: bool) {
        self.failing.store(failing, Ordering::SeqCst);
    }

    /// The requests that were seen, answered or not, each once in a row.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for Drains {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Work {
    controller: Controller,
    node: String,
    opened: watch::Receiver<bool>,
    failing: Arc<AtomicBool>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Work {
    /// Goes on through outages: what failed is tried again at the next event, and the watch begins with one.
    async fn run(mut self) {
        let own = watcher::Config::default().fields(&format!("metadata.name={}", self.node));
        let nodes = watcher(self.controller.nodes(), own).default_backoff().touched_objects();
        let mut nodes = std::pin::pin!(nodes);
        while let Some(event) = nodes.next().await {
            let Ok(node) = event else { continue };
            let Some(request) = open_request(&node) else { continue };
            self.note(&request);
            if self.opened.wait_for(|open| *open).await.is_err() {
                return;
            }
            if let Err(error) = self.serve().await {
                eprintln!("controller: {}: {request} failed: {error}", self.node);
            }
        }
    }

    fn note(&self, request: &str) {
        let mut asked = self.asked.lock().unwrap();
        if asked.last().is_none_or(|last| last != request) {
            asked.push(request.to_owned());
        }
    }

    /// Answers what the node asks now, which need not be what it asked when answers were held.
    async fn serve(&self) -> kube::Result<()> {
        let node = self.controller.nodes().get(&self.node).await?;
        let Some(request) = open_request(&node) else { return Ok(()) };
        match request.split('-').next() {
            Some("drain") if self.failing.load(Ordering::SeqCst) => return self.make_unschedulable(true).await,
            Some("drain") => self.drain(&node, &request).await?,
            Some("uncordon") => self.uncordon(&node).await?,
            verb => {
                eprintln!("controller: {}: unknown verb {verb:?} in {request}", self.node);
                return Ok(());
            }
        }
        self.controller.try_to_annotate(&self.node, &[("lastAppliedDrain", Some(&request))]).await
    }

    async fn drain(&self, node: &Node, request: &str) -> kube::Result<()> {
        let name = &self.node;
        self.make_unschedulable(true).await?;
        // The controller reports what its cache says of the node, which is from before.
        let message = format!("Cordoned node. The node is reporting Unschedulable = {}", is_unschedulable(node));
        let child = Told { type_: "Cordoned", status: True, reason: "UpdateExecutedCordoned", message };
        let parent = executed("Cordoned", "Cordoned Node as part of update executed phase");
        self.controller.report(name, parent, child).await?;
        let last = annotation(node, "lastAppliedDrain").unwrap_or_default();
        let message = format!(
            "Draining node. The drain will not be complete until desired drainer {request} \
             matches current drainer {last}"
        );
        let child = Told { type_: "Drained", status: Unknown, reason: "UpdateExecutedDrained", message };
        let parent = executed("Drained", "Draining Node as part of update executed phase");
        self.controller.report(name, parent, child).await?;
        let message =
            format!("Drained node. The drain is complete as the desired drainer matches current drainer: {request}");
        let child = Told { type_: "Drained", status: True, reason: "UpdateExecutedDrained", message };
        self.controller.report(name, executed("Drained", "Drained Node as part of update executed phase"), child).await
    }

    async fn uncordon(&self, node: &Node) -> kube::Result<()> {
        self.make_unschedulable(false).await?;
        let message = format!("UnCordoned node. The node is reporting Unschedulable = {}", is_unschedulable(node));
        let child = Told { type_: "Uncordoned", status: True, reason: "UpdateCompleteUncordoned", message };
        let message = "Uncordoned Node as part of completing upgrade phase".to_owned();
        let parent = Told { type_: "UpdateComplete", status: True, reason: "Uncordoned", message };
        self.controller.report(&self.node, parent, child).await
    }

    async fn make_unschedulable(&self, unschedulable: bool) -> kube::Result<()> {
        // Absent and false are the same to everybody, and the controller leaves it absent.
        let patch = json!({"spec": {"unschedulable": unschedulable.then_some(true)}});
        let nodes = self.controller.nodes();
        nodes.patch(&self.node, &PatchParams::default(), &Patch::Strategic(patch)).await.map(drop)
    }
}

fn executed(reason: &'static str, message: &str) -> Told {
    Told { type_: "UpdateExecuted", status: Unknown, reason, message: message.to_owned() }
}

/// What the node asks and nobody has acknowledged.
fn open_request(node: &Node) -> Option<String> {
    let request = annotation(node, "desiredDrain")?;
    (annotation(node, "lastAppliedDrain") != Some(request) && node.metadata.deletion_timestamp.is_none())
        .then(|| request.to_owned())
}

/// Whether nothing new is put on a node.
pub fn is_unschedulable(node: &Node) -> bool {
    node.spec.as_ref().and_then(|spec| spec.unschedulable).unwrap_or_default()
}
