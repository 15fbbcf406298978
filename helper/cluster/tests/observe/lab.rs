//! A cluster with the kinds that are read, and a user who has the rights of the helper's manifests for looking.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use kube::Client;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind, TypeMeta};
use kube::{Error, ResourceExt};
use serde_json::{Value, json};

use crate::cluster::audit::Request;
use crate::cluster::eventually;
use crate::cluster::server::{Server, client};

/// What the helper may do while it looks.
pub const MANIFESTS: [&str; 2] = [
    include_str!("../../../../packaging/manifests/cluster-helper/rbac-observe.yaml"),
    include_str!("../../../../packaging/manifests/cluster-helper/rbac-user-data.yaml"),
];
const MCO: &str = "machineconfiguration.openshift.io";
/// Who looks.
const USER: &str = "nobody";

/// Kinds that are there: group, version, kind, plural, and whether in namespaces. Those of the Cluster API and of bare metal
/// are not, as in most clusters.
const KINDS: [(&str, &str, &str, &str, bool); 11] = [
    (MCO, "v1", "MachineConfigPool", "machineconfigpools", false),
    (MCO, "v1", "MachineConfig", "machineconfigs", false),
    (MCO, "v1", "MachineConfigNode", "machineconfignodes", false),
    (MCO, "v1", "MachineOSConfig", "machineosconfigs", false),
    (MCO, "v1", "ControllerConfig", "controllerconfigs", false),
    (MCO, "v1", "OSImageStream", "osimagestreams", false),
    ("operator.openshift.io", "v1", "MachineConfiguration", "machineconfigurations", false),
    ("config.openshift.io", "v1", "ClusterVersion", "clusterversions", false),
    ("config.openshift.io", "v1", "Infrastructure", "infrastructures", false),
    ("machine.openshift.io", "v1beta1", "MachineSet", "machinesets", true),
    ("machine.openshift.io", "v1", "ControlPlaneMachineSet", "controlplanemachinesets", true),
];

/// The cluster.
pub struct Lab {
    server: Server,
    admin: Client,
    files: tempfile::TempDir,
}

/// A command that goes on; it ends with its owner.
pub struct Watcher(Child);

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a command took.
pub struct Cost {
    /// What it printed, and how it ended.
    pub output: Output,
    /// How long it ran.
    pub time: Duration,
    /// The most memory that it had, in bytes.
    pub memory: u64,
}

