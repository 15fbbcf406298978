//! What `ostler apply` asks for, says and ends in.

use std::path::PathBuf;

use ostler_core::protocol::{Class, Forecast, Observation, Reply, Request};
use ostler_core::step::Step;
use ostler_core::transaction::{Finished, Purpose};
use serde_json::{Value, json};

use super::*;
use crate::cli::{Format, MachineOptions, RuleOptions};
use crate::commands::scripted::{
    FAILURES, PROGRAM, Played, SCRIPT, Scene, Scripted, apply, document, failure, finished, observation, one_file,
    person, play, prepared, undone,
};

const YES: ConsentOptions = ConsentOptions { dry_run: false, yes: true };
const ASK: ConsentOptions = ConsentOptions { dry_run: false, yes: false };
const DRY: ConsentOptions = ConsentOptions { dry_run: true, yes: false };

fn run(scene: Scene, consent: ConsentOptions, to: &Value, replies: Vec<Reply>) -> (Played, Scripted) {
    let mut asks = Scripted::new(replies);
    let target = target(to.clone(), Rules::default()).unwrap().unwrap();
    let played = play(scene, |console| reach(target, &mut &mut asks, consent, console));
    (played, asks)
}

fn observed(live: bool) -> Reply {
    Reply::Observed(Observation { live, ..observation(None) })
}

fn checked() -> Reply {
    prepared(Forecast { changed: 3, bytes: 2048, left_out: vec![Step::DaemonReload], notes: Vec::new() })
}

fn applied() -> Reply {
    Reply::Finished(finished(Purpose::Update))
}

#[test]
fn a_change_is_shown_checked_and_applied() {
    let to = one_file("rendered-worker-1", "x");
    let (played, asks) = run(SCRIPT, YES, &to, vec![observed(false), checked(), applied()]);
    assert_eq!(played.outcome, Outcome::Success);
    assert_eq!(
        played.stdout,
        "\
Plan from an empty machine to rendered-worker-1

Changes
  + /etc/containers/policy.json  reload crio.service  default policy for it

Drain   no, workloads go on running
Reboot  no

Steps
  1  write /etc/containers/policy.json (0644 root:root, 1 byte)
  2  record rendered-worker-1 as the node's configuration
  3  reload crio.service

Checked: nothing stands in the way. To change: 3 files and links. To write: 2048 bytes.
Left out: this is a directory, not a running machine
  reload systemd's units
Applied: the machine is in rendered-worker-1. Changed: 3 files and links. (10 seconds)
"
    );
    assert_eq!(played.stderr, "check\ncheck\n");
    let prepare = Prepare { to: Destination::Config(Sealed::new(to)), rules: Rules::default() };
    assert_eq!(asks.asked, [Request::Observe, Request::Prepare(prepare), apply()]);
}

#[test]
fn what_is_worth_knowing_is_told_before_anything_is_done() {
    let notes = vec!["mirror m.example: it did not answer".to_owned()];
    let checked = prepared(Forecast { changed: 1, notes, ..Forecast::default() });
    let (played, _) = run(SCRIPT, DRY, &one_file("a", "x"), vec![observed(false), checked]);
    assert!(played.stdout.contains("\nNote: mirror m.example: it did not answer\n"), "{}", played.stdout);
}

#[test]
fn a_plan_that_the_machine_does_not_need_any_more_is_not_applied() {
    let Reply::Prepared(mut other) = checked() else { panic!() };
    other.steps = vec![Step::Drain];
    let (played, asks) = run(SCRIPT, YES, &one_file("a", "x"), vec![observed(false), Reply::Prepared(other)]);
    assert_eq!((played.outcome, asks.kinds().len()), (Outcome::Failed, 2));
    assert!(played.stderr.contains("the machine has changed since it was made"), "{}", played.stderr);
}

#[test]
fn a_dry_run_ends_with_the_check() {
    let (played, asks) = run(SCRIPT, DRY, &one_file("a", "x"), vec![observed(false), checked()]);
    assert_eq!(played.outcome, Outcome::Success);
    assert_eq!(asks.kinds(), ["observe", "prepare"]);
    assert!(played.stdout.ends_with("  reload systemd's units\nNothing was changed: this was a dry run.\n"));
}

