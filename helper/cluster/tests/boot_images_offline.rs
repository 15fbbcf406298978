//! `ostler-cluster bootimages` on files alone: a must-gather, lists and single objects, as YAML and JSON. What is printed as
//! JSON and the exit status are a contract.
#![cfg(test)]

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Output};

use serde_json::{Value, json};

const MAPI: &str = "openshift-machine-api";
const MCO: &str = "openshift-machine-config-operator";
const TARGET: &str = "projects/rhcos-cloud/global/images/rhcos-9-6-20260101-0-gcp-x86-64";
const OLD: &str = "projects/rhcos-cloud/global/images/rhcos-414-92-202308032115-0-gcp-x86-64";

struct Desk(tempfile::TempDir);

impl Desk {
    fn new(files: &[(&str, String)]) -> Self {
        let desk = Self(tempfile::tempdir().unwrap());
        for (name, contents) in files {
            let path = desk.0.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, contents).unwrap();
        }
        desk
    }

    fn ask(&self, words: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ostler-cluster"));
        command.arg("bootimages").args(words.split_whitespace()).arg("--from-dir").arg(self.0.path());
        command.env_clear().env("NO_COLOR", "1").current_dir(self.0.path()).output().unwrap()
    }

    fn answer(&self, words: &str) -> Value {
        let output = self.ask(words);
        assert!(output.status.success(), "{words}: {output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Decisions by name.
    fn decisions(&self, words: &str) -> BTreeMap<String, String> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let answer = self.answer(words);
        answer.as_array().unwrap().iter().map(|item| (text(&item["name"]), text(&item["decision"]))).collect()
    }
}

fn object(version: &str, kind: &str, namespace: &str, name: &str, rest: &Value) -> Value {
    let mut object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": name}});
    if !namespace.is_empty() {
        object["metadata"]["namespace"] = namespace.into();
    }
    for (key, value) in rest.as_object().unwrap() {
        object[key] = value.clone();
    }
    object
}

fn infrastructure(platform: &str) -> Value {
    let status = json!({"status": {"infrastructureName": "c1", "platformStatus": {"type": platform}}});
    object("config.openshift.io/v1", "Infrastructure", "", "cluster", &status)
}

fn version(state: &str) -> Value {
    let history = json!([{"state": state, "version": "4.21.0"}]);
    let status = json!({"status": {"desired": {"version": "4.21.0"}, "history": history}});
    object("config.openshift.io/v1", "ClusterVersion", "", "version", &status)
}

fn stream() -> Value {
    let images = json!({
        "gcp": {"release": "9.6.20260101-0", "project": "rhcos-cloud", "name": "rhcos-9-6-20260101-0-gcp-x86-64"},
        "aws": {"regions": {"eu-west-1": {"release": "9.6.20260101-0", "image": "ami-0new"},
            "us-east-1": {"release": "9.6.20260101-0", "image": "ami-0elsewhere"}}},
    });
    json!({"stream": "rhel-9.6", "architectures": {"x86_64": {"images": images}}})
}

fn shipped(namespace: &str, name: &str, stream: &str) -> Value {
    object("v1", "ConfigMap", namespace, name, &json!({"data": {"releaseVersion": "4.21.0", "stream": stream}}))
}

fn set(name: &str, image: &str) -> Value {
    let value = json!({"disks": [{"boot": true, "image": image, "sizeGb": 128, "novel": {"z": 1.5, "a": [null, "ä"]}}],
        "userDataSecret": {"name": "worker-user-data"}});
    let spec = json!({"spec": {"template": {"metadata": {}, "spec": {"providerSpec": {"value": value}}}}});
    object("machine.openshift.io/v1beta1", "MachineSet", MAPI, name, &spec)
}

fn control_plane(image: &str) -> Value {
    let value = json!({"disks": [{"boot": true, "image": image}], "userDataSecret": {"name": "master-user-data"}});
    let template = json!({"machines_v1beta1_machine_openshift_io": {"spec": {"providerSpec": {"value": value}}}});
    let spec = json!({"spec": {"template": template}});
    object("machine.openshift.io/v1", "ControlPlaneMachineSet", MAPI, "cluster", &spec)
}

fn yaml(value: &Value) -> String {
    serde_saphyr::to_string(value).unwrap()
}

