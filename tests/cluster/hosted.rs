//! A node of a hosted cluster: configurations are mounted and go by their hashes, and there is no MachineConfigNode.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::{Compression, write::GzEncoder};
use k8s_openapi::api::core::v1::Node;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::agent::{Subject, with_file};
use super::cluster::controller::{Controller, annotation};
use super::cluster::drains::is_unschedulable;
use super::cluster::server::Server;
use super::sandbox;

const CONTENT: &str = "/etc/mcs-machine-config-content.json";
/// What the hosted cluster's own daemon keeps.
const RECORD: &str = "/etc/mcd-currentconfig.json";
/// A file whose change takes neither a drain nor a restart.
const QUIET: &str = "/var/lib/kubelet/config.json";
/// A file whose change takes both.
const LOUD: &str = "/etc/motd";

/// What a hosted cluster mounts: the configuration within an Ignition config, packed.
fn packed(config: &Value) -> String {
    let text = serde_json::to_string_pretty(config).unwrap();
    let served = json!({"ignition": {"version": "3.2.0"}, "storage": {"files": [sandbox::file(CONTENT, text)]}});
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(served.to_string().as_bytes()).unwrap();
    BASE64_STANDARD.encode(gzip.finish().unwrap())
}

/// Mounts it as a kubelet does: everything is replaced at once, by turning a link.
fn mount(subject: &Subject, hash: &str, config: &str) {
    let directory = subject.sandbox.outside().join("mounted");
    let data = directory.join(format!("..{}", fs::read_dir(&directory).unwrap().count()));
    fs::create_dir(&data).unwrap();
    fs::write(data.join("config"), config).unwrap();
    fs::write(data.join("hash"), hash).unwrap();
    symlink(data.file_name().unwrap(), directory.join("..data_tmp")).unwrap();
    fs::rename(directory.join("..data_tmp"), directory.join("..data")).unwrap();
}

/// A node that was installed with a configuration; the agent has yet to start.
async fn node(server: &Server, name: &str, config: &Value, hash: &str) -> Subject {
    let subject = Subject::alone(name, server.node(name), Controller::new(server.admin().await)).await;
    subject.sandbox.write(CONTENT, config.to_string());
    let directory = subject.sandbox.outside().join("mounted");
    fs::create_dir(&directory).unwrap();
    mount(&subject, hash, &packed(config));
    subject.controller.annotate(name, &[("desiredConfig", Some(hash)), ("currentConfig", Some(hash))]).await;
    subject.with(&["--hosted", directory.to_str().unwrap()])
}

async fn want(subject: &Subject, hash: &str) {
    subject.controller.annotate(&subject.name, &[("desiredConfig", Some(hash))]).await;
}

async fn done(subject: &Subject, hash: &str) -> Node {
    let is_done =
        |node: &Node| annotation(node, "state") == Some("Done") && annotation(node, "currentConfig") == Some(hash);
    subject.node_until(&format!("Done in {hash}"), is_done).await
}

/// Answers a request as the cluster's upgrader does.
async fn answer(subject: &Subject, request: &str) {
    subject.node_until(request, |node| annotation(node, "desiredDrain") == Some(request)).await;
    let patch = json!({"spec": {"unschedulable": request.starts_with("drain-").then_some(true)}});
    let nodes = subject.controller.nodes();
    nodes.patch(&subject.name, &PatchParams::default(), &Patch::Strategic(patch)).await.unwrap();
    subject.controller.annotate(&subject.name, &[("lastAppliedDrain", Some(request))]).await;
}

#[tokio::test]
async fn an_update_is_mounted_drained_for_by_its_hash_and_proven() {
    let Some(server) = Server::shared().await else { return };
    let mut subject = node(server, "hosted-loud", &with_file("rendered-a", LOUD, "1"), "1f").await;
    subject.start();
    done(&subject, "1f").await;
    let next = with_file("rendered-b", LOUD, "2");
    mount(&subject, "2a", &packed(&next));
    want(&subject, "2a").await;
    subject.node_until("a drain", |node| annotation(node, "desiredDrain") == Some("drain-2a")).await;
    let early = subject.file(RECORD).unwrap_or_default();
    assert!(!early.contains("rendered-b"), "nothing is written before workloads have left: {early}");
    // An agent that is killed while it waits goes on where it was.
    subject.kill();
    subject.start();
    answer(&subject, "drain-2a").await;
    subject.node_until("Rebooting", |node| annotation(node, "post-config-action") == Some("Rebooting")).await;
    assert_eq!(subject.file(LOUD).as_deref(), Some("2"));
    let record: Value = serde_json::from_str(&subject.file(RECORD).unwrap()).unwrap();
    assert_eq!(record, next, "the record holds what was mounted and nothing of ours");
    subject.restart();
    answer(&subject, "uncordon-2a").await;
    let node = done(&subject, "2a").await;
    assert!(!is_unschedulable(&node) && annotation(&node, "reason").is_none(), "{node:?}");
    let objects = subject.controller.machine_config_nodes();
    assert!(objects.get_opt(&subject.name).await.unwrap().is_none(), "there is no MachineConfigNode");
}

