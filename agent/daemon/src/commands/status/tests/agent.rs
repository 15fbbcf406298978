//! What the daemon adds to the status, and what the status says of configurations that are on trial or given up.

use ostler_core::transaction::{Rejected, Trial};

use super::*;
use crate::account::Account;
use crate::account::tests::account;

fn beside(scene: Scene, account: Result<Option<Account>, AskError>) -> Played {
    let heard = Heard { account, enabled: true, now: 1_791_000_240 };
    run_beside(scene, Reply::Status(Box::new(settled())), |_| heard)
}

#[test]
fn the_verdict_comes_first_and_the_agent_follows() {
    let played = beside(SCRIPT, Ok(Some(account())));
    let expected = "\
Waiting for the drain controller (drain-rendered-worker-2).

Agent          ostler 0.1.0, in this state for 4 min
  next         the machine changes to rendered-worker-2
  looked for   the node's annotations changed
  update       from rendered-worker-1 to rendered-worker-2

Configuration  rendered-worker-1
";
    assert!(played.stdout.starts_with(expected), "{}", played.stdout);
    assert_eq!(played.outcome, Outcome::Different);
}

#[test]
fn what_is_wrong_with_the_daemon_is_said_and_nothing_can_steer_the_terminal() {
    let account = Account {
        next: "try\u{1b}[2J again".to_owned(),
        current: None,
        attempt: 3,
        retry_at: Some(1_791_000_270),
        irreconcilable: 2,
        base_kept: true,
        drift_policy: None,
        ..account()
    };
    let due = Account { retry_at: Some(1_791_000_000), attempt: 1, ..account.clone() };
    let played = beside(SCRIPT, Ok(Some(account)));
    for line in [
        "  next         try\\u{1b}[2J again\n",
        "  tried        3 times, again in 30 s\n",
        "  update       from no configuration to rendered-worker-2\n",
        "  reinstall    2 differences that only a new installation brings, by the earliest configuration known\n",
    ] {
        assert!(played.stdout.contains(line), "{line:?} is not in {}", played.stdout);
    }
    assert!(beside(SCRIPT, Ok(Some(due))).stdout.contains("  tried        once, again now\n"));
}

#[test]
fn a_daemon_that_does_not_answer_hides_nothing() {
    let silent = || Err(AskError::Silent(std::io::ErrorKind::TimedOut.into()));
    let played = beside(SCRIPT, silent());
    let line = "Unknown: the agent's state is not known: the daemon did not answer: timed out.\n  \
                Fix: see \"journalctl -t ostler\"\n\nConfiguration  rendered-worker-1\n";
    assert!(played.stdout.starts_with(line), "{}", played.stdout);
    assert_eq!(played.outcome, Outcome::Unknown);
    let document = beside(PROGRAM, silent()).json();
    assert_eq!((&document["daemon"], &document["settled"]), (&json!(null), &json!(false)));
    assert_eq!(document["daemonUnknown"], "the daemon did not answer: timed out");
}

#[test]
fn a_program_gets_what_the_daemon_says() {
    let document = beside(PROGRAM, Ok(Some(account()))).json();
    assert_eq!(
        document["daemon"],
        json!({
            "version": "0.1.0", "node": "worker-0", "doing": "waiting for workloads to leave",
            "since": "2026-10-03T04:00:00Z", "reason": "the node's annotations changed",
            "next": "the machine changes to rendered-worker-2",
            "blockedBy": "the drain controller has not done drain-rendered-worker-2", "phase": "draining",
            "current": {"config": "rendered-worker-1"}, "desired": {"config": "rendered-worker-2"},
            "attempt": 1, "retryAt": null, "trouble": null,
            "api": {"reachable": true, "since": "2026-10-03T03:43:20Z"}, "irreconcilable": 0, "baseKept": false,
        })
    );
}

#[test]
fn the_daemon_is_heard_even_if_the_applier_is_not() {
    let heard = Heard { account: Ok(Some(account())), enabled: true, now: 1_791_000_240 };
    let options = StatusOptions { machine: MachineOptions::default() };
    let played = play(SCRIPT, |console| {
        status(&options, console, |_| Err::<&mut Scripted, _>(anyhow::anyhow!("gone")), |_| heard)
    });
    assert_eq!(played.outcome, Outcome::Failed);
    assert!(played.stdout.starts_with("\nAgent          ostler 0.1.0, in this state for 4 min"), "{}", played.stdout);
}

#[test]
fn the_daemon_of_the_root_is_asked() {
    let directory = tempfile::tempdir().unwrap();
    let mut asks = Scripted::new([Reply::Status(Box::new(settled()))]);
    let machine = MachineOptions { root: Some(directory.path().to_owned()), ..MachineOptions::default() };
    let played = play(SCRIPT, |console| {
        status(
            &StatusOptions { machine },
            console,
            |_| Ok(&mut asks),
            |root| {
                assert_eq!(root, Some(directory.path()));
                Heard::from_agent(root)
            },
        )
    });
    assert!(played.stdout.starts_with("Up to date. No agent runs on this machine.\n"), "{}", played.stdout);
}

#[test]
fn configurations_on_trial_and_given_up_are_told() {
    let trial =
        Trial { config: "rendered-worker-1".to_owned(), before: "b".to_owned().into(), os: true, since: 1_791_000_000 };
    let rejected = Rejected {
        config: "rendered-worker-0".to_owned(),
        reason: "the kubelet was not healthy\u{7}".to_owned(),
        at: 1_791_000_000,
    };
    let status = Status { trial: Some(trial), rejected: vec![rejected], ..settled() };
    let played = said(status.clone());
    assert_eq!(played.outcome, Outcome::Success);
    for text in [
        "Up to date. No agent runs on this machine.\n",
        "On trial       rendered-worker-1, its operating system included, since 2026-10-03T04:00:00Z\n",
        "\nGiven up here, not tried again by itself\n  \
         rendered-worker-0 (2026-10-03T04:00:00Z): the kubelet was not healthy\\u{7}\n",
    ] {
        assert!(played.stdout.contains(text), "{text:?} is not in {}", played.stdout);
    }
    let document = run(PROGRAM, Reply::Status(Box::new(status))).json();
    let at = "2026-10-03T04:00:00Z";
    assert_eq!(document["trial"], json!({"config": "rendered-worker-1", "os": true, "since": at}));
    let reason = "the kubelet was not healthy\u{7}";
    assert_eq!(document["rejected"], json!([{"config": "rendered-worker-0", "reason": reason, "at": at}]));
}
