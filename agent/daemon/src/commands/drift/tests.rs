//! What `ostler drift` asks for, says and ends in.

use ostler_core::drift::{Difference, Subject};
use ostler_core::protocol::Class;
use ostler_core::transaction::Purpose;
use serde_json::json;

use super::*;
use crate::cli::{Format, MachineOptions};
use crate::commands::scripted::{
    FAILURES, PROGRAM, Played, SCRIPT, Scene, Scripted, failure, finished, person, play, undone,
};

fn run(scene: Scene, repair: bool, yes: bool, replies: Vec<Reply>) -> (Played, Scripted) {
    let mut asks = Scripted::new(replies);
    let options = DriftOptions { repair, yes, machine: MachineOptions::default() };
    let no_policy = |_: Option<&Path>| (DriftPolicy::default(), None);
    let played = play(scene, |console| drift(&options, console, |_| Ok(&mut asks), no_policy));
    (played, asks)
}

/// What is said of drift under a policy.
fn judged(scene: Scene, policy: &str) -> Played {
    let mut asks = Scripted::new(vec![Reply::Drift(all())]);
    let options = DriftOptions { repair: false, yes: false, machine: MachineOptions::default() };
    let policy = |_: Option<&Path>| DriftPolicy::of(DriftPolicy::parse(policy.as_bytes()), None);
    play(scene, |console| drift(&options, console, |_| Ok(&mut asks), policy))
}

#[test]
fn what_the_policy_says_is_told_of_every_difference() {
    let policy = "rules: [{path: /etc/*, action: repair}, {path: /etc/shadow, action: ignore}]";
    let played = judged(SCRIPT, policy);
    for line in [
        "  /etc/a                       is missing  (policy: repair)\n",
        "has another mode      4755 instead of 0644  (policy: repair)\n",
        "  SSH keys of core             are others  (policy: report)\n",
        "  password of core             is another  (policy: ignore)\n",
    ] {
        assert!(played.stdout.contains(line), "{line}{}", played.stdout);
    }
    let answer = judged(PROGRAM, policy).json();
    let said = |index: usize| answer["drift"][index]["policy"].clone();
    assert_eq!([said(0), said(8), said(9)], ["repair", "report", "ignore"].map(serde_json::Value::from));
    let played = judged(SCRIPT, "rules: [{path: etc, action: repair}]");
    assert!(
        played
            .stdout
            .starts_with("Drift policy: rule 1 of the drift policy has a path that cannot be used: it is not absolute"),
        "{}",
        played.stdout
    );
    assert!(!played.stdout.contains("(policy:"), "everything is reported then");
}

fn file(path: &str, difference: Difference) -> Drift {
    Drift { subject: Subject::File { path: path.to_owned() }, difference }
}

fn all() -> Vec<Drift> {
    let text = str::to_owned;
    let unit = || Subject::Unit { unit: text("a.service") };
    vec![
        file("/etc/a", Difference::Missing),
        file("/etc/b", Difference::Contents),
        file("/etc/c\u{1b}[2J", Difference::Kind { found: text("a link") }),
        file("/etc/d", Difference::Mode { expected: 0o644, found: 0o4755 }),
        file("/etc/e", Difference::Owner { expected: (0, 0), found: (1000, 993) }),
        file("/etc/f", Difference::Label { expected: text("etc_t"), found: None }),
        Drift { subject: unit(), difference: Difference::State { expected: text("enabled"), found: text("disabled") } },
        Drift {
            subject: Subject::Dropin { unit: text("a.service"), dropin: text("9.conf") },
            difference: Difference::Extra,
        },
        Drift { subject: Subject::SshKeys { user: text("core") }, difference: Difference::Contents },
        Drift { subject: Subject::Password { user: text("core") }, difference: Difference::Contents },
    ]
}

