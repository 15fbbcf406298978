//! What `ostler abandon` asks, says and ends in.

use ostler_core::protocol::{Class, Reply};
use ostler_core::transaction::{Ending, Finished, Purpose};
use serde_json::json;

use super::*;
use crate::cli::MachineOptions;
use crate::commands::scripted::{FAILURES, PROGRAM, Played, SCRIPT, Scene, Scripted, failure, finished, play, undone};

fn run(scene: Scene, yes: bool, reply: Option<Reply>) -> (Played, usize) {
    let mut asks = Scripted::new(reply);
    let options = AbandonOptions { yes, machine: MachineOptions::default() };
    let played = play(scene, |console| abandon(&options, console, |_| Ok(&mut asks)));
    (played, asks.asked.len())
}

fn abandoned() -> Reply {
    let ending =
        Ending::Abandoned { reason: "no way\u{7}".to_owned(), differs: vec!["1 difference from a".to_owned()] };
    Reply::Finished(Finished { ending, ..finished(Purpose::Update) })
}

#[test]
fn what_was_abandoned_is_said_with_what_differs() {
    let (played, _) = run(SCRIPT, true, Some(abandoned()));
    assert_eq!(played.outcome, Outcome::Success);
    assert!(played.stdout.contains("neither finished nor undone: no way\\u{7}"), "{}", played.stdout);
    assert!(played.stdout.ends_with("  1 difference from a\n"), "{}", played.stdout);
    let (played, _) = run(PROGRAM, true, Some(abandoned()));
    assert_eq!(played.json()["finished"]["ending"], json!("abandoned"));
    assert_eq!(played.json()["finished"]["differs"], json!(["1 difference from a"]));
}

#[test]
fn without_consent_nothing_is_asked_of_the_machine() {
    let (played, asked) = run(SCRIPT, false, Some(abandoned()));
    assert_eq!((played.outcome, asked), (Outcome::BadInput, 0));
}

#[test]
fn a_transaction_that_stays_open_is_never_less_than_unsettled() {
    assert_eq!(run(SCRIPT, true, Some(Reply::Nothing)).0.outcome, Outcome::Success);
    assert_eq!(run(SCRIPT, true, Some(Reply::Finished(undone(Purpose::Update)))).0.outcome, Outcome::Failed);
    for (class, unchanged, _) in FAILURES {
        let refused = unchanged && class == Class::Refusal;
        let expected = if refused { Outcome::Refused } else { Outcome::Unsettled };
        let (played, _) = run(SCRIPT, true, Some(Reply::Failed(failure(class, unchanged))));
        assert_eq!(played.outcome, expected, "{class:?} {unchanged}");
    }
}
