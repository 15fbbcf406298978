//! What a cluster does to its nodes over time: drains them, is away, and is put back to what it was.

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::api::Api;
use kube::runtime::{WatchStreamExt, watcher};
use ostler_core::api::machine_config_node::ConditionStatus;
use ostler_core::api::{Condition, MachineConfigNode};

use super::cluster::controller::{Controller, Told, annotation};
use super::cluster::drains::{Drains, is_unschedulable};
use super::cluster::server::{Server, client};
use super::cluster::{PATIENCE, eventually};

async fn acknowledged(controller: &Controller, node: &str, request: &str) -> bool {
    annotation(&controller.nodes().get(node).await.unwrap(), "lastAppliedDrain") == Some(request)
}

fn condition<'a>(node: &'a MachineConfigNode, type_: &str) -> &'a Condition {
    let conditions = &node.status.as_ref().expect("a status").conditions;
    conditions.iter().find(|condition| condition.type_ == type_).unwrap_or_else(|| panic!("{type_} is absent"))
}

#[tokio::test]
async fn a_drain_is_answered_by_a_cordon_conditions_and_a_copy_of_the_request() {
    let Some(server) = Server::shared().await else { return };
    let controller = Controller::new(server.admin().await);
    controller.introduce("drained").await;
    controller.set_desired("drained", "rendered-b", None).await;
    let drains = Drains::hold_from_the_start(controller.clone(), "drained");
    let kubelet = Controller::new(client(&server.node("drained")).await);
    kubelet.annotate("drained", &[("desiredDrain", Some("drain-rendered-b"))]).await;
    eventually("the request is seen", async || !drains.asked().is_empty()).await;
    assert!(!acknowledged(&controller, "drained", "drain-rendered-b").await);
    drains.release();
    eventually("the drain is acknowledged", || acknowledged(&controller, "drained", "drain-rendered-b")).await;
    assert!(is_unschedulable(&controller.nodes().get("drained").await.unwrap()));
    let node = controller.machine_config_nodes().get("drained").await.unwrap();
    assert_eq!(node.spec.config_version.desired, "rendered-b");
    assert_eq!(condition(&node, "Cordoned").status, "True");
    assert_eq!(condition(&node, "Drained").status, "True");
    assert_eq!(condition(&node, "UpdateExecuted").reason, "Drained");
    assert_eq!(condition(&node, "Updated").reason, "NotYetOccurred");
    assert_eq!(node.status.as_ref().unwrap().config_version.as_ref().unwrap().desired, "rendered-b");
    kubelet.annotate("drained", &[("desiredDrain", Some("uncordon-rendered-b"))]).await;
    eventually("the uncordon is acknowledged", || acknowledged(&controller, "drained", "uncordon-rendered-b")).await;
    assert!(!is_unschedulable(&controller.nodes().get("drained").await.unwrap()));
    let node = controller.machine_config_nodes().get("drained").await.unwrap();
    assert_eq!(condition(&node, "UpdateComplete").reason, "Uncordoned");
    assert_eq!(drains.asked(), ["drain-rendered-b", "uncordon-rendered-b"]);
}

/// The habit that costs updates is there to be tested against.
#[tokio::test]
async fn the_double_puts_back_what_it_read() {
    let Some(server) = Server::shared().await else { return };
    let controller = Controller::new(server.admin().await);
    controller.introduce("stale").await;
    let told = |type_, message: &str| {
        let message = message.to_owned();
        Told { type_, status: ConditionStatus::True, reason: "Test", message }
    };
    controller.report("stale", told("Updated", "first"), told("Resumed", "first")).await.unwrap();
    let stale = controller.machine_config_nodes().get("stale").await.unwrap();
    controller.report("stale", told("NodeDegraded", "lost"), told("Resumed", "lost")).await.unwrap();
    controller.apply(&stale, told("Cordoned", "last"), told("Drained", "last")).await.unwrap();
    let node = controller.machine_config_nodes().get("stale").await.unwrap();
    assert_eq!(condition(&node, "Cordoned").message, "last");
    assert_eq!(condition(&node, "Resumed").message, "first");
    assert_eq!(condition(&node, "NodeDegraded").reason, "NotYetOccurred");
}

#[tokio::test]
async fn an_outage_ends_and_an_older_state_comes_back() {
    let Some(mut server) = Server::start().await else { return };
    let controller = Controller::new(server.admin().await);
    controller.introduce("before").await;
    let version = controller.nodes().get("before").await.unwrap().resource_version();
    let snapshot = server.snapshot().await;
    controller.annotate("before", &[("state", Some("Done"))]).await;
    controller.introduce("after").await;
    server.stop();
    assert!(controller.nodes().get("before").await.is_err());
    server.start_again().await;
    assert_eq!(names(&controller).await, ["after", "before"]);
    server.kill();
    server.start_again().await;
    assert_eq!(names(&controller).await, ["after", "before"]);
    server.restore(&snapshot).await;
    assert_eq!(names(&controller).await, ["before"]);
    let node = controller.nodes().get("before").await.unwrap();
    assert_eq!((node.resource_version(), annotation(&node, "state")), (version, None));
}

#[tokio::test]
async fn a_watch_goes_on_after_an_outage() {
    let Some(mut server) = Server::start().await else { return };
    let controller = Controller::new(server.admin().await);
    controller.introduce("watched").await;
    let nodes: Api<Node> = Api::all(client(&server.node("watched")).await);
    let own = watcher::Config::default().fields("metadata.name=watched");
    let (into, mut seen) = tokio::sync::mpsc::unbounded_channel();
    let events = watcher(nodes, own).default_backoff().touched_objects().filter_map(async |event| event.ok());
    let watching = tokio::spawn(events.for_each(move |node| {
        // Nobody listens any more once the test is over.
        let _ = into.send(node);
        std::future::ready(())
    }));
    assert_eq!(seen.recv().await.unwrap().name_any(), "watched");
    eventually("the watch is in the log", async || watches(&server) == 1).await;
    server.kill();
    server.start_again().await;
    controller.annotate("watched", &[("desiredConfig", Some("rendered-b"))]).await;
    let told = async { while annotation(&seen.recv().await.unwrap(), "desiredConfig") != Some("rendered-b") {} };
    tokio::time::timeout(PATIENCE, told).await.expect("the watch has gone on");
    eventually("the next watch is in the log", async || watches(&server) > 1).await;
    watching.abort();
}

/// How many times the node has asked for a watch. The log can be behind.
fn watches(server: &Server) -> usize {
    let asked = server.requests_by("system:node:watched");
    asked.iter().filter(|request| request.verb == "watch").count()
}

async fn names(controller: &Controller) -> Vec<String> {
    let listed = controller.nodes().list(&Default::default()).await.unwrap();
    listed.into_iter().map(|node| node.name_any()).collect()
}