#[test]
fn only_a_clear_yes_changes_the_machine() {
    for (answer, agreed) in [
        ("y\n", true),
        ("YES\n", true),
        (" yes \n", true),
        ("n\n", false),
        ("\n", false),
        ("", false),
        ("yes please\n", false),
    ] {
        let (played, asks) = run(person(answer), ASK, &one_file("a", "x"), vec![observed(false), checked(), applied()]);
        assert!(played.stderr.contains("\nApply? [y/N] "), "{}", played.stderr);
        assert!(!played.stdout.contains("[y/N]"));
        assert_eq!(asks.kinds().contains(&"apply".to_owned()), agreed, "{answer:?}");
        assert_eq!(played.outcome, if agreed { Outcome::Success } else { Outcome::Failed }, "{answer:?}");
        assert_eq!(played.stdout.ends_with("Nothing was changed.\n"), !agreed, "{answer:?}");
    }
}

#[test]
fn a_person_is_asked_with_the_warnings_in_view() {
    let current = Reply::Observed(observation(Some(one_file("rendered-worker-1", "x"))));
    let (played, _) = run(person("n\n"), ASK, &document("99-part", json!({})), vec![current, checked()]);
    assert!(played.stdout.contains("Warning: 99-part is not a rendered MachineConfig"), "{}", played.stdout);
    assert!(played.stderr.contains("\nApply in spite of the warnings? [y/N] "), "{}", played.stderr);
}

#[test]
fn without_a_terminal_yes_has_to_be_given() {
    for scene in [SCRIPT, PROGRAM] {
        let (played, asks) = run(scene, ASK, &one_file("a", "x"), vec![observed(false), checked(), applied()]);
        assert_eq!(played.outcome, Outcome::BadInput);
        assert_eq!(asks.kinds(), ["observe", "prepare"]);
        assert!(
            played.stderr.ends_with(
                "error: this would change the machine, and there is no terminal to ask at; nothing was changed\n\
                 remedy: give --yes to do it without being asked\n"
            ),
            "{}",
            played.stderr
        );
    }
}

#[test]
fn a_running_machine_is_neither_drained_nor_restarted() {
    let to = document("a", json!({"storage": {"files": [{"path": "/etc/a", "contents": {"source": "data:,x"}}]}}));
    let reboot = Reply::Finished(Finished { reboot: true, ..finished(Purpose::Update) });
    let (played, _) = run(person("y\n"), ASK, &to, vec![observed(true), checked(), reboot]);
    for said in [
        "Left out: not for this kind of machine\n",
        "Drain: this command does not drain the node. Workloads have to leave first:\n  oc adm drain NODE ",
        "Reboot: this command does not restart the machine. Restart it afterwards: ostler reboot\n",
        "Restart the machine for it to take effect: ostler reboot\n",
    ] {
        assert!(played.stdout.contains(said), "{said:?} is not in {}", played.stdout);
    }
    let (played, _) = run(SCRIPT, YES, &to, vec![observed(false), checked(), applied()]);
    assert!(!played.stdout.contains("oc adm drain") && !played.stdout.contains("ostler reboot"));
}

#[test]
fn a_refused_target_and_one_that_is_there_already_are_not_asked_for() {
    let to = one_file("a", "x");
    let here = Reply::Observed(observation(Some(to.clone())));
    let disks = document("a", json!({"storage": {"disks": [{"device": "/dev/sdb"}]}}));
    for (to, reply, outcome, said, result) in [
        (&to, here, Outcome::Success, "Nothing to do. The node is in this configuration.", "nothing"),
        (&disks, observed(false), Outcome::Refused, "Refused: ignition disks section contains changes", "refused"),
    ] {
        let (played, asks) = run(SCRIPT, YES, to, vec![reply.clone()]);
        assert_eq!((played.outcome, asks.kinds()), (outcome, vec!["observe".to_owned()]));
        assert!(played.stdout.contains(said), "{}", played.stdout);
        let (played, _) = run(PROGRAM, YES, to, vec![reply]);
        assert_eq!((played.outcome, &played.json()["result"]), (outcome, &json!(result)));
    }
}

#[test]
fn configs_that_cannot_be_parsed_are_refused_and_records_that_are_none_are_the_machines_fault() {
    let bad = json!({"metadata": {"name": "bad"}, "spec": {"config": {"ignition": {"version": "9.0.0"}}}});
    assert!(matches!(target(bad.clone(), Rules::default()).unwrap(), Err(Refusal::UnreadableTarget { .. })));
    for (current, outcome, said) in [
        (bad, Outcome::Refused, "Refused: parsing old Ignition config from machineconfig \"bad\" failed"),
        (json!([1]), Outcome::Failed, "error: a configuration that the machine has recorded cannot be used"),
    ] {
        let reply = Reply::Observed(observation(Some(current)));
        let (played, asks) = run(SCRIPT, YES, &one_file("a", "x"), vec![reply]);
        assert_eq!((played.outcome, asks.asked.len()), (outcome, 1));
        assert!(format!("{}{}", played.stdout, played.stderr).contains(said), "{played:?}");
    }
}

