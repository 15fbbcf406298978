//! The cluster itself: what it serves, and whom it lets do what.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Event, Node};
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, Error};
use ostler_core::api::{ControllerConfig, MachineConfig, MachineConfigNode, MachineConfigPool, MachineConfiguration};
use serde_json::{Value, json};

use super::cluster::controller::{Controller, machine_config};
use super::cluster::manifests::{self, NAMESPACE};
use super::cluster::server::{Server, client};
use super::cluster::{crds, eventually};

/// The status code of a refusal.
fn code<T>(answer: Result<T, Error>) -> u16 {
    match answer {
        Ok(_) => 200,
        Err(Error::Api(status)) => status.code,
        Err(error) => panic!("{error}"),
    }
}

fn feature_gates(as_user: &Client) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("config.openshift.io", "v1", "FeatureGate");
    Api::all_with(as_user.clone(), &ApiResource::from_gvk(&kind))
}

fn annotations(value: &str) -> Patch<Value> {
    Patch::Merge(json!({"metadata": {"annotations": {"machineconfiguration.openshift.io/state": value}}}))
}

async fn write_state(as_user: &Client, node: &str) -> u16 {
    let nodes: Api<Node> = Api::all(as_user.clone());
    code(nodes.patch(node, &PatchParams::default(), &annotations("Working")).await)
}

async fn report(as_user: &Client, node: &str) -> u16 {
    let api: Api<MachineConfigNode> = Api::all(as_user.clone());
    let status = json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigNode", "metadata": {"name": node},
        "status": {"configVersion": {"desired": "rendered-a"}},
    });
    code(api.patch_status(node, &PatchParams::apply("test").force(), &Patch::Apply(status)).await)
}

#[tokio::test]
async fn every_kind_is_served_and_kept_with_its_unknown_parts() {
    let Some(server) = Server::shared().await else { return };
    let admin = server.admin().await;
    let controller = Controller::new(admin.clone());
    let ignition = json!({"ignition": {"version": "3.5.0"}, "later": {"than": [null, "us"]}});
    controller.create_config(&machine_config("rendered-kept", ignition.clone())).await;
    let configs: Api<MachineConfig> = Api::all(admin.clone());
    assert_eq!(configs.get("rendered-kept").await.unwrap().spec.config, ignition);
    let list = ListParams::default();
    assert_eq!(code(Api::<MachineConfigPool>::all(admin.clone()).list(&list).await), 200);
    assert_eq!(code(Api::<MachineConfiguration>::all(admin.clone()).list(&list).await), 200);
    assert_eq!(code(feature_gates(&admin).list(&list).await), 200);
}

#[tokio::test]
async fn a_node_writes_to_itself_and_to_no_other() {
    let Some(server) = Server::shared().await else { return };
    let admin = server.admin().await;
    let controller = Controller::new(admin.clone());
    controller.introduce("own-1").await;
    controller.introduce("own-2").await;
    let node = client(&server.node("own-1")).await;
    assert_eq!(write_state(&node, "own-1").await, 200);
    assert_eq!(write_state(&node, "own-2").await, 403);
    assert_eq!(report(&node, "own-1").await, 200);
    if manifests::serves_admission_policies(&admin).await {
        // It takes a moment to come into force.
        eventually("another node's report is refused", async || report(&node, "own-2").await == 403).await;
    }
    assert_eq!(report(&admin, "own-2").await, 200, "the policy is not about administrators");
}

#[tokio::test]
async fn a_node_may_do_what_the_agent_does_and_no_more() {
    let Some(server) = Server::shared().await else { return };
    let controller = Controller::new(server.admin().await);
    controller.create_node("may").await;
    controller.create_config(&machine_config("rendered-may", json!({}))).await;
    let node = client(&server.node("may")).await;
    let configs: Api<MachineConfig> = Api::all(node.clone());
    assert_eq!(code(configs.get("rendered-may").await), 200);
    assert_eq!(code(configs.list(&ListParams::default()).await), 403);
    assert_eq!(code(configs.patch("rendered-may", &PatchParams::default(), &annotations("x")).await), 403);
    let own = Api::<Node>::all(controller.nodes().into_client()).get("may").await.unwrap();
    let made = Controller::new(node.clone()).create_machine_config_node(&own, "worker").await;
    assert_eq!(made.spec.node.name, "may");
    let nodes: Api<MachineConfigNode> = Api::all(node.clone());
    assert_eq!(code(nodes.list(&ListParams::default().fields("metadata.name=may")).await), 200);
    assert_eq!(code(nodes.delete("may", &Default::default()).await), 403);
    assert_eq!(code(Api::<MachineConfiguration>::all(node.clone()).list(&ListParams::default()).await), 200);
    assert_eq!(code(Api::<ControllerConfig>::all(node.clone()).list(&ListParams::default()).await), 200);
    assert_eq!(code(feature_gates(&node).list(&ListParams::default()).await), 200);
    let event = json!({
        "metadata": {"generateName": "may.", "namespace": NAMESPACE},
        "reason": "Reboot", "message": "", "type": "Normal",
        "involvedObject": {"kind": "Node", "name": "may", "namespace": NAMESPACE},
    });
    let events: Api<Event> = Api::namespaced(node, NAMESPACE);
    let event = serde_json::from_value(event).unwrap();
    assert_eq!(code(events.create(&PostParams::default(), &event).await), 200);
}

