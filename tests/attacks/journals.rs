//! Records of the journal that somebody has tampered with: none is trusted, and none is run.

use std::fs;

use serde_json::json;

use crate::sandbox::{JOURNAL, Sandbox, text_file};
use crate::{Surroundings, exists, sandbox};

/// Valid in everything but the sum.
fn forged_plan() -> Vec<u8> {
    let steps = json!([{"step": "removeFile", "path": "/etc/passwd"}]);
    let plan = json!({
        "purpose": "update", "direction": "forward", "from": "a", "to": "b", "steps": steps, "undo": [],
        "boot": "x", "began": 0, "reason": null,
    })
    .to_string();
    format!("ostler-journal 2 plan {} {}\n{plan}", plan.len(), "0".repeat(64)).into_bytes()
}

/// What is put in the place of a record.
fn records(sandbox: &Sandbox) -> Vec<(&'static str, Vec<u8>)> {
    let last = fs::read(sandbox.path(JOURNAL).join("last")).unwrap();
    let cut = last[..last.len() - 5].to_vec();
    let newer = String::from_utf8(last.clone()).unwrap().replacen("ostler-journal 2 ", "ostler-journal 3 ", 1);
    vec![
        ("garbage", b"\x00\xff garbage".to_vec()),
        ("nothing", Vec::new()),
        ("a record that ends early", cut),
        ("a record of another version", newer.into_bytes()),
        ("a record of another slot", last),
        ("a forged plan", forged_plan()),
    ]
}

fn applied() -> Sandbox {
    let sandbox = sandbox();
    for (name, text) in [("first", "1\n"), ("second", "2\n")] {
        let answer = sandbox.apply(&sandbox.config(name, &text_file("/etc/motd", text)));
        assert_eq!(answer.code, Some(0), "{answer}");
    }
    sandbox
}

#[test]
fn a_plan_that_was_tampered_with_is_set_aside_and_never_run() {
    let sandbox = applied();
    for (name, record) in records(&sandbox) {
        let sandbox = applied();
        let surroundings = Surroundings::of(&sandbox);
        let before = sandbox.tree();
        fs::write(sandbox.path(JOURNAL).join("plan"), &record).unwrap();
        let status = sandbox.ostler(&["status", "-o", "json"]);
        assert_eq!((status.code, status.json()["settled"].as_bool()), (Some(4), Some(false)), "{name}: {status}");
        // What was open is not known the second time either.
        for _ in 0..2 {
            let refused = sandbox.ostler(&["recover"]);
            assert_eq!(refused.code, Some(5), "{name}: {refused}");
            assert!(refused.stderr.contains("ostler abandon"), "{name}: {refused}");
        }
        assert!(exists(&sandbox.path(JOURNAL).join("plan.damaged-1")), "{name}: nothing is kept aside");
        assert!(sandbox.tree() == before, "{name}: something was changed");
        surroundings.assert_same(&sandbox, name);
        let abandoned = sandbox.ostler(&["abandon", "--yes"]);
        assert_eq!(abandoned.code, Some(0), "{name}: {abandoned}");
        assert!(sandbox.tree() == before, "{name}: something was changed");
        let again = sandbox.apply(&sandbox.config("third", &text_file("/etc/motd", "3\n")));
        assert_eq!(again.code, Some(0), "{name}: there is no way on: {again}");
        assert_eq!(fs::read(sandbox.path("/etc/motd")).unwrap(), b"3\n");
    }
}

#[test]
fn a_previous_configuration_that_was_tampered_with_is_not_gone_back_to() {
    let sandbox = applied();
    for (name, record) in records(&sandbox) {
        let sandbox = applied();
        let before = sandbox.tree();
        fs::write(sandbox.path(JOURNAL).join("previous"), &record).unwrap();
        let answer = sandbox.ostler(&["rollback", "--yes"]);
        assert_eq!(answer.code, Some(2), "{name}: {answer}");
        assert!(sandbox.tree() == before, "{name}: something was changed");
    }
}

/// The text of the configuration before, by what is in it.
fn previous_text(sandbox: &Sandbox) -> std::path::PathBuf {
    let texts = fs::read_dir(sandbox.path(JOURNAL)).unwrap().map(|entry| entry.unwrap().path());
    let is_text = |path: &std::path::PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("text-");
    let mut texts: Vec<_> = texts.filter(is_text).collect();
    assert_eq!(texts.len(), 2, "one of the configuration before, one of the current: {texts:?}");
    texts.retain(|path| String::from_utf8(fs::read(path).unwrap()).unwrap().contains("\"first\""));
    texts.pop().unwrap()
}

#[test]
fn a_text_that_was_tampered_with_is_set_aside_and_not_gone_back_to() {
    for gone in [false, true] {
        let sandbox = applied();
        let before = sandbox.tree();
        let text = previous_text(&sandbox);
        if gone {
            fs::remove_file(&text).unwrap();
        } else {
            let forged = String::from_utf8(fs::read(&text).unwrap()).unwrap().replace("/etc/motd", "/etc/mot2");
            fs::write(&text, forged).unwrap();
        }
        let status = sandbox.ostler(&["status", "-o", "json"]);
        assert_eq!(status.json()["damaged"].as_array().map(Vec::len), Some(1), "{status}");
        let answer = sandbox.ostler(&["rollback", "--yes"]);
        assert_eq!(answer.code, Some(2), "{answer}");
        // Who only looks moves nothing; who may write sets it aside.
        let answer = sandbox.ostler(&["recover"]);
        assert_eq!(answer.code, Some(0), "{answer}");
        assert_eq!(exists(&sandbox.path(JOURNAL).join("text.damaged-1")), !gone);
        assert!(sandbox.tree() == before, "something was changed");
    }
}

#[test]
fn records_that_are_links_or_pipes_are_neither_followed_nor_waited_for() {
    for slot in ["previous", "next", "plan", "progress", "origin", "last", "restart", "failed", "trial", "rejected"] {
        for pipe in [false, true] {
            let sandbox = applied();
            let surroundings = Surroundings::of(&sandbox);
            let before = sandbox.tree();
            let path = sandbox.path(JOURNAL).join(slot);
            let _ = fs::remove_file(&path);
            if pipe {
                assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
            } else {
                std::os::unix::fs::symlink(sandbox.outside().join("canary"), &path).unwrap();
            }
            for command in [&["status"][..], &["recover"], &["drift"], &["rollback", "--dry-run"]] {
                let answer = sandbox.ostler(command);
                assert!(answer.code.is_some(), "{slot}: {answer}");
            }
            assert!(sandbox.tree() == before, "{slot}: something was changed");
            surroundings.assert_same(&sandbox, slot);
        }
    }
}
