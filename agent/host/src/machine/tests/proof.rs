//! Configurations on trial, proven and given up, on a machine without an operating system to change.

use ostler_core::os::goal::{Goal, OsChange};
use ostler_core::os::state::Installed;
use ostler_core::protocol::Class;
use ostler_core::step::Step;
use ostler_core::transaction::{Direction, Ending, Open, Purpose, Rejected, Trial};
use serde_json::json;

use super::*;
use crate::disk::memory::every_crash;
use crate::machine::proof::after;

fn trial(config: &str, before: &str, os: bool, since: u64) -> Trial {
    Trial { config: config.to_owned(), before: before.to_owned().into(), os, since }
}

/// A transaction from `a` to `b` that began in the first boot and ends at 200.
fn ended(purpose: Purpose, ending: Ending, boot: &str) -> (Open, Finished) {
    let (from, to, boot) = ("a".to_owned(), "b".to_owned(), boot.to_owned());
    let open = Open {
        purpose,
        direction: Direction::Forward,
        from: from.clone(),
        to: to.clone(),
        steps: Vec::new(),
        undo: Vec::new(),
        boot: "one".to_owned().into(),
        began: 100,
        reason: None,
        target_failed: false,
        blameless: false,
        os: None,
        awaits_end_of: None,
        restart_for: Vec::new(),
    };
    let (began, ended, left_out) = (100, 200, Vec::new());
    let finished = Finished {
        purpose,
        from,
        to,
        ending,
        began,
        ended,
        boot: boot.into(),
        reboot: false,
        left_out,
        changed: 0,
        boot_loader: None,
        service_failures: Vec::new(),
        leftovers: Vec::new(),
    };
    (open, finished)
}

/// What sets a transaction apart from one that changes a file and is done.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Plain,
    Reboot,
    LeftOut,
    Os(Option<&'static str>),
}

#[test]
fn what_is_on_trial_after_a_transaction_follows_from_how_it_ended() {
    use Kind::{LeftOut, Os, Plain, Reboot};
    use Purpose::{Repair, Rollback, Update};
    let old = trial("a", "zero", false, 50);
    let with_os = trial("a", "zero", true, 50);
    for (purpose, applied, kind, boot, earlier, expected) in [
        (Update, true, Plain, "one", None, None),
        (Update, true, Plain, "one", Some(&old), Some(trial("b", "zero", false, 50))),
        (Update, true, Reboot, "one", None, Some(trial("b", "one", false, 200))),
        (Update, true, Reboot, "two", None, Some(trial("b", "two", false, 200))),
        (Update, true, Reboot, "one", Some(&old), Some(trial("b", "one", false, 200))),
        (Update, true, Reboot, "one", Some(&with_os), Some(trial("b", "one", true, 200))),
        (Update, true, LeftOut, "one", None, Some(trial("b", "one", false, 200))),
        (Update, true, Os(Some("one")), "two", None, Some(trial("b", "one", true, 200))),
        (Update, true, Os(Some("two")), "three", Some(&old), Some(trial("b", "two", true, 200))),
        (Update, true, Os(None), "two", None, Some(trial("b", "one", true, 200))),
        (Update, true, Os(None), "one", None, None),
        (Update, false, Reboot, "one", None, None),
        (Update, false, Os(None), "two", Some(&old), Some(old.clone())),
        (Rollback, true, Plain, "one", Some(&old), None),
        (Rollback, true, Reboot, "one", None, None),
        (Rollback, true, Os(Some("one")), "two", Some(&with_os), None),
        (Rollback, false, Reboot, "one", Some(&old), Some(old.clone())),
        (Repair, true, Reboot, "one", Some(&old), Some(old.clone())),
        (Repair, true, Reboot, "one", None, None),
    ] {
        let ending = if applied { Ending::Applied } else { Ending::Undone { reason: String::new() } };
        let (mut open, mut finished) = ended(purpose, ending, boot);
        match kind {
            Plain => {}
            Reboot => finished.reboot = true,
            LeftOut => finished.left_out = vec![Step::Drain, Step::Reboot],
            Os(awaits) => {
                open.os = Some(os_change());
                open.awaits_end_of = awaits.map(|boot| boot.to_owned().into());
            }
        }
        assert_eq!(after(earlier.cloned(), &open, &finished), expected, "{purpose:?} {applied} {kind:?} {boot}");
    }
}

