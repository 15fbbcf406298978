//! The agent without a cluster: configurations from a directory, status in a file, on a root directory.
#![cfg(test)]

#[path = "sandbox/mod.rs"]
mod sandbox;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};

use sandbox::{Answer, Sandbox, file, machine_config, programs, start_with};

/// A file whose change takes neither a drain nor a restart.
const QUIET: &str = "/var/lib/kubelet/config.json";
/// A file whose change takes a restart.
const LOUD: &str = "/etc/motd";

struct Node {
    sandbox: Sandbox,
    desired: PathBuf,
}

impl Node {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let desired = sandbox.outside().join("desired");
        fs::create_dir(&desired).unwrap();
        let node = Self { sandbox, desired };
        node.boot(1);
        node
    }

    fn boot(&self, number: u32) {
        self.sandbox.write("/proc/sys/kernel/random/boot_id", format!("boot-{number}\n"));
    }

    fn put(&self, name: &str, contents: impl AsRef<[u8]>) {
        fs::write(self.desired.join(name), contents).unwrap();
    }

    /// Desires a file with this text, by a configuration of this name.
    fn want(&self, config: &str, path: &str, text: &str) {
        let document = machine_config(config, &json!({"storage": {"files": [file(path, text)]}}));
        self.put(&format!("{config}.json"), document.to_string());
    }

    fn once(&self) -> Answer {
        self.sandbox.ostler(&self.words())
    }

    fn words(&self) -> [&str; 8] {
        let desired = self.desired.to_str().unwrap();
        ["daemon", "--once", "--standalone", desired, "--node-name", "alone", "--metrics", "none"]
    }

    /// The same with everything that agent and applier say to each other kept: the sizes of what was said to each applier
    /// that was started, and of what it said.
    fn once_overheard(&self) -> Vec<(u64, u64)> {
        let (kept, wrapper) = (self.sandbox.outside().join("kept"), self.sandbox.outside().join("wrapper"));
        fs::create_dir(&kept).unwrap();
        let applier = programs().join("ostler-applier");
        let script = format!(
            "#!/bin/sh\ncd {} && name=$(mktemp XXXXXX) && tee $name.in | {} \"$@\" | tee $name.out\n",
            kept.display(),
            applier.display()
        );
        fs::write(&wrapper, script).unwrap();
        fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
        let root = self.sandbox.path("/");
        let words = [&self.words()[..], &["--root", root.to_str().unwrap()]].concat();
        let answer = start_with(&words, |command| _ = command.env("OSTLER_APPLIER", &wrapper)).end();
        assert_eq!(answer.code, Some(0), "{answer}");
        let names = fs::read_dir(&kept).unwrap().map(|entry| entry.unwrap().path());
        let size = |path: PathBuf| fs::metadata(path).unwrap().len();
        let appliers = names.filter(|path| path.extension().is_none());
        appliers.map(|path| (size(path.with_extension("in")), size(path.with_extension("out")))).collect()
    }

    fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.sandbox.path(path)).ok()
    }

    fn object(&self) -> Value {
        serde_json::from_str(&self.text("/run/ostler/agent/machineconfignode.json").unwrap()).unwrap()
    }

    fn condition(&self, type_: &str) -> Value {
        let object = self.object();
        let all = object["status"]["conditions"].as_array().unwrap();
        all.iter().find(|condition| condition["type"] == type_).cloned().unwrap_or_default()
    }
}

#[test]
fn the_last_by_name_is_desired_unless_another_is_named() {
    let node = Node::new();
    node.want("rendered-1", QUIET, "one");
    node.want("rendered-2", QUIET, "two");
    let answer = node.once();
    assert_eq!(answer.code, Some(0), "{answer}");
    assert_eq!(node.text(QUIET).as_deref(), Some("two"));
    assert_eq!(node.condition("Updated")["status"], "True");
    assert_eq!(node.object()["status"]["configVersion"], json!({"current": "rendered-2", "desired": "rendered-2"}));
    node.put("desired", "rendered-1\n");
    assert_eq!(node.once().code, Some(0));
    assert_eq!(node.text(QUIET).as_deref(), Some("one"));
}

#[test]
fn an_update_is_one_conversation_with_the_applier_in_which_a_configuration_is_told_once() {
    let node = Node::new();
    let text = "x".repeat(100_000);
    node.want("rendered-1", QUIET, &text);
    assert_eq!(node.once().code, Some(0));
    node.want("rendered-2", QUIET, &text.replace('x', "y"));
    let appliers = node.once_overheard();
    let [(heard, said)] = appliers[..] else { panic!("{appliers:?}") };
    assert!((100_000..200_000).contains(&heard) && said < 10_000, "{heard} bytes to it, {said} from it");
}

