mod texts;

use std::cell::Cell;

use proptest::prelude::*;

use super::*;
use crate::disk::memory::{ERRNOS, MemoryDisk, Node, every_crash, every_error};

const AT: &str = "/var/lib/ostler/journal";

fn at() -> RootPath {
    RootPath::new(AT).unwrap()
}

fn payload(text: &str) -> Secret<Vec<u8>> {
    Secret::new(text.as_bytes().to_vec())
}

fn open(disk: &MemoryDisk) -> Journal<'_, MemoryDisk> {
    Journal::open(disk, &at()).unwrap()
}

#[test]
fn what_is_saved_is_loaded_until_it_is_cleared() {
    let disk = MemoryDisk::new();
    let journal = open(&disk);
    for slot in Slot::ALL {
        assert_eq!(journal.load(slot).unwrap(), Loaded::Absent);
        for text in ["", "first", "second\n\0\n"] {
            journal.save(slot, &payload(text)).unwrap();
            assert_eq!(journal.load(slot).unwrap(), Loaded::Intact(payload(text)));
        }
    }
    journal.clear(Slot::Plan).unwrap();
    journal.clear(Slot::Plan).unwrap();
    assert_eq!(journal.load(Slot::Plan).unwrap(), Loaded::Absent);
    assert_eq!(journal.load(Slot::Next).unwrap(), Loaded::Intact(payload("second\n\0\n")));
    assert_eq!(disk.tree(), disk.durable_tree());
    let private = |node: &Node| match node {
        Node::File { attributes, .. } => attributes.mode == 0o600,
        _ => true,
    };
    assert!(disk.tree().values().all(private));
    assert_eq!(disk.stat(&at()).unwrap().unwrap().mode, 0o700);
}

#[test]
fn only_one_can_have_it_open() {
    let disk = MemoryDisk::new();
    let journal = open(&disk);
    match Journal::open(&disk, &at()) {
        Err(JournalError::Busy { path }) => assert_eq!(path.as_str(), format!("{AT}/lock")),
        other => panic!("{:?}", other.err()),
    }
    drop(journal);
    drop(open(&disk));
}

#[test]
fn a_directory_that_others_can_read_is_closed_and_something_else_there_is_refused() {
    let disk = MemoryDisk::with(&[("/var/lib/ostler/journal/", "", 0o755)]).unwrap();
    drop(open(&disk));
    assert_eq!(disk.stat(&at()).unwrap().unwrap().mode, 0o700);
    let disk = MemoryDisk::with(&[(AT, "", 0o600)]).unwrap();
    assert!(matches!(Journal::open(&disk, &at()), Err(JournalError::Blocked { .. })));
    let disk = MemoryDisk::with(&[("/var/lib/ostler/journal/plan/", "", 0o700)]).unwrap();
    assert!(matches!(open(&disk).load(Slot::Plan), Err(JournalError::Blocked { .. })));
}

fn stored(slot: Slot, text: &str) -> String {
    String::from_utf8(record::encode(slot, text.as_bytes())).unwrap()
}

#[test]
fn a_record_is_a_header_line_and_the_payload() {
    // From `printf abc | sha256sum`.
    let sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(stored(Slot::Plan, "abc"), format!("ostler-journal 2 plan 3 {sum}\nabc"));
}

#[test]
fn damaged_records_are_moved_aside_and_reported() {
    let good = stored(Slot::Plan, "payload");
    let length = |stated, found| Damage::Length { stated, found };
    for (bytes, expected) in [
        (String::new(), Damage::Foreign),
        ("\n".to_owned(), Damage::Foreign),
        ("{\"a\": 1}\n".to_owned(), Damage::Foreign),
        ("x".repeat(1000), Damage::Foreign),
        ("\0".repeat(good.len()), Damage::Foreign),
        (good.replace("journal 2 plan", "journal 1 plan"), Damage::Version),
        (good.replace("journal 2 plan", "journal 02 plan"), Damage::Version),
        (stored(Slot::Next, "payload"), Damage::Slot),
        (good.replace(" 7 ", " 99999999999999999999999 "), Damage::Foreign),
        (good.replace(" 7 ", " 07 "), Damage::Checksum),
        (good.replace(" 7 ", " +7 "), Damage::Checksum),
        (good.replace(" 7 ", "  7 "), Damage::Foreign),
        (good.replace('\n', " \n"), Damage::Checksum),
        (good.replace('\n', "\r\n"), Damage::Checksum),
        (good.strip_suffix("ad").unwrap().to_owned(), length(7, 5)),
        (good.clone() + "x", length(7, 8)),
        (good.replace("payload", "Payload"), Damage::Checksum),
        (good.replace("payload", &"\0".repeat(7)), Damage::Checksum),
        (good.to_uppercase(), Damage::Foreign),
    ] {
        let disk = MemoryDisk::with(&[(&format!("{AT}/plan"), &bytes, 0o600)]).unwrap();
        let journal = open(&disk);
        let aside = at().join("plan.damaged-1").unwrap();
        assert_eq!(
            journal.load(Slot::Plan).unwrap(),
            Loaded::Damaged { aside: aside.clone(), why: expected },
            "{bytes:?}"
        );
        assert_eq!(disk.read(&aside, 1 << 20).unwrap(), bytes.as_bytes());
        assert_eq!(disk.durable_tree(), disk.tree());
        assert_eq!(journal.load(Slot::Plan).unwrap(), Loaded::Absent);
        journal.save(Slot::Plan, &payload("fresh")).unwrap();
        assert_eq!(journal.load(Slot::Plan).unwrap(), Loaded::Intact(payload("fresh")));
    }
}