fn os_change() -> OsChange {
    let before = Installed::default();
    OsChange { goal: Goal::keeping(&before), before, extensions_image: None, kept: Vec::new() }
}

/// A change that takes effect with a restart.
fn restarting(name: &str) -> Recorded {
    config(
        name,
        json!({"storage": {"files": [{"path": "/etc/motd", "contents": {"source": format!("data:,{name}")}}]}}),
    )
}

/// A change that takes effect at once.
fn instant(name: &str, of: &str) -> Recorded {
    let file = json!({"path": "/etc/motd", "contents": {"source": format!("data:,{of}")}});
    let keys = json!([{"name": "core", "sshAuthorizedKeys": [format!("ssh-rsa {name}")]}]);
    config(name, json!({"storage": {"files": [file]}, "passwd": {"users": keys}}))
}

fn give_up(disk: &MemoryDisk, boot: &str) -> Result<Option<Finished>, Trouble> {
    transaction::give_up(&open_in(disk, boot), "the kubelet is ill", &Rules::default(), &mut |_| {})
}

/// A machine whose second configuration takes effect with a restart.
fn on_trial() -> MemoryDisk {
    let disk = fresh();
    apply(&disk, &restarting("rendered-1")).unwrap();
    open_in(&disk, "boot-2").confirm().unwrap();
    apply(&disk, &restarting("rendered-2")).unwrap();
    disk
}

fn names(disk: &MemoryDisk) -> Vec<String> {
    status(disk).rejected.into_iter().map(|rejected| rejected.config).collect()
}

#[test]
fn a_trial_is_confirmed_after_a_restart_and_only_once() {
    let disk = on_trial();
    assert_eq!(status(&disk).trial, Some(trial("rendered-2", "boot-1", false, NOON)));
    let trouble = open(&disk).unwrap().confirm().unwrap_err();
    assert_eq!((trouble.class(), trouble.unchanged()), (Class::Refusal, true));
    assert!(trouble.reason().contains("has not restarted yet") && trouble.remedy().is_some());
    assert_eq!(open_in(&disk, "boot-2").confirm().unwrap().as_deref(), Some("rendered-2"));
    assert_eq!((status(&disk).trial, open_in(&disk, "boot-2").confirm().unwrap()), (None, None));
    assert_eq!(give_up(&disk, "boot-2").unwrap(), None, "what is proven is not given up");
    assert_eq!(names(&disk), [""; 0]);
}

#[test]
fn an_update_without_a_restart_goes_on_with_the_trial() {
    let disk = on_trial();
    let finished = apply(&disk, &instant("rendered-3", "rendered-2")).unwrap().unwrap();
    assert!(!finished.left_out.contains(&Step::Reboot), "{:?}", finished.left_out);
    assert_eq!(status(&disk).trial, Some(trial("rendered-3", "boot-1", false, NOON)));
    assert_eq!(open_in(&disk, "boot-2").confirm().unwrap().as_deref(), Some("rendered-3"));
}

#[test]
fn what_is_given_up_is_left_and_remembered_until_it_is_applied_again() {
    let disk = on_trial();
    let finished = give_up(&disk, "boot-2").unwrap().unwrap();
    assert_eq!((finished.purpose, finished.ending), (Purpose::Rollback, Ending::Applied));
    assert_eq!(text(&disk, "/etc/motd").unwrap(), "rendered-1");
    let found = status(&disk);
    let reason = "the kubelet is ill".to_owned();
    assert_eq!((found.trial, found.config.as_deref()), (None, Some("rendered-1")));
    assert_eq!(found.rejected, [Rejected { config: "rendered-2".to_owned(), reason, at: NOON }]);
    assert_eq!(give_up(&disk, "boot-2").unwrap(), None);
    apply(&disk, &restarting("rendered-2")).unwrap().unwrap();
    assert_eq!(names(&disk), [""; 0], "the machine is in it again");
}

