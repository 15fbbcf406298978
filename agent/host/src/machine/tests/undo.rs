//! Ways back that lack what was there when the change began: accounts that it rewrote, directories that somebody replaced.

use std::cell::Cell;

use nix::errno::Errno;
use ostler_core::transaction::Ending;

use super::*;
use crate::disk::memory::every_error;
use crate::disk::{Attributes, Disk as _};

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

/// A change to files in a directory that is there and in one that it makes.
fn below() -> [Recorded; 2] {
    let of = |name: &str, files: Value| config(name, json!({"storage": {"files": files}}));
    let old = json!([file("/srv/there/a", "old"), file("/srv/there/gone", "old")]);
    let new = json!([file("/srv/there/a", "new"), file("/srv/made/b", "new")]);
    [of("old", old), of("new", new)]
}

/// After each effect of that change while it is open; beside it is a directory that nobody has any business in.
fn cut_off() -> Vec<MemoryDisk> {
    let disk = fresh();
    let [old, new] = below();
    apply(&disk, &old).unwrap();
    disk.put_directory(&path("/outside"), OPEN).unwrap();
    disk.put(&path("/outside/theirs"), b"theirs", Attributes { mode: 0o600, ..OPEN }).unwrap();
    disk.remember();
    apply(&disk, &new).unwrap();
    let open = |disk: &MemoryDisk| status(disk).open.is_some();
    disk.history().into_iter().filter(open).collect()
}

fn plant(disk: &MemoryDisk, at: &RootPath, target: &str) {
    for name in disk.list(at).unwrap_or_default() {
        disk.remove(&at.join(name.to_str().unwrap()).unwrap()).unwrap();
    }
    let _ = disk.remove_directory(at);
    let _ = disk.remove(at);
    disk.put_link_of(at, target, 1000).unwrap();
}

fn outside(disk: &MemoryDisk) -> Vec<(String, Node)> {
    tree(disk).into_iter().filter(|(path, _)| path.starts_with("/outside")).collect()
}

fn abandon(disk: &MemoryDisk) -> Result<Option<Finished>, Trouble> {
    open(disk)?.abandon(&mut |_| {})
}

#[test]
fn a_foreign_link_on_the_way_is_not_followed_by_an_undo_which_says_so_and_ends_once_it_is_gone() {
    let (mut closed, mut left_open) = (0, 0);
    for directory in ["/srv/there", "/srv/made"] {
        for (number, disk) in cut_off().into_iter().enumerate() {
            let at = format!("{directory} {number}");
            let theirs = outside(&disk);
            plant(&disk, &path(directory), "/outside");
            let ended = recover(&disk);
            assert_eq!(outside(&disk), theirs, "{at}");
            if status(&disk).open.is_none() {
                closed += 1;
                continue;
            }
            left_open += 1;
            let trouble = ended.unwrap_err();
            assert!(trouble.reason().contains("the symbolic link"), "{at}: {}", trouble.reason());
            assert!(trouble.remedy().is_some_and(|remedy| remedy.contains("link")), "{at}: {:?}", trouble.remedy());
            let given_up = disk.kill();
            let ending = abandon(&given_up).unwrap().unwrap().ending;
            assert!(matches!(ending, Ending::Abandoned { .. }) && status(&given_up).open.is_none(), "{at}: {ending:?}");
            assert_eq!(outside(&given_up), theirs, "{at}");
            disk.remove(&path(directory)).unwrap();
            recover(&disk).unwrap_or_else(|trouble| panic!("{at}: {}", trouble.reason()));
            assert!(status(&disk).open.is_none(), "{at}");
            let text = |name: &str| text(&disk, name);
            assert_eq!(
                (text("/srv/there/a").as_deref(), text("/srv/there/gone").as_deref()),
                (Some("old"), Some("old")),
                "{at}"
            );
            assert_eq!(text("/srv/made/b"), None, "{at}");
        }
    }
    println!("a foreign link on the way: {closed} closed, {left_open} open until it is gone, 0 stuck");
    assert!(left_open > 0);
}

#[test]
fn a_foreign_link_at_a_path_of_the_change_is_replaced_and_not_written_through() {
    let mut ended = 0;
    for at in ["/srv/there/a", "/srv/there/gone", "/srv/made/b"] {
        for disk in cut_off() {
            if !tree(&disk).contains_key(path(at).directory()) {
                continue;
            }
            let theirs = outside(&disk);
            plant(&disk, &path(at), "/outside/theirs");
            recover(&disk).unwrap_or_else(|trouble| panic!("{at}: {}", trouble.reason()));
            assert_eq!((outside(&disk), status(&disk).open.is_none()), (theirs, true), "{at}");
            // One that is planted after everything was written is drift.
            let link = matches!(tree(&disk).get(at), Some(Node::Link { .. }));
            assert!(!link || status(&disk).config.as_deref() == Some("new"), "{at}");
            ended += 1;
        }
    }
    assert!(ended > 10, "{ended}");
}
