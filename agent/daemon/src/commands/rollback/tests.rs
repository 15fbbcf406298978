//! What `ostler rollback` asks for, says and ends in.

use ostler_core::protocol::{Class, Forecast, Observation, Reply, Sealed};
use ostler_core::rollback::RollbackHold;
use ostler_core::transaction::Purpose;
use serde_json::{Value, json};

use super::*;
use crate::commands::scripted::{
    FAILURES, PROGRAM, Played, SCRIPT, Scene, Scripted, apply, failure, finished, observation, one_file, person, play,
    prepared, undone,
};

const YES: ConsentOptions = ConsentOptions { dry_run: false, yes: true };
const ASK: ConsentOptions = ConsentOptions { dry_run: false, yes: false };
const DRY: ConsentOptions = ConsentOptions { dry_run: true, yes: false };

fn run(scene: Scene, consent: ConsentOptions, replies: Vec<Reply>) -> (Played, Scripted) {
    run_beside(None, scene, consent, replies)
}

/// Beside an agent that is to reach something, or nothing.
fn run_beside(
    agent: Option<RunningAgent>,
    scene: Scene,
    consent: ConsentOptions,
    replies: Vec<Reply>,
) -> (Played, Scripted) {
    let mut asks = Scripted::new(replies);
    let rules = Rules { first_boot: true, ..Rules::default() };
    let played = play(scene, |console| go_back(rules, &mut &mut asks, consent, agent, console));
    (played, asks)
}

fn hold() -> RollbackHold {
    let (from, to) = ("rendered-worker-2".to_owned(), "rendered-worker-1".to_owned());
    RollbackHold { from, to, desired: None, since: 1_791_000_000 }
}

fn held() -> Reply {
    Reply::RollbackHold(hold())
}

fn prepare(rules: Rules) -> Request {
    Request::Prepare(Prepare { to: Destination::Previous, rules })
}

const HOLD: Request = Request::HoldRollback { desired: None };

fn before(previous: Option<Value>) -> Reply {
    let current = observation(Some(one_file("rendered-worker-2", "y")));
    Reply::Observed(Observation { previous: previous.map(Sealed::new), ..current })
}

fn checked() -> Reply {
    prepared(Forecast { changed: 1, ..Forecast::default() })
}

