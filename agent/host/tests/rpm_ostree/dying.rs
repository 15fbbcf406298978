//! A daemon that goes away: what it has done by then counts, and nothing else does.

use ostler_core::os::order::Order;
use ostler_host::os::rpm_ostree::RpmOstree;
use ostler_host::os::{OsBackend, OsError};

use crate::daemon::{Daemon, Deployed};
use crate::transaction::Act;
use crate::{OPTIONS, add, begin, digest, driver, limits, stage, staged, to_image, to_kargs, update};

/// Tries an end at every moment of a transaction. What was done counts, and nothing else does.
fn at_every_moment(end: &Act) {
    let whole = [
        Act::Say("Pulling manifest"),
        Act::Percent("Fetching", 10),
        Act::Percent("Fetching", 60),
        Act::Task("TaskBegin", "Staging deployment"),
        Act::Apply,
        Act::Task("TaskEnd", "done"),
        Act::Say("Changes queued"),
    ];
    for moment in 0..=whole.len() {
        let daemon = Daemon::start();
        let mut script = whole[..moment].to_vec();
        let applied = script.iter().any(|act| matches!(act, Act::Apply));
        script.push(end.clone());
        daemon.script(script);
        let driver = driver(&daemon, limits());
        let (done, lines) = stage(&driver, &to_image());
        assert!(lines.last().is_some_and(|line| line.contains("went away")), "{moment}: {lines:?}");
        match done {
            Ok(()) => assert!(applied, "{end:?} at {moment}"),
            Err(OsError::Vanished { .. }) => assert!(!applied, "{end:?} at {moment}"),
            Err(error) => panic!("{end:?} at {moment}: {error:?}"),
        }
        stage(&driver, &to_image()).0.unwrap();
        assert_eq!(staged(&daemon).unwrap().digest, digest('b'));
    }
}

#[test]
fn a_daemon_that_dies_at_any_message_has_done_what_can_be_seen() {
    at_every_moment(&Act::Die);
}

#[test]
fn an_index_is_told_by_the_manifest_that_it_leads_to() {
    let daemon = Daemon::start();
    let order = Order { manifest: Some(digest('e')), ..to_image() };
    let made = Deployed { staged: true, digest: digest('e'), ..Deployed::default() };
    daemon.script([Act::Say("now"), Act::Sleep(100), Act::Die]);
    let shared = daemon.shared.clone();
    let mut told = |line: &str| {
        if line == "now" {
            let made = Deployed { kargs: crate::LINE.to_owned(), ..made.clone() };
            shared.with(|state| crate::daemon::place(&mut state.deployments, made));
        }
    };
    driver(&daemon, limits()).stage(&order, &mut told).unwrap();
}

#[test]
fn a_socket_that_closes_without_an_end_is_no_end() {
    at_every_moment(&Act::Close);
}

#[test]
fn a_daemon_that_dies_before_the_start_has_done_nothing() {
    for act in [Act::DieUnanswered, Act::DieUnstarted] {
        let daemon = Daemon::start();
        let driver = driver(&daemon, limits());
        daemon.script([act.clone(), Act::Apply]);
        let error = stage(&driver, &to_image()).0.unwrap_err();
        assert!(matches!(error, OsError::Vanished { .. }), "{act:?}: {error:?}");
        assert!(staged(&daemon).is_none());
        stage(&driver, &to_image()).0.unwrap();
    }
}

#[test]
fn a_transaction_that_somebody_else_has_started_is_followed_to_its_end() {
    let refused: fn(&Result<(), OsError>) -> bool = |done| matches!(done, Err(OsError::Refused { .. }));
    for (script, as_expected) in [
        (vec![Act::Finish(Ok(()))], Result::is_ok as fn(&Result<(), OsError>) -> bool),
        (vec![Act::Sleep(300), Act::Finish(Ok(()))], Result::is_ok),
        (vec![Act::Finish(Err("Packages not found: x"))], refused),
    ] {
        let daemon = Daemon::start();
        begin(&daemon, [":1.4711", "ostler"], &script, true);
        let done = stage(&driver(&daemon, limits()), &to_image()).0;
        assert!(as_expected(&done), "{script:?}: {done:?}");
    }
}

#[test]
fn a_daemon_that_dies_in_any_other_transaction_has_done_what_can_be_seen() {
    let behind = Deployed { digest: digest('c'), ..Deployed::default() };
    let before = Deployed { staged: true, digest: digest('d'), ..Deployed::default() };
    type Operation = fn(&RpmOstree) -> Result<(), OsError>;
    let operations: [(&str, Operation); 4] = [
        ("kernel arguments", |driver| driver.stage(&to_kargs("root=x a"), &mut |_| ())),
        ("clearing", |driver| driver.stage(&to_kargs("root=x"), &mut |_| ())),
        ("discard", RpmOstree::discard),
        ("forget", RpmOstree::forget),
    ];
    for (name, operation) in operations {
        for applied in [true, false] {
            let daemon = Daemon::start();
            if matches!(name, "clearing" | "discard") {
                add(&daemon, 0, before.clone());
            }
            if name == "forget" {
                add(&daemon, 1, behind.clone());
            }
            daemon.script(if applied { vec![Act::Apply, Act::Die] } else { vec![Act::Die] });
            let done = operation(&driver(&daemon, limits()));
            let expected = if applied { done.is_ok() } else { matches!(done, Err(OsError::Vanished { .. })) };
            assert!(expected, "{name} {applied}: {done:?}");
        }
    }
}

#[test]
fn a_daemon_that_was_restarted_is_used_again() {
    let daemon = Daemon::start();
    let driver = driver(&daemon, limits());
    stage(&driver, &to_image()).0.unwrap();
    daemon.kill();
    driver.discard().unwrap();
    daemon.kill();
    driver.discard().unwrap();
    assert_eq!(daemon.calls(), [update(OPTIONS), "Cleanup pending-deploy".to_owned()]);
}