#[test]
fn an_interrupted_transaction_has_to_be_recovered_first() {
    let reply = Reply::Observed(Observation { interrupted: true, ..observation(None) });
    let (played, asks) = run(SCRIPT, YES, &one_file("a", "x"), vec![reply]);
    assert_eq!((played.outcome, asks.kinds()), (Outcome::Unsettled, vec!["observe".to_owned()]));
    assert_eq!(
        played.stderr,
        "error: a transaction was interrupted\n\
         remedy: run \"ostler recover\" first, or \"ostler abandon\" if it fails for good; \"ostler status\" tells what it was\n"
    );
}

#[test]
fn every_failure_has_its_exit_code_wherever_it_happens() {
    for (class, unchanged, outcome) in FAILURES {
        let failed = || Reply::Failed(failure(class, unchanged));
        for replies in [vec![failed()], vec![observed(true), failed()], vec![observed(true), checked(), failed()]] {
            let (played, _) = run(SCRIPT, YES, &one_file("a", "x"), replies.clone());
            assert_eq!(played.outcome, outcome, "{class:?} {unchanged}");
            assert!(played.stderr.contains("cannot write /etc/a\n  because no space left\\u{1b}[2J\n"));
            assert!(played.stderr.contains("remedy: free some space\n"));
            assert_eq!(played.stderr.contains("The machine is as it was."), unchanged);
            let (played, _) = run(PROGRAM, YES, &one_file("a", "x"), replies);
            let failure = &played.json()["failure"];
            assert_eq!((played.outcome, &failure["unchanged"]), (outcome, &json!(unchanged)));
        }
    }
}

#[test]
fn a_change_that_was_undone_is_no_success() {
    let undone = Reply::Finished(undone(Purpose::Update));
    let (played, _) = run(SCRIPT, YES, &one_file("a", "x"), vec![observed(true), checked(), undone]);
    assert_eq!(played.outcome, Outcome::Failed);
    let end = "Undone: no space left\\u{7} (10 seconds)\nThe machine is in an empty machine, as it was before.\n";
    assert!(played.stdout.ends_with(end), "{}", played.stdout);
}

#[test]
fn silence_is_dangerous_only_while_the_machine_changes() {
    let lost = "error: the applier's answer was lost, and with it whether the machine has changed\n  \
                because the connection was closed\nremedy: \"ostler status\"";
    let none = "error: the applier gave no answer; nothing was changed\n  because the connection was closed\n";
    for (replies, outcome, said) in [
        (vec![], Outcome::Failed, none),
        (vec![observed(true)], Outcome::Failed, none),
        (vec![observed(true), checked()], Outcome::Unsettled, lost),
        (vec![Reply::Nothing], Outcome::Failed, "because the answer is to another question\n"),
        (vec![observed(true), observed(true)], Outcome::Failed, "because the answer is to another question\n"),
        (vec![observed(true), checked(), checked()], Outcome::Unsettled, "because the answer is to another question\n"),
    ] {
        let (played, _) = run(SCRIPT, YES, &one_file("a", "x"), replies);
        assert_eq!(played.outcome, outcome);
        assert!(played.stderr.contains(said), "{}", played.stderr);
    }
}

#[test]
fn a_program_gets_one_document_and_progress_as_lines() {
    let to = one_file("rendered-worker-1", "x");
    let (played, _) = run(PROGRAM, YES, &to, vec![observed(false), checked(), applied()]);
    assert_eq!(played.stderr, "{\"progress\":{\"direction\":\"forward\",\"phase\":\"check\"}}\n".repeat(2),);
    let mut answer = played.json();
    assert_eq!(answer["plan"].take()["to"], "rendered-worker-1");
    assert_eq!(
        answer,
        json!({
            "result": "applied", "plan": null, "drift": null, "forecast": null, "failure": null,
            "finished": {
                "purpose": "update", "from": "mco-empty-mc", "to": "rendered-worker-1", "ending": "applied",
                "reason": null, "began": "2026-10-03T04:00:00Z", "ended": "2026-10-03T04:00:10Z", "changed": 3,
                "reboot": false, "leftOut": [],
            },
        })
    );
    let (played, _) = run(PROGRAM, DRY, &to, vec![observed(false), checked()]);
    let answer = played.json();
    assert_eq!(answer["result"], "checked");
    assert_eq!(answer["forecast"], json!({"changed": 3, "bytes": 2048, "leftOut": [{"step": "daemonReload"}]}));
}