/// A must-gather: objects in a tree by namespace and kind, lists of kinds, a log and a broken file among them.
fn must_gather() -> Vec<(&'static str, String)> {
    let node = json!({"metadata": {"name": "m0", "labels": {"node-role.kubernetes.io/master": "",
        "kubernetes.io/arch": "amd64"}}});
    let nodes = json!({"apiVersion": "v1", "kind": "NodeList", "items": [node]});
    let maps = json!({"apiVersion": "v1", "kind": "ConfigMapList",
        "items": [shipped(MCO, "coreos-bootimages", &stream().to_string())]});
    let sets = json!({"apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSetList",
        "items": [set("a", OLD), set("b", TARGET)]});
    let both = json!({"apiVersion": "v1", "kind": "List", "items": [set("c", OLD), control_plane(OLD)]});
    vec![
        ("g/cluster-scoped-resources/config.openshift.io/infrastructures.yaml", yaml(&infrastructure("GCP"))),
        ("g/cluster-scoped-resources/config.openshift.io/clusterversions/version.yaml", yaml(&version("Completed"))),
        ("g/cluster-scoped-resources/core/nodes.yaml", yaml(&nodes)),
        ("g/namespaces/openshift-machine-config-operator/core/configmaps.yaml", format!("---\n{}", yaml(&maps))),
        ("g/namespaces/openshift-machine-api/machine.openshift.io/machinesets.yaml", yaml(&sets)),
        ("g/namespaces/openshift-machine-api/machine.openshift.io/all.json", both.to_string()),
        ("g/namespaces/openshift-machine-api/pods/x/logs/current.log", "kind: MachineSet".to_owned()),
        ("g/event-filter.yaml", "kind: MachineSet\nmetadata: [".to_owned()),
    ]
}

#[test]
fn a_must_gather_is_planned_for_by_machine_resource() {
    let desk = Desk::new(&must_gather());
    let answer = desk.answer("plan -o json");
    let items = answer.as_array().unwrap();
    let told: Vec<(&str, &str, &str)> = items
        .iter()
        .map(|item| {
            (item["kind"].as_str().unwrap(), item["name"].as_str().unwrap(), item["decision"].as_str().unwrap())
        })
        .collect();
    let expected = [
        ("MachineSet", "a", "patch"),
        ("MachineSet", "b", "current"),
        ("MachineSet", "c", "patch"),
        ("ControlPlaneMachineSet", "cluster", "ignored"),
    ];
    assert_eq!(told, expected);
    let disk = json!({"boot": true, "image": TARGET, "sizeGb": 128, "novel": {"z": 1.5, "a": [null, "ä"]}});
    let patch = json!({"spec": {"template": {"spec": {"providerSpec": {"value": {"disks": [disk]}}}}}});
    assert_eq!(items[0]["patch"], patch, "nothing but the leaf, and all of what is not known");
    assert!(items[1]["patch"].is_null() && items[1]["reason"].is_string());
    assert_eq!((&items[0]["current"], &items[3]["current"]), (&json!(OLD), &json!(OLD)));
    let notes = String::from_utf8(desk.ask("plan -o json").stderr).unwrap();
    assert!(notes.contains("event-filter.yaml is left out"), "{notes}");
}

#[test]
fn single_files_without_namespaces_mean_the_same() {
    let bare = |mut value: Value| {
        value["metadata"].as_object_mut().unwrap().remove("namespace");
        value
    };
    let all = [infrastructure("GCP"), shipped("", "coreos-bootimages", &stream().to_string()), bare(set("a", OLD))];
    let documents: String = all.iter().map(|value| format!("---\n{}", yaml(value))).collect();
    for (name, contents) in
        [("all.yaml", documents), ("all.json", json!({"apiVersion": "v1", "kind": "List", "items": all}).to_string())]
    {
        let desk = Desk::new(&[(name, contents)]);
        assert_eq!(desk.decisions("plan -o json")["a"], "patch", "{name}");
        let notes = String::from_utf8(desk.ask("plan").stderr).unwrap();
        for words in ["x86_64 is assumed", "taken not to be updating", "defaults of the platform are assumed"] {
            assert!(notes.contains(words), "{notes}");
        }
    }
}

#[test]
fn the_choice_the_gate_and_the_secrets_of_a_dump_count() {
    let choice = |selection: Value| {
        let managers = json!([{"resource": "machinesets", "apiGroup": "machine.openshift.io", "selection": selection}]);
        let status = json!({"spec": {}, "status": {"managedBootImagesStatus": {"machineManagers": managers}}});
        object("operator.openshift.io/v1", "MachineConfiguration", "", "cluster", &status)
    };
    let secret =
        |name: &str, text: &str| object("v1", "Secret", MAPI, name, &json!({"stringData": {"userData": text}}));
    let three = r#"{"ignition":{"version":"3.2.0"}}"#;
    let with = |more: Vec<Value>| {
        let mut files = must_gather();
        files.push(("z.json", json!({"apiVersion": "v1", "kind": "List", "items": more}).to_string()));
        Desk::new(&files).decisions("plan -o json")
    };
    let named = json!({"mode": "Partial", "partial": {"machineResourceSelector": {"matchLabels": {"x": "y"}}}});
    assert_eq!(with(vec![choice(json!({"mode": "None"}))])["a"], "ignored");
    assert_eq!(with(vec![choice(named)])["a"], "ignored");
    assert_eq!(with(vec![choice(json!({"mode": "All"}))])["a"], "patch");
    assert_eq!(with(vec![version("Partial")])["a"], "ignored");
    assert_eq!(with(vec![secret("worker-user-data", three)])["a"], "patch");
    assert_eq!(with(vec![secret("worker-user-data", "#cloud-config")])["a"], "error");
    assert_eq!(with(vec![secret("another", three)])["a"], "error", "a dump with secrets has them all");
    let mut files = must_gather();
    files.push(("z.json", version("Partial").to_string()));
    assert_eq!(Desk::new(&files).decisions("plan --ungated -o json")["a"], "patch");
}

