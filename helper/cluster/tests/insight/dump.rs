//! A must-gather of a small cluster in order, in YAML and in the directories that `oc adm must-gather` makes, and a target
//! release in files.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// A directory with `must-gather`, `references` and `labels` in it.
pub struct Dump(tempfile::TempDir);

const GATHERED: &str = "must-gather/registry-example-com-must-gather-sha256-1";

impl Dump {
    /// Three control-plane nodes and three workers, all updated.
    pub fn in_order() -> Self {
        let dump = Self(tempfile::tempdir().unwrap());
        dump.release();
        dump.object("config.openshift.io/clusterversions/version", VERSION);
        dump.object("config.openshift.io/infrastructures/cluster", INFRASTRUCTURE);
        dump.object("machineconfiguration.openshift.io/osimagestreams/cluster", STREAMS);
        for pool in ["master", "worker"] {
            dump.pool(pool, &format!("rendered-{pool}-1"), false);
            dump.config(&format!("rendered-{pool}-1"));
            for number in 0..3 {
                let config = format!("rendered-{pool}-1");
                dump.node(pool, number, (&config, &config, "Done"), "");
            }
        }
        // Logs and other things that are no objects lie about everywhere.
        fs::write(dump.path().join(GATHERED).join("must-gather.log"), "kind: Node\n").unwrap();
        fs::write(dump.path().join(GATHERED).join("version"), "openshift/must-gather\n4.21.5\n").unwrap();
        dump
    }

    /// Where all of it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// A place among the resources of the cluster.
    pub fn resource(&self, name: &str) -> PathBuf {
        self.path().join(GATHERED).join("cluster-scoped-resources").join(name)
    }

    fn object(&self, name: &str, text: &str) {
        let path = self.resource(name).with_extension("yaml");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // Somebody may be reading the directory.
        let beside = path.with_extension("new");
        fs::write(&beside, format!("---\n{text}")).unwrap();
        fs::rename(beside, path).unwrap();
    }

