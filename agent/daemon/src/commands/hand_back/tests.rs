//! What `ostler hand-back` asks for, says and ends in.

use super::*;
use crate::account::client::AskError;
use crate::cli::{ConsentOptions, MachineOptions};
use crate::commands::scripted::{FAILURES, PROGRAM, Played, SCRIPT, Scene, Scripted, failure, person, play};

const YES: ConsentOptions = ConsentOptions { dry_run: false, yes: true };
const ASK: ConsentOptions = ConsentOptions { dry_run: false, yes: false };
const DRY: ConsentOptions = ConsentOptions { dry_run: true, yes: false };

fn run(scene: Scene, consent: ConsentOptions, replies: Vec<Reply>) -> (Played, Scripted) {
    let mut asks = Scripted::new(replies);
    let options = HandBackOptions { consent, machine: MachineOptions::default() };
    let nobody = |_: Option<&Path>| Heard { account: Ok(None), enabled: false, now: 1 };
    let played = play(scene, |console| hand_back(&options, console, |_| Ok(&mut asks), nobody));
    (played, asks)
}

fn handed(done: &[&str]) -> Reply {
    let done = done.iter().map(|&line| line.to_owned()).collect();
    Reply::HandedBack(Handed { config: "rendered-worker-2".to_owned(), done })
}

#[test]
fn what_was_done_and_what_is_left_for_a_person_are_told() {
    let (played, asks) = run(SCRIPT, YES, vec![handed(&[]), handed(&["the record was written anew"])]);
    assert_eq!(played.outcome, Outcome::Success);
    assert_eq!(asks.asked, [Request::HandBack { check: true }, Request::HandBack { check: false }]);
    for expected in [
        "Handed back: the machine is in rendered-worker-2",
        "the record was written anew",
        "systemctl disable --now ostler",
        "oc annotate node",
        "hand-over.md",
    ] {
        assert!(played.stdout.contains(expected), "{expected}: {}", played.stdout);
    }
    let (played, _) = run(PROGRAM, YES, vec![handed(&[]), handed(&["x"])]);
    assert_eq!(played.json(), serde_json::json!({"config": "rendered-worker-2", "done": ["x"]}));
}

#[test]
fn nothing_is_done_without_consent_or_in_a_dry_run() {
    for (scene, consent, outcome) in
        [(SCRIPT, DRY, Outcome::Success), (person("n\n"), ASK, Outcome::Failed), (SCRIPT, ASK, Outcome::BadInput)]
    {
        let (played, asks) = run(scene, consent, vec![handed(&[]), handed(&[])]);
        assert_eq!(played.outcome, outcome, "{played:?}");
        assert_eq!(asks.asked, [Request::HandBack { check: true }]);
    }
}

#[test]
fn a_daemon_of_ours_has_to_be_stopped_first() {
    let options = HandBackOptions { consent: YES, machine: MachineOptions::default() };
    let silent = |_: Option<&Path>| Heard {
        account: Err(AskError::Unreachable(std::io::ErrorKind::PermissionDenied.into())),
        enabled: false,
        now: 1,
    };
    let mut asks = Scripted::new([]);
    let played = play(SCRIPT, |console| hand_back(&options, console, |_| Ok(&mut asks), silent));
    assert_eq!(played.outcome, Outcome::Failed);
    assert!(played.stderr.contains("systemctl disable --now ostler"), "{played:?}");
    assert!(asks.asked.is_empty());
}

#[test]
fn refusals_end_as_they_do_everywhere() {
    for (class, unchanged, outcome) in FAILURES {
        let (played, _) = run(SCRIPT, YES, vec![handed(&[]), Reply::Failed(failure(class, unchanged))]);
        assert_eq!(played.outcome, outcome, "{played:?}");
    }
}
