//! What `preflight` and `rollout` answer from a directory, as a person or an operator runs them: the document and the exit
//! status are a contract.
#![cfg(test)]

#[path = "insight/dump.rs"]
mod dump;
#[path = "insight/registry.rs"]
mod registry;

use std::fs;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use dump::Dump;

const TARGET: &str = "--target-version 4.22.0 --target-image-references references --target-image-labels labels";

impl Dump {
    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ostler-cluster"));
        command.args(words.split_whitespace()).current_dir(self.path()).env_clear().env("NO_COLOR", "1");
        command
    }

    fn ask(&self, words: &str) -> Output {
        self.command(words).output().unwrap()
    }

    fn text(&self, words: &str) -> String {
        let output = self.ask(words);
        assert_eq!(output.status.code(), Some(0), "{words}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn document(&self, words: &str) -> Value {
        serde_json::from_str(&self.text(words)).unwrap()
    }
}

fn names(document: &Value) -> Vec<&str> {
    document["risks"].as_array().unwrap().iter().map(|risk| risk["name"].as_str().unwrap()).collect()
}

#[test]
fn a_must_gather_in_order_has_no_risks_in_either_spelling() {
    let dump = Dump::in_order();
    let document = dump.document(&format!("preflight --format=preflight-v1-json {TARGET} --from-dir must-gather"));
    assert_eq!((&document["executionStatus"], &document["risks"]), (&json!("completed"), &json!([])), "{document:#}");
    for words in [
        format!("--preflight --format=preflight-v1-json {TARGET} --from-dir must-gather"),
        format!("--from-dir must-gather {TARGET} --preflight"),
    ] {
        let other = dump.document(&words);
        assert_eq!((&other["targetVersion"], &other["risks"]), (&json!("4.22.0"), &json!([])), "{words}");
    }
    assert!(dump.text(&format!("preflight {TARGET} --from-dir must-gather -o text")).starts_with("clear: no risks"));
}

#[test]
fn a_document_is_status_0_whatever_it_says_and_a_wrong_command_line_is_2() {
    let dump = Dump::in_order();
    fs::create_dir(dump.path().join("empty")).unwrap();
    let document = dump.document("preflight --target-version 4.22.0 --from-dir empty");
    assert_eq!(names(&document), ["MachineConfigCompatibilityUnknown"], "{document:#}");
    let message = document["risks"][0]["message"].as_str().unwrap();
    assert!(message.contains("there are no MachineConfigPools") && message.contains("no ClusterVersion"), "{message}");
    for (words, status) in [
        ("preflight --target-version 4.22.0 --from-dir empty --format=preflight-v2-json", 2),
        ("preflight --target-version 4.22 --from-dir empty", 2),
        ("preflight --from-dir empty", 2),
        ("preflight --target-version 4.22.0 --target-version 4.23.0 --from-dir empty", 2),
        ("preflight --target-version 4.22.0 --target-image-references absent --from-dir empty", 2),
        ("preflight --target-version 4.22.0 --target-bootimages labels --from-dir empty", 2),
        ("preflight --target-version 4.22.0 --target-release-image x --target-bootimages y --from-dir empty", 2),
        ("preflight --target-version 4.22.0 --timeout 301 --from-dir empty", 2),
        ("preflight --target-version 4.22.0 --from-dir nowhere", 1),
        ("preflight --target-version 4.22.0 --from-dir empty --output nowhere/result.json", 1),
        ("rollout status --from-dir empty", 3),
        ("rollout status --from-dir must-gather --pool nobody", 3),
        ("rollout explain nobody --from-dir must-gather", 3),
    ] {
        let output = dump.ask(words);
        assert_eq!(output.status.code(), Some(status), "{words}: {output:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{words}: {output:?}");
    }
}

#[test]
fn nodes_that_pools_count_and_a_dump_does_not_have_are_missed() {
    let dump = Dump::in_order();
    fs::remove_dir_all(dump.resource("core/nodes")).unwrap();
    let document = dump.document(&format!("preflight {TARGET} --from-dir must-gather"));
    assert_eq!(names(&document), ["MachineConfigCompatibilityUnknown"], "{document:#}");
    assert!(document["risks"][0]["message"].as_str().unwrap().contains("there are no Nodes"), "{document:#}");
}

#[test]
fn targets_stand_side_by_side() {
    let dump = Dump::in_order();
    dump.deprecate();
    let files = "--target-image-references references --target-image-labels labels";
    let words = format!(
        "preflight --compare --target-version 4.22.0 --target-version 4.24.0 {files} {files} --from-dir must-gather"
    );
    let text = dump.text(&format!("{words} -o text"));
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["RISK", "4.22.0", "4.24.0"], "{text}");
    assert_eq!(rows[1], ["MachineConfigDeprecatedOSStreamInUse", "warning", "critical"], "{text}");
    let documents = dump.document(&words);
    let versions: Vec<&Value> = documents.as_array().unwrap().iter().map(|one| &one["targetVersion"]).collect();
    assert_eq!(versions, ["4.22.0", "4.24.0"]);
}

