//! What a cluster does to a node that is in the middle of something: it is away, forgets, and is set back.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use kube::ResourceExt;
use kube::api::DeleteParams;
use kube::runtime::{WatchStreamExt, watcher};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::agent::{PATIENCE, Subject, condition, document, is, with_file};
use super::cluster::controller::{Controller, annotation, machine_config};
use super::cluster::drains::Drains;
use super::cluster::server::Server;
use super::sandbox;

/// A file whose change takes neither a drain nor a restart.
const QUIET: &str = "/var/lib/kubelet/config.json";
/// There while the machine changes.
const PLAN: &str = "/var/lib/ostler/journal/plan";
/// So many files take a while.
const MANY: usize = 300;

/// A node whose agent is done with its first configuration.
async fn running(server: &Server, name: &str, kubeconfig: PathBuf, config: &Value) -> Subject {
    let controller = Controller::new(server.admin().await);
    let mut subject = Subject::installed(name, kubeconfig, controller, config).await;
    subject.start();
    subject.done(&name_of(config)).await;
    subject
}

fn name_of(config: &Value) -> String {
    config["metadata"]["name"].as_str().unwrap().to_owned()
}

async fn made(subject: &Subject, config: &Value) -> String {
    let name = name_of(config);
    subject.make(&name, &config["spec"]["config"]).await;
    name
}

/// A configuration whose files take a while to write, a drain before and a restart after.
fn with_many(name: &str, text: &str) -> Value {
    let files: Vec<_> = (0..MANY).map(|number| sandbox::file(&format!("/etc/many/{number}"), text)).collect();
    document(name, json!({"ignition": {"version": "3.5.0"}, "storage": {"files": files}}))
}

fn has_all(subject: &Subject, text: &str) -> bool {
    (0..MANY).all(|number| subject.file(&format!("/etc/many/{number}")).as_deref() == Some(text))
}

/// Waits for something on the node itself, in small steps: what it is waited for may be over soon.
async fn local(subject: &Subject, what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "{}: never {what}; the agent says:\n{}", subject.name, subject.log());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

async fn said(subject: &Subject, words: &str) {
    local(subject, words, || subject.log().contains(words)).await;
}

/// The states that a node was ever seen in, from now on.
struct States {
    task: JoinHandle<()>,
    seen: Arc<Mutex<Vec<String>>>,
}

impl States {
    fn of(subject: &Subject) -> Self {
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let into = Arc::clone(&seen);
        let own = watcher::Config::default().fields(&format!("metadata.name={}", subject.name));
        let nodes = watcher(subject.controller.nodes(), own).default_backoff().touched_objects();
        let task = tokio::spawn(nodes.for_each(move |node| {
            let state = node.ok().and_then(|node| annotation(&node, "state").map(str::to_owned));
            into.lock().unwrap().extend(state);
            std::future::ready(())
        }));
        Self { task, seen }
    }

    fn were_good(&self) {
        let seen = self.seen.lock().unwrap();
        assert!(!seen.is_empty(), "nobody looked");
        assert!(seen.iter().all(|state| state == "Done" || state == "Working"), "{seen:?}");
    }
}

