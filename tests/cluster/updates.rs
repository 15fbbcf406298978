//! The course of updates in a real cluster, from the wish to Done.

use serde_json::{Value, json};

use super::agent::{Subject, condition, document, is, with_file};
use super::cluster::controller::{Controller, annotation};
use super::cluster::drains::{Drains, is_unschedulable};
use super::cluster::server::Server;

/// A file whose change takes neither a drain nor a restart.
const QUIET: &str = "/var/lib/kubelet/config.json";
/// A file whose change takes both.
const LOUD: &str = "/etc/motd";

async fn installed(server: &Server, name: &str, config: &Value) -> Subject {
    let controller = Controller::new(server.admin().await);
    let mut subject = Subject::installed(name, server.node(name), controller, config).await;
    subject.start();
    subject.done(config["metadata"]["name"].as_str().unwrap()).await;
    subject
}

async fn made(subject: &Subject, config: &Value) -> String {
    let name = config["metadata"]["name"].as_str().unwrap();
    subject.make(name, &config["spec"]["config"]).await;
    name.to_owned()
}

#[tokio::test]
async fn a_change_that_disturbs_nobody_is_made_at_once() {
    let Some(server) = Server::shared().await else { return };
    let subject = installed(server, "quiet", &with_file("rendered-quiet-1", QUIET, "1")).await;
    let next = made(&subject, &with_file("rendered-quiet-2", QUIET, "2")).await;
    subject.want(&next).await;
    let node = subject.done(&next).await;
    assert_eq!(subject.file(QUIET).as_deref(), Some("2"));
    assert_eq!(annotation(&node, "desiredDrain"), None, "nobody had to leave");
    let object = subject.object_until("at rest", |object| is(object, "Updated", "True")).await;
    for other in &object.status.as_ref().unwrap().conditions {
        assert!(other.type_ == "Updated" || other.status == "False", "{other:?}");
    }
    assert!(subject.events().await.contains(&"NodeDone".to_owned()));
}

#[tokio::test]
async fn a_change_with_a_restart_drains_restarts_proves_itself_and_lets_workloads_in() {
    let Some(server) = Server::shared().await else { return };
    let mut subject = installed(server, "loud", &with_file("rendered-loud-1", LOUD, "1")).await;
    let drains = Drains::answer(subject.controller.clone(), "loud");
    let next = made(&subject, &with_file("rendered-loud-2", LOUD, "2")).await;
    subject.want(&next).await;
    subject.node_until("Rebooting", |node| annotation(node, "post-config-action") == Some("Rebooting")).await;
    assert_eq!(subject.file(LOUD).as_deref(), Some("2"));
    let object = subject.object_until("a restart to come", |object| is(object, "RebootedNode", "Unknown")).await;
    assert!(!is(&object, "NodeDegraded", "True") && is(&object, "UpdatePrepared", "True"), "{object:?}");
    assert!(!is(&object, "Updated", "True"));
    let node = subject.controller.nodes().get("loud").await.unwrap();
    assert_eq!(annotation(&node, "currentConfig"), Some("rendered-loud-1"), "it takes effect with the restart");
    let version = object.status.unwrap().config_version.unwrap();
    assert_eq!((version.current.as_deref(), version.desired.as_str()), (Some("rendered-loud-1"), "rendered-loud-2"));
    subject.restart();
    let node = subject.done(&next).await;
    assert!(!is_unschedulable(&node));
    assert_eq!(annotation(&node, "post-config-action"), None);
    assert_eq!(drains.asked(), ["drain-rendered-loud-2", "uncordon-rendered-loud-2"]);
    assert!(subject.log().contains("restarted into rendered-loud-2"), "{}", subject.log());
}

#[tokio::test]
async fn what_only_an_installation_could_bring_is_refused_and_withdrawn_again() {
    let Some(server) = Server::shared().await else { return };
    let subject = installed(server, "refused", &with_file("rendered-refused-1", QUIET, "1")).await;
    let disks = json!({"ignition": {"version": "3.5.0"},
        "storage": {"disks": [{"device": "/dev/sda", "wipeTable": true}]}});
    let next = made(&subject, &document("rendered-refused-2", disks)).await;
    subject.want(&next).await;
    let node = subject.node_until("Unreconcilable", |node| annotation(node, "state") == Some("Unreconcilable")).await;
    assert!(annotation(&node, "reason").unwrap().contains("disks"), "{node:?}");
    let object = subject.object_until("why", |object| is(object, "UpdatePrepared", "Unknown")).await;
    assert!(condition(&object, "UpdatePrepared").unwrap().message.contains("rendered-refused-2"), "{object:?}");
    subject.want("rendered-refused-1").await;
    subject.done("rendered-refused-1").await;
}

