//! Disks that only a new installation can have: machines that are there report them, machines that come have them.
//!
//! The settings and the gates are the cluster's, so these scenarios have a cluster to themselves and take turns.

use std::fs;

use futures_util::StreamExt;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, WatchEvent, WatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, ResourceExt};
use ostler_core::api::{IrreconcilableChange, MachineConfig, MachineConfigNode, MachineConfiguration};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard, OnceCell};

use super::agent::{PATIENCE, Subject, document, is};
use super::cluster::controller::{Controller, annotation};
use super::cluster::server::Server;
use super::sandbox;

/// A file whose change takes neither a drain nor a restart.
const QUIET: &str = "/var/lib/kubelet/config.json";
/// Where Ignition leaves what the machine was installed with.
const BASE: &str = "/etc/mcs-machine-config-content.json";
/// Where the agent keeps what it has instead.
const KEPT: &str = "/var/lib/ostler/install-time.json";
const PATH: &str = "spec.config.storage.disks[0].device";

static SERVER: OnceCell<Option<Server>> = OnceCell::const_new();
static TURN: Mutex<()> = Mutex::const_new(());

/// The cluster, for one scenario.
struct Lab {
    server: &'static Server,
    admin: Client,
    _turn: MutexGuard<'static, ()>,
}

impl Lab {
    /// With changes of disks and filesystems let through, and gates as by default.
    async fn open() -> Option<Self> {
        let turn = TURN.lock().await;
        let server = SERVER.get_or_init(Server::start).await.as_ref()?;
        let lab = Self { server, admin: server.admin().await, _turn: turn };
        lab.let_through(&["Disks", "FileSystems"]).await;
        lab.gate(true).await;
        Some(lab)
    }

    async fn let_through(&self, sections: &[&str]) {
        let settings = json!({
            "apiVersion": "operator.openshift.io/v1", "kind": "MachineConfiguration", "metadata": {"name": "cluster"},
            "spec": {"irreconcilableValidationOverrides": {"storage": sections}},
        });
        let api: Api<MachineConfiguration> = Api::all(self.admin.clone());
        api.patch("cluster", &PatchParams::apply("lab").force(), &Patch::Apply(settings)).await.unwrap();
    }

    async fn gate(&self, on: bool) {
        let kind = GroupVersionKind::gvk("config.openshift.io", "v1", "FeatureGate");
        let api: Api<DynamicObject> = Api::all_with(self.admin.clone(), &ApiResource::from_gvk(&kind));
        let object = |rest: Value| {
            let mut object = json!({"apiVersion": "config.openshift.io/v1", "kind": "FeatureGate",
                "metadata": {"name": "cluster"}, "spec": {}});
            object.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
            Patch::Apply(object)
        };
        let writer = PatchParams::apply("lab").force();
        api.patch("cluster", &writer, &object(json!({}))).await.unwrap();
        let list = if on { "enabled" } else { "disabled" };
        let entry = json!({"version": "4.20.0", list: [{"name": "IrreconcilableMachineConfig"}]});
        api.patch_status("cluster", &writer, &object(json!({"status": {"featureGates": [entry]}}))).await.unwrap();
    }

    /// A node that was installed with a configuration which the cluster has, and is done with it.
    async fn node(&self, name: &str, config: &Value) -> Subject {
        let mut node = self.stopped(name, config).await;
        node.start();
        node.done(name_of(config)).await;
        node
    }

    async fn stopped(&self, name: &str, config: &Value) -> Subject {
        let controller = Controller::new(self.admin.clone());
        Subject::joined(name, self.server.node(name), controller, config).await
    }

    /// Makes a configuration in the cluster.
    async fn render(&self, config: Value) -> Value {
        let made = serde_json::from_value(config.clone()).unwrap();
        Controller::new(self.admin.clone()).create_config(&made).await;
        config
    }
}