#[test]
fn a_person_who_wants_json_still_sees_what_is_asked() {
    let scene = Scene { format: Format::Json, answer: Some("n\n") };
    let (played, _) = run(scene, ASK, &one_file("a", "x"), vec![observed(false), checked()]);
    assert!(played.stderr.contains("Steps\n  1  write /etc/containers/policy.json"), "{}", played.stderr);
    assert_eq!(played.json()["result"], "declined");
}

#[test]
fn files_are_read_before_the_applier_is_reached() {
    let options = |to: &str| ApplyOptions {
        to: PathBuf::from(to),
        consent: YES,
        rules: RuleOptions::default(),
        machine: MachineOptions::default(),
    };
    let open = |_: Option<&Path>| -> Result<&mut Scripted> { anyhow::bail!("no socket") };
    let played = play(SCRIPT, |console| super::apply(&options("/nowhere/at all"), console, open));
    assert_eq!(played.outcome, Outcome::BadInput);
    assert!(played.stderr.starts_with("error: cannot open /nowhere/at all\n"), "{}", played.stderr);
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/worker-desired.yaml");
    let played = play(SCRIPT, |console| super::apply(&options(example), console, open));
    assert_eq!(played.outcome, Outcome::Failed);
    assert!(
        played.stderr.starts_with("error: the applier cannot be reached; nothing was changed\n  because no socket\n")
    );
}

const CANARY: &str = "c4n4ry-hunter2";

fn secretive(name: &str, extra: &str) -> Value {
    document(
        name,
        json!({
            "storage": {"files": [
                {"path": "/etc/a", "contents": {"source": format!("data:,{CANARY}{extra}")}},
                {"path": "/var/lib/kubelet/config.json", "contents": {"source": format!("data:,{CANARY}{extra}")}},
            ]},
            "systemd": {"units": [{"name": "a.service", "contents": format!("[Service]\nEnvironment=P={CANARY}{extra}\n")}]},
            "passwd": {"users": [{
                "name": "core", "passwordHash": format!("$6${CANARY}{extra}"),
                "sshAuthorizedKeys": [format!("ssh-ed25519 {CANARY}{extra}")],
            }]},
        }),
    )
}

#[test]
fn no_secret_of_a_config_comes_out_again() {
    let installed = Observation {
        install_time: Some(Sealed::new(secretive("old", "0"))),
        previous: Some(Sealed::new(secretive("old", "1"))),
        live: true,
        ..observation(Some(secretive("old", "2")))
    };
    let mut refused = secretive("new", "3");
    refused["spec"]["config"]["storage"]["disks"] = json!([{"device": "/dev/sdb"}]);
    let mut broken = secretive("new", "3");
    broken["spec"]["config"]["storage"]["files"] = json!([{"path": CANARY, "mode": CANARY}]);
    let failed = Reply::Failed(failure(Class::Inoperable, false));
    for scene in [SCRIPT, PROGRAM, person("y\n"), Scene { format: Format::Json, answer: Some("y\n") }] {
        for (to, end) in [
            (secretive("new", "3"), applied()),
            (secretive("new", "3"), Reply::Finished(undone(Purpose::Update))),
            (secretive("new", "3"), failed.clone()),
            (secretive("new", "3"), Reply::Nothing),
            (refused.clone(), applied()),
        ] {
            let consent = if scene.answer.is_some() { ASK } else { YES };
            let replies = vec![Reply::Observed(installed.clone()), checked(), end];
            let (played, _) = run(scene, consent, &to, replies);
            assert!(played.stdout.contains("a.service"), "nothing is shown, so nothing is proved: {played:?}");
            assert!(!format!("{played:?}").contains(CANARY), "{played:?}");
        }
        let refusal = target(broken.clone(), Rules::default()).unwrap().unwrap_err();
        let played = play(scene, |console| refuse(&refusal, console));
        assert!(!format!("{played:?}").contains(CANARY), "{played:?}");
    }
}
