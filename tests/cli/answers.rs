//! What a usable input is answered with.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::{Files, command, machine_config, one_file, ostler, ostler_reading};

#[test]
fn the_exit_code_tells_the_verdict() {
    let files = Files::new("exit-codes");
    let motd = files.config("motd.json", &one_file("/etc/motd", "x"));
    let disk = files.config("disk.json", &json!({"storage": {"disks": [{"device": "/dev/sdb"}]}}));
    for (arguments, expected) in [
        (vec!["plan", "--to", &motd], 0),
        (vec!["plan", "--from", &motd, "--to", &motd], 0),
        (vec!["plan", "--to", "/nowhere"], 2),
        (vec!["plan", "--from", &motd, "--to", &disk], 3),
        (vec!["plan", "--from", &motd, "--to", &disk, "--overrides", "Disks"], 0),
        (vec!["plan", "--from", &motd, "--to", &disk, "-o", "json"], 3),
        (vec!["diff", "--install-time", &motd, "--to", &motd], 0),
        (vec!["diff", "--install-time", &motd, "--to", &disk], 4),
        (vec!["diff", "--install-time", &motd, "--to", &disk, "-o", "json"], 4),
        (vec!["diff", "--install-time", &motd, "--to", "/nowhere"], 2),
        (vec!["plan"], 2),
        (vec!["fly"], 2),
        (vec!["--version"], 0),
        (vec!["plan", "--help"], 0),
    ] {
        let answer = ostler(&arguments);
        assert_eq!(answer.code, Some(expected), "{arguments:?}: {}", answer.stderr);
        assert_eq!(answer.stderr.is_empty(), expected != 2, "{arguments:?}: {}", answer.stderr);
    }
}

#[test]
fn a_dash_is_standard_input_for_either_side() {
    let files = Files::new("stdin");
    let empty = files.config("empty.json", &json!({}));
    let input = machine_config("from-a-pipe", &one_file("/etc/motd", "x")).to_string();
    for arguments in [["plan", "--from", &empty, "--to", "-"], ["plan", "--from", "-", "--to", &empty]] {
        let answer = ostler_reading(&input, &arguments);
        assert_eq!(answer.code, Some(0), "{}", answer.stderr);
        assert!(answer.stdout.contains("from-a-pipe") && answer.stdout.contains("/etc/motd"), "{}", answer.stdout);
    }
}

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap_or_else(|| panic!("{value} is no object")).keys().map(String::as_str).collect()
}

/// Keys of the contract; others may be added.
const KEYS: [&str; 11] = [
    "reconcilable",
    "reason",
    "diff",
    "changedFiles",
    "changedUnits",
    "actions",
    "drain",
    "reboot",
    "irreconcilable",
    "steps",
    "remedy",
];

fn check_shape(document: &Value) {
    let missing: Vec<_> = KEYS.iter().filter(|key| !keys(document).contains(**key)).collect();
    assert!(missing.is_empty(), "{missing:?} missing in {document}");
    for list in ["changedFiles", "changedUnits", "actions", "irreconcilable", "steps"] {
        assert!(document[list].is_array(), "{list} in {document}");
    }
    for flag in ["reconcilable", "drain", "reboot"] {
        assert!(document[flag].is_boolean(), "{flag} in {document}");
    }
    let parts = ["extensions", "files", "fips", "kargs", "kernelType", "osUpdate", "passwd", "units"];
    if !document["diff"].is_null() {
        assert_eq!(keys(&document["diff"]), BTreeSet::from(parts));
        assert!(document["diff"].as_object().unwrap().values().all(Value::is_boolean));
    }
}

#[test]
fn an_accepted_change_has_every_key_of_the_contract() {
    let files = Files::new("json-accepted");
    let from = files.config("from.json", &json!({}));
    let mut ignition = one_file("/etc/containers/registries.d/a.yaml", "x");
    ignition["storage"]["luks"] = json!([{"name": "data", "device": "/dev/sdb"}]);
    ignition["systemd"] = json!({"units": [{"name": "iri-registry.service", "enabled": true}]});
    let to = files.config("to.json", &ignition);
    let document = ostler(&["plan", "--from", &from, "--to", &to, "-o", "json"]).json();
    check_shape(&document);
    assert_eq!(document["reconcilable"], json!(true));
    assert_eq!(document["reason"], Value::Null);
    assert_eq!(document["changedFiles"], json!(["/etc/containers/registries.d/a.yaml"]));
    assert_eq!(document["changedUnits"], json!(["iri-registry.service"]));
    let reload = json!({"type": "Reload", "reload": {"serviceName": "crio.service"}});
    let restart = json!({"type": "Restart", "restart": {"serviceName": "iri-registry.service"}});
    assert_eq!(document["actions"], json!([reload, {"type": "DaemonReload"}, restart]));
    assert_eq!((&document["drain"], &document["reboot"]), (&json!(false), &json!(false)));
    assert_eq!(keys(&document["irreconcilable"][0]), BTreeSet::from(["diff", "fieldPath"]));
    let steps: Vec<_> = document["steps"].as_array().unwrap().iter().map(|step| step["step"].clone()).collect();
    let expected = ["writeFile", "enableUnit", "recordConfig", "daemonReload", "reloadService", "restartService"];
    assert_eq!(steps, expected);
}

