//! `ostler-cluster bootimages` against a real API server: enrolment, new boot images, restoring, and many machine sets.
#![cfg(test)]

#[path = "cluster/mod.rs"]
mod cluster;

use std::process::Command;
use std::time::{Duration, Instant};

use cluster::server::Server;
use kube::Client;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

const MCO: &str = "openshift-machine-config-operator";
const MAPI: &str = "openshift-machine-api";
const CAPI: &str = "openshift-cluster-api";
const OLD: &str = "projects/rhcos-cloud/global/images/old";
const MANY: usize = 500;

/// Kinds that are nobody's here: group, version, kind, plural, and whether in namespaces.
const KINDS: [(&str, &str, &str, &str, bool); 7] = [
    ("machine.openshift.io", "v1beta1", "MachineSet", "machinesets", true),
    ("machine.openshift.io", "v1", "ControlPlaneMachineSet", "controlplanemachinesets", true),
    ("cluster.x-k8s.io", "v1beta1", "MachineSet", "machinesets", true),
    ("cluster.x-k8s.io", "v1beta1", "MachineDeployment", "machinedeployments", true),
    ("infrastructure.cluster.x-k8s.io", "v1beta1", "GCPMachineTemplate", "gcpmachinetemplates", true),
    ("config.openshift.io", "v1", "Infrastructure", "infrastructures", false),
    ("config.openshift.io", "v1", "ClusterVersion", "clusterversions", false),
];

struct Estate {
    server: Server,
    admin: Client,
}

impl Estate {
    async fn new() -> Option<Self> {
        let server = Server::start().await?;
        let admin = server.admin().await;
        let estate = Self { server, admin };
        for kind in KINDS {
            estate.define(kind).await;
        }
        for name in [MAPI, CAPI] {
            estate.make("v1", "Namespace", None, json!({"metadata": {"name": name}})).await;
        }
        let config = "config.openshift.io/v1";
        let platform = json!({"metadata": {"name": "cluster"}, "status": {"platformStatus": {"type": "GCP"}}});
        estate.make(config, "Infrastructure", None, platform).await;
        let version = json!({"metadata": {"name": "version"}, "status": {"desired": {"version": "4.21.0"},
            "history": [{"state": "Completed", "version": "4.21.0"}]}});
        estate.make(config, "ClusterVersion", None, version).await;
        let labels = json!({"node-role.kubernetes.io/master": "", "kubernetes.io/arch": "amd64"});
        estate.make("v1", "Node", None, json!({"metadata": {"name": "m0", "labels": labels}})).await;
        let config = json!({"metadata": {"name": "cluster"}, "spec": {}});
        estate.make("operator.openshift.io/v1", "MachineConfiguration", None, config).await;
        let pointer =
            r#"{"ignition":{"version":"2.2.0","config":{"append":[{"source":"https://x:22623/config/worker"}]}}}"#;
        let secret = json!({"metadata": {"name": "worker-user-data"}, "stringData": {"userData": pointer}});
        estate.make("v1", "Secret", Some(MAPI), secret).await;
        let map = json!({"metadata": {"name": "coreos-bootimages"}, "data": shipped("new")});
        estate.make("v1", "ConfigMap", Some(MCO), map).await;
        Some(estate)
    }

    fn api(&self, version: &str, kind: &str, plural: &str, namespace: Option<&str>) -> Api<DynamicObject> {
        let (group, version) = version.rsplit_once('/').unwrap_or(("", version));
        let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
        match namespace {
            Some(namespace) => Api::namespaced_with(self.admin.clone(), namespace, &resource),
            None => Api::all_with(self.admin.clone(), &resource),
        }
    }

