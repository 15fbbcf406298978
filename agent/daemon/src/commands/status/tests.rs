//! What `ostler status` says and ends in.

use ostler_core::protocol::Class;
use ostler_core::status::Status;
use ostler_core::transaction::{Direction, Open, Phase, Purpose};
use serde_json::json;

use super::*;
use crate::cli::MachineOptions;
use crate::commands::scripted::{PROGRAM, Played, SCRIPT, Scene, Scripted, failure, finished, play, undone};

fn run(scene: Scene, reply: Reply) -> Played {
    let mut asks = Scripted::new([reply]);
    let options = StatusOptions { machine: MachineOptions::default() };
    let played = play(scene, |console| status(&options, console, |_| Ok(&mut asks)));
    assert_eq!(asks.asked, [Request::Status]);
    played
}

fn said(status: Status) -> Played {
    run(SCRIPT, Reply::Status(Box::new(status)))
}

fn settled() -> Status {
    Status { config: Some("rendered-worker-1".to_owned()), last: Some(finished(Purpose::Update)), ..Status::default() }
}

fn open() -> Status {
    let open = Open {
        purpose: Purpose::Update,
        direction: Direction::Back,
        from: "rendered-worker-1".to_owned(),
        to: "rendered-worker-2".to_owned(),
        steps: Vec::new(),
        undo: Vec::new(),
        boot: "b".to_owned(),
        began: 1_791_000_000,
        reason: Some("no space left\u{1b}[2J".to_owned()),
    };
    Status { open: Some(open), done: vec![Phase::Check, Phase::Begin, Phase::Write], last: None, ..settled() }
}

#[test]
fn a_settled_machine_is_told_with_its_last_transaction() {
    let played = said(settled());
    assert_eq!(played.outcome, Outcome::Success);
    assert_eq!(
        played.stdout,
        "\
Settled.

Configuration  rendered-worker-1
Before it      none

Last transaction
  what     update from an empty machine to rendered-worker-1
  result   applied, 3 changed
  began    2026-10-03T04:00:00Z
  ended    2026-10-03T04:00:10Z (10 seconds)
"
    );
}

#[test]
fn an_interrupted_transaction_is_told_with_its_remedy() {
    let played = said(open());
    assert_eq!(played.outcome, Outcome::Different);
    assert_eq!(
        played.stdout,
        "\
Needs attention
  a transaction was interrupted: run \"ostler recover\"

Configuration  rendered-worker-1
Before it      none

Open transaction
  what     update from rendered-worker-1 to rendered-worker-2
  began    2026-10-03T04:00:00Z
  heading  back, to rendered-worker-1
  because  no space left\\u{1b}[2J
  done     check, begin, write
"
    );
}

#[test]
fn everything_that_needs_attention_is_said_and_nothing_else_does() {
    for (status, outcome, said_of_it) in [
        (Status { busy: true, ..open() }, Outcome::Different, "a transaction is under way: wait for it to end"),
        (Status { awaits_reboot: true, ..settled() }, Outcome::Different, "run \"systemctl reboot\""),
        (
            Status { damaged: vec!["journal/1: torn".to_owned()], ..settled() },
            Outcome::Different,
            "a record is damaged and not used: journal/1: torn; ",
        ),
        (Status { busy: true, ..settled() }, Outcome::Success, "Settled. Another process is at work on it right now."),
        (Status { forced: true, ..settled() }, Outcome::Success, "Next forced    yes, the force file is there"),
        (Status::default(), Outcome::Success, "Configuration  none"),
        (
            Status { image: Some("quay.io/os@sha256:1".to_owned()), ..settled() },
            Outcome::Success,
            "OS image       quay.io/os@sha256:1",
        ),
        (
            Status { last: Some(undone(Purpose::Repair)), ..settled() },
            Outcome::Success,
            "  what     repair of rendered-worker-1\n  result   undone: no space left\\u{7}\n",
        ),
    ] {
        let played = said(status);
        assert_eq!(played.outcome, outcome, "{}", played.stdout);
        assert!(played.stdout.contains(said_of_it), "{said_of_it:?} is not in {}", played.stdout);
    }
}

#[test]
fn a_program_gets_the_same_as_a_document() {
    let status = Status { last: Some(finished(Purpose::Update)), ..open() };
    let played = run(PROGRAM, Reply::Status(Box::new(status)));
    assert_eq!(
        played.json(),
        json!({
            "settled": false, "config": "rendered-worker-1", "image": null, "previous": null,
            "open": {
                "purpose": "update", "direction": "back", "from": "rendered-worker-1", "to": "rendered-worker-2",
                "began": "2026-10-03T04:00:00Z", "reason": "no space left\u{1b}[2J",
                "done": ["check", "begin", "write"], "steps": [],
            },
            "last": {
                "purpose": "update", "from": "mco-empty-mc", "to": "rendered-worker-1", "ending": "applied",
                "reason": null, "began": "2026-10-03T04:00:00Z", "ended": "2026-10-03T04:00:10Z", "changed": 3,
                "reboot": false, "leftOut": [],
            },
            "busy": false, "forced": false, "awaitsReboot": false, "damaged": [],
        })
    );
    assert!(!played.stdout.contains('\u{1b}'));
}

#[test]
fn a_status_that_cannot_be_had_is_no_settled_machine() {
    assert_eq!(run(SCRIPT, Reply::Failed(failure(Class::Inoperable, true))).outcome, Outcome::Failed);
    let played = run(SCRIPT, Reply::Nothing);
    assert_eq!(played.outcome, Outcome::Failed);
    assert!(played.stderr.contains("because the answer is to another question\n"));
}

#[test]
fn a_root_that_is_no_directory_is_bad_input() {
    let nowhere = "error: --root cannot be used\n  because cannot look at /nowhere/at all\n  because No such file";
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    for (root, said) in [("/nowhere/at all", nowhere), (file, "is not a directory\nremedy: give a directory that ")] {
        let mut asks = Scripted::default();
        let machine = MachineOptions { root: Some(root.into()), ..MachineOptions::default() };
        let played = play(SCRIPT, |console| status(&StatusOptions { machine }, console, |_| Ok(&mut asks)));
        assert_eq!((played.outcome, asks.asked.len()), (Outcome::BadInput, 0));
        assert!(played.stderr.contains(said), "{}", played.stderr);
    }
}