#[test]
fn a_link_and_an_oversized_file_are_damage_too() {
    let disk = MemoryDisk::with(&[("/etc/shadow", "secret", 0o600)]).unwrap();
    disk.put_link(&at().join("plan").unwrap(), "/etc/shadow").unwrap();
    let attributes = Attributes { mode: 0o600, uid: 0, gid: 0 };
    let oversized = vec![b'x'; MAX_PAYLOAD + 200];
    disk.put(&at().join("next").unwrap(), &oversized, attributes).unwrap();
    let journal = open(&disk);
    assert!(matches!(journal.load(Slot::Plan).unwrap(), Loaded::Damaged { why: Damage::NotAFile, .. }));
    assert!(matches!(journal.load(Slot::Next).unwrap(), Loaded::Damaged { why: Damage::TooLarge, .. }));
    assert_eq!(disk.read(&RootPath::new("/etc/shadow").unwrap(), 9).unwrap(), b"secret");
    let refused = journal.save(Slot::Next, &Secret::new(oversized));
    let refused = refused.unwrap_err().to_string();
    assert!(refused.starts_with("the next record would have "), "{refused}");
}

#[test]
fn only_the_last_few_damaged_records_are_kept() {
    let disk = MemoryDisk::new();
    let journal = open(&disk);
    for _ in 0..12 {
        let attributes = Attributes { mode: 0o600, uid: 0, gid: 0 };
        disk.put(&at().join("plan").unwrap(), b"garbage", attributes).unwrap();
        assert!(matches!(journal.load(Slot::Plan).unwrap(), Loaded::Damaged { .. }));
    }
    let kept = ["lock", "plan.damaged-10", "plan.damaged-11", "plan.damaged-12", "plan.damaged-9"];
    assert_eq!(disk.list(&at()).unwrap(), kept);
}

#[test]
fn a_name_that_numbers_cannot_exceed_does_not_stop_it() {
    let last = format!("{AT}/plan.damaged-{}", u32::MAX);
    let disk = MemoryDisk::with(&[(&last, "older", 0o600), (&format!("{AT}/plan"), "newer", 0o600)]).unwrap();
    assert!(matches!(open(&disk).load(Slot::Plan).unwrap(), Loaded::Damaged { .. }));
    assert_eq!(disk.read(&RootPath::new(last).unwrap(), 9).unwrap(), b"newer");
}

#[test]
fn progress_is_what_was_completed() {
    let disk = MemoryDisk::new();
    let journal = open(&disk);
    assert_eq!(journal.completed().unwrap(), Loaded::Absent);
    let mut completed = Completed::default();
    for step in [0, 7, 3, 7, u32::MAX] {
        journal.complete(&mut completed, step).unwrap();
        assert!(completed.contains(step));
    }
    assert_eq!(completed.iter().collect::<Vec<_>>(), [0, 3, 7, u32::MAX]);
    assert_eq!(journal.completed().unwrap(), Loaded::Intact(completed));
    journal.save(Slot::Progress, &payload("1\nx\n")).unwrap();
    assert!(matches!(journal.completed().unwrap(), Loaded::Damaged { why: Damage::Payload, .. }));
    assert_eq!(journal.completed().unwrap(), Loaded::Absent);
}

/// A journal in the midst of its life, and what is done to it next.
fn before() -> MemoryDisk {
    let disk = MemoryDisk::new();
    let journal = open(&disk);
    journal.save(Slot::Plan, &payload("old plan")).unwrap();
    journal.save(Slot::Next, &payload("old next")).unwrap();
    drop(journal);
    disk.reboot(0)
}

fn work(disk: &MemoryDisk) -> Result<(), JournalError> {
    let journal = Journal::open(disk, &at())?;
    journal.save(Slot::Plan, &payload("new plan, longer than the old one"))?;
    let mut completed = Completed::default();
    journal.complete(&mut completed, 1)?;
    journal.complete(&mut completed, 2)?;
    journal.clear(Slot::Next)?;
    journal.save(Slot::Previous, &payload("previous"))
}

