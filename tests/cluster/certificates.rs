//! Certificates and credentials that a cluster hands to its nodes, from the object to the files.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::{ConfigMap, Event};
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::ApiResource;
use kube::{Client, ResourceExt};
use ostler_core::api::ControllerConfig;
use ostler_core::certificates::{
    BOOTSTRAP_KUBECONFIG, CLOUD_CA, KUBELET_CA, KUBELET_KUBECONFIG, PULL_SECRET, authority,
};
use serde_json::{Value, json};

use super::agent::{Subject, with_file};
use super::cluster::controller::{Controller, PREFIX, annotation};
use super::cluster::eventually;
use super::cluster::manifests::NAMESPACE;
use super::cluster::server::Server;
use super::sandbox::forms;

/// A file whose change takes neither a drain nor a restart.
const QUIET: &str = "/var/lib/kubelet/config.json";
const NAME: &str = "machine-config-controller";
const CANARY: &str = "c4n4ry-internal-registry";
const SYNCED: &str = "lastSyncedControllerConfigResourceVersion";
const OBSERVED: &str = "lastObservedServerCAAnnotation";

/// The operator's side.
struct Operator {
    client: Client,
}

impl Operator {
    /// Hands out what is in a specification; gives the version.
    async fn hands_out(&self, spec: Value, rotate: bool) -> String {
        let resource = ApiResource::erase::<ControllerConfig>(&());
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource);
        let object = json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "ControllerConfig",
            "metadata": {"name": NAME, "annotations": {format!("{PREFIX}service-ca-rotate"): rotate.to_string()}},
            "spec": spec,
        });
        let parameters = PatchParams::apply("lab").force();
        let object = api.patch(NAME, &parameters, &Patch::Apply(&object)).await.unwrap();
        object.resource_version().unwrap()
    }

    /// Says what the API server is to be verified with.
    async fn names_authority(&self, pem: &str) {
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), NAMESPACE);
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kubeconfig-data"},
            "binaryData": {"ca-bundle.crt": STANDARD.encode(pem)}});
        api.patch("kubeconfig-data", &PatchParams::apply("lab").force(), &Patch::Apply(&map)).await.unwrap();
    }
}

fn spec(kubelet_ca: &str, registries: &[&str]) -> Value {
    let data = |text: &str| STANDARD.encode(text);
    let bundle = |name: &&str| json!({"file": name, "data": data(&format!("certificate of {name}"))});
    json!({
        "internalRegistryPullSecret": data(&format!("{{\"auths\":{{\"r\":{{\"auth\":\"{CANARY}\"}}}}}}")),
        "kubeAPIServerServingCAData": data(kubelet_ca),
        "cloudProviderCAData": data("cloud"),
        "imageRegistryBundleData": registries.iter().map(bundle).collect::<Vec<_>>(),
        "images": {}, "osImageURL": "", "releaseImage": "", "baseOSContainerImage": "",
        "baseOSExtensionsContainerImage": "",
    })
}

/// A node that is held back from an update, whose agent reaches the cluster with the kubelet's own file.
async fn held(server: &Server, name: &str) -> (Subject, Operator) {
    let client = server.admin().await;
    let given = server.node(name);
    let config = with_file(&format!("rendered-{name}-1"), QUIET, "1");
    let mut subject = Subject::installed(name, given.clone(), Controller::new(client.clone()), &config).await;
    let text = fs::read_to_string(&given).unwrap();
    for path in [BOOTSTRAP_KUBECONFIG, KUBELET_KUBECONFIG] {
        subject.sandbox.write(path, text.clone());
    }
    fs::remove_file(&given).unwrap();
    symlink(subject.sandbox.path(KUBELET_KUBECONFIG), &given).unwrap();
    subject.start();
    subject.done(&format!("rendered-{name}-1")).await;
    hold(&client, name).await;
    let next = format!("rendered-{name}-2");
    subject.make(&next, &with_file(&next, "/etc/disruptive", "2")["spec"]["config"]).await;
    subject.want(&next).await;
    (subject, Operator { client })
}

