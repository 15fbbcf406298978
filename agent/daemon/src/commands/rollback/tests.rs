//! What `ostler rollback` asks for, says and ends in.

use ostler_core::protocol::{Forecast, Observation, Reply, Sealed};
use ostler_core::transaction::Purpose;
use serde_json::{Value, json};

use super::*;
use crate::commands::scripted::{
    FAILURES, PROGRAM, Played, SCRIPT, Scene, Scripted, failure, finished, observation, one_file, person, play, undone,
};

const YES: ConsentOptions = ConsentOptions { dry_run: false, yes: true };
const ASK: ConsentOptions = ConsentOptions { dry_run: false, yes: false };
const DRY: ConsentOptions = ConsentOptions { dry_run: true, yes: false };

fn run(scene: Scene, consent: ConsentOptions, replies: Vec<Reply>) -> (Played, Scripted) {
    let mut asks = Scripted::new(replies);
    let rules = Rules { first_boot: true, ..Rules::default() };
    let played = play(scene, |console| go_back(rules, &mut &mut asks, consent, console));
    (played, asks)
}

fn before(previous: Option<Value>) -> Reply {
    let current = observation(Some(one_file("rendered-worker-2", "y")));
    Reply::Observed(Observation { previous: previous.map(Sealed::new), ..current })
}

fn checked() -> Reply {
    Reply::Checked(Forecast { changed: 1, ..Forecast::default() })
}

#[test]
fn the_way_back_is_shown_checked_and_taken_by_the_rules_that_were_given() {
    let replies = vec![before(Some(one_file("rendered-worker-1", "x"))), checked()];
    let done = Reply::Finished(finished(Purpose::Rollback));
    let (played, asks) = run(SCRIPT, YES, [replies.clone(), vec![done]].concat());
    assert_eq!(played.outcome, Outcome::Success);
    assert!(played.stdout.starts_with("Plan from rendered-worker-2 to rendered-worker-1\n"), "{}", played.stdout);
    assert!(played.stdout.contains("To change: one file, link or directory. To write: nothing.\n"));
    assert!(played.stdout.contains("Rolled back: the machine is in rendered-worker-1 again. Changed: 3 files,"));
    let rules = Rules { first_boot: true, ..Rules::default() };
    let request = |check| Request::Rollback { check, rules: rules.clone() };
    assert_eq!(asks.asked, [Request::Observe, request(true), request(false)]);

    let (played, asks) = run(PROGRAM, DRY, replies);
    assert_eq!((played.outcome, asks.asked.len()), (Outcome::Success, 2));
    assert_eq!(played.json()["plan"]["to"], "rendered-worker-1");
}

#[test]
fn a_machine_that_had_no_config_goes_back_to_none() {
    for none in [json!(null), json!({})] {
        let (played, _) = run(SCRIPT, DRY, vec![before(Some(none)), checked()]);
        assert!(played.stdout.starts_with("Plan from rendered-worker-2 to an empty machine\n"), "{}", played.stdout);
    }
}

#[test]
fn without_a_config_before_there_is_no_way_back() {
    let (played, asks) = run(SCRIPT, YES, vec![before(None)]);
    assert_eq!((played.outcome, asks.asked.len()), (Outcome::BadInput, 1));
    assert!(played.stderr.starts_with("error: there is no configuration to go back to: "), "{}", played.stderr);
    assert!(played.stderr.ends_with("remedy: \"ostler apply --to FILE\" leads to any configuration\n"));
}

#[test]
fn what_could_not_be_reached_for_the_first_time_can_be_gone_back_to() {
    let mut disks = one_file("rendered-worker-1", "x");
    disks["spec"]["config"]["storage"]["disks"] = json!([{"device": "/dev/sdb"}]);
    let (played, _) = run(SCRIPT, DRY, vec![before(Some(disks)), checked()]);
    assert_eq!(played.outcome, Outcome::Success, "{}", played.stdout);
}

#[test]
fn every_way_it_can_end_has_its_exit_code() {
    let previous = || before(Some(one_file("rendered-worker-1", "x")));
    let unreadable = json!({"metadata": {"name": "bad"}, "spec": {"config": {"ignition": {"version": "9.0.0"}}}});
    let interrupted = Reply::Observed(Observation { interrupted: true, ..observation(None) });
    let done = || Reply::Finished(finished(Purpose::Rollback));
    for (scene, consent, replies, outcome) in [
        (person("y\n"), ASK, vec![previous(), checked(), done()], Outcome::Success),
        (person("n\n"), ASK, vec![previous(), checked()], Outcome::Failed),
        (SCRIPT, ASK, vec![previous(), checked()], Outcome::BadInput),
        (SCRIPT, YES, vec![previous(), checked(), Reply::Finished(undone(Purpose::Rollback))], Outcome::Failed),
        (SCRIPT, YES, vec![previous(), Reply::Nothing], Outcome::Success),
        (SCRIPT, YES, vec![before(Some(one_file("rendered-worker-2", "y")))], Outcome::Success),
        (SCRIPT, YES, vec![before(Some(unreadable))], Outcome::Refused),
        (SCRIPT, YES, vec![interrupted], Outcome::Unsettled),
        (SCRIPT, YES, vec![previous(), checked()], Outcome::Unsettled),
        (SCRIPT, YES, vec![previous()], Outcome::Failed),
    ] {
        let (played, asks) = run(scene, consent, replies);
        assert_eq!(played.outcome, outcome, "{:?} {played:?}", asks.kinds());
    }
    for (class, unchanged, outcome) in FAILURES {
        let (played, _) = run(SCRIPT, YES, vec![previous(), checked(), Reply::Failed(failure(class, unchanged))]);
        assert_eq!(played.outcome, outcome, "{class:?} {unchanged}");
    }
}

#[test]
fn a_change_that_waits_for_its_restart_is_taken_back() {
    let waiting = || {
        let awaiting = Some("rendered-worker-2".to_owned());
        Reply::Observed(Observation { interrupted: true, awaiting, ..observation(None) })
    };
    let done = || Reply::Finished(undone(Purpose::Update));
    let (played, asks) = run(SCRIPT, YES, vec![waiting(), done()]);
    assert_eq!((played.outcome, &asks.asked[..]), (Outcome::Success, &[Request::Observe, Request::Withdraw][..]));
    assert!(
        played.stdout.starts_with("The change to rendered-worker-2 waits for the machine to restart."),
        "{played:?}"
    );
    for (consent, outcome) in [(DRY, Outcome::Success), (ASK, Outcome::BadInput)] {
        let (played, asks) = run(SCRIPT, consent, vec![waiting(), done()]);
        assert_eq!((played.outcome, asks.asked.len()), (outcome, 1), "{played:?}");
    }
}

#[test]
fn no_secret_of_either_config_comes_out_again() {
    let secret = "c4n4ry-hunter2";
    let current = observation(Some(one_file("rendered-worker-2", &format!("{secret}2"))));
    let previous = Some(Sealed::new(one_file("rendered-worker-1", secret)));
    let observed = Reply::Observed(Observation { previous, ..current });
    for scene in [SCRIPT, PROGRAM] {
        let replies = vec![observed.clone(), checked(), Reply::Finished(undone(Purpose::Rollback))];
        let (played, _) = run(scene, YES, replies);
        assert!(played.stdout.contains("policy.json") && !format!("{played:?}").contains(secret), "{played:?}");
    }
}