#[test]
fn the_way_back_is_shown_checked_and_taken_by_the_rules_that_were_given() {
    let replies = vec![before(Some(one_file("rendered-worker-1", "x"))), checked()];
    let done = Reply::Finished(finished(Purpose::Rollback));
    let (played, asks) = run(SCRIPT, YES, [replies.clone(), vec![held(), done]].concat());
    assert_eq!(played.outcome, Outcome::Success);
    assert!(played.stdout.starts_with("Plan from rendered-worker-2 to rendered-worker-1\n"), "{}", played.stdout);
    assert!(played.stdout.contains("To change: one file or link. To write: nothing.\n"));
    assert!(
        played.stdout.contains("Rolled back: the machine is in rendered-worker-1 again. Changed: 3 files and links.")
    );
    let rules = Rules { first_boot: true, ..Rules::default() };
    assert_eq!(asks.asked, [Request::Observe, prepare(rules), HOLD, apply()]);
    let kept =
        "Held: the agent keeps this machine in rendered-worker-1 and does not update it to rendered-worker-2 again.";
    assert!(played.stdout.contains(kept) && played.stdout.contains("ostler rollback --release"), "{}", played.stdout);

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
        (person("y\n"), ASK, vec![previous(), checked(), held(), done()], Outcome::Success),
        (person("n\n"), ASK, vec![previous(), checked()], Outcome::Failed),
        (SCRIPT, ASK, vec![previous(), checked()], Outcome::BadInput),
        (SCRIPT, YES, vec![previous(), checked(), held(), Reply::Finished(undone(Purpose::Rollback))], Outcome::Failed),
        (SCRIPT, YES, vec![previous(), checked(), held()], Outcome::Unsettled),
        (SCRIPT, YES, vec![previous(), checked(), Reply::Failed(failure(Class::Refusal, true))], Outcome::Refused),
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
        let (played, _) =
            run(SCRIPT, YES, vec![previous(), checked(), held(), Reply::Failed(failure(class, unchanged))]);
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
    let (played, asks) = run(SCRIPT, YES, vec![waiting(), held(), done()]);
    assert_eq!((played.outcome, &asks.asked[..]), (Outcome::Success, &[Request::Observe, HOLD, Request::Withdraw][..]));
    assert!(played.stdout.contains("ostler rollback --release"), "{played:?}");
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
fn beside_an_agent_the_rollback_is_recorded_and_left_to_it() {
    let agent = || Some(RunningAgent { desired: Some("rendered-worker-3".to_owned()), rules: None });
    let hold_for = Request::HoldRollback { desired: Some("rendered-worker-3".to_owned()) };
    let planned = || vec![before(Some(one_file("rendered-worker-1", "x"))), checked(), held()];
    let (played, asks) = run_beside(agent(), SCRIPT, YES, planned());
    assert_eq!((played.outcome, asks.asked.last()), (Outcome::Success, Some(&hold_for)));
    let said = ["Requested: the agent rolls this machine back", "ostler rollback --release"];
    assert!(said.iter().all(|words| played.stdout.contains(words)), "{}", played.stdout);
    let (played, _) = run_beside(agent(), PROGRAM, YES, planned());
    assert_eq!(played.json()["result"], "requested");
    assert_eq!(played.json()["rollbackHold"]["from"], "rendered-worker-2");

    let awaiting = Some("rendered-worker-2".to_owned());
    let waiting = Reply::Observed(Observation { interrupted: true, awaiting, ..observation(None) });
    let (played, asks) = run_beside(agent(), SCRIPT, YES, vec![waiting, held()]);
    assert_eq!((played.outcome, &asks.asked[..]), (Outcome::Success, &[Request::Observe, hold_for][..]));
    let (played, asks) = run_beside(agent(), SCRIPT, DRY, planned());
    assert_eq!((played.outcome, asks.asked.len()), (Outcome::Success, 2), "a dry run holds nothing");
}

#[test]
fn beside_an_agent_the_plan_that_is_shown_is_made_by_its_rules() {
    let policy = json!({"files": [{"path": "/etc/containers/policy.json", "actions": [{"type": "Drain"}]}]});
    let rules = Rules { policy: Some(policy), ..Rules::default() };
    let agent = Some(RunningAgent { desired: None, rules: Some(rules.clone()) });
    let planned = || vec![before(Some(one_file("rendered-worker-1", "x"))), checked()];
    let (played, asks) = run_beside(agent, SCRIPT, DRY, planned());
    assert!(played.stdout.contains("a policy asks for it"), "{}", played.stdout);
    assert_eq!(asks.asked.last(), Some(&prepare(rules)));
    let (played, _) = run_beside(Some(RunningAgent::default()), SCRIPT, DRY, planned());
    assert!(!played.stdout.contains("a policy asks for it"), "{}", played.stdout);
}

#[test]
fn a_hold_is_released_and_what_was_held_is_told() {
    for (reply, said, json) in [
        (held(), "Released: the agent may update this machine to rendered-worker-2 again.\n", json!(hold())),
        (Reply::Nothing, "No rollback is held on this machine.\n", json!(null)),
    ] {
        let mut asks = Scripted::new([reply.clone()]);
        let played = play(SCRIPT, |console| release(&mut &mut asks, console));
        assert_eq!((played.outcome, played.stdout.as_str()), (Outcome::Success, said));
        assert_eq!(asks.asked, [Request::ReleaseRollback]);
        let played = play(PROGRAM, |console| release(&mut &mut Scripted::new([reply]), console));
        assert_eq!(played.json()["released"], json);
    }
}

#[test]
fn no_secret_of_either_config_comes_out_again() {
    let secret = "c4n4ry-hunter2";
    let current = observation(Some(one_file("rendered-worker-2", &format!("{secret}2"))));
    let previous = Some(Sealed::new(one_file("rendered-worker-1", secret)));
    let observed = Reply::Observed(Observation { previous, ..current });
    for scene in [SCRIPT, PROGRAM] {
        let replies = vec![observed.clone(), checked(), held(), Reply::Finished(undone(Purpose::Rollback))];
        let (played, _) = run(scene, YES, replies);
        assert!(played.stdout.contains("policy.json") && !format!("{played:?}").contains(secret), "{played:?}");
    }
}