#[test]
fn a_rollback_that_a_person_asks_for_ends_the_trial_and_blames_nobody() {
    let disk = on_trial();
    let machine = open(&disk).unwrap();
    let proposal = transaction::propose_rollback(&machine, &Rules::default()).unwrap().unwrap();
    transaction::run(&machine, &proposal, &mut |_| {}).unwrap();
    assert_eq!((status(&disk).trial, names(&disk)), (None, Vec::new()));
}

#[test]
fn so_many_are_remembered_once_each_the_latest_first() {
    let disk = on_trial();
    let machine = open(&disk).unwrap();
    for number in (0..20).chain([7]) {
        let rejected = Rejected { config: format!("c{number}"), reason: "é".repeat(9000), at: number };
        machine.save(transaction::Entry::GiveUp { rejected: &rejected, digest: None }).unwrap();
    }
    let latest = [7_u32, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 6, 5, 4];
    assert_eq!(names(&disk), latest.map(|number| format!("c{number}")));
    assert!(status(&disk).rejected.iter().all(|rejected| rejected.reason.chars().count() == 2000));
}

#[test]
fn damaged_records_stop_nobody_and_are_told() {
    for record in ["trial", "rejected"] {
        let disk = on_trial();
        give_up(&disk, "boot-2").unwrap();
        apply(&disk, &restarting("rendered-3")).unwrap();
        let path = format!("/var/lib/ostler/journal/{record}");
        let plain = crate::disk::Attributes { mode: 0o600, uid: 0, gid: 0 };
        disk.put(&crate::disk::RootPath::new(path.as_str()).unwrap(), b"torn", plain).unwrap();
        assert!(status(&disk).damaged.iter().any(|line| line.contains(&path)), "{record}");
        let left = give_up(&disk, "boot-2").unwrap();
        assert_eq!(left.is_some(), record == "rejected", "{record}");
        apply(&disk, &restarting("rendered-4")).unwrap().unwrap();
    }
}

#[test]
fn every_crash_of_a_confirmation_leaves_it_proven_or_not() {
    let before = on_trial();
    let confirm = |disk: &MemoryDisk| open_in(disk, "boot-2").confirm();
    let points = every_crash(
        || before.kill(),
        |disk| confirm(disk).map(drop).map_err(io_error),
        2,
        |disk, point| {
            let left = disk.kill();
            match status(&disk).trial {
                Some(_) => {
                    assert_eq!(confirm(&disk).unwrap().as_deref(), Some("rendered-2"), "{point:?}");
                    assert_eq!(give_up(&left, "boot-2").unwrap().unwrap().ending, Ending::Applied, "{point:?}");
                    assert_eq!(text(&left, "/etc/motd").unwrap(), "rendered-1", "{point:?}");
                }
                None => assert_eq!(confirm(&disk).unwrap(), None),
            }
            assert_eq!(status(&disk).trial, None, "{point:?}");
        },
    );
    println!("confirmations: {} points, each proven or still on trial", points.unwrap());
}

#[test]
fn every_crash_of_giving_up_leaves_the_trial_or_the_way_back_travelled() {
    let before = on_trial();
    let points = every_crash(
        || before.kill(),
        |disk| give_up(disk, "boot-2").map(drop).map_err(io_error),
        2,
        |disk, point| {
            recover(&disk).unwrap_or_else(|trouble| panic!("{point:?}: {}", trouble.reason()));
            let found = status(&disk);
            match found.trial {
                Some(trial) => assert_eq!(found.config, Some(trial.config), "{point:?}"),
                None => assert_eq!((found.config.as_deref(), names(&disk).len()), (Some("rendered-1"), 1), "{point:?}"),
            }
            // Whoever was cut off asks again.
            give_up(&disk, "boot-3").unwrap();
            let found = status(&disk);
            assert_eq!((found.trial, found.config.as_deref()), (None, Some("rendered-1")), "{point:?}");
            assert_eq!(names(&disk), ["rendered-2"], "{point:?}");
            assert_eq!(text(&disk, "/etc/motd").unwrap(), "rendered-1", "{point:?}");
        },
    );
    println!("given up: {} points, each still on trial or gone back", points.unwrap());
}