/// The example of the proposal: a disk in this slot, and a file of this text.
fn config(name: &str, slot: u32, text: &str) -> Value {
    let disk = json!({
        "device": device(slot), "partitions": [{"label": "var", "sizeMiB": 0, "startMiB": 0}], "wipeTable": true,
    });
    let filesystem = json!({"device": "/dev/disk/by-partlabel/var", "format": "xfs", "path": "/var"});
    let storage = json!({"disks": [disk], "filesystems": [filesystem], "files": [sandbox::file(QUIET, text)]});
    document(name, json!({"ignition": {"version": "3.5.0"}, "storage": storage}))
}

fn device(slot: u32) -> String {
    format!("/dev/disk/by-path/pci-0000:3b:00.0-scsi-0:3:{slot}:0")
}

/// What is reported of a disk that is in another slot.
fn moved(from: u32, to: u32) -> Vec<(String, String)> {
    vec![(PATH.to_owned(), format!("- \"{}\"\n+ \"{}\"\n", device(from), device(to)))]
}

fn name_of(config: &Value) -> &str {
    config["metadata"]["name"].as_str().unwrap()
}

fn changes(object: &MachineConfigNode) -> Vec<(String, String)> {
    let listed = object.status.iter().flat_map(|status| &status.irreconcilable_changes);
    listed.map(|IrreconcilableChange { field_path, diff }| (field_path.clone(), diff.clone())).collect()
}

async fn reported(node: &Subject) -> Vec<(String, String)> {
    changes(&node.controller.machine_config_nodes().get(&node.name).await.unwrap())
}

async fn update(node: &Subject, to: &Value) {
    node.want(name_of(to)).await;
    node.done(name_of(to)).await;
}

/// Everything that the agent might change, but for its own state and its record of the configuration.
fn rest_of_the_machine(node: &Subject) -> sandbox::Tree {
    let mut tree = node.sandbox.tree();
    tree.retain(|path, _| !path.starts_with("run") && !path.starts_with("etc/machine-config-daemon"));
    tree
}

#[tokio::test]
async fn machines_that_are_there_take_what_they_can_and_report_the_rest() {
    let Some(lab) = Lab::open().await else { return };
    let before = lab.render(config("rendered-mix-1", 222, "1")).await;
    let after = lab.render(config("rendered-mix-2", 111, "2")).await;
    let old = lab.node("mix-old", &before).await;
    assert_eq!(reported(&old).await, []);
    let start = Versions::now(&old).await;
    update(&old, &after).await;
    assert_eq!(old.file(QUIET).as_deref(), Some("2"), "what can be had is there");
    assert_eq!(reported(&old).await, moved(222, 111));
    start.assert_reported_before_done(&old, name_of(&after)).await;
    let new = lab.node("mix-new", &after).await;
    assert_eq!(reported(&new).await, []);
    let further = lab.render(config("rendered-mix-3", 111, "3")).await;
    update(&old, &further).await;
    update(&new, &further).await;
    assert_eq!([reported(&old).await, reported(&new).await], [moved(222, 111), vec![]]);
}

#[tokio::test]
async fn machines_that_are_there_are_not_disturbed_by_what_they_cannot_have() {
    let Some(lab) = Lab::open().await else { return };
    let before = lab.render(config("rendered-only-1", 222, "1")).await;
    let after = lab.render(config("rendered-only-2", 111, "1")).await;
    let old = lab.node("only-old", &before).await;
    let files = rest_of_the_machine(&old);
    update(&old, &after).await;
    assert_eq!(sandbox::differences(&files, &rest_of_the_machine(&old)), Vec::<String>::new());
    assert_eq!(reported(&old).await, moved(222, 111));
    let node = old.controller.nodes().get("only-old").await.unwrap();
    assert_eq!(annotation(&node, "desiredDrain"), None, "nobody had to leave");
    let new = lab.node("only-new", &after).await;
    assert_eq!(reported(&new).await, []);
}

