//! A small cluster in order, as objects that a case may spoil; saved as a directory, or served as an API.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use http::{Request, Response};
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::cli::{ClusterOptions, ReleaseOptions};
use crate::commands::preflight::release::{Release, releases};
use crate::source::{Live, Source};

const MACHINE_CONFIG: &str = "machineconfiguration.openshift.io/v1";
const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// The cluster, and the release it is to be updated to.
pub struct Fixture {
    objects: Vec<Value>,
    references: Value,
    labels: Value,
}

/// The image of a stream.
pub fn image(name: &str) -> String {
    format!("quay.io/openshift/{name}@{DIGEST}")
}

impl Fixture {
    /// Three control-plane nodes and two workers, all updated, on a release with two streams; the target has both, too.
    pub fn in_order() -> Self {
        let mut objects = vec![
            json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
            "status": {"desired": {"version": "4.21.5", "image": "quay.io/release@sha256:1"}, "history": [
                {"state": "Completed", "version": "4.21.5", "completionTime": "2026-05-01T00:00:00Z"},
                {"state": "Completed", "version": "4.20.1", "completionTime": "2026-01-01T00:00:00Z"},
            ]}}),
            json!({"apiVersion": "operator.openshift.io/v1", "kind": "MachineConfiguration",
                "metadata": {"name": "cluster"}, "spec": {}, "status": {
                    "bootImageSkewEnforcementStatus": {"mode": "Automatic", "automatic": {"ocpVersion": "4.21.5"}},
                    "conditions": [{"type": "BootImageUpdateProgressing", "status": "False", "reason": "ClusterVersionStable"},
                        {"type": "BootImageUpdateDegraded", "status": "False"}]}}),
            json!({"apiVersion": "config.openshift.io/v1", "kind": "Infrastructure", "metadata": {"name": "cluster"},
                "status": {"controlPlaneTopology": "HighlyAvailable", "platformStatus": {"type": "GCP"}}}),
            boot_images(),
            machine_set("worker"),
            user_data("worker", "3.5.0"),
            json!({"apiVersion": MACHINE_CONFIG, "kind": "OSImageStream", "metadata": {"name": "cluster"},
                "spec": {"defaultStream": "rhel-9"},
                "status": {"defaultStream": "rhel-9", "availableStreams": [stream("rhel-9"), stream("rhel-10")]}}),
        ];
        for (pool, nodes) in [("master", 3), ("worker", 2)] {
            objects.push(machine_pool(pool, nodes));
            objects.push(rendered(pool));
            for number in 0..nodes {
                let name = format!("{pool}-{number}");
                objects.push(node(&name, pool));
                objects.push(json!({"apiVersion": MACHINE_CONFIG, "kind": "MachineConfigNode",
                    "metadata": {"name": name}, "spec": {"pool": {"name": pool}},
                    "status": {"conditions": [{"type": "Updated", "status": "True"}]}}));
            }
        }
        let mut fixture = Self { objects, references: Value::Null, labels: json!({}) };
        fixture.offer(&["rhel-9", "rhel-10"]);
        fixture
    }

    /// Makes the target have these streams.
    pub fn offer(&mut self, streams: &[&str]) {
        let mut tags = Vec::new();
        self.labels = json!({});
        for stream in streams {
            for (half, label) in [("coreos", "containers.bootc"), ("coreos-extensions", "io.openshift.os.extensions")] {
                let from = image(&format!("{stream}-{half}-target"));
                tags.push(json!({"name": format!("{stream}-{half}"), "from": {"kind": "DockerImage", "name": from}}));
                self.labels[from] = json!({"io.openshift.os.streamclass": stream, label: "true"});
            }
        }
        self.references = json!({"apiVersion": "image.openshift.io/v1", "kind": "ImageStream",
            "metadata": {"name": "4.22.0"}, "spec": {"tags": tags}});
    }

    /// Makes nobody know the labels of the target's images.
    pub fn forget_labels(&mut self) {
        self.labels = json!({});
    }

    /// An object.
    pub fn object(&mut self, kind: &str, name: &str) -> &mut Value {
        let is = |object: &&mut Value| object["kind"] == kind && object["metadata"]["name"] == name;
        self.objects.iter_mut().find(is).unwrap_or_else(|| panic!("there is no {kind} {name}"))
    }

    /// Whether there is such an object.
    pub fn has(&self, kind: &str, name: &str) -> bool {
        self.objects.iter().any(|object| object["kind"] == kind && object["metadata"]["name"] == name)
    }

    /// Adds an object.
    pub fn add(&mut self, object: Value) {
        self.objects.push(object);
    }

    /// A directory of it.
    pub async fn saved(&self) -> (tempfile::TempDir, Source) {
        let directory = tempfile::tempdir().unwrap();
        let list = json!({"apiVersion": "v1", "kind": "List", "items": self.objects});
        fs::write(directory.path().join("objects.json"), list.to_string()).unwrap();
        let options = ClusterOptions { from_dir: Some(directory.path().to_owned()), ..ClusterOptions::default() };
        let source = Source::open(&options).await.unwrap();
        (directory, source)
    }

    /// The target release, from files as a person would name them.
    pub async fn release(&self) -> Release {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str, value: &Value| {
            let path = directory.path().join(name);
            fs::write(&path, value.to_string()).unwrap();
            vec![path]
        };
        let options = ReleaseOptions {
            target_image_references: file("image-references", &self.references),
            target_image_labels: file("labels.json", &self.labels),
            target_bootimages: file("bootimages.json", &boot_images()),
            ..ReleaseOptions::default()
        };
        let (_saved, source) = self.saved().await;
        releases(&options, 1, &source, Instant::now() + Duration::from_secs(30)).await.unwrap().remove(0)
    }

    /// An API of it. What `fault` answers for a path counts first; `None` as a status is an answer that never comes.
    pub fn served(self, fault: fn(&str) -> Option<Fault>) -> Source {
        let objects = Arc::new(self.objects);
        let service = tower::service_fn(move |request: Request<Body>| {
            let objects = Arc::clone(&objects);
            async move {
                let path = request.uri().path().to_owned();
                let (status, body) = match fault(&path) {
                    Some(Fault::Silence) => std::future::pending().await,
                    Some(Fault::Status(status)) => (status, failure(status)),
                    Some(Fault::UnknownKind) => (404, "404 page not found".to_owned()),
                    None => answer(&objects, &path),
                };
                let response = Response::builder().status(status).body(Body::from(body.into_bytes())).unwrap();
                Ok::<_, std::convert::Infallible>(response)
            }
        });
        Source::Live(Live::reading(service))
    }
}