impl Lab {
    /// A new one, in which the user may do nothing yet; nothing, loudly, where none can be had.
    pub async fn start() -> Option<Self> {
        let server = Server::bare().await?;
        let admin = server.admin().await;
        let lab = Self { server, admin, files: tempfile::tempdir().unwrap() };
        for kind in KINDS {
            lab.define(kind).await;
        }
        for name in ["openshift-machine-config-operator", "openshift-machine-api", "openshift-config"] {
            lab.make(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})).await;
        }
        Some(lab)
    }

    async fn define(&self, (group, version, kind, plural, namespaced): (&str, &str, &str, &str, bool)) {
        let scope = if namespaced { "Namespaced" } else { "Cluster" };
        let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        self.make(json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{group}")},
            "spec": {"group": group, "scope": scope,
                "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase(), "listKind": format!("{kind}List")},
                "versions": [{"name": version, "served": true, "storage": true, "schema": {"openAPIV3Schema": open}}]}}))
            .await;
        let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
        let api: Api<DynamicObject> = Api::all_with(self.admin.clone(), &resource);
        eventually(kind, || async { api.list(&ListParams::default().limit(1)).await.is_ok() }).await;
    }

    fn api(&self, object: &DynamicObject) -> Api<DynamicObject> {
        let types: &TypeMeta = object.types.as_ref().expect("apiVersion and kind");
        let resource = ApiResource::from_gvk(&types.try_into().unwrap());
        match object.namespace() {
            Some(namespace) => Api::namespaced_with(self.admin.clone(), &namespace, &resource),
            None => Api::all_with(self.admin.clone(), &resource),
        }
    }

    /// Makes an object.
    pub async fn make(&self, object: Value) {
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        let made = self.api(&object).create(&PostParams::default(), &object).await;
        made.unwrap_or_else(|error| panic!("{}: {error}", object.name_any()));
    }

    /// Gives the user the rights of the manifests.
    pub async fn allow(&self) {
        for manifest in MANIFESTS {
            for mut object in serde_saphyr::from_multiple::<Value>(manifest).unwrap() {
                // The rights are the account's; here a user stands in for it.
                if object["kind"].as_str().is_some_and(|kind| kind.ends_with("Binding")) {
                    object["subjects"] =
                        json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": USER}]);
                }
                let object: DynamicObject = serde_json::from_value(object).unwrap();
                let name = object.name_any();
                let by = PatchParams::apply("lab").force();
                self.api(&object).patch(&name, &by, &Patch::Apply(&object)).await.unwrap();
            }
        }
        // The server learns of rights as everybody learns of objects.
        for path in ["/api/v1/nodes/x", "/api/v1/namespaces/openshift-machine-api/secrets/worker-user-data"] {
            eventually(path, || async { self.try_to("GET", path).await != 403 }).await;
        }
    }

    /// The status that the server answers the user with.
    pub async fn try_to(&self, method: &str, path: &str) -> u16 {
        let body = if ["DELETE", "GET"].contains(&method) { Vec::new() } else { b"{}".to_vec() };
        let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let request = hyper::Request::builder().method(method).uri(path).header("Content-Type", kind).body(body);
        match client(&self.server.nobody()).await.request_text(request.unwrap()).await {
            Ok(_) => 200,
            Err(Error::Api(status)) => status.code,
            Err(error) => panic!("{method} {path}: {error}"),
        }
    }

    /// What the user has asked so far.
    pub fn asked(&self) -> Vec<Request> {
        self.server.requests_by(USER)
    }

    /// Puts a release with one stream into files, and names them as the command line does.
    pub fn release(&self) -> Vec<String> {
        let (mut tags, mut labels) = (Vec::new(), serde_json::Map::new());
        for (image, part) in [("os", "containers.bootc"), ("ext", "io.openshift.os.extensions")] {
            tags.push(json!({"name": format!("rhel-coreos-{image}"), "from": {"kind": "DockerImage", "name": image}}));
            labels.insert(image.to_owned(), json!({"io.openshift.os.streamclass": "rhel-9", part: "true"}));
        }
        let references = json!({"apiVersion": "image.openshift.io/v1", "kind": "ImageStream", "spec": {"tags": tags}});
        let file = |name: &str, value: &Value| {
            let path: PathBuf = self.files.path().join(name);
            fs::write(&path, value.to_string()).unwrap();
            path.display().to_string()
        };
        let (references, labels) = (file("references", &references), file("labels", &json!(labels)));
        ["--target-image-references", &references, "--target-image-labels", &labels].map(str::to_owned).into()
    }

    /// Runs the command as the user, to its end.
    pub fn run(&self, words: &[&str]) -> Cost {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ostler-cluster"));
        command.args(words).arg("--kubeconfig").arg(self.server.nobody()).env("NO_COLOR", "1");
        let begin = Instant::now();
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let status = format!("/proc/{}/status", child.id());
        let watched = std::thread::spawn(move || peak(&status));
        let output = child.wait_with_output().unwrap();
        let time = begin.elapsed();
        Cost { output, time, memory: watched.join().unwrap() }
    }

    /// A preflight that goes on, and where it writes.
    pub fn watch(&self) -> (Watcher, PathBuf) {
        let result = self.files.path().join("result.json");
        let mut command = Command::new(env!("CARGO_BIN_EXE_ostler-cluster"));
        command.args(["preflight", "--target-version", "4.22.0", "--watch", "--output"]).arg(&result);
        command.args(self.release()).arg("--kubeconfig").arg(self.server.nobody());
        (Watcher(command.stdout(Stdio::null()).spawn().unwrap()), result)
    }

    /// Changes an object as its owner does.
    pub async fn change(&self, version: &str, kind: &str, name: &str, change: Value) {
        let object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": name}});
        let api = self.api(&serde_json::from_value(object).unwrap());
        api.patch(name, &PatchParams::default(), &Patch::Merge(&change)).await.unwrap();
    }

    /// The document of a preflight.
    pub fn preflight(&self) -> (Value, Cost) {
        let release = self.release();
        let words = ["preflight", "--target-version", "4.22.0"].into_iter().chain(release.iter().map(String::as_str));
        let cost = self.run(&words.collect::<Vec<_>>());
        assert_eq!(cost.output.status.code(), Some(0), "{:?}", cost.output);
        (serde_json::from_slice(&cost.output.stdout).unwrap(), cost)
    }
}

/// The high-water mark of a process; the kernel keeps it, so that only what comes in the last moment is missed.
fn peak(status: &str) -> u64 {
    let mut most = 0;
    while let Ok(text) = fs::read_to_string(status) {
        let mark = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kibibytes = mark.and_then(|mark| mark.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
        // A process that has ended and is not waited for yet has none.
        let Some(kibibytes) = kibibytes else { break };
        most = most.max(kibibytes * 1024);
        std::thread::sleep(Duration::from_millis(2));
    }
    most
}