#[tokio::test]
async fn a_drain_is_waited_for_and_one_that_was_overtaken_is_not() {
    let Some(server) = Server::shared().await else { return };
    let mut subject = installed(server, "slow", &with_file("rendered-slow-1", LOUD, "1")).await;
    let drains = Drains::hold_from_the_start(subject.controller.clone(), "slow");
    let second = made(&subject, &with_file("rendered-slow-2", LOUD, "2")).await;
    let third = made(&subject, &with_file("rendered-slow-3", LOUD, "3")).await;
    subject.want(&second).await;
    subject.node_until("a drain", |node| annotation(node, "desiredDrain") == Some("drain-rendered-slow-2")).await;
    assert_eq!(subject.file(LOUD).as_deref(), Some("1"), "nothing is written before workloads have left");
    subject.want(&third).await;
    subject.node_until("another", |node| annotation(node, "desiredDrain") == Some("drain-rendered-slow-3")).await;
    drains.release();
    subject.node_until("Rebooting", |node| annotation(node, "post-config-action") == Some("Rebooting")).await;
    assert_eq!(subject.file(LOUD).as_deref(), Some("3"));
    subject.restart();
    subject.done(&third).await;
}

#[tokio::test]
async fn an_update_that_is_withdrawn_while_draining_lets_workloads_in_again() {
    let Some(server) = Server::shared().await else { return };
    let subject = installed(server, "back", &with_file("rendered-back-1", LOUD, "1")).await;
    let drains = Drains::hold_from_the_start(subject.controller.clone(), "back");
    let second = made(&subject, &with_file("rendered-back-2", LOUD, "2")).await;
    subject.want(&second).await;
    subject.node_until("a drain", |node| annotation(node, "desiredDrain") == Some("drain-rendered-back-2")).await;
    subject.want("rendered-back-1").await;
    subject.node_until("its end", |node| annotation(node, "desiredDrain") == Some("uncordon-rendered-back-1")).await;
    drains.release();
    let node = subject.done("rendered-back-1").await;
    assert!(!is_unschedulable(&node));
}

/// The controller takes a request that equals the last one it has carried out for done, although it has cordoned the node
/// since for a drain that it could not finish.
#[tokio::test]
async fn a_drain_that_is_withdrawn_after_the_cordon_leaves_the_node_schedulable_and_so_does_the_next() {
    let Some(server) = Server::shared().await else { return };
    let mut subject = installed(server, "again", &with_file("rendered-again-1", LOUD, "1")).await;
    let done = Some("uncordon-rendered-again-1");
    subject.controller.annotate("again", &[("desiredDrain", done), ("lastAppliedDrain", done)]).await;
    let drains = Drains::answer(subject.controller.clone(), "again");
    let second = made(&subject, &with_file("rendered-again-2", LOUD, "2")).await;
    for _ in 0..2 {
        drains.fail(true);
        subject.want(&second).await;
        subject.node_until("a cordon", is_unschedulable).await;
        subject.want("rendered-again-1").await;
        subject.node_until("schedulable", |node| !is_unschedulable(node)).await;
        let node = subject.done("rendered-again-1").await;
        assert!(!is_unschedulable(&node), "{node:?}");
        assert_eq!(annotation(&node, "desiredDrain"), annotation(&node, "lastAppliedDrain"));
    }
    drains.fail(false);
    subject.want(&second).await;
    subject.node_until("Rebooting", |node| annotation(node, "post-config-action") == Some("Rebooting")).await;
    subject.restart();
    assert!(!is_unschedulable(&subject.done(&second).await));
}

#[tokio::test]
async fn a_cordon_of_an_administrators_survives_an_update() {
    let Some(server) = Server::shared().await else { return };
    let mut subject = installed(server, "cordoned", &with_file("rendered-cordoned-1", LOUD, "1")).await;
    subject.controller.nodes().cordon("cordoned").await.unwrap();
    let drains = Drains::answer(subject.controller.clone(), "cordoned");
    let next = made(&subject, &with_file("rendered-cordoned-2", LOUD, "2")).await;
    subject.want(&next).await;
    subject.node_until("Rebooting", |node| annotation(node, "post-config-action") == Some("Rebooting")).await;
    subject.restart();
    let node = subject.done(&next).await;
    assert!(is_unschedulable(&node), "{node:?}");
    assert_eq!(drains.asked(), ["drain-rendered-cordoned-2"]);
    // It is still theirs after an update that needs no drain.
    let third = made(&subject, &with_file("rendered-cordoned-3", LOUD, "2")).await;
    subject.want(&third).await;
    assert!(is_unschedulable(&subject.done(&third).await));
    assert_eq!(drains.asked(), ["drain-rendered-cordoned-2"]);
}

