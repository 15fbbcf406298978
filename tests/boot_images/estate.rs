//! A cluster with machine sets in Google's cloud, and a user who has the helper's rights and no others.

use std::path::PathBuf;
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind, TypeMeta};
use kube::{Client, ResourceExt};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::cluster::{self, server::Server};

/// Namespace of the machine-config operator.
pub const MCO: &str = "openshift-machine-config-operator";
/// Namespace of the Machine API.
pub const MAPI: &str = "openshift-machine-api";
/// Namespace of the Cluster API.
pub const CAPI: &str = "openshift-cluster-api";
/// An image that Red Hat has published.
pub const OLD: &str = "projects/rhcos-cloud/global/images/old";

const MANIFESTS: [&str; 4] = [
    include_str!("../../packaging/manifests/cluster-helper/rbac-observe.yaml"),
    include_str!("../../packaging/manifests/cluster-helper/rbac-user-data.yaml"),
    include_str!("../../packaging/manifests/cluster-helper/rbac-boot-images.yaml"),
    include_str!("../../packaging/manifests/cluster-helper/rbac-boot-images-capi.yaml"),
];

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

/// The cluster.
pub struct Estate {
    admin: Client,
    kubeconfig: PathBuf,
    _server: Server,
}

/// How a run of the helper ended.
pub struct Ended {
    /// Exit status.
    pub status: Option<i32>,
    /// What it answered.
    pub printed: String,
    /// The same, and what it said beside.
    pub told: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let told = format!("{printed}{}", String::from_utf8_lossy(&output.stderr));
        Self { status: output.status.code(), printed, told }
    }
}

/// A helper that runs.
pub struct Running(Child);

impl Running {
    /// Waits until it has ended by itself.
    pub fn ended(mut self) -> Ended {
        let status = self.0.wait().unwrap();
        Ended { status: status.code(), printed: String::new(), told: String::new() }
    }

    /// Asks it to end, and waits for that.
    pub fn terminate(mut self) -> Option<i32> {
        kill(Pid::from_raw(i32::try_from(self.0.id()).unwrap()), Signal::SIGTERM).unwrap();
        self.0.wait().unwrap().code()
    }