async fn hold(client: &Client, name: &str) {
    let nodes: Api<k8s_openapi::api::core::v1::Node> = Api::all(client.clone());
    let patch = json!({"metadata": {"annotations": {"ostler.dev/hold": "a test"}}});
    nodes.patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
}

async fn synced(subject: &Subject, version: &str) {
    subject.node_until(version, |node| annotation(node, SYNCED) == Some(version)).await;
}

async fn observed(subject: &Subject, version: &str, rotated: &str) {
    let is_so = |node: &_| annotation(node, SYNCED) == Some(version) && annotation(node, OBSERVED) == Some(rotated);
    subject.node_until(&format!("{version} {rotated}"), is_so).await;
}

/// Both the kubelet's kubeconfig and the one it would ask for credentials with name these authorities and no others.
fn both_trust(subject: &Subject, pems: &[&str]) {
    for path in [BOOTSTRAP_KUBECONFIG, KUBELET_KUBECONFIG] {
        let found = authority(subject.file(path).unwrap().as_bytes()).unwrap().unwrap_or_default();
        assert_eq!(String::from_utf8(found).unwrap(), pems.concat(), "{path}: {}", subject.log());
    }
}

fn inode(subject: &Subject, path: &str) -> u64 {
    std::os::unix::fs::MetadataExt::ino(&fs::metadata(subject.sandbox.path(path)).unwrap())
}

#[tokio::test]
async fn what_the_cluster_hands_out_is_on_a_node_that_is_held_and_nobody_is_told_secrets() {
    let Some(server) = Server::start().await else { return };
    let ca = server.new_authority();
    let (mut subject, operator) = held(&server, "handed").await;
    subject.sandbox.write("/etc/docker/certs.d/by-hand/ca.crt", "mine");
    let version = operator.hands_out(spec(&ca[0], &["a", "b..5000"]), false).await;
    synced(&subject, &version).await;
    assert_eq!(subject.file(KUBELET_CA).as_deref(), Some(ca[0].as_str()));
    assert_eq!(subject.file(CLOUD_CA).as_deref(), Some("cloud\n"));
    let registry = "/etc/docker/certs.d/b:5000/ca.crt";
    assert_eq!(subject.file(registry).as_deref(), Some("certificate of b..5000\n"));
    assert!(subject.file(PULL_SECRET).unwrap().contains(CANARY));
    let mode = fs::metadata(subject.sandbox.path(PULL_SECRET)).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
    let before = [KUBELET_CA, PULL_SECRET, registry].map(|path| inode(&subject, path));
    let version = operator.hands_out(spec(&ca[1], &["b..5000"]), false).await;
    synced(&subject, &version).await;
    assert_eq!(subject.file(KUBELET_CA).as_deref(), Some(ca[1].as_str()));
    let after = [KUBELET_CA, PULL_SECRET, registry].map(|path| inode(&subject, path));
    assert!(before[0] != after[0] && before[1..] == after[1..], "only what changed is written");
    assert_eq!(subject.file("/etc/docker/certs.d/a/ca.crt"), None);
    assert_eq!(subject.file("/etc/docker/certs.d/by-hand/ca.crt").as_deref(), Some("mine"));
    assert_eq!(subject.file("/etc/disruptive"), None, "the node is still held");
    subject.sandbox.write(KUBELET_CA, "spoilt while nobody looked");
    subject.kill();
    subject.start();
    let mended = || async { subject.file(KUBELET_CA).as_deref() == Some(ca[1].as_str()) };
    eventually("what was spoilt is mended at the next start", mended).await;
    tells_no_secret(&subject).await;
}