#[test]
fn a_change_with_a_restart_waits_for_another_boot_and_is_proven_in_it() {
    let node = Node::new();
    node.want("rendered-1", LOUD, "one");
    let answer = node.once();
    assert_eq!(answer.code, Some(4), "{answer}");
    assert_eq!(node.text(LOUD).as_deref(), Some("one"));
    assert_eq!(
        (&node.condition("Updated")["status"], &node.condition("RebootedNode")["status"]),
        (&json!("False"), &json!("Unknown"))
    );
    assert_eq!(node.once().code, Some(4), "it still waits");
    node.boot(2);
    let answer = node.once();
    assert_eq!(answer.code, Some(0), "{answer}");
    assert!(answer.stderr.contains("rendered-1 has proven itself"), "{answer}");
    assert_eq!(node.condition("Updated")["status"], "True");
    let status = node.sandbox.ostler(&["status", "-o", "json"]).json();
    assert_eq!((&status["trial"], &status["config"]), (&Value::Null, &json!("rendered-1")), "{status}");
}

#[test]
fn what_cannot_be_had_is_refused_and_told() {
    let node = Node::new();
    node.want("rendered-1", QUIET, "one");
    assert_eq!(node.once().code, Some(0));
    let disks = json!({"storage": {"disks": [{"device": "/dev/sda", "wipeTable": true}]}});
    node.put("rendered-2.json", machine_config("rendered-2", &disks).to_string());
    let answer = node.once();
    assert_eq!(answer.code, Some(3), "{answer}");
    let told = node.condition("UpdatePrepared");
    assert_eq!(told["status"], "Unknown");
    assert!(told["message"].as_str().unwrap().contains("disks"), "{told}");
    assert_eq!(node.condition("NodeDegraded")["status"], "True");
    node.put(
        "machineconfiguration.yaml",
        "kind: MachineConfiguration\napiVersion: operator.openshift.io/v1\n\
        metadata: {name: cluster}\nspec: {irreconcilableValidationOverrides: {storage: [Disks]}}\n",
    );
    let answer = node.once();
    assert_eq!(answer.code, Some(0), "{answer}");
    let changes = &node.object()["status"]["irreconcilableChanges"];
    assert!(changes[0]["fieldPath"].as_str().unwrap().starts_with("spec.config.storage.disks"), "{changes}");
}

#[test]
fn a_hold_is_honoured_and_says_why() {
    let node = Node::new();
    node.want("rendered-1", QUIET, "one");
    node.put("hold", "stocktaking\n");
    let answer = node.once();
    assert_eq!((answer.code, node.text(QUIET)), (Some(4), None), "{answer}");
    assert!(answer.stderr.contains("held (stocktaking)"), "{answer}");
    fs::remove_file(node.desired.join("hold")).unwrap();
    assert_eq!((node.once().code, node.text(QUIET).as_deref()), (Some(0), Some("one")));
}

#[test]
fn a_rollback_without_an_agent_is_not_reverted_by_one_that_starts_later() {
    let node = Node::new();
    node.want("rendered-1", QUIET, "one");
    assert_eq!(node.once().code, Some(0));
    node.want("rendered-2", QUIET, "two");
    assert_eq!((node.once().code, node.text(QUIET).as_deref()), (Some(0), Some("two")));
    let answer = node.sandbox.ostler(&["rollback", "--yes"]);
    assert_eq!((answer.code, node.text(QUIET).as_deref()), (Some(0), Some("one")), "{answer}");
    assert!(answer.stdout.contains("ostler rollback --release"), "{answer}");
    for _ in 0..2 {
        let answer = node.once();
        assert_eq!((answer.code, node.text(QUIET).as_deref()), (Some(4), Some("one")), "{answer}");
        assert!(answer.stderr.contains("rolled back from rendered-2 to rendered-1"), "{answer}");
    }
    assert_eq!(node.condition("Updated")["status"], "False");
    let status = node.sandbox.ostler(&["status", "-o", "json"]).json();
    assert_eq!((&status["rollbackHold"]["from"], &status["config"]), (&json!("rendered-2"), &json!("rendered-1")));
    assert_eq!(node.sandbox.ostler(&["rollback", "--release"]).code, Some(0));
    assert_eq!((node.once().code, node.text(QUIET).as_deref()), (Some(0), Some("two")));
}

#[test]
fn another_configuration_releases_a_rollback() {
    let node = Node::new();
    for (name, text) in [("rendered-1", "one"), ("rendered-2", "two")] {
        node.want(name, QUIET, text);
        assert_eq!(node.once().code, Some(0));
    }
    assert_eq!(node.sandbox.ostler(&["rollback", "--yes"]).code, Some(0));
    node.want("rendered-3", QUIET, "three");
    assert_eq!((node.once().code, node.text(QUIET).as_deref()), (Some(0), Some("three")));
    let status = node.sandbox.ostler(&["status", "-o", "json"]).json();
    assert_eq!(status["rollbackHold"], Value::Null, "{status}");
}

