//! What the command answers from files alone: the JSON and the exit status are a contract.
#![cfg(test)]

mod desk;

use desk::{Desk, said};
use serde_json::{Value, json};

fn os(stream: &str) -> Value {
    json!({"io.openshift.os.streamclass": stream, "containers.bootc": "1"})
}

fn extensions(stream: &str) -> Value {
    json!({"io.openshift.os.streamclass": stream, "io.openshift.os.extensions": "true"})
}

fn release() -> [(&'static str, Value); 2] {
    let tag = |name: &str, image: &str| json!({"name": name, "from": {"kind": "DockerImage", "name": image}});
    let tags = [
        tag("rhel-coreos", "o9"),
        tag("rhel-coreos-extensions", "e9"),
        tag("rhel-coreos-10", "o10"),
        tag("rhel-coreos-10-extensions", "e10"),
        tag("oc", "oc"),
    ];
    let references = json!({"apiVersion": "image.openshift.io/v1", "kind": "ImageStream",
        "metadata": {"name": "4.21.0"}, "spec": {"tags": tags}});
    let labels = json!({"o9": os("rhel-9"), "e9": extensions("rhel-9"), "o10": os("rhel-10"), "e10": extensions("rhel-10"),
        "x": os("x"), "xe": extensions("x"), "away": null});
    [("references", references), ("labels", labels)]
}

const FILES: &str = "discover --image-references references --image-labels labels -o json";

#[test]
fn streams_are_discovered_from_files_alone() {
    let desk = Desk::new(&release());
    let answer = desk.answer(&format!("{FILES} --install-version 4.20.3"));
    let set =
        |name: &str, os: &str, extensions: &str| json!({"name": name, "osImage": os, "osExtensionsImage": extensions});
    let both = [set("rhel-10", "o10", "e10"), set("rhel-9", "o9", "e9")];
    assert_eq!(answer, json!({"availableStreams": both, "defaultStream": "rhel-9"}));
    assert_eq!(desk.answer(&format!("{FILES} --install-version 5.0.0"))["defaultStream"], "rhel-10");
    let more = desk.answer(&format!("{FILES} --install-version 4.20.3 --os-image x --extensions-image xe"));
    assert_eq!(more["availableStreams"][2], set("x", "x", "xe"));
}

#[test]
fn without_an_answer_the_status_is_3_and_the_reason_is_told() {
    let mut files = release().to_vec();
    files.push(("gone", json!({"kind": "OSImageStream", "spec": {"defaultStream": "rhel-8"}})));
    files.push(("none", json!({"o9": null, "e9": {}, "o10": os("a"), "e10": extensions("b")})));
    let desk = Desk::new(&files);
    for (words, reason) in [
        (format!("{FILES} --existing gone"), "stream rhel-8 would be the default"),
        (format!("{FILES} --okd"), "stream centos-10 would be the default"),
        (FILES.replace("image-labels labels", "image-labels none"), "no source has a stream"),
    ] {
        let output = desk.ask(&words);
        assert_eq!(output.status.code(), Some(3), "{words}: {output:?}");
        assert!(output.stdout.is_empty(), "{words}: {output:?}");
        let told = said(&output);
        assert!(told.contains(reason), "{words}: {told}");
    }
}

#[test]
fn what_cannot_be_used_is_status_2() {
    let mut files = release().to_vec();
    files.push(("odd", json!({"o9": {"a": 3}})));
    let desk = Desk::new(&files);
    for words in [
        "discover --image-references absent --image-labels labels",
        "discover --image-references labels --image-labels labels",
        "discover --image-references references --image-labels odd",
        "discover --image-references references --image-labels labels --install-version five",
        "discover --image-references references --image-labels labels --os-image x",
        "discover --image-references references --release-image x",
        "set worker",
        "plan",
    ] {
        assert_eq!(desk.ask(words).status.code(), Some(2), "{words}");
    }
}

/// A dump of a cluster: pools, configurations, the object and a policy.
fn dump() -> Vec<(&'static str, Value)> {
    let mco = "machineconfiguration.openshift.io/v1";
    let pool = |name: &str, stream: Value, reported: Value| {
        json!({"apiVersion": mco, "kind": "MachineConfigPool", "metadata": {"name": name},
            "spec": {"osImageStream": stream, "machineConfigSelector": {"matchLabels": {"machineconfiguration.openshift.io/role": "worker"}}},
            "status": {"osImageStream": reported}})
    };
    let pools = [
        pool("master", Value::Null, Value::Null),
        pool("infra", Value::Null, json!({"name": "rhel-10"})),
        pool("worker", json!({"name": "rhel-10"}), json!({"name": "rhel-10"})),
    ];
    let set =
        |name: &str| json!({"name": name, "osImage": format!("os-{name}"), "osExtensionsImage": format!("ext-{name}")});
    let object = json!({"apiVersion": mco, "kind": "OSImageStream", "metadata": {"name": "cluster"},
        "spec": {"defaultStream": "rhel-9"},
        "status": {"defaultStream": "rhel-9", "availableStreams": [set("rhel-10"), set("rhel-9")]}});
    let config = json!({"apiVersion": mco, "kind": "MachineConfig", "spec": {"osImageURL": "mine@sha256:1"},
        "metadata": {"name": "50-image", "labels": {"machineconfiguration.openshift.io/role": "worker"}}});
    let version = json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
        "status": {"desired": {"version": "5.1.0", "image": "r"}, "history": []}});
    let policy = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"policy.yaml": "streams: [{name: rhel-9, blockedIn: '5.1'}]"},
        "metadata": {"name": "ostler-os-stream-policy", "namespace": "openshift-machine-config-operator"}});
    vec![
        ("pools.json", json!({"kind": "List", "apiVersion": "v1", "items": pools})),
        ("stream.json", object),
        ("config.json", config),
        ("version.json", version),
        ("policy.json", policy),
    ]
}

