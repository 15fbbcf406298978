//! The pool in the MachineConfigNode of a node that nobody but its agent reports.

use kube::api::{Api, Patch, PatchParams};
use ostler_core::api::{MachineConfigNode, MachineConfigPool};
use serde_json::json;

use super::agent::{Subject, with_file};
use super::cluster::controller::Controller;
use super::cluster::server::Server;

/// A file whose change takes neither a drain nor a restart.
const QUIET: &str = "/var/lib/kubelet/config.json";

fn role(name: &str) -> String {
    format!("node-role.kubernetes.io/{name}")
}

#[tokio::test]
async fn a_report_that_the_agent_makes_names_the_pool_of_the_node_and_follows_it() {
    let Some(server) = Server::start().await else { return };
    let admin = server.admin().await;
    let pools: Api<MachineConfigPool> = Api::all(admin.clone());
    for name in ["worker", "infra"] {
        let spec = json!({"nodeSelector": {"matchLabels": {role(name): ""}}, "paused": false});
        let pool = json!({"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
            "metadata": {"name": name}, "spec": spec});
        pools.patch(name, &PatchParams::apply("lab"), &Patch::Apply(pool)).await.unwrap();
    }
    let config = with_file("rendered-worker-1", QUIET, "1");
    let mut subject = Subject::alone("lone", server.node("lone"), Controller::new(admin.clone())).await;
    subject.sandbox.write("/etc/mcs-machine-config-content.json", config.to_string());
    subject.make("rendered-worker-1", &config["spec"]["config"]).await;
    subject.controller.annotate("lone", &[("desiredConfig", Some("rendered-worker-1"))]).await;
    subject.start();
    let named = |pool: &'static str| move |object: &MachineConfigNode| object.spec.pool.name == pool;
    subject.object_until("the pool of workers", named("worker")).await;
    subject.done("rendered-worker-1").await;

    let labels = Patch::Merge(json!({"metadata": {"labels": {role("infra"): ""}}}));
    subject.controller.nodes().patch("lone", &PatchParams::default(), &labels).await.unwrap();
    subject.make("rendered-infra-2", &with_file("rendered-infra-2", QUIET, "2")["spec"]["config"]).await;
    subject.want("rendered-infra-2").await;
    subject.object_until("the custom pool", named("infra")).await;
    subject.done("rendered-infra-2").await;
}