#[test]
fn an_agent_that_runs_makes_the_rollback_and_holds_it_until_it_is_released() {
    let node = Node::new();
    for (name, text) in [("rendered-1", "one"), ("rendered-2", "two")] {
        node.want(name, QUIET, text);
        assert_eq!(node.once().code, Some(0));
    }
    let desired = node.desired.to_str().unwrap();
    let words = ["daemon", "--standalone", desired, "--node-name", "alone", "--metrics", "none"];
    let mut agent = node.sandbox.start(&words);
    let phase = || {
        let status = node.sandbox.ostler(&["status", "-o", "json"]).json();
        status["daemon"]["phase"].as_str().unwrap_or_default().to_owned()
    };
    sandbox::until("the agent is at rest", || phase() == "settled");
    let answer = node.sandbox.ostler(&["rollback", "--yes", "-o", "json"]);
    assert_eq!((answer.code, &answer.json()["result"]), (Some(0), &json!("requested")), "{answer}");
    sandbox::until("the agent rolls back and holds", || phase() == "held");
    assert_eq!(node.text(QUIET).as_deref(), Some("one"));
    // What is said again is no new wish.
    node.want("rendered-2", QUIET, "two");
    agent.terminate();
    assert_eq!(agent.end().code, Some(0));
    let mut agent = node.sandbox.start(&words);
    sandbox::until("an agent that starts again holds", || phase() == "held");
    assert_eq!(node.text(QUIET).as_deref(), Some("one"));
    assert_eq!(node.sandbox.ostler(&["rollback", "--release"]).code, Some(0));
    sandbox::until("the agent updates again", || node.text(QUIET).as_deref() == Some("two"));
    agent.terminate();
    assert_eq!(agent.end().code, Some(0));
}

#[test]
fn a_file_that_is_no_configuration_is_trouble_and_not_the_end() {
    let node = Node::new();
    node.want("rendered-1", QUIET, "one");
    assert_eq!(node.once().code, Some(0));
    node.put("rendered-2.json", "{\"kind\": \"MachineConfig\", ");
    let answer = node.once();
    assert_eq!(answer.code, Some(1), "{answer}");
    assert!(answer.stderr.contains("not valid JSON"), "{answer}");
    assert_eq!(node.text(QUIET).as_deref(), Some("one"));
    node.want("rendered-2", QUIET, "two");
    assert_eq!((node.once().code, node.text(QUIET).as_deref()), (Some(0), Some("two")));
}

#[test]
fn one_agent_looks_after_a_root_and_a_second_is_told_so() {
    let node = Node::new();
    node.want("rendered-1", QUIET, "one");
    let desired = node.desired.to_str().unwrap();
    let words = ["daemon", "--standalone", desired, "--node-name", "alone", "--metrics", "none"];
    let mut first = node.sandbox.start(&words);
    sandbox::until("the first is at work", || node.text(QUIET).is_some());
    let second = node.once();
    assert_eq!(second.code, Some(2), "{second}");
    assert!(second.stderr.contains("another daemon looks after this root"), "{second}");
    let status = node.sandbox.ostler(&["status", "-o", "json"]).json();
    assert_eq!(status["daemon"]["node"], "alone", "{status}");
    // The directory is watched: nobody has to say that there is something new.
    node.want("rendered-2", QUIET, "two");
    sandbox::until("the change is made", || node.text(QUIET).as_deref() == Some("two"));
    first.terminate();
    assert_eq!(first.end().code, Some(0));
}

#[test]
fn what_cannot_be_used_is_said_at_once() {
    let node = Node::new();
    for (words, complaint) in [
        (&["daemon", "--standalone", "/nowhere/at/all"][..], "cannot watch /nowhere/at/all"),
        (&["daemon", "--kubeconfig", "/nowhere/kubeconfig"][..], "/nowhere/kubeconfig"),
    ] {
        let mut all = words.to_vec();
        all.extend(["--node-name", "alone", "--metrics", "none", "--once"]);
        let answer = node.sandbox.ostler(&all);
        assert_eq!(answer.code, Some(2), "{answer}");
        assert!(answer.stderr.contains(complaint), "{answer}");
    }
}

#[test]
fn an_empty_configuration_is_refused_and_a_doubtful_one_is_told_of_once() {
    let node = Node::new();
    node.want("site-1", QUIET, "one");
    assert_eq!(node.once().code, Some(0));
    let named = |spec: Value| json!({"metadata": {"name": "site-2"}, "spec": spec});
    for empty in
        [named(json!({})), named(json!({"config": null})), named(json!({"config": {}})), json!({}), json!(null)]
    {
        node.put("site-2.json", empty.to_string());
        let answer = node.once();
        assert_ne!(answer.code, Some(0), "{empty}: {answer}");
        assert_eq!(node.text(QUIET).as_deref(), Some("one"), "{empty}: {answer}");
    }
    let mut doubtful = machine_config("site-2", &json!({"storgae": {}}));
    doubtful["metadata"]["labels"] = json!({"machineconfiguration.openshift.io/role": "worker"});
    node.put("site-2.json", doubtful.to_string());
    let answer = node.once();
    assert_eq!(answer.code, Some(0), "{answer}");
    assert_eq!(node.text(QUIET), None);
    for words in ["did you mean \"storage\"?", "site-2 is not a rendered MachineConfig", "has nothing but its version"]
    {
        assert_eq!(answer.stderr.matches(words).count(), 1, "{words}: {answer}");
    }
}
