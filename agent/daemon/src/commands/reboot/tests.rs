//! What `ostler reboot` asks for, says and ends in.

use ostler_core::protocol::Restart;

use super::*;
use crate::cli::{ConsentOptions, MachineOptions};
use crate::commands::scripted::{FAILURES, PROGRAM, Played, SCRIPT, Scene, Scripted, failure, person, play};

fn run(scene: Scene, consent: ConsentOptions, replies: Vec<Reply>) -> (Played, Scripted) {
    let mut asks = Scripted::new(replies);
    let options = RebootOptions { soft: false, consent, output: MachineOptions::default().output };
    let played = play(scene, |console| reboot(&options, console, |_| Ok(&mut asks)));
    (played, asks)
}

const YES: ConsentOptions = ConsentOptions { dry_run: false, yes: true };
const ASK: ConsentOptions = ConsentOptions { dry_run: false, yes: false };
const DRY: ConsentOptions = ConsentOptions { dry_run: true, yes: false };

fn restart(begun: bool) -> Reply {
    let rationale = "Node will reboot into config rendered-worker-2".to_owned();
    Reply::Restart(Restart { rationale, staged: true, soft: false, not_soft: None, begun })
}

#[test]
fn it_is_told_why_before_and_that_it_has_begun_after() {
    let (played, asks) = run(SCRIPT, YES, vec![restart(false), restart(true)]);
    assert_eq!(played.outcome, Outcome::Success);
    assert_eq!(
        played.stdout,
        "To restart: the machine. Node will reboot into config rendered-worker-2.\n\
         The staged operating system is finished on the way.\n\
         Restarting: the machine. Node will reboot into config rendered-worker-2.\n\
         The staged operating system is finished on the way.\n"
    );
    assert_eq!(
        asks.asked,
        [Request::Reboot { check: true, soft: false }, Request::Reboot { check: false, soft: false }]
    );
    let (played, _) = run(PROGRAM, YES, vec![restart(false), restart(true)]);
    assert_eq!(played.json()["begun"], true);
}

#[test]
fn a_wish_that_is_not_granted_is_answered_with_the_reason() {
    let Reply::Restart(whole) = restart(true) else { panic!() };
    let not_soft = Some("the staged operating system has another kernel".to_owned());
    let whole = Reply::Restart(Restart { not_soft, ..whole });
    let (played, _) = run(SCRIPT, YES, vec![whole.clone(), whole.clone()]);
    assert_eq!(played.outcome, Outcome::Success);
    assert!(played.stdout.ends_with("\nNot user space alone: the staged operating system has another kernel.\n"));
    let (played, _) = run(PROGRAM, YES, vec![whole.clone(), whole]);
    assert_eq!((&played.json()["soft"], played.json()["notSoft"].is_string()), (&false.into(), true));
}

#[test]
fn every_way_it_can_end_has_its_exit_code() {
    for (scene, consent, replies, outcome, asked) in [
        (SCRIPT, DRY, vec![restart(false)], Outcome::Success, 1),
        (SCRIPT, ASK, vec![restart(false)], Outcome::BadInput, 1),
        (person("n\n"), ASK, vec![restart(false)], Outcome::Failed, 1),
        (person("y\n"), ASK, vec![restart(false), restart(true)], Outcome::Success, 2),
        (SCRIPT, YES, vec![], Outcome::Failed, 1),
        (SCRIPT, YES, vec![Reply::Nothing], Outcome::Failed, 1),
    ] {
        let (played, asks) = run(scene, consent, replies);
        assert_eq!((played.outcome, asks.asked.len()), (outcome, asked), "{played:?}");
    }
    for (class, unchanged, outcome) in FAILURES {
        let (played, _) = run(SCRIPT, YES, vec![restart(false), Reply::Failed(failure(class, unchanged))]);
        assert_eq!(played.outcome, outcome, "{class:?} {unchanged}");
    }
}
