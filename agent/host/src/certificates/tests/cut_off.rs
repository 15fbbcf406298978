//! Deliveries cut off and failed at every point: the next one finishes them.

use std::io;

use super::*;
use crate::disk::memory::{ERRNOS, every_crash, every_error};

/// Everything at once: files, a registry that comes and one that goes, and a new authority.
fn before() -> MemoryDisk {
    let disk = node();
    deliver(&disk, &Fake::new(&disk), Some(&given(&[], &["gone", "kept"]))).unwrap();
    disk.put(&at(PULL_SECRET), b"older\n", PRIVATE).unwrap();
    disk.put(&at(KUBELET_CA), b"older\n", OPEN).unwrap();
    disk
}

fn wanted() -> Given {
    given(&[SIGNER, OTHER], &["kept", "new..5000"])
}

fn work(disk: &MemoryDisk) -> io::Result<()> {
    let fake = Fake::new(disk);
    let outcome = deliver(disk, &fake, Some(&wanted()));
    assert!(fake.running.get(), "a kubelet that was stopped is started again");
    outcome.map(drop).map_err(io::Error::other)
}

/// What a disk comes to: everything but the journal's own leftovers.
fn end() -> std::collections::BTreeMap<String, Node> {
    let disk = before();
    work(&disk).unwrap();
    disk.tree()
}

fn assert_finishes(disk: &MemoryDisk, end: &std::collections::BTreeMap<String, Node>, context: &dyn std::fmt::Debug) {
    for (path, olds) in [(PULL_SECRET, ["older\n", SECRET]), (KUBELET_CA, ["older\n", OTHER])] {
        let found = text(disk, path).unwrap_or_default();
        assert!(olds.iter().any(|old| found.trim_end() == old.trim_end()), "{path} {context:?}");
    }
    // Whoever only finishes what was begun leaves no kubelet behind the files.
    let fake = Fake::new(disk);
    deliver(disk, &fake, None).unwrap();
    if trusts(disk, BOOTSTRAP_KUBECONFIG, &[SIGNER, OTHER]) {
        assert!(trusts(disk, KUBELET_KUBECONFIG, &[SIGNER, OTHER]), "{context:?}");
    }
    work(disk).unwrap();
    assert_eq!(disk.tree(), *end, "{context:?}");
    assert_eq!(owed(disk), Owed::Nothing, "{context:?}");
}

#[test]
fn a_delivery_that_was_cut_off_is_finished_by_the_next() {
    let end = end();
    let points = every_crash(before, work, 4, |disk, point| assert_finishes(&disk, &end, &point)).unwrap();
    println!("certificates: {points} crash points");
    assert!(points > 100);
}

#[test]
fn a_delivery_that_met_an_error_is_finished_by_the_next() {
    let end = end();
    let check = |disk: MemoryDisk, outcome: io::Result<()>, failure| {
        if outcome.is_ok() {
            assert_eq!(disk.tree(), end, "{failure:?}");
        }
        assert_finishes(&disk, &end, &failure);
    };
    let points = every_error(before, work, &ERRNOS, check).unwrap();
    println!("certificates: {points} error points");
}

#[test]
fn a_kubelet_that_was_cut_off_from_its_credentials_gets_old_or_new_ones() {
    let work = |disk: &MemoryDisk| {
        let fake = Fake { credentials: Some(RENEWED), ..Fake::new(disk) };
        Courier::open(disk, Some(&fake)).and_then(|courier| courier.rebootstrap()).map(drop).map_err(io::Error::other)
    };
    let check = |disk: MemoryDisk, context: &dyn std::fmt::Debug| {
        let has = |path: &str| text(&disk, path).is_some_and(|text| certificates::is_usable(text.as_bytes()));
        assert!(has(KUBELET_KUBECONFIG) || has(KEPT_KUBECONFIG), "{context:?}");
        let fake = Fake { credentials: Some(RENEWED), ..Fake::new(&disk) };
        deliver(&disk, &fake, None).unwrap();
        Courier::open(&disk, Some(&fake)).unwrap().rebootstrap().unwrap();
        assert_eq!(text(&disk, KUBELET_KUBECONFIG).as_deref(), Some(RENEWED), "{context:?}");
        assert_eq!((text(&disk, KEPT_KUBECONFIG), owed(&disk)), (None, Owed::Nothing), "{context:?}");
    };
    every_crash(waiting, work, 4, |disk, point| check(disk, &point)).unwrap();
}