#[test]
fn a_dump_answers_which_pools_follow_which_stream() {
    let desk = Desk::new(&dump());
    let answer = desk.answer("list --from-dir . -o json");
    let followed: Vec<(&Value, &Value, &Value)> = answer["pools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pool| (&pool["name"], &pool["stream"], &pool["choice"]))
        .collect();
    assert_eq!(
        followed,
        [
            (&json!("infra"), &json!("rhel-10"), &json!("inherited")),
            (&json!("master"), &json!("rhel-9"), &json!("default")),
            (&json!("worker"), &json!("rhel-10"), &json!("explicit")),
        ]
    );
    assert_eq!(answer["conditions"][0]["reason"], "DeprecatedOSStreamInUse");
    assert_eq!(answer["pools"][1]["conditions"][0]["type"], "OSStreamDeprecated");
    assert!(desk.ask("list --from-dir .").status.success());
    assert_eq!(desk.answer("show --from-dir . -o json")["defaultStream"], "rhel-9");
    assert_eq!(desk.ask("show rhel-8 --from-dir .").status.code(), Some(3));
}

#[test]
fn a_plan_names_what_stands_in_the_way() {
    let desk = Desk::new(&dump());
    let reasons = |words: &str| -> Vec<String> {
        let answer = desk.answer(words);
        let obstacles = answer["obstacles"].as_array().unwrap();
        obstacles.iter().map(|obstacle| obstacle["reason"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(reasons("plan worker --from-dir . -o json"), ["OSImageURLConflict"]);
    assert_eq!(
        reasons("plan infra --stream rhel-9 --from-dir . -o json"),
        ["OSImageURLConflict", "StreamDowngrade", "OSStreamDeprecated"]
    );
    assert_eq!(reasons("plan master --stream x --from-dir . -o json"), ["StreamMissing"]);
    assert!(desk.ask("plan worker --from-dir .").status.success());
    assert_eq!(desk.ask("plan nobody --from-dir .").status.code(), Some(3));
    assert_eq!(desk.ask("set infra rhel-9 --from-dir .").status.code(), Some(3), "going back is refused");
    assert_eq!(desk.ask("set infra rhel-10 --force --from-dir .").status.code(), Some(2), "a directory is not changed");
    assert!(desk.ask("set infra rhel-10 --force --dry-run --from-dir .").status.success());
    assert_eq!(desk.ask("run --once --from-dir . --image-references stream.json").status.code(), Some(2));
}

#[test]
fn what_does_not_exist_is_told_with_status_3() {
    let desk = Desk::new(&[]);
    for words in ["list --from-dir .", "show --from-dir .", "plan worker --from-dir .", "discover --from-dir ."] {
        assert_eq!(desk.ask(words).status.code(), Some(3), "{words}: {:?}", desk.ask(words));
    }
    assert_eq!(desk.ask("list --from-dir nowhere").status.code(), Some(1));
}