    async fn define(&self, (group, version, kind, plural, namespaced): (&str, &str, &str, &str, bool)) {
        let definition = json!({
            "metadata": {"name": format!("{plural}.{group}"),
                "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"}},
            "spec": {"group": group, "scope": if namespaced { "Namespaced" } else { "Cluster" },
                "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase(), "listKind": format!("{kind}List")},
                "versions": [{"name": version, "served": true, "storage": true, "schema": {"openAPIV3Schema":
                    {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]},
        });
        let api = "apiextensions.k8s.io/v1";
        self.make(api, "CustomResourceDefinition", None, definition).await;
        let api = self.api(&format!("{group}/{version}"), kind, plural, None);
        cluster::eventually(kind, || async { api.list(&ListParams::default().limit(1)).await.is_ok() }).await;
    }

    async fn make(&self, version: &str, kind: &str, namespace: Option<&str>, mut object: Value) {
        let plural = format!("{}s", kind.to_lowercase());
        object["apiVersion"] = version.into();
        object["kind"] = kind.into();
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        let made = self.api(version, kind, &plural, namespace).create(&PostParams::default(), &object).await;
        made.unwrap_or_else(|error| panic!("{kind}: {error}"));
    }

    fn sets(&self) -> Api<DynamicObject> {
        self.api("machine.openshift.io/v1beta1", "MachineSet", "machinesets", Some(MAPI))
    }

    async fn set(&self, name: &str, image: &str) {
        let disk = json!({"boot": true, "image": image, "sizeGb": 128, "novel": {"x": [1]}});
        let spec = json!({"disks": [disk], "userDataSecret": {"name": "worker-user-data"}});
        let set = json!({"metadata": {"name": name, "labels": {"n": name}},
            "spec": {"template": {"metadata": {}, "spec": {"providerSpec": {"value": spec}}}}});
        self.make("machine.openshift.io/v1beta1", "MachineSet", Some(MAPI), set).await;
    }

    async fn disk(&self, name: &str) -> Value {
        let set = self.sets().get(name).await.unwrap();
        set.data["spec"]["template"]["spec"]["providerSpec"]["value"]["disks"][0].clone()
    }

    async fn enrol(&self, selection: Value) {
        let managers = json!([{"resource": "machinesets", "apiGroup": "machine.openshift.io", "selection": selection}]);
        let patch = json!({"spec": {"managedBootImages": {"machineManagers": managers}}});
        let api = self.api("operator.openshift.io/v1", "MachineConfiguration", "machineconfigurations", None);
        api.patch("cluster", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    async fn ship(&self, name: &str) {
        let api = self.api("v1", "ConfigMap", "configmaps", Some(MCO));
        let patch = Patch::Merge(json!({"data": shipped(name)}));
        api.patch("coreos-bootimages", &PatchParams::default(), &patch).await.unwrap();
    }

    /// Runs the command; its exit status and what it printed.
    fn run(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ostler-cluster"));
        command.arg("bootimages").args(arguments).arg("--kubeconfig").arg(self.server.admin_file());
        let ended = command.output().unwrap();
        let (told, printed) = (String::from_utf8_lossy(&ended.stderr), String::from_utf8_lossy(&ended.stdout));
        (ended.status.code(), format!("{printed}{told}"))
    }

    fn decisions(&self) -> Vec<(String, String)> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ostler-cluster"));
        command.args(["bootimages", "plan", "-o", "json", "--kubeconfig"]).arg(self.server.admin_file());
        let items: Vec<Value> = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        items.iter().map(|item| (text(&item["name"]), text(&item["decision"]))).collect()
    }
}

fn shipped(name: &str) -> Value {
    let image = json!({"release": "9.6.20260101-0", "project": "rhcos-cloud", "name": name});
    let stream = json!({"stream": "rhel-9.6", "architectures": {"x86_64": {"images": {"gcp": image}}}});
    json!({"releaseVersion": "4.21.0", "stream": stream.to_string()})
}

fn image(name: &str) -> String {
    format!("projects/rhcos-cloud/global/images/{name}")
}

#[tokio::test]
async fn boot_images_follow_the_release_and_the_administrators_choice() {
    let Some(estate) = Estate::new().await else { return };
    estate.set("a", OLD).await;
    estate.set("b", OLD).await;
    estate.set("custom", "projects/mine/global/images/x").await;
    assert_eq!(estate.run(&["apply"]).0, Some(2));
    estate.enrol(json!({"mode": "Partial", "partial": {"machineResourceSelector": {"matchLabels": {"n": "a"}}}})).await;
    let (status, told) = estate.run(&["apply", "--own"]);
    assert_eq!(status, Some(0), "{told}");
    let changed = json!({"boot": true, "image": image("new"), "sizeGb": 128, "novel": {"x": [1]}});
    assert_eq!(estate.disk("a").await, changed);
    assert_eq!(estate.disk("b").await["image"], OLD);
    let secrets = estate.api("v1", "Secret", "secrets", Some(MAPI));
    let secret = secrets.get("worker-user-data").await.unwrap();
    assert_eq!(
        secret.metadata.annotations.unwrap()["machineconfiguration.openshift.io/stub-ignition-upgraded-to"],
        "3.5.0"
    );

    estate.enrol(json!({"mode": "All"})).await;
    estate.ship("newer").await;
    assert_eq!(estate.run(&["apply", "--own"]).0, Some(0));
    for name in ["a", "b"] {
        assert_eq!(estate.disk(name).await["image"], image("newer").as_str());
    }
    assert_eq!(estate.disk("custom").await["image"], "projects/mine/global/images/x");
    let decisions: Vec<String> = estate.decisions().into_iter().map(|(_, decision)| decision).collect();
    assert_eq!(decisions, ["current", "current", "skipped"]);
    let api = estate.api("operator.openshift.io/v1", "MachineConfiguration", "machineconfigurations", None);
    let status = api.get("cluster").await.unwrap().data["status"].clone();
    let message = status["conditions"][0]["message"].as_str().unwrap();
    assert!(message.starts_with("Reconciled 2 of 3 MAPI MachineSets (1 skipped) | "), "{message}");

    estate.enrol(json!({"mode": "None"})).await;
    let (status, told) = estate.run(&["restore", "a", "--own", "--change", "1"]);
    assert_eq!(status, Some(0), "{told}");
    assert_eq!(estate.disk("a").await["image"], OLD);
    let (_, told) = estate.run(&["history", "a"]);
    assert_eq!(told.lines().count(), 4, "{told}");
}

#[tokio::test]
async fn templates_of_the_cluster_api_are_cloned_and_the_old_ones_go() {
    let Some(estate) = Estate::new().await else { return };
    let template =
        json!({"metadata": {"name": "t"}, "spec": {"template": {"spec": {"image": OLD, "instanceType": "n1"}}}});
    let (group, kind, plural) =
        ("infrastructure.cluster.x-k8s.io/v1beta1", "GCPMachineTemplate", "gcpmachinetemplates");
    estate.make(group, kind, Some(CAPI), template).await;
    let bootstrap = json!({"metadata": {"name": "worker-user-data"},
        "stringData": {"value": r#"{"ignition":{"version":"3.4.0"}}"#}});
    estate.make("v1", "Secret", Some(CAPI), bootstrap).await;
    let spec =
        json!({"bootstrap": {"dataSecretName": "worker-user-data"}, "infrastructureRef": {"kind": kind, "name": "t"}});
    let deployment = json!({"metadata": {"name": "d"}, "spec": {"template": {"spec": spec}}});
    let capi = "cluster.x-k8s.io/v1beta1";
    estate.make(capi, "MachineDeployment", Some(CAPI), deployment).await;
    let owner = json!([{"apiVersion": capi, "kind": "MachineDeployment", "name": "d", "uid": "u"}]);
    let follower = json!({"metadata": {"name": "d-1", "ownerReferences": owner}, "spec": {"template": {"spec": spec}}});
    estate.make(capi, "MachineSet", Some(CAPI), follower).await;
    let (status, told) = estate.run(&["apply", "--own", "--include-capi"]);
    assert_eq!(status, Some(0), "{told}");
    let deployments = estate.api(capi, "MachineDeployment", "machinedeployments", Some(CAPI));
    let deployment = deployments.get("d").await.unwrap();
    let name = deployment.data["spec"]["template"]["spec"]["infrastructureRef"]["name"].as_str().unwrap().to_owned();
    let templates = estate.api(group, kind, plural, Some(CAPI));
    let made = templates.get(&name).await.unwrap();
    let spec = &made.data["spec"]["template"]["spec"];
    assert_eq!(spec, &json!({"image": image("new"), "instanceType": "n1"}));
    // The old set of the deployment still refers to it.
    assert!(templates.get_opt("t").await.unwrap().is_some());
    estate.ship("newer").await;
    assert_eq!(estate.run(&["apply", "--own", "--include-capi"]).0, Some(0));
    assert!(templates.get_opt(&name).await.unwrap().is_none());
    assert!(templates.get_opt("t").await.unwrap().is_some());
}

#[tokio::test]
async fn five_hundred_machine_sets_are_no_trouble() {
    let Some(estate) = Estate::new().await else { return };
    for number in 0..MANY {
        estate.set(&format!("w{number:03}"), OLD).await;
    }
    let began = Instant::now();
    let (status, told) = estate.run(&["apply", "--own"]);
    assert_eq!(status, Some(0), "{told}");
    assert!(began.elapsed() < Duration::from_secs(120), "{:?}", began.elapsed());
    let decisions = estate.decisions();
    assert_eq!(decisions.len(), MANY);
    assert!(decisions.iter().all(|(_, decision)| decision == "current"));
}