/// Every slot holds what it held before or after some step of the work, in the order of the work.
fn assert_whole(disk: &MemoryDisk, started: bool, context: &dyn std::fmt::Debug) {
    let journal = open(disk);
    let old = |text: &str| if started { Loaded::Intact(payload(text)) } else { Loaded::Absent };
    let slot = |slot| journal.load(slot).unwrap();
    let steps = match journal.completed().unwrap() {
        Loaded::Absent => Vec::new(),
        Loaded::Intact(completed) => completed.iter().collect(),
        Loaded::Damaged { why, .. } => panic!("{why} {context:?}"),
    };
    let plan = slot(Slot::Plan) != old("old plan");
    let next = slot(Slot::Next) != old("old next");
    let previous = slot(Slot::Previous) != Loaded::Absent;
    assert!(!plan || slot(Slot::Plan) == Loaded::Intact(payload("new plan, longer than the old one")), "{context:?}");
    assert!(!next || slot(Slot::Next) == Loaded::Absent, "{context:?}");
    assert!(!previous || slot(Slot::Previous) == Loaded::Intact(payload("previous")), "{context:?}");
    assert!([vec![], vec![1], vec![1, 2]].contains(&steps), "{steps:?} {context:?}");
    let mut done = vec![plan, !steps.is_empty(), steps.len() == 2];
    done.extend(started.then_some(next));
    done.push(previous);
    assert!(done.is_sorted_by(|earlier, later| earlier >= later), "{done:?} {context:?}");
    drop(journal);
    work(disk).unwrap();
    let names: Vec<_> = disk.list(&at()).unwrap();
    assert_eq!(names, ["lock", "plan", "previous", "progress"], "{context:?}");
    let durable = disk.durable_tree();
    let node = |name: &str| durable.get(&format!("{AT}/{name}")).cloned();
    let now = disk.tree();
    for name in ["plan", "previous", "progress"] {
        assert_eq!(node(name), now.get(&format!("{AT}/{name}")).cloned(), "{name} {context:?}");
    }
}

#[test]
fn after_a_crash_every_record_is_old_or_new_and_in_order() {
    for (started, setup) in [(true, before as fn() -> MemoryDisk), (false, MemoryDisk::new)] {
        let io = |disk: &MemoryDisk| work(disk).map_err(io::Error::other);
        let points = every_crash(setup, io, 60, |disk, point| assert_whole(&disk, started, &point)).unwrap();
        println!("journal: {points} crash points");
    }
}

#[test]
fn after_an_error_every_record_is_old_or_new_and_the_journal_works_again() {
    let io = |disk: &MemoryDisk| work(disk).map_err(io::Error::other);
    let cut = Cell::new(0);
    let check = |disk: MemoryDisk, outcome: io::Result<()>, failure| {
        for seed in 0..6 {
            assert_whole(&disk.reboot(seed), true, &failure);
        }
        assert_whole(&disk, true, &failure);
        cut.set(cut.get() + usize::from(outcome.is_err()));
    };
    let points = every_error(before, io, &ERRNOS, check).unwrap();
    println!("journal: {points} error points");
    assert!(cut.get() > points / 2);
}

#[test]
fn payloads_are_in_no_message() {
    let io = |disk: &MemoryDisk| -> io::Result<()> {
        let journal = Journal::open(disk, &at()).map_err(io::Error::other)?;
        journal.save(Slot::Plan, &payload("canary")).map_err(io::Error::other)
    };
    let check = |_, outcome: io::Result<()>, _| assert!(!format!("{outcome:?}").contains("canary"));
    every_error(before, io, &ERRNOS, check).unwrap();
    let disk = MemoryDisk::new();
    io(&disk).unwrap();
    assert!(!format!("{:?}", open(&disk).load(Slot::Plan).unwrap()).contains("canary"));
}

proptest! {
    #[test]
    fn a_change_of_any_byte_is_noticed(bytes in prop::collection::vec(any::<u8>(), 0..200), flip in 1..=u8::MAX) {
        let good = record::encode(Slot::Next, &bytes);
        prop_assert_eq!(record::decode(Slot::Next, &good), Ok(Secret::new(bytes)));
        for position in 0..good.len() {
            let mut bad = good.clone();
            bad[position] ^= flip;
            prop_assert!(record::decode(Slot::Next, &bad).is_err(), "position {}", position);
        }
    }

    #[test]
    fn a_record_cut_short_or_continued_is_noticed(bytes in prop::collection::vec(any::<u8>(), 0..200), more in 0..u8::MAX) {
        let mut good = record::encode(Slot::Next, &bytes);
        for length in 0..good.len() {
            prop_assert!(record::decode(Slot::Next, &good[..length]).is_err());
        }
        good.push(more);
        prop_assert!(record::decode(Slot::Next, &good).is_err());
    }

    #[test]
    fn anything_at_all_is_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for slot in Slot::ALL {
            let _ = record::decode(slot, &bytes);
        }
        let _ = Completed::decode(&bytes);
    }
}