#[tokio::test]
async fn what_was_reported_stays_when_the_overrides_go_and_more_of_it_is_refused() {
    let Some(lab) = Lab::open().await else { return };
    let first = lab.render(config("rendered-off-1", 222, "1")).await;
    let second = lab.render(config("rendered-off-2", 111, "2")).await;
    let third = lab.render(config("rendered-off-3", 333, "3")).await;
    let fourth = lab.render(config("rendered-off-4", 111, "4")).await;
    let old = lab.node("off-old", &first).await;
    update(&old, &second).await;
    let new = lab.node("off-new", &second).await;
    lab.let_through(&[]).await;
    for (node, was) in [(&old, moved(222, 111)), (&new, vec![])] {
        refuses(node, &third).await;
        assert_eq!(reported(node).await, was, "{}", node.name);
        // Whatever the node was refused, it can have this.
        update(node, &fourth).await;
        assert_eq!(reported(node).await, was, "{}", node.name);
        assert_eq!(node.file(QUIET).as_deref(), Some("4"));
    }
    lab.let_through(&["Disks"]).await;
    update(&old, &third).await;
    assert_eq!(reported(&old).await, moved(222, 333));
}

#[tokio::test]
async fn what_was_reported_stays_when_the_gate_is_closed() {
    let Some(lab) = Lab::open().await else { return };
    let first = lab.render(config("rendered-gate-1", 222, "1")).await;
    let second = lab.render(config("rendered-gate-2", 111, "2")).await;
    let third = lab.render(config("rendered-gate-3", 333, "3")).await;
    let fourth = lab.render(config("rendered-gate-4", 111, "4")).await;
    let mut old = lab.node("gate-old", &first).await;
    update(&old, &second).await;
    lab.gate(false).await;
    heard(&old, "the feature gates changed").await;
    refuses(&old, &third).await;
    assert_eq!(reported(&old).await, moved(222, 111));
    update(&old, &fourth).await;
    assert_eq!(reported(&old).await, moved(222, 111));
    old.restart();
    old.done(name_of(&fourth)).await;
    assert_eq!(reported(&old).await, moved(222, 111), "nor does a new agent forget it");
    lab.gate(true).await;
    update(&old, &third).await;
    assert_eq!(reported(&old).await, moved(222, 333));
}

async fn refuses(node: &Subject, config: &Value) {
    node.want(name_of(config)).await;
    let seen = node.node_until("Unreconcilable", |node| annotation(node, "state") == Some("Unreconcilable")).await;
    assert!(annotation(&seen, "reason").unwrap().contains("disks"), "{seen:?}");
    let object = node.object_until("why", |object| is(object, "UpdatePrepared", "Unknown")).await;
    assert!(!is(&object, "Updated", "True"), "{object:?}");
}

async fn heard(node: &Subject, what: &str) {
    super::cluster::eventually(what, async || node.log().contains(what)).await;
}

#[tokio::test]
async fn taking_changes_back_clears_the_old_report_and_starts_that_of_newer_machines() {
    let Some(lab) = Lab::open().await else { return };
    let first = lab.render(config("rendered-back-again-1", 222, "1")).await;
    let second = lab.render(config("rendered-back-again-2", 111, "2")).await;
    let third = lab.render(config("rendered-back-again-3", 222, "3")).await;
    let old = lab.node("back-old", &first).await;
    update(&old, &second).await;
    let new = lab.node("back-new", &second).await;
    assert_eq!([reported(&old).await, reported(&new).await], [moved(222, 111), vec![]]);
    update(&old, &third).await;
    update(&new, &third).await;
    assert_eq!([reported(&old).await, reported(&new).await], [vec![], moved(111, 222)]);
    let newest = lab.node("back-newest", &third).await;
    assert_eq!(reported(&newest).await, []);
}