#[test]
fn every_difference_is_listed_in_words() {
    let (played, asks) = run(SCRIPT, false, false, vec![Reply::Drift(all())]);
    assert_eq!((played.outcome, asks.asked), (Outcome::Different, vec![Request::Drift]));
    assert_eq!(
        played.stdout,
        "\
10 differences from the machine's configuration

  /etc/a                       is missing
  /etc/b                       holds something else
  /etc/c\\u{1b}[2J              is not a file         a link
  /etc/d                       has another mode      4755 instead of 0644
  /etc/e                       has another owner     1000:993 instead of 0:0
  /etc/f                       has another label     none instead of etc_t
  unit a.service               has another state     disabled instead of enabled
  drop-in 9.conf of a.service  is not configured
  SSH keys of core             are others
  password of core             is another
"
    );
}

#[test]
fn a_machine_as_configured_is_said_to_be_so_and_not_repaired() {
    for repair in [false, true] {
        let (played, asks) = run(SCRIPT, repair, repair, vec![Reply::Drift(Vec::new()), Reply::Nothing]);
        assert_eq!((played.outcome, asks.asked.len()), (Outcome::Success, 1 + usize::from(repair)));
        let end = if repair { "Nothing was changed.\n" } else { "" };
        assert_eq!(played.stdout, format!("No drift. The machine agrees with its configuration.\n{end}"));
    }
    let (played, _) = run(PROGRAM, true, true, vec![Reply::Drift(Vec::new()), Reply::Nothing]);
    assert_eq!((&played.json()["result"], &played.json()["drift"]), (&json!("nothing"), &json!([])));
}

#[test]
fn a_repair_says_what_it_removes_and_asks() {
    let done = || Reply::Finished(finished(Purpose::Repair));
    let none = || Reply::Drift(Vec::new());
    let (played, asks) = run(person("y\n"), true, false, vec![Reply::Drift(all()), done(), none()]);
    assert_eq!(
        (played.outcome, asks.asked),
        (Outcome::Success, vec![Request::Drift, Request::Repair { only: Vec::new() }, Request::Drift])
    );
    assert!(played.stdout.ends_with(
        "\nA repair makes all of this as configured; changes made by hand are lost.\n\
         The extra drop-in is removed by it.\n\
         Repaired: the machine agrees with rendered-worker-1 again. Changed: 3 files and links. \
         (10 seconds)\n"
    ));
    assert!(played.stderr.contains("\nRepair? [y/N] "));
    let scene = Scene { format: Format::Json, answer: Some("y\n") };
    let (played, _) = run(scene, true, false, vec![Reply::Drift(all()), done(), none()]);
    assert!(played.stderr.contains("drop-in 9.conf of a.service  is not configured\n"), "{}", played.stderr);
}

#[test]
fn what_a_repair_could_not_put_right_is_named_with_what_to_do() {
    let image = Difference::State { expected: "a@sha256:1".to_owned(), found: "b@sha256:2".to_owned() };
    let left = vec![
        Drift {
            subject: Subject::File { path: "/etc/c".to_owned() },
            difference: Difference::Kind { found: "directory".to_owned() },
        },
        Drift { subject: Subject::OsImage, difference: image },
    ];
    let replies = vec![Reply::Drift(all()), Reply::Finished(finished(Purpose::Repair)), Reply::Drift(left)];
    let (played, _) = run(SCRIPT, true, true, replies);
    assert_eq!(played.outcome, Outcome::Different);
    assert!(
        played.stdout.ends_with(
            "Not repaired:\n  /etc/c is not a file: directory\n    Fix: move what stands there away, then repair again\n  \
             OS image is another: b@sha256:2 instead of a@sha256:1\n    Fix: touch /run/machine-config-daemon-force: \
             the agent then applies the whole configuration again\n"
        ),
        "{}",
        played.stdout
    );
}

#[test]
fn every_way_a_repair_can_end_has_its_exit_code() {
    let undone = Reply::Finished(undone(Purpose::Repair));
    for (scene, yes, end, outcome, asked) in [
        (person("n\n"), false, None, Outcome::Failed, 1),
        (SCRIPT, false, None, Outcome::BadInput, 1),
        (SCRIPT, true, Some(Reply::Finished(finished(Purpose::Repair))), Outcome::Success, 3),
        (SCRIPT, true, Some(Reply::Nothing), Outcome::Success, 3),
        (SCRIPT, true, Some(undone), Outcome::Failed, 2),
        (SCRIPT, true, None, Outcome::Unsettled, 2),
    ] {
        let after = (asked == 3).then(|| Reply::Drift(Vec::new()));
        let replies = [Some(Reply::Drift(all())), end, after].into_iter().flatten().collect();
        let (played, asks) = run(scene, true, yes, replies);
        assert_eq!((played.outcome, asks.asked.len()), (outcome, asked), "{played:?}");
    }
    for (class, unchanged, outcome) in FAILURES {
        let replies = vec![Reply::Drift(all()), Reply::Failed(failure(class, unchanged))];
        assert_eq!(run(SCRIPT, true, true, replies).0.outcome, outcome);
    }
    let (played, _) = run(SCRIPT, false, false, vec![Reply::Failed(failure(Class::Transient, true))]);
    assert_eq!(played.outcome, Outcome::Failed);
    assert_eq!(run(SCRIPT, false, false, Vec::new()).0.outcome, Outcome::Failed);
}

#[test]
fn a_program_gets_the_same_as_a_document() {
    let (played, _) = run(PROGRAM, false, false, vec![Reply::Drift(all())]);
    let answer = played.json();
    assert_eq!(answer["drift"].as_array().unwrap().len(), 10);
    for (index, expected) in [
        (
            0,
            json!({"subject": {"kind": "file", "path": "/etc/a"}, "difference": "missing", "expected": null, "found": null, "policy": "report"}),
        ),
        (
            3,
            json!({"subject": {"kind": "file", "path": "/etc/d"}, "difference": "mode", "expected": "0644", "found": "4755", "policy": "report"}),
        ),
        (
            4,
            json!({"subject": {"kind": "file", "path": "/etc/e"}, "difference": "owner", "expected": "0:0", "found": "1000:993", "policy": "report"}),
        ),
        (
            7,
            json!({
                "subject": {"kind": "dropin", "unit": "a.service", "dropin": "9.conf"},
                "difference": "extra", "expected": null, "found": null, "policy": "report",
            }),
        ),
    ] {
        assert_eq!(answer["drift"][index], expected);
    }
    let replies = vec![Reply::Drift(all()), Reply::Finished(finished(Purpose::Repair)), Reply::Drift(Vec::new())];
    let answer = run(PROGRAM, true, true, replies).0.json();
    assert_eq!((&answer["result"], answer["drift"].as_array().unwrap().len()), (&json!("applied"), 10));
    assert_eq!(answer["plan"], json!(null));
}