#[tokio::test]
async fn a_hold_stops_an_update_before_its_drain_until_it_is_lifted() {
    let Some(server) = Server::shared().await else { return };
    let subject = installed(server, "held", &with_file("rendered-held-1", QUIET, "1")).await;
    let next = made(&subject, &with_file("rendered-held-2", QUIET, "2")).await;
    let hold = |value: Value| json!({"metadata": {"annotations": {"ostler.dev/hold": value}}});
    let patch = |value| kube::api::Patch::Merge(hold(value));
    let nodes = subject.controller.nodes();
    nodes.patch("held", &Default::default(), &patch(json!("quarter's end"))).await.unwrap();
    subject.want(&next).await;
    subject.object_until("prepared", |object| is(object, "UpdatePrepared", "True")).await;
    assert_eq!(subject.file(QUIET).as_deref(), Some("1"));
    assert!(subject.log().contains("held (quarter's end)"), "{}", subject.log());
    nodes.patch("held", &Default::default(), &patch(Value::Null)).await.unwrap();
    subject.done(&next).await;
    assert_eq!(subject.file(QUIET).as_deref(), Some("2"));
}

#[tokio::test]
async fn a_cluster_of_one_node_is_not_drained() {
    let Some(server) = Server::shared().await else { return };
    let mut subject = installed(server, "single", &with_file("rendered-single-1", LOUD, "1")).await;
    subject.controller.annotate("single", &[("controlPlaneTopology", Some("SingleReplica"))]).await;
    let next = made(&subject, &with_file("rendered-single-2", LOUD, "2")).await;
    subject.want(&next).await;
    let node =
        subject.node_until("Rebooting", |node| annotation(node, "post-config-action") == Some("Rebooting")).await;
    assert_eq!(annotation(&node, "desiredDrain"), None);
    subject.restart();
    subject.done(&next).await;
}

/// A rollback is made by the agent with the rules of the cluster, so that it drains where an update would. These files have no
/// systemd, so the restart is left out; the booted suite has it.
#[tokio::test]
async fn a_rollback_drains_the_node_and_holds_it_until_it_is_released() {
    let Some(server) = Server::shared().await else { return };
    let mut subject = installed(server, "returned", &with_file("rendered-returned-1", LOUD, "1")).await;
    let drains = Drains::answer(subject.controller.clone(), "returned");
    let next = made(&subject, &with_file("rendered-returned-2", LOUD, "2")).await;
    let is_rebooting = |node: &_| annotation(node, "post-config-action") == Some("Rebooting");
    subject.want(&next).await;
    subject.node_until("Rebooting", is_rebooting).await;
    subject.restart();
    subject.done(&next).await;

    let answer = subject.sandbox.ostler(&["rollback", "--yes"]).exits(0);
    assert!(answer.stdout.contains("Requested: the agent rolls this machine back"), "{answer:?}");
    let is_back = |node: &_| annotation(node, "lastAppliedDrain") == Some("uncordon-rendered-returned-1");
    let node = subject.node_until("a drain and its end", is_back).await;
    assert!(!is_unschedulable(&node), "{node:?}");
    assert_eq!(drains.asked()[2..], ["drain-rendered-returned-1", "uncordon-rendered-returned-1"]);
    assert_eq!(subject.file(LOUD).as_deref(), Some("1"));
    subject.object_until("that it is not in the desired one", |object| is(object, "Updated", "False")).await;
    assert!(subject.log().contains("to release it, run \"ostler rollback --release\""), "{}", subject.log());

    subject.sandbox.ostler(&["rollback", "--release"]).exits(0);
    subject.node_until("Rebooting", is_rebooting).await;
    assert_eq!(subject.file(LOUD).as_deref(), Some("2"));
    subject.restart();
    assert!(!is_unschedulable(&subject.done(&next).await));
    assert_eq!(drains.asked()[4..], ["drain-rendered-returned-2", "uncordon-rendered-returned-2"]);
}