#[tokio::test]
async fn a_stranger_may_do_nothing() {
    let Some(server) = Server::shared().await else { return };
    let nobody = client(&server.nobody()).await;
    assert_eq!(code(Api::<MachineConfig>::all(nobody.clone()).get("any").await), 403);
    assert_eq!(code(Api::<Node>::all(nobody.clone()).list(&ListParams::default()).await), 403);
    assert_eq!(report(&nobody, "any").await, 403);
    let asked = server.requests_by("nobody");
    let node = asked.iter().find(|request| request.uri.starts_with("/api/v1/nodes")).expect("it is in the audit log");
    assert_eq!((node.verb.as_str(), node.code), ("list", Some(403)));
    assert_eq!(server.requests_by("somebody else"), []);
}

#[tokio::test]
async fn a_status_beyond_the_limits_is_refused() {
    let Some(server) = Server::shared().await else { return };
    let controller = Controller::new(server.admin().await);
    controller.introduce("limits").await;
    let condition = |reason: &str| {
        json!({"type": "Updated", "status": "True", "reason": reason, "message": "",
            "lastTransitionTime": "2026-01-02T03:04:05Z"})
    };
    let change = json!({"fieldPath": "spec.a", "diff": "d".repeat(4097)});
    let table = [
        (json!({"conditions": [condition("Fine")]}), true),
        (json!({"conditions": [condition("not fine")]}), false),
        (json!({"conditions": [condition("Once"), condition("Twice")]}), false),
        (json!({"irreconcilableChanges": [change]}), false),
        (json!({"observedGeneration": 0}), false),
    ];
    for (mut status, accepted) in table {
        status["configVersion"] = json!({"desired": "rendered-a"});
        let object = json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigNode",
            "metadata": {"name": "limits"}, "status": status,
        });
        let writer = PatchParams::apply("test").force();
        let answer = controller.machine_config_nodes().patch_status("limits", &writer, &Patch::Apply(&object)).await;
        // Servers differ in the code: the old one calls a key that is there twice its own fault.
        assert_eq!(code(answer) < 400, accepted, "{object}");
    }
}

#[tokio::test]
async fn a_wire_counts_breaks_and_heals() {
    let Some(server) = Server::shared().await else { return };
    Controller::new(server.admin().await).create_node("wired").await;
    let wire = server.wire();
    let node = client(&server.node_through("wired", &wire)).await;
    assert_eq!(write_state(&node, "wired").await, 200);
    let (sent, received) = (wire.sent(), wire.received());
    assert!(sent > 500 && received > 500 && wire.connections() == 1, "{sent} {received} {}", wire.connections());
    let nodes: Api<Node> = Api::all(node.clone());
    wire.cut();
    assert!(nodes.get("wired").await.is_err());
    assert_eq!(wire.connections(), 1);
    wire.heal();
    assert_eq!(write_state(&node, "wired").await, 200);
    assert_eq!(wire.connections(), 2);
    wire.stall();
    let question = nodes.get("wired");
    let mut question = std::pin::pin!(question);
    assert!(tokio::time::timeout(Duration::from_millis(300), &mut question).await.is_err(), "an answer came through");
    wire.heal();
    assert_eq!(code(question.await), 200);
}

#[test]
fn the_limits_of_our_definitions_are_those_of_the_real_cluster() {
    let Some(file) = ostler_tests::shared(&format!("crds/{}.crd.yaml", crds::MACHINE_CONFIG_NODES)) else { return };
    let real = ostler_tests::yaml(&file).unwrap();
    for (path, keywords) in crds::node_limits() {
        let schema = real.pointer(&crds::below_schema(path)).unwrap_or_else(|| panic!("{path}"));
        for (keyword, value) in keywords.as_object().unwrap() {
            assert_eq!(schema.get(keyword), Some(value), "{path} {keyword}");
        }
    }
}