impl Drop for States {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[tokio::test]
async fn an_update_goes_on_while_the_cluster_is_away_and_is_told_when_it_is_back() {
    let Some(server) = Server::shared().await else { return };
    let wire = server.wire();
    let mut subject =
        running(server, "cut-off", server.node_through("cut-off", &wire), &with_many("rendered-cut-1", "1")).await;
    subject.controller.annotate("cut-off", &[("controlPlaneTopology", Some("SingleReplica"))]).await;
    let states = States::of(&subject);
    let next = made(&subject, &with_many("rendered-cut-2", "2")).await;
    subject.want(&next).await;
    local(&subject, "a change of the machine", || subject.sandbox.path(PLAN).exists()).await;
    wire.cut();
    let node = subject.controller.nodes().get("cut-off").await.unwrap();
    assert_eq!(annotation(&node, "post-config-action"), None, "the update was over too soon");
    said(&subject, "wait for the machine to restart").await;
    assert!(has_all(&subject, "2"));
    subject.restart();
    said(&subject, "the cluster cannot be reached").await;
    let node = subject.controller.nodes().get("cut-off").await.unwrap();
    assert_eq!(annotation(&node, "currentConfig"), Some("rendered-cut-1"), "nothing can have been told");
    wire.heal();
    subject.done(&next).await;
    states.were_good();
}

#[tokio::test]
async fn a_server_that_is_killed_after_the_drain_misses_nothing() {
    let Some(mut server) = Server::start().await else { return };
    let mut subject = running(&server, "alone", server.node("alone"), &with_many("rendered-alone-1", "1")).await;
    let drains = Drains::answer(subject.controller.clone(), "alone");
    let states = States::of(&subject);
    let next = made(&subject, &with_many("rendered-alone-2", "2")).await;
    subject.want(&next).await;
    local(&subject, "a change of the machine", || subject.sandbox.path(PLAN).exists()).await;
    server.kill();
    said(&subject, "wait for the machine to restart").await;
    subject.restart();
    said(&subject, "the cluster cannot be reached").await;
    server.start_again().await;
    subject.done(&next).await;
    assert!(has_all(&subject, "2"));
    assert_eq!(drains.asked(), ["drain-rendered-alone-2", "uncordon-rendered-alone-2"]);
    // An agent that is started while nobody answers knows where it is by itself.
    subject.stop();
    server.kill();
    subject.start();
    local(&subject, "lost twice", || subject.log().matches("the cluster cannot be reached").count() > 1).await;
    server.start_again().await;
    said(&subject, "the cluster can be reached again").await;
    subject.done(&next).await;
    assert_eq!(subject.sandbox.settled_in().as_deref(), Some(next.as_str()));
    states.were_good();
}

/// The network may be what the configuration has broken, so nobody need be heard of for going back.
#[tokio::test]
async fn a_machine_that_does_not_reach_the_cluster_after_its_restart_goes_back_by_itself() {
    let Some(server) = Server::shared().await else { return };
    let wire = server.wire();
    let config = with_many("rendered-broken-1", "1");
    let controller = Controller::new(server.admin().await);
    let kubeconfig = server.node_through("broken", &wire);
    let mut subject =
        Subject::installed("broken", kubeconfig, controller, &config).await.with(&["--prove-within", "0"]);
    subject.start();
    subject.done("rendered-broken-1").await;
    subject.controller.annotate("broken", &[("controlPlaneTopology", Some("SingleReplica"))]).await;
    let next = made(&subject, &with_many("rendered-broken-2", "2")).await;
    subject.want(&next).await;
    subject.node_until("Rebooting", |node| annotation(node, "post-config-action") == Some("Rebooting")).await;
    wire.cut();
    subject.restart();
    said(&subject, "go back: the cluster was not reached").await;
    local(&subject, "the old files", || !subject.sandbox.path("/etc/many/0").exists() || has_all(&subject, "1")).await;
    subject.restart();
    wire.heal();
    let node = subject.node_until("Degraded", |node| annotation(node, "state") == Some("Degraded")).await;
    assert_eq!(annotation(&node, "currentConfig"), Some("rendered-broken-1"));
    assert!(annotation(&node, "reason").unwrap().contains("the cluster was not reached"), "{node:?}");
    subject.want("rendered-broken-1").await;
    subject.done("rendered-broken-1").await;
}

#[tokio::test]
async fn a_node_that_is_made_anew_is_told_everything_again() {
    let Some(server) = Server::shared().await else { return };
    let config = with_file("rendered-anew-1", QUIET, "1");
    let subject = running(server, "anew", server.node("anew"), &config).await;
    let (nodes, objects) = (subject.controller.nodes(), subject.controller.machine_config_nodes());
    let before = objects.get("anew").await.unwrap();
    objects.delete("anew", &DeleteParams::default()).await.unwrap();
    let object = subject
        .object_until("another object", |object| object.uid() != before.uid() && is(object, "Updated", "True"))
        .await;
    assert_eq!(object.status.as_ref().unwrap().conditions.len(), before.status.as_ref().unwrap().conditions.len());
    nodes.delete("anew", &DeleteParams::default()).await.unwrap();
    objects.delete("anew", &DeleteParams::default()).await.unwrap();
    let node = subject.controller.create_node("anew").await;
    assert_eq!(annotation(&node, "state"), None);
    subject.controller.annotate("anew", &[("desiredConfig", Some("rendered-anew-1"))]).await;
    let again = subject.done("rendered-anew-1").await;
    assert_eq!(again.uid(), node.uid());
    let next = made(&subject, &with_file("rendered-anew-2", QUIET, "2")).await;
    subject.want(&next).await;
    subject.done(&next).await;
    assert_eq!(subject.file(QUIET).as_deref(), Some("2"));
}

#[tokio::test]
async fn a_cluster_that_is_set_back_is_told_where_the_node_is_and_followed_from_there() {
    let Some(mut server) = Server::start().await else { return };
    let subject = running(&server, "past", server.node("past"), &with_file("rendered-past-1", QUIET, "1")).await;
    let second = made(&subject, &with_file("rendered-past-2", QUIET, "2")).await;
    let third = made(&subject, &with_file("rendered-past-3", QUIET, "3")).await;
    let snapshot = server.snapshot().await;
    let states = States::of(&subject);
    for config in [&second, &third, &second] {
        subject.want(config).await;
        subject.done(config).await;
    }
    server.restore(&snapshot).await;
    // The older wish is a wish.
    said(&subject, "update wanted from rendered-past-2 to rendered-past-1").await;
    subject.done("rendered-past-1").await;
    assert_eq!(subject.file(QUIET).as_deref(), Some("1"));
    subject.want(&third).await;
    subject.done(&third).await;
    assert_eq!(subject.file(QUIET).as_deref(), Some("3"));
    states.were_good();
}

#[tokio::test]
async fn a_cluster_that_forgot_only_who_asked_does_not_lose_the_next_wish() {
    let Some(mut server) = Server::start().await else { return };
    let subject = running(&server, "same", server.node("same"), &with_file("rendered-same-1", QUIET, "1")).await;
    let second = made(&subject, &with_file("rendered-same-2", QUIET, "2")).await;
    let snapshot = server.snapshot().await;
    subject.done("rendered-same-1").await;
    // Versions go up and the node is where it was: after the restoration there is nothing to tell.
    subject.want(&second).await;
    subject.done(&second).await;
    subject.want("rendered-same-1").await;
    subject.done("rendered-same-1").await;
    server.restore(&snapshot).await;
    subject.want(&second).await;
    subject.done(&second).await;
    assert_eq!(subject.file(QUIET).as_deref(), Some("2"));
}

#[tokio::test]
async fn a_reason_beyond_all_limits_is_cut_to_what_the_server_takes() {
    let Some(server) = Server::shared().await else { return };
    let subject = running(server, "wordy", server.node("wordy"), &with_file("rendered-wordy-1", QUIET, "1")).await;
    let mut config = machine_config("rendered-wordy-2", json!({"ignition": {"version": "3.5.0"}}));
    // All of them are named, and no name is to be cut between the bytes of a letter.
    config.spec.extensions = (0..400).map(|number| format!("{number}-{}", "ü€😀".repeat(40))).collect();
    let next = subject.controller.create_config(&config).await.name_any();
    subject.want(&next).await;
    let node = subject
        .node_until("trouble", |node| matches!(annotation(node, "state"), Some("Degraded" | "Unreconcilable")))
        .await;
    let reason = annotation(&node, "reason").unwrap();
    assert!((1900..=2000).contains(&reason.chars().count()), "{}: {reason}", reason.chars().count());
    let object = subject.object_until("trouble", |object| is(object, "NodeDegraded", "True")).await;
    let message = &condition(&object, "NodeDegraded").unwrap().message;
    // The server counts letters, too.
    assert!((30_000..=32_768).contains(&message.chars().count()), "{}", message.chars().count());
    subject.want("rendered-wordy-1").await;
    subject.done("rendered-wordy-1").await;
}