#[test]
fn a_first_boot_action_has_the_daemons_name() {
    let files = Files::new("json-first-boot");
    let to = files.config("to.json", &one_file("/etc/containers/policy.json", "x"));
    let document = ostler(&["plan", "--to", &to, "--first-boot", "-o", "json"]).json();
    check_shape(&document);
    assert_eq!(document["actions"], json!(["reload crio"]));
}

#[test]
fn a_refused_change_still_tells_what_differs() {
    let files = Files::new("json-refused");
    let from = files.config("from.json", &json!({}));
    let mut ignition = one_file("/etc/motd", "x");
    ignition["storage"]["disks"] = json!([{"device": "/dev/sdb"}]);
    let to = files.config("to.json", &ignition);
    let document = ostler(&["plan", "--from", &from, "--to", &to, "-o", "json"]).json();
    check_shape(&document);
    assert_eq!(document["reconcilable"], json!(false));
    assert_eq!(document["reason"], json!("ignition disks section contains changes"));
    assert_eq!(document["changedFiles"], json!(["/etc/motd"]));
    assert_eq!((&document["steps"], &document["actions"]), (&json!([]), &json!([])));
    assert_eq!(document["irreconcilable"][0]["fieldPath"], json!("spec.config.storage.disks"));
}

#[test]
fn an_unreadable_ignition_config_is_refused_in_the_same_shape() {
    let files = Files::new("json-unreadable");
    let to = files.write("to.json", r#"{"metadata":{"name":"x"},"spec":{"config":{"ignition":{"version":"4.0.0"}}}}"#);
    let answer = ostler(&["plan", "--to", &to, "-o", "json"]);
    assert_eq!(answer.code, Some(3));
    check_shape(&answer.json());
}

#[test]
fn a_closed_pipe_is_no_error() {
    let files = Files::new("closed-pipe");
    let many: Vec<Value> = (0..2000).map(|n| json!({"path": format!("/etc/many/{n}")})).collect();
    let to = files.config("to.json", &json!({"storage": {"files": many}}));
    for format in ["text", "json"] {
        let mut command = command(&["plan", "--to", &to, "-o", format]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut start = [0; 16];
        child.stdout.take().unwrap().read_exact(&mut start).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
    }
}

#[test]
fn colours_are_for_terminals_only() {
    let files = Files::new("colours");
    let to = files.config("to.json", &one_file("/etc/motd", "x"));
    for arguments in [vec!["plan", "--to", &to, "--show-contents"], vec!["plan", "--to", "/nowhere"], vec!["--help"]] {
        let answer = ostler(&arguments);
        assert!(!answer.stdout.contains('\u{1b}') && !answer.stderr.contains('\u{1b}'), "{arguments:?}");
    }
    let output = command(&["plan", "--to", &to]).env("CLICOLOR_FORCE", "1").output().unwrap();
    assert!(output.stdout.contains(&0x1b), "the test would not notice colours");
}

#[test]
fn what_a_config_holds_cannot_steer_a_terminal() {
    const EVIL: &str = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{202e}\r\n\u{9b}31m";
    let files = Files::new("escapes");
    let from = files.config("from.json", &json!({}));
    let named = |ignition: &Value| machine_config(&format!("rendered{EVIL}"), ignition).to_string();
    let path = format!("/etc/{EVIL}");
    let luks = json!([{"name": EVIL, "device": EVIL}]);
    let accepted = files.write("accepted.json", named(&one_file(&path, "%1B%5B2J")));
    let refused =
        files.write("refused.json", named(&json!({"storage": {"luks": luks, "directories": [{"path": path}]}})));
    let unit = files.write("unit.json", named(&json!({"systemd": {"units": [{"name": EVIL}]}})));
    let kind = files.write("kind.json", json!({"kind": EVIL, "spec": {}}).to_string());
    let lost = format!("/nowhere{EVIL}");
    for to in [&accepted, &refused, &unit, &kind, &lost] {
        let answer = ostler(&["plan", "--from", &from, "--to", to, "--show-contents"]);
        let shown = format!("{}{}", answer.stdout, answer.stderr);
        let raw = shown.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
        assert_eq!(raw, None, "{shown:?}");
        assert!(shown.contains("\\u{1b}"), "the evil name is shown, spelt out: {shown}");
    }
}

#[test]
fn a_policy_has_no_say_at_first_boot() {
    let files = Files::new("first-boot-policy");
    let to = files.config("to.json", &one_file("/etc/motd", "x"));
    let policy = files.write("policy.json", r#"{"files": [{"path": "/etc/motd", "actions": [{"type": "None"}]}]}"#);
    let plan = |first_boot: &[&str]| {
        let mut arguments = vec!["plan", "--to", &to, "--policy", &policy, "-o", "json"];
        arguments.extend(first_boot);
        ostler(&arguments).json()["actions"].clone()
    };
    assert_eq!(plan(&[]), serde_json::json!([{"type": "None"}]));
    assert_eq!(plan(&["--first-boot"]), serde_json::json!(["reboot"]));
}

#[test]
fn a_machine_without_a_configuration_does_not_agree_with_it() {
    let files = Files::new("no-configuration");
    let root = files.path("root");
    std::fs::create_dir_all(&root).unwrap();
    let answer = ostler(&["drift", "--root", &root]);
    assert_eq!(answer.code, Some(3), "{} {}", answer.stdout, answer.stderr);
    let said = format!("{}{}", answer.stdout, answer.stderr);
    assert!(said.contains("cannot compare the machine with its configuration: none was ever applied"), "{said}");
    assert!(said.contains("ostler apply"), "{said}");
}
