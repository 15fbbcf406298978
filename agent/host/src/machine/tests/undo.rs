//! Ways back that lack what was there when the change began: accounts that it rewrote.

use std::cell::Cell;

use nix::errno::Errno;
use ostler_core::transaction::Ending;

use super::*;
use crate::disk::memory::every_error;
use crate::disk::Attributes;

const OPEN: Attributes = Attributes { mode: 0o755, uid: 0, gid: 0 };

fn path(path: &str) -> RootPath {
    RootPath::new(path).unwrap()
}

fn file(path: &str, text: &str) -> Value {
    json!({"path": path, "overwrite": true, "contents": {"source": format!("data:,{text}")}})
}

fn owned(path: &str, text: &str) -> Value {
    let mut file = file(path, text);
    (file["user"], file["group"]) = (json!({"name": "app"}), json!({"name": "app"}));
    file
}

fn with_keys(name: &str, files: Value, key: &str) -> Recorded {
    config(
        name,
        json!({"storage": {"files": files}, "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": [key]}]}}),
    )
}

fn old() -> Recorded {
    with_keys("old", json!([owned("/etc/app.conf", "old"), owned("/etc/gone.conf", "old")]), "ssh-ed25519 old")
}

/// Rewrites the accounts, without the users that the old configuration needs.
fn without_users() -> Recorded {
    let files = json!([
        file("/etc/app.conf", "new"),
        file("/etc/group", "root:x:0:%0A"),
        file("/etc/passwd", "root:x:0:0::/root:/bin/sh%0A"),
    ]);
    with_keys("new", files, "ssh-ed25519 new")
}

fn in_old() -> MemoryDisk {
    let disk = fresh();
    apply(&disk, &old()).unwrap();
    disk
}

#[test]
fn a_way_back_knows_the_owners_that_the_change_took_out_of_the_accounts() {
    let before = tree(&in_old());
    let after = {
        let disk = in_old();
        apply(&disk, &without_users()).unwrap();
        tree(&disk)
    };
    let undone = Cell::new(0);
    let work = |disk: &MemoryDisk| apply(disk, &without_users()).map(drop).map_err(io_error);
    let states = every_error(in_old, work, &[Errno::EIO], |disk, outcome, at| {
        let ended = recover(&disk).unwrap_or_else(|trouble| panic!("{at:?}: {}", trouble.reason()));
        assert!(status(&disk).open.is_none(), "{at:?}");
        let expected = if status(&disk).config.as_deref() == Some("new") { &after } else { &before };
        assert_eq!(&tree(&disk), expected, "{at:?} {outcome:?} {ended:?}");
        let last = status(&disk).last.map(|last| last.ending);
        undone.set(undone.get() + usize::from(matches!(last, Some(Ending::Undone { .. }))));
    });
    println!("accounts rewritten: {} states, {} undone", states.unwrap(), undone.get());
    assert!(undone.get() > 10, "{}", undone.get());
}

#[test]
fn a_rollback_knows_the_owners_that_the_change_took_out_of_the_accounts() {
    let disk = in_old();
    let before = tree(&disk);
    apply(&disk, &without_users()).unwrap();
    let machine = open(&disk).unwrap();
    let proposal = transaction::propose_rollback(&machine, &Rules::default()).unwrap().unwrap();
    assert_eq!(transaction::run(&machine, &proposal, &mut |_| {}).unwrap().ending, Ending::Applied);
    drop(machine);
    assert_eq!(tree(&disk), before);
}

#[test]
fn a_user_who_was_gone_before_the_change_owns_what_is_put_back() {
    let disk = in_old();
    disk.put(&path("/etc/passwd"), b"root:x:0:0::/root:/bin/sh\n", Attributes { mode: 0o644, ..OPEN }).unwrap();
    let before = tree(&disk);
    let target = config("new", json!({"storage": {"files": [file("/etc/app.conf", "new")]}}));
    let work = |disk: &MemoryDisk| apply(disk, &target).map(drop).map_err(io_error);
    every_error(
        || disk.kill(),
        work,
        &[Errno::EIO],
        |disk, _, at| {
            recover(&disk).unwrap_or_else(|trouble| panic!("{at:?}: {}", trouble.reason()));
            let undone = status(&disk).config.as_deref() == Some("old");
            assert!(!undone || tree(&disk) == before, "{at:?}");
        },
    )
    .unwrap();
}