async fn tells_no_secret(subject: &Subject) {
    let events: Api<Event> = Api::all(subject.controller.nodes().into_client());
    let node = serde_json::to_string(&subject.controller.nodes().get(&subject.name).await.unwrap()).unwrap();
    let object = subject.controller.machine_config_nodes().get(&subject.name).await.unwrap();
    let told = [
        subject.log(),
        node,
        serde_json::to_string(&object).unwrap(),
        serde_json::to_string(&events.list(&Default::default()).await.unwrap().items).unwrap(),
        subject.sandbox.ostler(&["status", "-o", "json"]).to_string(),
        subject.file("/var/lib/ostler/journal/certificates").unwrap(),
    ];
    assert!(subject.log().contains("files with certificates or credentials"), "{}", subject.log());
    for text in told {
        assert!(!text.is_empty() && forms(CANARY).iter().all(|form| !text.contains(form)), "{text}");
    }
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_and_the_node_says_so_until_it_does() {
    let Some(server) = Server::start().await else { return };
    let ca = server.new_authority();
    let (subject, operator) = held(&server, "refusing").await;
    let mut bad = spec("no certificate", &["../../../etc/cron.d/x", "good"]);
    bad["imageRegistryBundleUserData"] = json!([{"file": "a/b", "data": "eA=="}]);
    operator.hands_out(bad, false).await;
    let node = subject.node_until("Degraded", |node| annotation(node, "state") == Some("Degraded")).await;
    let reason = annotation(&node, "reason").unwrap();
    assert!(reason.contains(KUBELET_CA) && reason.contains("etc/cron.d/x") && reason.contains("a/b"), "{reason}");
    assert_eq!(annotation(&node, SYNCED), None);
    assert!(subject.file("/etc/docker/certs.d/good/ca.crt").is_some(), "one bad part does not keep back the others");
    assert_eq!((subject.file(KUBELET_CA), subject.file("/etc/cron.d/x/ca.crt")), (None, None));
    let version = operator.hands_out(spec(&ca[0], &["good"]), false).await;
    let is_well =
        |node: &_| annotation(node, "state") != Some("Degraded") && annotation(node, SYNCED) == Some(&version);
    subject.node_until("well again", is_well).await;
}

#[tokio::test]
async fn an_agent_goes_on_while_the_api_server_changes_its_authority() {
    let Some(mut server) = Server::start().await else { return };
    let (mut subject, operator) = held(&server, "rotated").await;
    let [old, new] = server.new_authority();
    observed(&subject, &operator.hands_out(spec(&old, &[]), false).await, "false").await;
    // Asked for before there is anything to be had: nothing is said, and it is tried again.
    let version = operator.hands_out(spec(&old, &["early"]), true).await;
    eventually("the rest is delivered", || async { subject.file("/etc/docker/certs.d/early/ca.crt").is_some() }).await;
    let node = subject.controller.nodes().get("rotated").await.unwrap();
    assert_eq!(annotation(&node, OBSERVED), Some("false"));
    operator.names_authority(&[old.as_str(), &new].concat()).await;
    observed(&subject, &version, "true").await;
    both_trust(&subject, &[&old, &new]);
    assert!(subject.log().contains("no kubelet was restarted"), "{}", subject.log());
    server.change_authority().await;
    let operator = Operator { client: server.admin().await };
    subject.controller = Controller::new(server.admin().await);
    observed(&subject, &operator.hands_out(spec(&new, &["after"]), false).await, "false").await;
    operator.names_authority(&new).await;
    observed(&subject, &operator.hands_out(spec(&new, &["only-new"]), true).await, "true").await;
    both_trust(&subject, &[&new]);
    // With nothing else to trust the agent still hears what the cluster says.
    synced(&subject, &operator.hands_out(spec(&new, &["last"]), true).await).await;
    assert!(subject.file("/etc/docker/certs.d/last/ca.crt").is_some());
    assert!(!subject.log().contains("BEGIN CERTIFICATE"), "{}", subject.log());
    let left = fs::read_dir(subject.sandbox.path("/etc/docker/certs.d")).unwrap().count();
    assert_eq!(left, 1, "what the cluster does not name any more is gone");
}