/// What goes wrong with an API.
#[derive(Clone, Copy)]
pub enum Fault {
    /// It never answers.
    Silence,
    /// It answers with a status.
    Status(u16),
    /// It does not know the kind.
    UnknownKind,
}

fn failure(code: u16) -> String {
    json!({"status": "Failure", "code": code, "message": "words"}).to_string()
}

fn answer(objects: &[Value], path: &str) -> (u16, String) {
    let plural = |object: &Value| format!("{}s", object["kind"].as_str().unwrap().to_ascii_lowercase());
    let parts: Vec<&str> = path.split('/').collect();
    let (last, before) = (parts[parts.len() - 1], parts[parts.len() - 2]);
    if let Some(found) = objects.iter().find(|object| plural(object) == before && object["metadata"]["name"] == last) {
        return (200, found.to_string());
    }
    let known = ["v1", "v1alpha1"].contains(&before) || parts.get(parts.len() - 3) == Some(&"namespaces");
    if known {
        let items: Vec<&Value> = objects.iter().filter(|object| plural(object) == last).collect();
        return (200, json!({"metadata": {}, "items": items}).to_string());
    }
    (404, json!({"status": "Failure", "code": 404, "message": "none", "details": {"name": last}}).to_string())
}

/// Boot images of one stream, on one platform.
fn boot_images() -> Value {
    let gcp = json!({"release": "9.6.20260101-0", "project": "rhcos-cloud", "name": "rhcos-9-6"});
    let stream = json!({"stream": "rhel-9.6", "architectures": {"x86_64": {"images": {"gcp": gcp}}}});
    json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "coreos-bootimages", "namespace": "openshift-machine-config-operator"},
        "data": {"releaseVersion": "4.21.5", "stream": stream.to_string()}})
}

fn machine_set(name: &str) -> Value {
    let image = "projects/rhcos-cloud/global/images/rhcos-9-6";
    let spec =
        json!({"disks": [{"boot": true, "image": image}], "userDataSecret": {"name": format!("{name}-user-data")}});
    json!({"apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet",
        "metadata": {"name": name, "namespace": "openshift-machine-api"},
        "spec": {"template": {"spec": {"providerSpec": {"value": spec}}}}})
}

/// What new machines of a pool are told, of an Ignition version.
pub fn user_data(pool: &str, version: &str) -> Value {
    let (key, url) =
        (if version.starts_with('3') { "merge" } else { "append" }, format!("https://api:22623/config/{pool}"));
    let stub = json!({"ignition": {"version": version, "config": {key: [{"source": url}]}}});
    let encoded = base64::engine::general_purpose::STANDARD.encode(stub.to_string());
    json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": format!("{pool}-user-data"), "namespace": "openshift-machine-api"},
        "data": {"userData": encoded}})
}

fn stream(name: &str) -> Value {
    json!({"name": name, "osImage": image(&format!("{name}-coreos")), "osExtensionsImage": image(&format!("{name}-ext"))})
}

fn machine_pool(name: &str, nodes: usize) -> Value {
    let config = json!({"name": format!("rendered-{name}"), "source": [{"name": format!("00-{name}")}]});
    json!({"apiVersion": MACHINE_CONFIG, "kind": "MachineConfigPool", "metadata": {"name": name},
        "spec": {"configuration": config, "nodeSelector": {"matchLabels": {format!("node-role.kubernetes.io/{name}"): ""}}},
        "status": {"configuration": config, "machineCount": nodes, "updatedMachineCount": nodes,
            "osImageStream": {"name": "rhel-9"},
            "conditions": [{"type": "Updated", "status": "True"}, {"type": "Degraded", "status": "False"}]}})
}

fn rendered(pool: &str) -> Value {
    json!({"apiVersion": MACHINE_CONFIG, "kind": "MachineConfig", "metadata": {"name": format!("rendered-{pool}")},
        "spec": {"osImageURL": image("rhel-9-coreos"), "config": {"ignition": {"version": "3.5.0"}}}})
}

fn node(name: &str, pool: &str) -> Value {
    let key = |word: &str| format!("machineconfiguration.openshift.io/{word}");
    let config = format!("rendered-{pool}");
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {format!("node-role.kubernetes.io/{pool}"): "", "kubernetes.io/arch": "amd64"},
            "annotations": {key("currentConfig"): config, key("desiredConfig"): config, key("state"): "Done"}},
        "status": {"conditions": [{"type": "Ready", "status": "True"}],
            "nodeInfo": {"kernelVersion": "5.14.0-570.el9.x86_64", "architecture": "amd64"}}})
}