    fn in_namespace(&self, name: &str, text: &str) {
        let path = self.path().join(GATHERED).join("namespaces").join(name).with_extension("yaml");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("---\n{text}")).unwrap();
    }

    fn pool(&self, name: &str, target: &str, paused: bool) {
        let reached = format!("rendered-{name}-1");
        let updated = if target == reached { ("True", 3) } else { ("False", 1) };
        let text = format!(
            "apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata:
  creationTimestamp: 2025-01-01T00:00:00Z
  name: {name}
spec:
  configuration:
    name: {target}
    source: []
  nodeSelector:
    matchLabels:
      node-role.kubernetes.io/{name}: \"\"
  paused: {paused}
status:
  conditions:
  - {{lastTransitionTime: \"2026-01-01T00:00:00Z\", message: \"\", reason: \"\", status: \"{}\", type: Updated}}
  configuration: {{name: {reached}}}
  machineCount: 3
  updatedMachineCount: {}
",
            updated.0, updated.1
        );
        self.object(&format!("machineconfiguration.openshift.io/machineconfigpools/{name}"), &text);
    }

    fn config(&self, name: &str) {
        let text = format!(
            "apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata: {{name: {name}}}
spec:
  config:
    ignition: {{version: 3.5.0}}
  osImageURL: os-9@sha256:1
"
        );
        self.object(&format!("machineconfiguration.openshift.io/machineconfigs/{name}"), &text);
    }

    fn node(&self, pool: &str, number: u8, (current, desired, state): (&str, &str, &str), drain: &str) {
        let text = format!(
            "apiVersion: v1
kind: Node
metadata:
  annotations:
    machineconfiguration.openshift.io/currentConfig: {current}
    machineconfiguration.openshift.io/desiredConfig: {desired}
    machineconfiguration.openshift.io/desiredDrain: \"{drain}\"
    machineconfiguration.openshift.io/state: {state}
  creationTimestamp: \"2025-01-0{}T00:00:00Z\"
  labels:
    kubernetes.io/arch: amd64
    node-role.kubernetes.io/{pool}:
  name: {pool}-{number}
status:
  conditions:
  - {{status: \"True\", type: Ready}}
  nodeInfo: {{architecture: amd64, kernelVersion: 5.14.0-570.el9.x86_64}}
",
            number + 1
        );
        self.object(&format!("core/nodes/{pool}-{number}"), &text);
    }

    fn release(&self) {
        let (mut tags, mut labels) = (Vec::new(), serde_json::Map::new());
        for (image, part) in [("os-9", "containers.bootc"), ("ext-9", "io.openshift.os.extensions")] {
            tags.push(json!({"name": format!("rhel-coreos-{image}"), "from": {"kind": "DockerImage", "name": image}}));
            labels.insert(image.to_owned(), json!({"io.openshift.os.streamclass": "rhel-9", part: "true"}));
        }
        let references = json!({"apiVersion": "image.openshift.io/v1", "kind": "ImageStream",
            "metadata": {"name": "4.22.0"}, "spec": {"tags": tags}});
        fs::write(self.path().join("references"), references.to_string()).unwrap();
        fs::write(self.path().join("labels"), json!(labels).to_string()).unwrap();
    }

    /// Pauses a pool, or lets it go on.
    pub fn pause(&self, pool: &str, paused: bool) {
        self.pool(pool, &format!("rendered-{pool}-1"), paused);
    }

    /// Gives the stream of all pools an end: deprecated in the next release, removed two after that.
    pub fn deprecate(&self) {
        let text = "apiVersion: v1
kind: ConfigMapList
items:
- metadata: {name: ostler-os-stream-policy, namespace: openshift-machine-config-operator}
  data:
    policy.yaml: |
      streams:
      - {name: rhel-9, deprecatedIn: '4.22', removedIn: '4.24', successor: rhel-10}
";
        self.in_namespace("openshift-machine-config-operator/core/configmaps", text);
    }

    /// Puts the cluster on AWS, with a machine set of an AMI and with boot images of its own.
    pub fn on_aws(&self, ami: &str, boot_images: &Value) {
        self.object("config.openshift.io/infrastructures/cluster", &INFRASTRUCTURE.replace("BareMetal", "AWS"));
        let text = format!(
            "apiVersion: machine.openshift.io/v1beta1
kind: MachineSet
metadata: {{name: workers, namespace: openshift-machine-api}}
spec:
  template:
    spec:
      providerSpec:
        value:
          ami: {{id: {ami}}}
          placement: {{region: eu-1}}
          userDataSecret: {{name: worker-user-data}}
"
        );
        self.in_namespace("openshift-machine-api/machine.openshift.io/machinesets/workers", &text);
        let pointer = r#"{\"ignition\": {\"version\": \"3.5.0\"}}"#;
        let secret = format!(
            "apiVersion: v1
kind: Secret
metadata: {{name: worker-user-data, namespace: openshift-machine-api}}
stringData: {{userData: \"{pointer}\"}}
"
        );
        self.in_namespace("openshift-machine-api/core/secrets/worker-user-data", &secret);
        self.in_namespace("openshift-machine-config-operator/core/configmaps", &boot_images.to_string());
    }

    /// Lets a registry be without TLS.
    pub fn allow_insecure(&self, host: &str) {
        let text = format!(
            "apiVersion: config.openshift.io/v1
kind: Image
metadata: {{name: cluster}}
spec:
  registrySources: {{insecureRegistries: [\"{host}\"]}}
"
        );
        self.object("config.openshift.io/images/cluster", &text);
    }

    /// Puts an update of the workers under way: one drains and is kept by a budget, one waits, one is done.
    pub fn roll_out(&self) {
        let (old, new) = ("rendered-worker-1", "rendered-worker-2");
        self.config(new);
        self.pool("worker", new, false);
        self.node("worker", 0, (old, new, "Working"), "drain-rendered-worker-2");
        self.node("worker", 1, (old, old, "Done"), "");
        self.node("worker", 2, (new, new, "Done"), "");
        self.in_namespace("shop/core/pods", PODS);
        self.in_namespace("shop/policy/poddisruptionbudgets", BUDGETS);
    }
}

const VERSION: &str = "apiVersion: config.openshift.io/v1
kind: ClusterVersion
metadata: {name: version}
status:
  desired: {version: 4.21.5, image: release@sha256:1}
  history:
  - {state: Completed, version: 4.21.5, completionTime: \"2026-01-01T00:00:00Z\"}
";

const INFRASTRUCTURE: &str = "apiVersion: config.openshift.io/v1
kind: Infrastructure
metadata: {name: cluster}
status:
  controlPlaneTopology: HighlyAvailable
  platformStatus: {type: BareMetal}
";

const STREAMS: &str = "apiVersion: machineconfiguration.openshift.io/v1
kind: OSImageStream
metadata: {name: cluster}
spec: {defaultStream: rhel-9}
status:
  defaultStream: rhel-9
  availableStreams:
  - {name: rhel-9, osImage: os-9@sha256:1, osExtensionsImage: ext-9@sha256:1}
";

const PODS: &str = "apiVersion: v1
kind: PodList
items:
- metadata: {name: db-0, namespace: shop, labels: {app: db}}
  spec: {nodeName: worker-0}
  status:
    phase: Running
    conditions:
    - {type: Ready, status: \"True\"}
- metadata: {name: web, namespace: shop, labels: {app: web}}
  spec: {nodeName: worker-0}
  status: {phase: Running}
";

const BUDGETS: &str = "apiVersion: policy/v1
kind: PodDisruptionBudgetList
items:
- metadata: {name: db, namespace: shop}
  spec:
    selector: {matchLabels: {app: db}}
  status: {disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1}
";
