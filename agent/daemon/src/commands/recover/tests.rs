//! What `ostler recover` says and ends in.

use ostler_core::protocol::Reply;
use ostler_core::transaction::Purpose;
use serde_json::json;

use super::*;
use crate::cli::MachineOptions;
use crate::commands::scripted::{FAILURES, PROGRAM, Played, SCRIPT, Scene, Scripted, failure, finished, play, undone};

fn run(scene: Scene, reply: Option<Reply>) -> Played {
    let mut asks = Scripted::new(reply);
    let options = RecoverOptions { machine: MachineOptions::default() };
    let played = play(scene, |console| recover(&options, console, |_| Ok(&mut asks)));
    assert_eq!(asks.asked, [Request::Recover]);
    played
}

#[test]
fn what_was_interrupted_is_finished_or_undone_without_a_question() {
    let forward = "Applied: the machine is in rendered-worker-1. Changed: 3 files and links. (10 seconds)\n";
    let back = "Undone: no space left\\u{7} (10 seconds)\nThe machine is in an empty machine, as it was before.\n";
    for (reply, outcome, said, result) in [
        (Reply::Finished(finished(Purpose::Update)), Outcome::Success, forward, "applied"),
        (Reply::Finished(undone(Purpose::Update)), Outcome::Failed, back, "undone"),
        (Reply::Nothing, Outcome::Success, "Nothing to do: no transaction is open. Nothing was changed.\n", "nothing"),
    ] {
        let played = run(SCRIPT, Some(reply.clone()));
        assert_eq!((played.outcome, played.stdout.as_str()), (outcome, said));
        let played = run(PROGRAM, Some(reply));
        assert_eq!((played.outcome, &played.json()["result"]), (outcome, &json!(result)));
    }
}

#[test]
fn every_failure_and_silence_leave_the_machine_unsettled() {
    for (class, unchanged, _) in FAILURES {
        assert_eq!(run(SCRIPT, Some(Reply::Failed(failure(class, unchanged)))).outcome, Outcome::Unsettled);
    }
    assert_eq!(run(SCRIPT, None).outcome, Outcome::Unsettled);
}

#[test]
fn a_transaction_that_waits_for_the_restart_is_still_open() {
    for reason in [None, Some("it did not boot".to_owned())] {
        let waits = Finished { ending: Ending::AwaitsReboot { reason }, reboot: true, ..finished(Purpose::Update) };
        assert_eq!(run(SCRIPT, Some(Reply::Finished(waits))).outcome, Outcome::Unsettled);
    }
}

#[test]
fn an_applier_that_cannot_be_reached_leaves_unknown_whether_a_transaction_is_open() {
    let options = RecoverOptions { machine: MachineOptions::default() };
    let open = |_: Option<&Path>| -> Result<&'static mut Scripted> { Err(anyhow::anyhow!("no such socket")) };
    let played = play(SCRIPT, |console| recover(&options, console, open));
    assert_eq!(played.outcome, Outcome::Unsettled);
    assert!(played.stderr.contains("cannot tell whether a transaction is open"), "{}", played.stderr);
}
