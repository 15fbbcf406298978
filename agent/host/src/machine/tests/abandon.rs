//! Transactions that are abandoned, and plans that are damaged.

use ostler_core::transaction::Ending;

use super::*;
use crate::disk::{Attributes, Disk as _};
use crate::journal::{Slot, View};

const JOURNAL: &str = "/var/lib/ostler/journal";
const PLAIN: Attributes = Attributes { mode: 0o640, uid: 7, gid: 7 };

fn path(path: &str) -> RootPath {
    RootPath::new(path).unwrap()
}

fn file(path: &str, text: &str) -> Value {
    json!({"path": path, "contents": {"source": format!("data:,{text}")}})
}

fn old() -> Recorded {
    config("old", json!({"storage": {"files": [file("/etc/a", "old"), file("/etc/chrony.conf", "old")]}}))
}

fn new() -> Recorded {
    let units = json!([{"name": "n.service", "enabled": true, "contents": "[Install]\nWantedBy=multi-user.target\n"}]);
    let files = json!([file("/etc/a", "new"), file("/etc/theirs", "new"), file("/etc/b", "new")]);
    config("new", json!({"storage": {"files": files}, "systemd": {"units": units}}))
}

fn other() -> Recorded {
    config("other", json!({"storage": {"files": [file("/etc/c", "other")]}}))
}

/// A machine in the old configuration with a file of somebody else's at a path of the new one, after each effect of the
/// update to that while it is open.
fn cut_off() -> Vec<MemoryDisk> {
    let disk = fresh();
    apply(&disk, &old()).unwrap();
    disk.put(&path("/etc/theirs"), b"theirs", PLAIN).unwrap();
    disk.remember();
    apply(&disk, &new()).unwrap();
    let open = |disk: &MemoryDisk| status(disk).open.is_some();
    disk.history().into_iter().filter(open).collect()
}

fn abandon(disk: &MemoryDisk) -> Option<Finished> {
    open(disk).unwrap().abandon(&mut |_| {}).unwrap()
}

fn damage(disk: &MemoryDisk, record: &str) {
    disk.put(&path(&format!("{JOURNAL}/{record}")), b"torn", PLAIN).unwrap();
}

fn tree_of(targets: &[Recorded]) -> BTreeMap<String, Node> {
    let disk = fresh();
    apply(&disk, &old()).unwrap();
    disk.put(&path("/etc/theirs"), b"theirs", PLAIN).unwrap();
    for target in targets {
        apply(&disk, target).unwrap();
    }
    tree(&disk)
}

fn is_open(disk: &MemoryDisk) -> bool {
    !matches!(open(disk).unwrap().interrupted(), Ok(None))
}

#[test]
fn nothing_is_abandoned_where_a_normal_way_works() {
    let disk = fresh();
    assert_eq!(abandon(&disk), None);
    for disk in cut_off() {
        let finished = abandon(&disk).unwrap();
        assert!(matches!(finished.ending, Ending::Applied | Ending::Undone { .. }), "{:?}", finished.ending);
    }
}

#[test]
fn a_damaged_plan_goes_back_by_what_is_kept_of_its_two_ends() {
    let expected = tree_of(&[]);
    for disk in cut_off() {
        damage(&disk, "plan");
        let finished = recover(&disk).unwrap().unwrap();
        assert_eq!(finished.ending, Ending::Undone { reason: "the record of its plan is damaged".to_owned() });
        assert_eq!(tree(&disk), expected);
        assert!(!is_open(&disk) && status(&disk).damaged.is_empty());
    }
}

#[test]
fn a_plan_and_an_origin_that_are_both_damaged_stay_open_until_they_are_abandoned() {
    for disk in cut_off() {
        damage(&disk, "plan");
        damage(&disk, "origin");
        for _ in 0..3 {
            assert!(matches!(recover(&disk), Err(Trouble::Lost { .. })));
            assert!(matches!(apply(&disk, &other()), Err(Trouble::Lost { .. })));
        }
        let finished = abandon(&disk).unwrap();
        assert!(matches!(finished.ending, Ending::Abandoned { .. }));
        assert!(!is_open(&disk) && status(&disk).damaged.is_empty());
        assert_eq!(recover(&disk).unwrap(), None);
        apply(&disk, &other()).unwrap().unwrap();
        assert_eq!(status(&disk).config.as_deref(), Some("other"));
    }
}

#[test]
fn what_the_abandoned_change_never_wrote_stays_whoever_put_it_there() {
    let expected = tree_of(&[other()]);
    for disk in cut_off() {
        let written = text(&disk, "/etc/theirs").as_deref() == Some("new");
        damage(&disk, "origin");
        assert!(matches!(recover(&disk), Err(Trouble::Lost { .. } | Trouble::Unsettled { .. })));
        let Ending::Abandoned { differs, .. } = abandon(&disk).unwrap().ending else { panic!("not abandoned") };
        assert!(differs.iter().any(|line| line.contains("from new")), "{differs:?}");
        assert_eq!(text(&disk, "/etc/theirs").as_deref(), Some(if written { "new" } else { "theirs" }));
        apply(&disk, &other()).unwrap().unwrap();
        let mut found = tree(&disk);
        if written {
            // What stood there is lost with the origin.
            assert_eq!(found.remove("/etc/theirs"), None);
            found.insert("/etc/theirs".to_owned(), expected["/etc/theirs"].clone());
        }
        // Nor is it known which empty directories are the change's.
        let may_be_theirs = |path: &str| path.ends_with(".target.wants");
        found.retain(|path, _| !path.starts_with("/etc/machine-config-daemon/") && !may_be_theirs(path));
        let mut expected = expected.clone();
        expected.retain(|path, _| !path.starts_with("/etc/machine-config-daemon/"));
        assert_eq!(found, expected);
        assert!(matches!(View::new(&disk, &path(JOURNAL)).load(Slot::Abandoned), Ok(crate::journal::Loaded::Absent)));
    }
}

#[test]
fn damaged_records_are_removed_once_the_machine_is_found_to_agree() {
    let disk = fresh();
    apply(&disk, &old()).unwrap();
    damage(&disk, "last");
    assert!(recover(&disk).unwrap().is_none());
    let machine = open(&disk).unwrap();
    machine.observe().unwrap();
    assert!(!status(&disk).damaged.is_empty());
    assert!(machine.propose_repair(&[]).unwrap().is_none());
    machine.agrees(&[]).unwrap();
    drop(machine);
    assert!(status(&disk).damaged.is_empty());
    assert!(disk.list(&path(JOURNAL)).unwrap().iter().all(|name| !name.to_string_lossy().contains("damaged")));
}
