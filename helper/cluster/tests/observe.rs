//! The commands that only read, against a real API server: with the rights of their manifests and no others, and at the size
//! of a large cluster.
#![cfg(test)]

#[path = "../../../tests/cluster/mod.rs"]
mod cluster;
#[path = "observe/lab.rs"]
mod lab;

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};

use cluster::loudly;
use lab::{Lab, MANIFESTS};

const MCO: &str = "machineconfiguration.openshift.io";
const POOLS: usize = 100;
const NODES: usize = 5000;
/// How many objects are made at the same time.
const AT_ONCE: usize = 32;
/// What an operator's check may have.
const MAX_MEMORY: u64 = 100_000_000;
/// A few seconds on a machine of its own; here others may be at work, and nothing is optimised.
const MAX_TIME: Duration = Duration::from_secs(300);

const READING: [&str; 3] = ["get", "list", "watch"];
const COMMANDS: [&[&str]; 4] = [
    &["rollout", "status", "--all"],
    &["rollout", "next"],
    &["rollout", "explain", "node-0000"],
    &["rollout", "estimate"],
];

fn rules() -> impl Iterator<Item = (Value, Value)> {
    let objects = MANIFESTS.iter().flat_map(|manifest| serde_saphyr::from_multiple::<Value>(manifest).unwrap());
    objects.flat_map(|object| {
        let rules = object["rules"].as_array().cloned().unwrap_or_default();
        rules.into_iter().map(move |rule| (object["metadata"]["namespace"].clone(), rule))
    })
}

#[test]
fn the_manifests_for_looking_have_no_verb_but_reading() {
    let verbs: Vec<String> =
        rules().flat_map(|(_, rule)| serde_json::from_value::<Vec<String>>(rule["verbs"].clone()).unwrap()).collect();
    assert!(!verbs.is_empty());
    assert!(verbs.iter().all(|verb| READING.contains(&verb.as_str())), "{verbs:?}");
}

/// Where everything is that the manifests name, and a few things beside: collection, object, and parts of it.
fn places() -> Vec<(String, String)> {
    let mut places = Vec::new();
    for (namespace, rule) in rules() {
        let texts = |key: &str| serde_json::from_value::<Vec<String>>(rule[key].clone()).unwrap();
        for (group, resource) in texts("apiGroups")
            .iter()
            .flat_map(|group| texts("resources").into_iter().map(move |resource| (group.clone(), resource)))
        {
            let root =
                if group.is_empty() { "/api/v1".to_owned() } else { format!("/apis/{group}/{}", version(&group)) };
            let namespaced =
                ["pods", "poddisruptionbudgets", "machinesets", "controlplanemachinesets", "machinedeployments"];
            let within = match namespace.as_str() {
                Some(namespace) => format!("/namespaces/{namespace}"),
                None if namespaced.contains(&resource.as_str()) => "/namespaces/openshift-machine-api".to_owned(),
                None => String::new(),
            };
            let collection = format!("{root}{within}/{resource}");
            let name = rule["resourceNames"][0].as_str().unwrap_or("anything");
            places.push((collection.clone(), format!("{collection}/{name}")));
            places.push((collection.clone(), format!("{collection}/{name}/status")));
        }
    }
    places
}