#[test]
fn a_release_image_tells_its_streams_and_its_boot_images() {
    let regions = |ami: &str| {
        let aws = json!({"regions": {"eu-1": {"release": "9.6.20260101-0", "image": ami}}});
        let stream = json!({"stream": "rhel-9.6", "architectures": {"x86_64": {"images": {"aws": aws}}}});
        json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"releaseVersion": "4.22.0", "stream": stream.to_string()},
            "metadata": {"name": "coreos-bootimages", "namespace": "openshift-machine-config-operator"}})
    };
    // Whether an AMI is Red Hat's is known only by the boot images of some release that has it.
    for (of_release, expected) in [("ami-1", vec![]), ("ami-2", vec!["MachineConfigBootImageUnmanaged"])] {
        let registry = registry::Registry::start(&regions(of_release));
        let dump = Dump::in_order();
        dump.on_aws("ami-1", &regions("ami-0"));
        dump.allow_insecure(&registry.host());
        let words = format!(
            "preflight --target-version 4.22.0 --target-release-image {}/release:1 --from-dir must-gather",
            registry.host()
        );
        let document = dump.document(&words);
        assert_eq!(names(&document), expected, "{document:#}");
        assert_eq!(document["executionStatus"], "completed");
    }
}

#[test]
fn a_registry_that_never_answers_leaves_the_rest_and_the_status_says_so() {
    let silent = std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).unwrap();
    let host = silent.local_addr().unwrap();
    let dump = Dump::in_order();
    dump.pause("worker", true);
    let words = format!(
        "preflight --target-version 4.22.0 --target-release-image {host}/release:1 --timeout 2 --from-dir must-gather"
    );
    let document = dump.document(&words);
    assert_eq!(names(&document), ["MachineConfigCompatibilityUnknown", "MachineConfigPoolPaused"], "{document:#}");
    assert_eq!(document["executionStatus"], "failed");
    assert!(dump.text(&format!("{words} -o text")).contains("The time was over before everything was read"));
}

/// Ends with its owner.
struct Watcher(Child);

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_watched_document_follows_the_cluster_and_is_whole_at_every_moment() {
    let dump = Dump::in_order();
    let words = format!("preflight {TARGET} --from-dir must-gather --output result.json --watch --interval 1");
    let _watcher = Watcher(dump.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let result = dump.path().join("result.json");
    let until = |expected: &[&str]| {
        let start = Instant::now();
        loop {
            if let Ok(text) = fs::read_to_string(&result) {
                let document: Value = serde_json::from_str(&text).expect("a reader sees a whole document");
                if document["executionStatus"] == "completed" && names(&document) == expected {
                    return;
                }
            }
            assert!(start.elapsed() < Duration::from_secs(180), "never {expected:?}");
            std::thread::sleep(Duration::from_millis(2));
        }
    };
    until(&[]);
    dump.pause("worker", true);
    until(&["MachineConfigPoolPaused"]);
    dump.pause("worker", false);
    until(&[]);
    let left = fs::read_dir(dump.path()).unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_string_lossy().starts_with(".result.json")
    });
    assert_eq!(left.count(), 0, "nothing is left beside it");
}

#[test]
fn a_rollout_is_told_from_a_must_gather() {
    let dump = Dump::in_order();
    assert_eq!(dump.text("rollout next --from-dir must-gather"), "every node is updated\n");
    dump.roll_out();
    let status = dump.text("rollout status --from-dir must-gather");
    let row = |name: &str| status.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{status}"));
    assert!(row("worker ").contains("1/3") && row("worker ").contains("1/1"), "{status}");
    assert!(row("worker-0").contains("draining"), "{status}");
    assert!(row("worker-0").contains("pod shop/db-0 is kept by PodDisruptionBudget db"), "{status}");
    let next = dump.document("rollout next --from-dir must-gather -o json");
    let worker = next["pools"].as_array().unwrap().iter().find(|pool| pool["name"] == "worker").unwrap();
    assert_eq!((&worker["now"], &worker["order"]), (&json!([]), &json!(["worker-1"])));
    let explained = dump.text("rollout explain worker-1 --from-dir must-gather");
    assert!(
        explained.contains("it is number 1 by zone and age") && explained.contains("1 of at most 1"),
        "{explained}"
    );
    let estimate = dump.document("rollout estimate --minutes-per-node 10 --from-dir must-gather -o json");
    assert_eq!(estimate["leftSeconds"], 1200, "{estimate:#}");
    let paused = dump.document("preflight --target-version 4.22.0 --from-dir must-gather");
    let expected = ["MachineConfigCompatibilityUnknown", "MachineConfigNoUpdateCapacity", "MachineConfigPoolUpdating"];
    assert_eq!(names(&paused), expected, "{paused:#}");
}