#[test]
fn what_is_malformed_is_told_of_each_and_the_others_go_on() {
    let odd = |name: &str, at: &str, value: Value| {
        let mut set = set(name, OLD);
        *set.pointer_mut(at).unwrap() = value;
        set
    };
    let mut labelled = set("labels", OLD);
    labelled["metadata"]["labels"] = json!({"a": 3});
    let sets = [
        set("good", OLD),
        labelled,
        odd("disks", "/spec/template/spec/providerSpec/value/disks", json!("none")),
        odd("value", "/spec/template/spec/providerSpec/value", Value::Null),
        odd("spec", "/spec", json!([])),
    ];
    let files = |platform: &str, stream: &str| {
        let mut all = vec![infrastructure(platform), version("Completed"), shipped(MCO, "coreos-bootimages", stream)];
        all.extend(sets.iter().cloned());
        vec![("all.json", json!({"apiVersion": "v1", "kind": "List", "items": all}).to_string())]
    };
    let decisions = Desk::new(&files("GCP", &stream().to_string())).decisions("plan -o json");
    for (name, decision) in &decisions {
        assert_eq!(decision, if name == "good" { "patch" } else { "error" }, "{name}");
    }
    assert_eq!(decisions.len(), sets.len());
    for (platform, stream) in [("GCP", "{"), ("GCP", ""), ("GCP", "[]"), ("Moon", "{}"), ("", "{}")] {
        let decisions = Desk::new(&files(platform, stream)).decisions("plan -o json");
        assert!(decisions.values().all(|decision| decision == "error"), "{platform} {stream}: {decisions:?}");
    }
}

#[test]
fn amis_are_known_by_stream_metadata_and_lists() {
    let set = |name: &str, ami: &str, region: &str| {
        let value = json!({"ami": {"id": ami}, "placement": {"region": region}, "userDataSecret": {"name": "w"}});
        let spec = json!({"spec": {"template": {"spec": {"providerSpec": {"value": value}}}}});
        object("machine.openshift.io/v1beta1", "MachineSet", MAPI, name, &spec)
    };
    let earlier =
        r#"{"architectures":{"x86_64":{"images":{"aws":{"regions":{"eu-west-1":{"image":"ami-0earlier"}}}}}}}"#;
    let all = json!({"apiVersion": "v1", "kind": "List", "items": [
        infrastructure("AWS"), version("Completed"), shipped(MCO, "coreos-bootimages", &stream().to_string()),
        shipped(MCO, "coreos-bootimages-4.20", earlier), set("current", "ami-0new", "eu-west-1"),
        set("moved", "ami-0elsewhere", "eu-west-1"), set("earlier", "ami-0earlier", "eu-west-1"),
        set("listed", "ami-0listed", "eu-west-1"), set("mine", "ami-0mine", "eu-west-1"),
        set("far", "ami-0new", "ap-south-9"), set("nowhere", "ami-0new", ""),
    ]});
    let desk = Desk::new(&[("all.json", all.to_string()), ("list.txt", "ami-0listed # of 4.19\n".to_owned())]);
    let decisions = desk.decisions("plan --known list.txt -o json");
    for (name, expected) in [
        ("current", "current"),
        ("moved", "patch"),
        ("earlier", "patch"),
        ("listed", "patch"),
        ("mine", "skipped"),
        ("far", "skipped"),
        ("nowhere", "error"),
    ] {
        assert_eq!(decisions[name], expected, "{name}");
    }
    assert_eq!(desk.decisions("plan -o json")["listed"], "skipped");
    assert_eq!(desk.ask("plan --known nothing").status.code(), Some(2));
    fs::write(desk.0.path().join("bad.txt"), "hello\n").unwrap();
    let bad = desk.ask("plan --known bad.txt");
    assert_eq!(bad.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&bad.stderr).contains("line 1 is no AMI"), "{bad:?}");
}

#[test]
fn people_are_answered_in_words() {
    let desk = Desk::new(&must_gather());
    let text = |words: &str| {
        let output = desk.ask(words);
        assert_eq!(output.status.code(), Some(0), "{words}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let list = text("list");
    for words in ["Platform: GCP", "Boot images of release: 4.21.0", "Enrolled machinesets: All", "rhel-9", OLD] {
        assert!(list.contains(words), "{list}");
    }
    let explained = text("explain a");
    for words in ["Decision: patch", "Should be:", TARGET, "Patch: {\"spec\""] {
        assert!(explained.contains(words), "{explained}");
    }
    assert!(text("plan").lines().count() == 5);
    assert!(text("skew").contains("Enforcement: Automatic"));
    for (words, status) in [
        ("explain nobody", 3),
        ("history", 3),
        ("apply --own", 2),
        ("run", 2),
        ("restore a --own", 2),
        ("plan --architecture vax", 2),
    ] {
        let output = desk.ask(words);
        assert_eq!(output.status.code(), Some(status), "{words}: {output:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{words}: {output:?}");
    }
    let empty = Desk::new(&[("x.json", "{}".to_owned())]);
    assert_eq!(empty.answer("plan -o json"), json!([]));
}
