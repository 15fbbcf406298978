//! What an unusable input is answered with: exit code 2, nothing on stdout, the cause on stderr.

use std::fs::{self, File};

use serde_json::json;

use crate::{Files, one_file, ostler};

fn check(arguments: &[&str], expected: &str) {
    let answer = ostler(arguments);
    assert_eq!(answer.code, Some(2), "{arguments:?}: {}{}", answer.stdout, answer.stderr);
    assert_eq!(answer.stdout, "", "{arguments:?}");
    assert!(answer.stderr.starts_with("error: "), "{arguments:?}: {}", answer.stderr);
    assert!(answer.stderr.contains(expected), "{arguments:?}: {} lacks {expected:?}", answer.stderr);
    assert!(answer.stderr.lines().count() <= 12, "{arguments:?}: {}", answer.stderr);
}

#[test]
fn a_document_that_is_no_machine_config_is_told_by_what_it_is() {
    let files = Files::new("bad-input");
    let good = files.config("good.json", &one_file("/etc/motd", "x"));
    let directory = files.path("directory");
    fs::create_dir_all(&directory).unwrap();
    let oversized = files.path("oversized");
    File::create(&oversized).unwrap().set_len(1 << 32).unwrap();
    let missing = files.path("missing");
    let mut bad = vec![
        (missing, "No such file"),
        (directory, "Is a directory"),
        (oversized, "more than 32 MiB"),
        ("-".to_owned(), "the document is empty"),
    ];
    for (name, contents, expected) in [
        ("empty", &b""[..], "the document is empty"),
        ("blank", b"\n\n# nothing\n", "the document is empty"),
        ("binary", b"\x7fELF\x02\x01\x01\0\0\xff\xfe", "not UTF-8 text"),
        ("pod", b"apiVersion: v1\nkind: Pod\nspec: {}\n", "the document is a Pod, not a MachineConfig"),
        ("list", b"[]", "the document is not an object"),
        ("scalar", b"hello\n", "the document is not an object"),
        ("ignition", b"ignition: {version: 3.5.0}\n", "bare Ignition config"),
        ("truncated", b"{\"kind\": \"MachineConfig\", \"spec\": {", "not valid JSON"),
        (
            "two",
            b"kind: MachineConfig\nspec: {}\n---\nkind: MachineConfig\nspec: {}\n",
            "the file has several YAML documents",
        ),
        ("tabs", b"spec:\n\tconfig: {}\n", "not valid YAML"),
        ("no-spec", b"kind: MachineConfig\n", "no spec"),
        ("types", b"spec: {kernelArguments: nosmt}\n", "spec.kernelArguments"),
    ] {
        bad.push((files.write(name, contents), expected));
    }
    for (path, expected) in &bad {
        check(&["plan", "--to", path], expected);
        check(&["plan", "--from", path, "--to", &good, "-o", "json"], expected);
        check(&["diff", "--install-time", path, "--to", &good], expected);
    }
}

#[test]
fn deep_nesting_is_refused_before_the_stack_ends() {
    let files = Files::new("nesting");
    let json = files.write("deep.json", format!("{{\"spec\":{}", "[".repeat(1_000_000)));
    let yaml = files.write("deep.yaml", format!("spec: {}", "[".repeat(1_000_000)));
    check(&["plan", "--to", &json], "not valid JSON");
    check(&["plan", "--to", &yaml], "not valid YAML");
}

#[test]
fn a_policy_that_is_none_is_refused() {
    let files = Files::new("bad-policy");
    let to = files.config("to.json", &one_file("/etc/motd", "x"));
    let actions = |actions: serde_json::Value| json!({"files": [{"path": "/etc/motd", "actions": actions}]});
    for (name, policy, expected) in [
        ("pod", json!({"kind": "Pod"}), "the document is a Pod, not a MachineConfiguration"),
        ("list", json!([]), "the document is not an object"),
        ("other", json!({"rules": []}), "neither a MachineConfiguration nor a nodeDisruptionPolicy"),
        ("no-type", actions(json!([{"restart": {"serviceName": "a.service"}}])), "type is missing"),
        ("service", actions(json!([{"type": "Restart"}])), "Restart action without a serviceName"),
        ("alone", actions(json!([{"type": "None"}, {"type": "Drain"}])), "must stand alone"),
    ] {
        let policy = files.write(name, policy.to_string());
        check(&["plan", "--to", &to, "--policy", &policy], expected);
    }
    check(&["plan", "--to", &to, "--policy", &files.path("missing")], "No such file");
}

#[test]
fn a_wrong_command_line_is_told_with_the_right_one() {
    let files = Files::new("command-line");
    let to = files.config("to.json", &one_file("/etc/motd", "x"));
    for (arguments, expected) in [
        (vec!["plan", "--to", &to, "--overrides", "Luks"], "possible values: Disks, FileSystems, Raid"),
        (vec!["plan", "--to", &to, "-o", "xml"], "possible values: text, json"),
        (vec!["plan", "--from", &to], "--to <FILE>"),
        (vec!["fly"], "unrecognized subcommand"),
    ] {
        check(&arguments, expected);
    }
}