#[tokio::test]
async fn a_hash_that_is_not_mounted_yet_is_waited_for() {
    let Some(server) = Server::shared().await else { return };
    let mut subject = node(server, "hosted-early", &with_file("rendered-a", QUIET, "1"), "1f").await;
    subject.start();
    done(&subject, "1f").await;
    want(&subject, "2a").await;
    let node = subject.node_until("Working", |node| annotation(node, "state") == Some("Working")).await;
    assert_eq!((annotation(&node, "reason"), annotation(&node, "currentConfig")), (None, Some("1f")));
    mount(&subject, "2a", &packed(&with_file("rendered-b", QUIET, "2")));
    let node = done(&subject, "2a").await;
    assert_eq!(annotation(&node, "desiredDrain"), None, "nobody had to leave");
    assert_eq!(subject.file(QUIET).as_deref(), Some("2"));
    assert!(subject.log().contains("holds 1f, and 2a is desired"), "{}", subject.log());
    // The next one is mounted before it is asked for, which disturbs nobody.
    mount(&subject, "3c", &packed(&with_file("rendered-c", QUIET, "3")));
    subject.stop();
    subject.start();
    done(&subject, "2a").await;
    assert_eq!(subject.file(QUIET).as_deref(), Some("2"));
    want(&subject, "3c").await;
    done(&subject, "3c").await;
}

#[tokio::test]
async fn what_is_mounted_and_broken_degrades_the_node_until_it_is_mended() {
    const SECRET: &str = "hunter2";
    let Some(server) = Server::shared().await else { return };
    let mut subject = node(server, "hosted-broken", &with_file("rendered-a", QUIET, "1"), "1f").await;
    subject.start();
    done(&subject, "1f").await;
    for (broken, expected) in [
        (format!("{SECRET}!"), "neither JSON nor gzip nor base64"),
        (
            json!({"ignition": {"version": "3.2.0"}, "storage": {"files": [sandbox::file("/x", SECRET)]}}).to_string(),
            "no file",
        ),
        (packed(&json!({"kind": "Pod", "spec": SECRET})), "no usable MachineConfig"),
    ] {
        mount(&subject, "2a", &broken);
        want(&subject, "2a").await;
        let told = |node: &Node| annotation(node, "reason").is_some_and(|reason| reason.contains(expected));
        let node = subject.node_until(expected, told).await;
        assert_eq!(annotation(&node, "state"), Some("Degraded"));
        let reason = annotation(&node, "reason").unwrap();
        assert!(reason.contains("/mounted/config") && reason.contains("see the ConfigMap"), "{reason}");
    }
    assert!(!subject.log().contains(SECRET), "{}", subject.log());
    mount(&subject, "2a", &packed(&with_file("rendered-b", QUIET, "2")));
    let node = done(&subject, "2a").await;
    assert_eq!(annotation(&node, "reason"), None);
}

#[tokio::test]
async fn the_files_of_the_clusters_own_daemon_are_taken_over() {
    let Some(server) = Server::shared().await else { return };
    let mut subject = node(server, "hosted-heir", &with_file("rendered-a", LOUD, "1"), "1f").await;
    // That daemon has updated the node since, and was replaced before it could say so.
    let second = with_file("rendered-b", LOUD, "2");
    subject.sandbox.write(RECORD, serde_json::to_string_pretty(&second).unwrap());
    subject.sandbox.write(LOUD, "2");
    mount(&subject, "2a", &packed(&second));
    want(&subject, "2a").await;
    subject.start();
    let node = done(&subject, "2a").await;
    assert_eq!(annotation(&node, "desiredDrain"), None, "there was nothing left to do");
    subject.stop();
    // It comes back, updates the node once more and leaves.
    let third = with_file("rendered-c", LOUD, "3");
    subject.sandbox.write(RECORD, third.to_string());
    subject.sandbox.write(LOUD, "3");
    mount(&subject, "3c", &packed(&third));
    subject.controller.annotate("hosted-heir", &[("desiredConfig", Some("3c")), ("currentConfig", Some("3c"))]).await;
    subject.start();
    let node = done(&subject, "3c").await;
    assert_eq!(annotation(&node, "desiredDrain"), None);
    assert!(!subject.log().contains("restarted into"), "{}", subject.log());
}
