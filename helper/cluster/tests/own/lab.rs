//! A cluster with the helper's manifests, a release in files, and a user who has the helper's rights.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind, TypeMeta};
use kube::{Client, CustomResourceExt, ResourceExt};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ostler_core::api::{MachineConfig, MachineConfigPool};
use serde_json::{Value, json};

use crate::cluster::eventually;
use crate::cluster::server::Server;

const MANIFESTS: [&str; 2] = [
    include_str!("../../../../packaging/manifests/cluster-helper/rbac-observe.yaml"),
    include_str!("../../../../packaging/manifests/cluster-helper/rbac-own.yaml"),
];
const CRD: &str = include_str!("../../../../packaging/manifests/cluster-helper/crd.yaml");
const MCO: &str = "openshift-machine-config-operator";
/// The first minor version of Kubernetes 1 that evaluates rules.
const WITH_RULES: u32 = 25;

/// A cluster to own.
pub struct Lab {
    /// Streams, for one who may do everything.
    pub streams: Api<DynamicObject>,
    pools: Api<DynamicObject>,
    admin: Client,
    files: tempfile::TempDir,
    kubeconfig: PathBuf,
    _server: Server,
}

/// A helper that runs.
pub struct Replica(Child);

impl Replica {
    /// Ends it as a failing machine does.
    pub fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    /// Asks it to end, and waits for that.
    pub fn terminate(&mut self) {
        kill(Pid::from_raw(i32::try_from(self.0.id()).unwrap()), Signal::SIGTERM).unwrap();
        let start = Instant::now();
        while self.0.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < Duration::from_secs(180), "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.kill();
    }
}

/// An image by a digest made of its name.
pub fn image(part: &str, of: &str) -> String {
    let digest: String = of.bytes().chain(part.bytes()).map(|byte| format!("{byte:02x}")).collect();
    format!("registry.example.com/{part}-{of}@sha256:{digest:0<64}")
}

fn kind(group: &str, version: &str, kind: &str, plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
}