fn version(group: &str) -> &'static str {
    match group {
        "machine.openshift.io" | "cluster.x-k8s.io" => "v1beta1",
        "metal3.io" => "v1alpha1",
        _ => "v1",
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_are_refused_and_everything_that_is_read_is_allowed() {
    let Some(lab) = Lab::start().await else { return };
    small(&lab).await;

    // Without any rights there is a document all the same, which says that nothing is known.
    let (document, _) = lab.preflight();
    assert_eq!(names(&document), ["MachineConfigCompatibilityUnknown"], "{document:#}");
    assert!(document.to_string().contains("not allowed to read"), "{document:#}");

    lab.allow().await;
    let attempted = lab.asked().len();
    let (document, _) = lab.preflight();
    assert_eq!(names(&document), [""; 0], "{document:#}");
    for words in COMMANDS {
        let cost = lab.run(words);
        assert_eq!(cost.output.status.code(), Some(0), "{words:?}: {:?}", cost.output);
        assert!(!String::from_utf8_lossy(&cost.output.stderr).contains("not allowed"), "{:?}", cost.output);
    }
    let asked = lab.asked().split_off(attempted);
    let verbs: BTreeSet<&str> = asked.iter().map(|request| request.verb.as_str()).collect();
    assert_eq!(verbs, BTreeSet::from(["get", "list"]), "commands only read");
    let refused: Vec<_> = asked.iter().filter(|request| request.code == Some(403)).collect();
    assert!(refused.is_empty(), "the manifests lack something: {refused:?}");

    let places = places();
    assert!(places.len() > 30, "{places:?}");
    for (collection, object) in places {
        for (method, path) in
            [("POST", &collection), ("DELETE", &collection), ("PUT", &object), ("PATCH", &object), ("DELETE", &object)]
        {
            assert_eq!(lab.try_to(method, path).await, 403, "{method} {path}");
        }
    }
    let evict = "/api/v1/namespaces/default/pods/a/eviction";
    assert_eq!(lab.try_to("POST", evict).await, 403);
}

fn names(document: &Value) -> Vec<&str> {
    document["risks"].as_array().unwrap().iter().map(|risk| risk["name"].as_str().unwrap()).collect()
}

/// What every cluster has.
async fn ground(lab: &Lab) {
    let config = "config.openshift.io/v1";
    lab.make(json!({"apiVersion": config, "kind": "ClusterVersion", "metadata": {"name": "version"},
        "status": {"desired": {"version": "4.21.5", "image": "r"}, "history": [
            {"state": "Completed", "version": "4.21.5", "completionTime": "2026-01-01T00:00:00Z"}]}}))
        .await;
    lab.make(json!({"apiVersion": config, "kind": "Infrastructure", "metadata": {"name": "cluster"},
        "status": {"controlPlaneTopology": "HighlyAvailable", "platformStatus": {"type": "BareMetal"}}}))
        .await;
    lab.make(json!({"apiVersion": "operator.openshift.io/v1", "kind": "MachineConfiguration",
        "metadata": {"name": "cluster"}, "spec": {}}))
        .await;
    lab.make(json!({"apiVersion": format!("{MCO}/v1"), "kind": "OSImageStream", "metadata": {"name": "cluster"},
        "spec": {"defaultStream": "rhel-9"}, "status": {"defaultStream": "rhel-9", "availableStreams": [
            {"name": "rhel-9", "osImage": "now-os", "osExtensionsImage": "now-ext"}]}}))
        .await;
}

async fn small(lab: &Lab) {
    ground(lab).await;
    for pool in 0..2 {
        lab.make(pool_object(pool, 1, false)).await;
        lab.make(rendered(pool, 1000)).await;
        lab.make(node(pool, pool)).await;
        lab.make(progress(pool, pool)).await;
    }
    // What is read of a machine set takes its user data, and what keeps a drain takes pods.
    let spec = json!({"userDataSecret": {"name": "worker-user-data"}});
    lab.make(json!({"apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet",
        "metadata": {"name": "w", "namespace": "openshift-machine-api"},
        "spec": {"template": {"spec": {"providerSpec": {"value": spec}}}}}))
        .await;
    let pointer = r#"{"ignition":{"version":"3.5.0","config":{"merge":[{"source":"https://x:22623/config/worker"}]}}}"#;
    lab.make(json!({"apiVersion": "v1", "kind": "Secret", "stringData": {"userData": pointer},
        "metadata": {"name": "worker-user-data", "namespace": "openshift-machine-api"}}))
        .await;
    let mut drains = node(2, 0);
    drains["metadata"]["annotations"][format!("{MCO}/desiredDrain")] = json!("drain-x");
    drains["metadata"]["annotations"][format!("{MCO}/lastAppliedDrain")] = json!("uncordon-x");
    lab.make(drains).await;
}

fn pool_name(number: usize) -> String {
    match number {
        0 => "master".to_owned(),
        1 => "worker".to_owned(),
        number => format!("pool-{number:03}"),
    }
}

fn pool_object(number: usize, machines: usize, paused: bool) -> Value {
    let name = pool_name(number);
    let configuration = json!({"name": format!("rendered-{name}")});
    json!({"apiVersion": format!("{MCO}/v1"), "kind": "MachineConfigPool", "metadata": {"name": name},
        "spec": {"configuration": configuration, "paused": paused,
            "nodeSelector": {"matchLabels": {format!("node-role.kubernetes.io/{name}"): ""}}},
        "status": {"configuration": configuration, "machineCount": machines, "updatedMachineCount": machines,
            "conditions": [{"type": "Updated", "status": "True"}]}})
}

fn rendered(pool: usize, size: usize) -> Value {
    let file = json!({"path": "/etc/large", "contents": {"source": format!("data:,{}", "x".repeat(size))}});
    json!({"apiVersion": format!("{MCO}/v1"), "kind": "MachineConfig",
        "metadata": {"name": format!("rendered-{}", pool_name(pool))},
        "spec": {"osImageURL": "now-os", "config": {"ignition": {"version": "3.5.0"}, "storage": {"files": [file]}}}})
}

/// As large as a node of a real cluster, with what networks and kubelets write on it.
fn node(number: usize, pool: usize) -> Value {
    let (name, role) = (format!("node-{number:04}"), pool_name(pool));
    let config = format!("rendered-{role}");
    let mut labels = json!({format!("node-role.kubernetes.io/{role}"): "", "kubernetes.io/arch": "amd64",
        "topology.kubernetes.io/zone": format!("zone-{}", number % 3)});
    for at in 0..20 {
        labels[format!("feature.node.kubernetes.io/something-{at:02}")] = json!("true");
    }
    let annotations = json!({format!("{MCO}/currentConfig"): config, format!("{MCO}/desiredConfig"): config,
        format!("{MCO}/state"): "Done", "k8s.ovn.org/l3-gateway-config": "x".repeat(2500)});
    let conditions: Vec<Value> =
        [("Ready", "True"), ("DiskPressure", "False"), ("MemoryPressure", "False"), ("PIDPressure", "False")]
            .map(|(type_, status)| {
                json!({"type": type_, "status": status, "reason": "KubeletHasSufficientMemory",
            "message": "kubelet has sufficient memory available", "lastTransitionTime": "2026-01-01T00:00:00Z"})
            })
            .into();
    let digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    let image = |at: usize| json!({"names": [format!("quay.io/openshift-release-dev/ocp-v4.0-art-dev-{at}@{digest}")], "sizeBytes": 1});
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels, "annotations": annotations},
        "status": {"conditions": conditions, "images": (0..50).map(image).collect::<Vec<_>>(),
            "nodeInfo": {"architecture": "amd64", "bootID": "b", "containerRuntimeVersion": "cri-o://1.34",
                "kernelVersion": "5.14.0-570.el9.x86_64", "kubeProxyVersion": "", "kubeletVersion": "v1.34.0",
                "machineID": "m", "operatingSystem": "linux", "osImage": "Red Hat Enterprise Linux CoreOS", "systemUUID": "s"}}})
}