    /// Ends it as a failing machine does.
    pub fn kill(mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Estate {
    /// A new one; nothing, loudly, where none can be had.
    pub async fn new() -> Option<Self> {
        let server = Server::start().await?;
        let estate = Self { admin: server.admin().await, kubeconfig: server.nobody(), _server: server };
        for kind in KINDS {
            estate.define(kind).await;
        }
        for name in [MAPI, CAPI, "openshift-config"] {
            estate.make("v1", "Namespace", None, json!({"metadata": {"name": name}})).await;
        }
        for object in MANIFESTS.iter().flat_map(|manifest| serde_saphyr::from_multiple::<Value>(manifest).unwrap()) {
            estate.apply(for_nobody(object)).await;
        }
        estate.furnish().await;
        Some(estate)
    }

    /// Makes what decisions are made on.
    async fn furnish(&self) {
        let config = "config.openshift.io/v1";
        let platform = json!({"metadata": {"name": "cluster"}, "status": {"platformStatus": {"type": "GCP"}}});
        self.make(config, "Infrastructure", None, platform).await;
        self.make(config, "ClusterVersion", None, json!({"metadata": {"name": "version"}})).await;
        self.release("Completed").await;
        let labels = json!({"node-role.kubernetes.io/master": "", "kubernetes.io/arch": "amd64"});
        self.make("v1", "Node", None, json!({"metadata": {"name": "m0", "labels": labels}})).await;
        let config = json!({"metadata": {"name": "cluster"}, "spec": {}});
        self.make("operator.openshift.io/v1", "MachineConfiguration", None, config).await;
        let pointer =
            r#"{"ignition":{"version":"2.2.0","config":{"append":[{"source":"https://x:22623/config/worker"}]}}}"#;
        self.user_data(MAPI, "worker-user-data", "userData", pointer).await;
        let map = json!({"metadata": {"name": "coreos-bootimages"}, "data": shipped("new")});
        self.make("v1", "ConfigMap", Some(MCO), map).await;
    }

    /// Objects of a kind, for one who may do everything.
    pub fn api(&self, version: &str, kind: &str, plural: &str, namespace: Option<&str>) -> Api<DynamicObject> {
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

    async fn apply(&self, object: Value) {
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        let types: &TypeMeta = object.types.as_ref().expect("apiVersion and kind");
        let resource = ApiResource::from_gvk(&types.try_into().unwrap());
        let api: Api<DynamicObject> = match object.namespace() {
            Some(namespace) => Api::namespaced_with(self.admin.clone(), &namespace, &resource),
            None => Api::all_with(self.admin.clone(), &resource),
        };
        api.patch(&object.name_any(), &PatchParams::apply("lab").force(), &Patch::Apply(&object)).await.unwrap();
    }

    /// Makes an object.
    pub async fn make(&self, version: &str, kind: &str, namespace: Option<&str>, mut object: Value) {
        let plural = format!("{}s", kind.to_lowercase());
        object["apiVersion"] = version.into();
        object["kind"] = kind.into();
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        let made = self.api(version, kind, &plural, namespace).create(&PostParams::default(), &object).await;
        made.unwrap_or_else(|error| panic!("{kind}: {error}"));
    }

    /// Makes a secret with user data.
    pub async fn user_data(&self, namespace: &str, name: &str, key: &str, text: &str) {
        let secret = json!({"metadata": {"name": name}, "stringData": {key: text}});
        self.make("v1", "Secret", Some(namespace), secret).await;
    }

    /// Makes a machine set.
    pub async fn set(&self, name: &str, image: &str) {
        self.set_with(name, image, "worker-user-data").await;
    }

    /// The same, with other user data.
    pub async fn set_with(&self, name: &str, image: &str, secret: &str) {
        let disk = json!({"boot": true, "image": image, "sizeGb": 128, "novel": {"x": [1]}});
        let spec = json!({"disks": [disk], "userDataSecret": {"name": secret}});
        let set = json!({"metadata": {"name": name, "labels": {"n": name}},
            "spec": {"replicas": 1, "template": {"metadata": {}, "spec": {"providerSpec": {"value": spec}}}}});
        self.make("machine.openshift.io/v1beta1", "MachineSet", Some(MAPI), set).await;
    }

    /// Machine sets.
    pub fn sets(&self) -> Api<DynamicObject> {
        self.api("machine.openshift.io/v1beta1", "MachineSet", "machinesets", Some(MAPI))
    }

    /// Changes a machine set as somebody else does.
    pub async fn change(&self, name: &str, change: Value) {
        self.sets().patch(name, &PatchParams::default(), &Patch::Merge(&change)).await.unwrap();
    }

    /// Puts another image into a machine set.
    pub async fn put(&self, name: &str, image: &str) {
        let disks = json!([{"boot": true, "image": image, "sizeGb": 128, "novel": {"x": [1]}}]);
        let value = json!({"disks": disks});
        self.change(name, json!({"spec": {"template": {"spec": {"providerSpec": {"value": value}}}}})).await;
    }

    /// The boot disk of a machine set.
    pub async fn disk(&self, name: &str) -> Value {
        let set = self.sets().get(name).await.unwrap();
        set.data["spec"]["template"]["spec"]["providerSpec"]["value"]["disks"][0].clone()
    }

    /// What the administrator chooses.
    pub async fn enrol(&self, selection: Value) {
        let managers = json!([{"resource": "machinesets", "apiGroup": "machine.openshift.io", "selection": selection}]);
        let patch = json!({"spec": {"managedBootImages": {"machineManagers": managers}}});
        let api = self.api("operator.openshift.io/v1", "MachineConfiguration", "machineconfigurations", None);
        api.patch("cluster", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    /// The status of the `MachineConfiguration`.
    pub async fn status(&self) -> Value {
        let api = self.api("operator.openshift.io/v1", "MachineConfiguration", "machineconfigurations", None);
        api.get("cluster").await.unwrap().data["status"].clone()
    }

    /// The condition of a type in it.
    pub async fn condition(&self, type_: &str) -> Value {
        let status = self.status().await;
        let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
        conditions.into_iter().find(|condition| condition["type"] == type_).unwrap_or_default()
    }

    /// Ships other boot images.
    pub async fn ship(&self, data: Value) {
        let api = self.api("v1", "ConfigMap", "configmaps", Some(MCO));
        let patch = Patch::Merge(json!({"data": data}));
        api.patch("coreos-bootimages", &PatchParams::default(), &patch).await.unwrap();
    }

    /// Says how far the release is.
    pub async fn release(&self, state: &str) {
        let api = self.api("config.openshift.io/v1", "ClusterVersion", "clusterversions", None);
        let history = json!([{"state": state, "version": "4.21.0"}, {"state": "Completed", "version": "4.12.7"}]);
        let status = json!({"status": {"desired": {"version": "4.21.0"}, "history": history}});
        api.patch("version", &PatchParams::default(), &Patch::Merge(&status)).await.unwrap();
    }

    /// The command, with the rights of the manifests.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ostler-cluster"));
        command.arg("bootimages").args(arguments).arg("--kubeconfig").arg(&self.kubeconfig).env("NO_COLOR", "1");
        command
    }

    /// Runs it to its end.
    pub fn run(&self, arguments: &[&str]) -> Ended {
        self.command(arguments).output().unwrap().into()
    }

    /// Runs it to its end in so many KiB of memory.
    pub fn run_in(&self, memory: usize, arguments: &[&str]) -> Ended {
        let whole = self.command(arguments);
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -d {memory} && exec \"$0\" \"$@\"")]).arg(whole.get_program());
        command.args(whole.get_args()).env("NO_COLOR", "1").output().unwrap().into()
    }

    /// Starts it.
    pub fn start(&self, arguments: &[&str]) -> Running {
        Running(self.command(arguments).spawn().unwrap())
    }

    /// What is decided, by name.
    pub fn decisions(&self) -> Vec<(String, String)> {
        let ended = self.run(&["plan", "-o", "json"]);
        let items: Vec<Value> = serde_json::from_str(&ended.printed).unwrap_or_else(|_| panic!("{}", ended.told));
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        items.iter().map(|item| (text(&item["name"]), text(&item["decision"]))).collect()
    }

    /// Waits until a machine set has an image.
    pub async fn gets(&self, name: &str, wanted: &str) {
        let start = Instant::now();
        while self.disk(name).await["image"] != wanted {
            assert!(start.elapsed() < Duration::from_secs(180), "{name} does not get {wanted}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// The rights are the account's; here a user stands in for it.
fn for_nobody(mut object: Value) -> Value {
    if object["kind"].as_str().is_some_and(|kind| kind.ends_with("Binding")) {
        object["subjects"] = json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "nobody"}]);
    }
    object
}

/// Boot images of a release.
pub fn shipped(name: &str) -> Value {
    let image = json!({"release": "9.6.20260101-0", "project": "rhcos-cloud", "name": name});
    let stream = json!({"stream": "rhel-9.6", "architectures": {"x86_64": {"images": {"gcp": image}}}});
    json!({"releaseVersion": "4.21.0", "stream": stream.to_string()})
}

/// An image by its name.
pub fn image(name: &str) -> String {
    format!("projects/rhcos-cloud/global/images/{name}")
}