impl Lab {
    /// A new one; nothing, loudly, where none can be had.
    pub async fn start() -> Option<Self> {
        let server = Server::bare().await?;
        let admin = server.admin().await;
        let mco = |name: &str, plural: &str| kind("machineconfiguration.openshift.io", "v1", name, plural);
        let lab = Self {
            streams: Api::all_with(admin.clone(), &mco("OSImageStream", "osimagestreams")),
            pools: Api::all_with(admin.clone(), &mco("MachineConfigPool", "machineconfigpools")),
            files: tempfile::tempdir().unwrap(),
            kubeconfig: server.nobody(),
            admin,
            _server: server,
        };
        lab.define().await;
        for namespace in [MCO, "openshift-config"] {
            lab.apply(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})).await;
        }
        for manifest in MANIFESTS {
            for object in serde_saphyr::from_multiple::<Value>(manifest).unwrap() {
                lab.apply(for_nobody(object)).await;
            }
        }
        lab.first_pool().await;
        Some(lab)
    }

    async fn define(&self) {
        let version = self.admin.apiserver_version().await.unwrap();
        let minor: u32 = version.minor.trim_end_matches('+').parse().unwrap();
        let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let versions = json!([{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": open, "status": open}}}}]);
        let releases = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "clusterversions.config.openshift.io"},
            "spec": {"group": "config.openshift.io", "scope": "Cluster", "versions": versions, "names": {
                "kind": "ClusterVersion", "plural": "clusterversions", "singular": "clusterversion",
                "listKind": "ClusterVersionList"}},
        });
        let [pools, configs] =
            [MachineConfigPool::crd(), MachineConfig::crd()].map(|kind| serde_json::to_value(kind).unwrap());
        for mut definition in [serde_saphyr::from_str(CRD).unwrap(), configs, pools, releases] {
            if minor < WITH_RULES {
                without_rules(&mut definition);
            }
            self.apply(definition).await;
        }
        for api in [&self.streams, &self.pools, &self.releases()] {
            let start = Instant::now();
            while api.list(&ListParams::default()).await.is_err() {
                assert!(start.elapsed() < Duration::from_secs(180), "a kind is not served");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }

    fn releases(&self) -> Api<DynamicObject> {
        Api::all_with(self.admin.clone(), &kind("config.openshift.io", "v1", "ClusterVersion", "clusterversions"))
    }

    async fn apply(&self, object: Value) {
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        let types: &TypeMeta = object.types.as_ref().expect("apiVersion and kind");
        let resource = ApiResource::from_gvk(&types.try_into().unwrap());
        let api: Api<DynamicObject> = match object.namespace() {
            Some(namespace) => Api::namespaced_with(self.admin.clone(), &namespace, &resource),
            None => Api::all_with(self.admin.clone(), &resource),
        };
        let name = object.name_any();
        let applied = api.patch(&name, &PatchParams::apply("lab").force(), &Patch::Apply(&object)).await;
        applied.unwrap_or_else(|error| panic!("{name}: {error}"));
    }

    async fn first_pool(&self) {
        let pool = json!({"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
            "metadata": {"name": "worker"}, "spec": {}});
        self.pools.create(&PostParams::default(), &serde_json::from_value(pool).unwrap()).await.unwrap();
        let conditions = json!([{"type": "Updated", "status": "True", "reason": "", "message": ""}]);
        let status = json!({"status": {"conditions": conditions, "degradedMachineCount": 0, "machineCount": 1,
            "readyMachineCount": 1, "unavailableMachineCount": 0, "updatedMachineCount": 1}});
        self.pools.patch_status("worker", &PatchParams::default(), &Patch::Merge(&status)).await.unwrap();
    }

    /// Makes the cluster want a release.
    pub async fn release(&self, image: &str, version: &str) {
        let object = json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion",
            "metadata": {"name": "version"}, "spec": {}});
        self.apply(object).await;
        let history = json!([{"state": "Completed", "version": "4.20.0", "completionTime": "2026-01-01T00:00:00Z"}]);
        let status = json!({"status": {"desired": {"image": image, "version": version}, "history": history}});
        self.releases().patch_status("version", &PatchParams::default(), &Patch::Merge(&status)).await.unwrap();
    }

    /// Puts a release with streams into files.
    pub fn images(&self, release: &str, streams: &[&str]) {
        let (mut tags, mut labels) = (Vec::new(), serde_json::Map::new());
        for (number, stream) in streams.iter().enumerate() {
            for (part, mark) in [("os", "containers.bootc"), ("ext", "io.openshift.os.extensions")] {
                let image = image(part, &format!("{release}-{number}"));
                labels.insert(image.clone(), json!({"io.openshift.os.streamclass": stream, mark: "true"}));
                tags.push(json!({"name": format!("rhel-coreos-{number}-{part}"), "from": {"kind": "DockerImage", "name": image}}));
            }
        }
        let references = json!({"apiVersion": "image.openshift.io/v1", "kind": "ImageStream", "spec": {"tags": tags}});
        fs::write(self.files.path().join("references"), references.to_string()).unwrap();
        fs::write(self.files.path().join("labels"), Value::Object(labels).to_string()).unwrap();
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ostler-cluster"));
        command.args(words).arg("--kubeconfig").arg(&self.kubeconfig).env("NO_COLOR", "1");
        if words.contains(&"run") {
            command.arg("--image-references").arg(self.files.path().join("references"));
            command.arg("--image-labels").arg(self.files.path().join("labels"));
        }
        command
    }

    /// Runs the helper to its end.
    pub fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    /// One turn of the owner.
    pub fn own(&self) -> Output {
        self.run(&["streams", "run", "--own", "--once"])
    }

    /// What it said beside its answer.
    pub fn said(&self, output: &Output) -> String {
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// A helper that goes on running.
    pub fn replica(&self, name: &str) -> Replica {
        let words = ["streams", "run", "--own", "--interval", "1", "--lease-seconds", "3", "--identity", name];
        Replica(self.command(&words).spawn().unwrap())
    }

    /// Who holds the Lease.
    pub async fn holder(&self) -> Option<String> {
        let leases: Api<k8s_openapi::api::coordination::v1::Lease> = Api::namespaced(self.admin.clone(), MCO);
        let lease = leases.get_opt("ostler-cluster-streams").await.unwrap()?;
        lease.spec?.holder_identity.filter(|holder| !holder.is_empty())
    }

    /// The object, if there is one.
    pub async fn stream(&self) -> Option<Value> {
        self.streams.get_opt("cluster").await.unwrap().map(|object| serde_json::to_value(object).unwrap())
    }

    /// The pool.
    pub async fn pool(&self) -> Value {
        serde_json::to_value(self.pools.get("worker").await.unwrap()).unwrap()
    }

    /// Changes the object as an administrator does.
    pub async fn change(&self, change: Value) {
        self.streams.patch("cluster", &PatchParams::default(), &Patch::Merge(&change)).await.unwrap();
    }

    /// Writes the policy of streams.
    pub async fn policy(&self, text: &str) {
        self.apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"policy.yaml": text},
            "metadata": {"name": "ostler-os-stream-policy", "namespace": MCO}}))
            .await;
    }

    /// Makes the pool report a stream, as its controller does.
    pub async fn reports(&self, stream: &str) {
        let status = json!({"status": {"osImageStream": {"name": stream}}});
        self.pools.patch_status("worker", &PatchParams::default(), &Patch::Merge(&status)).await.unwrap();
    }

    /// Defines pools with or without streams, as the feature gate has it.
    pub async fn gate_streams(&self, on: bool) {
        let mut definition = serde_json::to_value(MachineConfigPool::crd()).unwrap();
        without_rules(&mut definition);
        let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
        let fields = definition.pointer_mut(spec).unwrap().as_object_mut().unwrap();
        assert!(on || fields.remove("osImageStream").is_some());
        self.apply(definition).await;
        let dry_run = PatchParams { dry_run: true, ..PatchParams::default() };
        let patch = Patch::Merge(json!({"spec": {"osImageStream": {"name": "rhel-9"}}}));
        eventually("the definition is in force", || async {
            let pool = self.pools.patch("worker", &dry_run, &patch).await.unwrap();
            pool.data.pointer("/spec/osImageStream/name").is_some() == on
        })
        .await;
    }

    /// Gives the helper's user what an administrator has.
    pub async fn let_change_pools(&self) {
        let api = "rbac.authorization.k8s.io";
        let rules = json!([{"apiGroups": ["machineconfiguration.openshift.io"], "resources": ["machineconfigpools"], "verbs": ["patch"]}]);
        self.apply(json!({"apiVersion": format!("{api}/v1"), "kind": "ClusterRole", "metadata": {"name": "pools"}, "rules": rules})).await;
        self.apply(
            json!({"apiVersion": format!("{api}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": "pools"},
            "roleRef": {"apiGroup": api, "kind": "ClusterRole", "name": "pools"},
            "subjects": [{"apiGroup": api, "kind": "User", "name": "nobody"}]}),
        )
        .await;
    }
}

/// The rights are the account's; here a user stands in for it.
fn for_nobody(mut object: Value) -> Value {
    if object["kind"].as_str().is_some_and(|kind| kind.ends_with("Binding")) {
        object["subjects"] = json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "nobody"}]);
    }
    object
}

fn without_rules(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("x-kubernetes-validations");
            fields.values_mut().for_each(without_rules);
        }
        Value::Array(items) => items.iter_mut().for_each(without_rules),
        _ => {}
    }
}
