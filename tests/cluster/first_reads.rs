//! What an agent does before it has read everything that decides an update: a server that starts refuses at first.

use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::api::{Api, Patch, PatchParams};
use nix::sys::signal::{Signal, kill};
use ostler_core::api::MachineConfiguration;
use serde_json::json;

use super::agent::{Subject, condition, with_file};
use super::cluster::controller::Controller;
use super::cluster::drains::Drains;
use super::cluster::eventually;
use super::cluster::server::Server;

/// Without a policy a change of this file drains and restarts the node.
const FILE: &str = "/etc/motd.d/site";

/// A file whose change takes neither a drain nor a restart.
const QUIET: &str = "/var/lib/kubelet/config.json";

/// Takes the permission to read a kind away from all nodes, or gives it back.
async fn permit(client: &kube::Client, resource: &str, permitted: bool) {
    let other = format!("{resource}-not");
    let (from, to) = if permitted { (other.as_str(), resource) } else { (resource, other.as_str()) };
    let roles: Api<ClusterRole> = Api::all(client.clone());
    let mut role = roles.get("ostler-node").await.unwrap();
    for rule in role.rules.iter_mut().flatten() {
        rule.resources.iter_mut().flatten().filter(|name| *name == from).for_each(|name| *name = to.to_owned());
    }
    roles.replace("ostler-node", &Default::default(), &role).await.unwrap();
}

/// The policy that a change of a file does nothing to the node.
async fn policy(client: &kube::Client, file: &str) {
    let api: Api<MachineConfiguration> = Api::all(client.clone());
    let actions = json!([{"type": "None"}]);
    let object = json!({
        "apiVersion": "operator.openshift.io/v1", "kind": "MachineConfiguration", "metadata": {"name": "cluster"},
        "spec": {"nodeDisruptionPolicy": {"files": [{"path": file, "actions": actions}]}},
    });
    api.patch("cluster", &PatchParams::apply("lab").force(), &Patch::Apply(object)).await.unwrap();
}

#[tokio::test]
async fn no_update_is_evaluated_before_the_policies_were_read() {
    let Some(server) = Server::start().await else { return };
    let admin = server.admin().await;
    policy(&admin, FILE).await;
    permit(&admin, "machineconfigurations", false).await;
    let config = with_file("rendered-early-1", FILE, "1");
    let mut subject = Subject::installed("early", server.node("early"), Controller::new(admin.clone()), &config).await;
    let drains = Drains::answer(subject.controller.clone(), "early");
    subject.start();
    subject.done("rendered-early-1").await;
    subject.make("rendered-early-2", &with_file("rendered-early-2", FILE, "2")["spec"]["config"]).await;
    subject.want("rendered-early-2").await;
    eventually("the status names what is waited for", async || {
        let status = subject.sandbox.ostler(&["status"]).to_string();
        status.contains("Waiting for") && status.contains("MachineConfiguration")
    })
    .await;
    permit(&admin, "machineconfigurations", true).await;
    kill(subject.pid(), Signal::SIGHUP).unwrap();
    subject.done("rendered-early-2").await;
    assert_eq!(subject.file(FILE).as_deref(), Some("2"));
    assert_eq!(drains.asked(), [""; 0], "{}", subject.log());
}

#[tokio::test]
async fn an_update_that_waits_for_the_operator_to_merge_policies_says_so_everywhere() {
    let Some(server) = Server::start().await else { return };
    let admin = server.admin().await;
    let settings: Api<MachineConfiguration> = Api::all(admin.clone());
    let merged = async |generation: i64| {
        let status = Patch::Merge(json!({"status": {"observedGeneration": generation}}));
        settings.patch_status("cluster", &PatchParams::default(), &status).await.unwrap();
    };
    policy(&admin, FILE).await;
    merged(1).await;
    let config = with_file("rendered-merge-1", QUIET, "1");
    let mut subject = Subject::installed("merge", server.node("merge"), Controller::new(admin.clone()), &config).await;
    subject.start();
    subject.done("rendered-merge-1").await;
    policy(&admin, "/etc/other").await;
    subject.make("rendered-merge-2", &with_file("rendered-merge-2", QUIET, "2")["spec"]["config"]).await;
    subject.want("rendered-merge-2").await;
    let says = "the machine-config-operator to merge the disruption policies";
    let object = subject
        .object_until("a condition that says so", |object| {
            condition(object, "UpdatePrepared").is_some_and(|prepared| prepared.message.contains(says))
        })
        .await;
    assert_eq!(condition(&object, "UpdatePrepared").unwrap().status, "False");
    let status = subject.sandbox.ostler(&["status"]).to_string();
    assert!(status.contains(&format!("Waiting for {says}")) && status.contains("Fix: "), "{status}");
    eventually("an event", async || subject.events().await.iter().any(|reason| reason == "PoliciesNotMerged")).await;
    merged(2).await;
    subject.done("rendered-merge-2").await;
}