fn progress(number: usize, pool: usize) -> Value {
    let types = [
        "UpdatePrepared",
        "UpdateExecuted",
        "UpdatePostActionComplete",
        "UpdateComplete",
        "Resumed",
        "Drained",
        "AppliedFilesAndOS",
        "Cordoned",
        "RebootedNode",
        "Uncordoned",
        "NodeDegraded",
        "PinnedImageSetsDegraded",
    ];
    let mut conditions: Vec<Value> = types
        .map(|type_| json!({"type": type_, "status": "False", "reason": "NotYetOccurred",
            "message": format!("This node has not yet entered the {type_} phase"), "lastTransitionTime": "2026-01-01T00:00:00Z"}))
        .into();
    conditions.push(json!({"type": "Updated", "status": "True", "reason": "Updated",
        "message": "Node has been updated", "lastTransitionTime": "2026-01-01T00:00:00Z"}));
    json!({"apiVersion": format!("{MCO}/v1"), "kind": "MachineConfigNode", "metadata": {"name": format!("node-{number:04}")},
        "spec": {"pool": {"name": pool_name(pool)}}, "status": {"conditions": conditions}})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_cluster_takes_little_time_and_memory() {
    let Some(lab) = Lab::start().await else { return };
    ground(&lab).await;
    lab.allow().await;
    let each = NODES / POOLS;
    let pools = (0..POOLS).flat_map(|pool| [pool_object(pool, each, pool > 1), rendered(pool, 200_000)]);
    let nodes = (0..NODES).flat_map(|number| [node(number, number / each), progress(number, number / each)]);
    stream::iter(pools.chain(nodes)).map(|object| lab.make(object)).buffer_unordered(AT_ONCE).collect::<()>().await;

    let (document, cost) = lab.preflight();
    loudly(&format!("preflight of {POOLS} pools and {NODES} nodes: {:?}, {} bytes", cost.time, cost.memory));
    assert_eq!(names(&document), ["MachineConfigPoolPaused"], "{document:#}");
    let message = document["risks"][0]["message"].as_str().unwrap();
    assert!(message.contains("pool-002 (50 machines)") && message.contains("; and 78 more."), "{message}");
    assert!(cost.memory > 0 && cost.memory < MAX_MEMORY, "{} bytes", cost.memory);
    assert!(cost.time < MAX_TIME, "{:?}", cost.time);
    lists_are_paged(&lab);

    let cost = lab.run(&["rollout", "status"]);
    loudly(&format!("rollout status of the same: {:?}, {} bytes", cost.time, cost.memory));
    assert_eq!(cost.output.status.code(), Some(0), "{:?}", cost.output);
    assert_eq!(String::from_utf8_lossy(&cost.output.stdout).lines().count(), POOLS + 1);
    assert!(cost.memory > 0 && cost.memory < MAX_MEMORY, "{} bytes", cost.memory);
    assert!(cost.time < MAX_TIME, "{:?}", cost.time);
}

fn lists_are_paged(lab: &Lab) {
    let asked = lab.asked();
    let lists: Vec<&str> =
        asked.iter().filter(|request| request.verb == "list").map(|request| request.uri.as_str()).collect();
    assert!(lists.iter().all(|uri| uri.contains("limit=")), "{lists:?}");
    for kind in ["/nodes?", "/machineconfignodes?"] {
        let pages = lists.iter().filter(|uri| uri.contains(kind)).count();
        assert!(pages >= NODES / 500, "{kind} {pages}");
    }
    assert!(!lists.iter().any(|uri| uri.contains("/machineconfigs?")), "rendered configurations are read by name");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watched_document_follows_the_cluster_without_reading_all_of_it_again_and_again() {
    let Some(lab) = Lab::start().await else { return };
    small(&lab).await;
    lab.allow().await;
    let (_watcher, result) = lab.watch();
    let document = || -> Value {
        let text = std::fs::read_to_string(&result).unwrap_or_else(|_| "{}".to_owned());
        serde_json::from_str(&text).expect("a reader sees a whole document")
    };
    let shows = |expected: &'static [&'static str]| {
        let now = document();
        now["executionStatus"] == "completed" && names(&now) == expected
    };
    cluster::eventually("a document", || async { shows(&[]) }).await;
    cluster::eventually("watches", || async { lab.asked().iter().any(|asked| asked.verb == "watch") }).await;
    let lists = || lab.asked().iter().filter(|asked| asked.verb == "list" && asked.uri.contains("/nodes?")).count();
    let before = lists();

    // A sign of life is no change; a pause is.
    lab.change("v1", "Node", "node-0001", json!({"metadata": {"annotations": {"k8s.ovn.org/something": "else"}}}))
        .await;
    lab.change(&format!("{MCO}/v1"), "MachineConfigPool", "worker", json!({"spec": {"paused": true}})).await;
    cluster::eventually("the pause is told", || async { shows(&["MachineConfigPoolPaused"]) }).await;
    lab.change("v1", "Node", "node-0001", json!({"spec": {"unschedulable": true}})).await;
    let both: &[&str] = &["MachineConfigNoUpdateCapacity", "MachineConfigPoolPaused"];
    cluster::eventually("the cordon is told", || async { shows(both) }).await;
    assert!(lists() - before <= 2 * 2, "{} more lists of nodes for two changes", lists() - before);
    let verbs: BTreeSet<String> = lab.asked().into_iter().map(|asked| asked.verb).collect();
    assert_eq!(verbs, READING.map(str::to_owned).into());
}