#[tokio::test]
async fn without_the_record_of_its_installation_a_machine_compares_with_the_earliest_known_and_says_so() {
    let Some(lab) = Lab::open().await else { return };
    let first = lab.render(config("rendered-lost-1", 222, "1")).await;
    let second = lab.render(config("rendered-lost-2", 111, "2")).await;
    let third = lab.render(config("rendered-lost-3", 333, "3")).await;
    let mut old = lab.node("lost-old", &first).await;
    old.stop();
    fs::remove_file(old.sandbox.path(BASE)).unwrap();
    assert_eq!(old.file(KEPT), None);
    old.start();
    heard(&old, "what this node was installed with is lost; rendered-lost-1").await;
    let kept = old.file(KEPT).expect("the earliest configuration is kept");
    update(&old, &second).await;
    assert_eq!(reported(&old).await, moved(222, 111));
    old.stop();
    old.start();
    update(&old, &third).await;
    assert_eq!(reported(&old).await, moved(222, 333));
    assert_eq!(old.file(KEPT), Some(kept), "it is kept once");
    assert_eq!(old.log().matches("is lost; ").count(), 1, "and said once: {}", old.log());
    let status = old.sandbox.ostler(&["status", "-o", "json"]);
    assert!(status.stdout.contains("\"baseKept\":true") || status.stdout.contains("\"baseKept\": true"), "{status}");
}

#[tokio::test]
async fn the_configuration_that_was_served_is_preferred_as_long_as_the_cluster_has_it() {
    let Some(lab) = Lab::open().await else { return };
    let served = lab.render(config("rendered-served-1", 444, "1")).await;
    let first = lab.render(config("rendered-served-2", 222, "1")).await;
    for (name, gone) in [("served-there", false), ("served-gone", true)] {
        let mut node = lab.node(name, &first).await;
        node.stop();
        fs::remove_file(node.sandbox.path(BASE)).unwrap();
        node.controller.annotate(name, &[("firstPivotConfig", Some(name_of(&served)))]).await;
        if gone {
            let configs: Api<MachineConfig> = Api::all(lab.admin.clone());
            configs.delete(name_of(&served), &Default::default()).await.unwrap();
        }
        node.start();
        let base = if gone { name_of(&first) } else { name_of(&served) };
        heard(&node, &format!("is lost; {base}")).await;
        let expected = if gone { vec![] } else { moved(444, 222) };
        node.object_until("the report", |object| changes(object) == expected).await;
        assert!(node.file(KEPT).is_some_and(|kept| kept.contains(base)), "{name}");
    }
}

/// When a node's objects were as they are: resource versions are one order for the whole cluster.
struct Versions {
    node: String,
    object: String,
}

impl Versions {
    async fn now(of: &Subject) -> Self {
        let list = ListParams::default();
        let node = of.controller.nodes().list(&list).await.unwrap().metadata.resource_version.unwrap();
        let object = of.controller.machine_config_nodes().list(&list).await.unwrap();
        Self { node, object: object.metadata.resource_version.unwrap() }
    }

    /// Goes through everything that was written since.
    async fn assert_reported_before_done(&self, of: &Subject, config: &str) {
        let told = first(of, of.controller.machine_config_nodes(), &self.object, |object: &MachineConfigNode| {
            !changes(object).is_empty()
        });
        let updated = first(of, of.controller.machine_config_nodes(), &self.object, |object: &MachineConfigNode| {
            let version = object.status.as_ref().and_then(|status| status.config_version.as_ref());
            version.and_then(|version| version.current.as_deref()) == Some(config) && is(object, "Updated", "True")
        });
        let done = first(of, of.controller.nodes(), &self.node, |node| {
            annotation(node, "state") == Some("Done") && annotation(node, "currentConfig") == Some(config)
        });
        let (told, updated, done) = (told.await, updated.await, done.await);
        assert!(told < updated && updated < done, "told {told}, updated {updated}, done {done}");
    }
}

/// The version in which an object was first as described.
async fn first<K>(of: &Subject, api: Api<K>, since: &str, is_so: impl Fn(&K) -> bool) -> u64
where
    K: kube::Resource + Clone + DeserializeOwned + std::fmt::Debug,
{
    let own = WatchParams::default().fields(&format!("metadata.name={}", of.name));
    let mut events = api.watch(&own, since).await.unwrap().boxed();
    let search = async {
        while let Some(event) = events.next().await {
            if let WatchEvent::Added(object) | WatchEvent::Modified(object) = event.unwrap()
                && is_so(&object)
            {
                return object.resource_version().unwrap().parse().unwrap();
            }
        }
        panic!("{}: it was never so", of.name)
    };
    tokio::time::timeout(PATIENCE, search).await.expect("what was written is told again")
}
