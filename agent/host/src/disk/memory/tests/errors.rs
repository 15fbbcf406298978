//! Paths and the error numbers that Linux gives for them.

use super::*;

type Operation = fn(&MemoryDisk) -> io::Result<()>;

fn furnished() -> MemoryDisk {
    let disk = disk(&[("/d/f", "abc", 0o644), ("/d/sub/g", "", 0o644), ("/empty/", "", 0o755), ("/m/", "", 0o755)]);
    for (at, target) in [
        ("/l", "d/f"),
        ("/dl", "/d"),
        ("/up", "../../../d"),
        ("/loop", "loop"),
        ("/nowhere", "no"),
        ("/d/sub/back", ".././sub//"),
        ("/to-file", "d/f"),
    ] {
        disk.put_link(&path(at), target).unwrap();
    }
    disk.mount(&path("/m")).unwrap();
    disk
}

#[test]
fn errors_have_the_numbers_that_linux_gives() {
    let table: &[(Errno, Operation)] = &[
        (Errno::ENOENT, |disk| disk.read(&path("/no"), 9).map(drop)),
        (Errno::ENOENT, |disk| disk.create(&path("/no/f"), b"", NEW)),
        (Errno::ENOENT, |disk| disk.create(&path("/nowhere/f"), b"", NEW)),
        (Errno::ENOENT, |disk| disk.remove(&path("/d/no"))),
        (Errno::ENOENT, |disk| disk.remove_directory(&path("/d/no"))),
        (Errno::ENOENT, |disk| disk.rename(&path("/d/no"), &path("/d/f"))),
        (Errno::ENOENT, |disk| disk.rename(&path("/d/f"), &path("/no/f"))),
        (Errno::ENOENT, |disk| disk.sync(&path("/no"))),
        (Errno::ENOENT, |disk| disk.set_attributes(&path("/no"), NEW)),
        (Errno::ENOENT, |disk| disk.link(&path("/new"), "")),
        (Errno::EINVAL, |disk| disk.link(&path("/new"), "a\0")),
        (Errno::ENAMETOOLONG, |disk| disk.link(&path("/new"), &"a".repeat(4096))),
        (Errno::EEXIST, |disk| disk.create(&path("/d/f"), b"", NEW)),
        (Errno::EEXIST, |disk| disk.create(&path("/nowhere"), b"", NEW)),
        (Errno::EEXIST, |disk| disk.make_directory(&path("/d"), NEW)),
        (Errno::EEXIST, |disk| disk.link(&path("/l"), "x")),
        (Errno::ENOTDIR, |disk| disk.create(&path("/d/f/g"), b"", NEW)),
        (Errno::ENOTDIR, |disk| disk.create(&path("/to-file/g"), b"", NEW)),
        (Errno::ENOTDIR, |disk| disk.read(&path("/d/f/g"), 9).map(drop)),
        (Errno::ENOTDIR, |disk| disk.list(&path("/d/f")).map(drop)),
        (Errno::ENOTDIR, |disk| disk.list(&path("/dl")).map(drop)),
        (Errno::ENOTDIR, |disk| disk.remove_directory(&path("/d/f"))),
        (Errno::ENOTDIR, |disk| disk.remove_directory(&path("/dl"))),
        (Errno::EISDIR, |disk| disk.read(&path("/d"), 9).map(drop)),
        (Errno::EISDIR, |disk| disk.remove(&path("/d"))),
        (Errno::EISDIR, |disk| disk.rename(&path("/d/f"), &path("/empty"))),
        (Errno::EISDIR, |disk| disk.rename(&path("/empty"), &path("/new"))),
        (Errno::EISDIR, |disk| disk.lock(&path("/d")).map(drop)),
        (Errno::ENOTEMPTY, |disk| disk.remove_directory(&path("/d"))),
        (Errno::ENOTEMPTY, |disk| disk.rename(&path("/d/sub/g"), &path("/d"))),
        (Errno::EBUSY, |disk| disk.remove_directory(&path("/m"))),
        (Errno::EXDEV, |disk| disk.rename(&path("/d/f"), &path("/m/f"))),
        (Errno::EINVAL, |disk| disk.read_link(&path("/d/f")).map(drop)),
        (Errno::ELOOP, |disk| disk.read(&path("/l"), 9).map(drop)),
        (Errno::ELOOP, |disk| disk.stat(&path("/loop/f")).map(drop)),
        (Errno::ELOOP, |disk| disk.set_attributes(&path("/l"), NEW)),
        (Errno::ELOOP, |disk| disk.sync(&path("/l"))),
        (Errno::ELOOP, |disk| disk.lock(&path("/l")).map(drop)),
    ];
    for (row, (expected, operation)) in table.iter().enumerate() {
        let disk = furnished();
        let before = disk.tree();
        let error = operation(&disk).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(*expected as i32), "row {row}: {error}");
        assert_eq!(disk.tree(), before, "row {row}");
        assert_eq!(disk.effects(), 0, "row {row}: what could not happen is no effect");
    }
}

#[test]
fn links_above_the_last_element_are_followed_within_the_root() {
    let disk = furnished();
    for at in ["/dl/f", "/up/f", "/d/sub/back/g", "/dl/sub/back/back/g"] {
        assert!(disk.stat(&path(at)).unwrap().is_some(), "{at}");
    }
    assert_eq!(disk.read(&path("/up/f"), 3).unwrap(), b"abc");
    assert_eq!(disk.read(&path("/up/f"), 2).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    assert_eq!(disk.stat(&path("/l")).unwrap().unwrap().kind, Kind::Link);
    assert_eq!(disk.stat(&path("/no/f")).unwrap(), None);
    assert_eq!(disk.stat(&path("/nowhere/f")).unwrap(), None);
    assert_eq!(disk.stat(&path("/d/f/g")).unwrap(), None);
    assert_eq!(disk.read_link(&path("/up")).unwrap(), "../../../d");
    assert_eq!(disk.list(&path("/d")).unwrap(), ["f", "sub"]);
    disk.create(&path("/dl/new"), b"", NEW).unwrap();
    assert!(disk.tree().contains_key("/d/new"));
    disk.rename(&path("/l"), &path("/empty/l")).unwrap();
    assert_eq!(disk.tree().remove("/empty/l"), Some(Node::Link { target: "d/f".into() }), "the link itself moves");
    disk.remove(&path("/dl")).unwrap();
    assert!(disk.tree().contains_key("/d/f"), "the link itself is removed");
}

#[test]
fn forty_links_are_followed_and_no_more() {
    let disk = disk(&[("/0/f", "x", 0o644)]);
    for hop in 1..=41 {
        disk.put_link(&path(&format!("/{hop}")), &format!("{}", hop - 1)).unwrap();
    }
    assert!(disk.stat(&path("/40/f")).unwrap().is_some());
    assert_eq!(disk.stat(&path("/41/f")).unwrap_err().raw_os_error(), Some(Errno::ELOOP as i32));
}

#[test]
fn a_lock_is_held_once_and_until_it_is_dropped_or_its_holder_dies() {
    let disk = disk(&[("/d/", "", 0o755)]);
    let lock = disk.lock(&path("/d/lock")).unwrap();
    assert!(lock.is_some());
    assert_eq!(disk.effects(), 1, "it was made");
    assert!(disk.lock(&path("/d/lock")).unwrap().is_none());
    assert!(disk.lock(&path("/d/other")).unwrap().is_some());
    assert!(disk.kill().lock(&path("/d/lock")).unwrap().is_some());
    drop(lock);
    assert!(disk.lock(&path("/d/lock")).unwrap().is_some());
}
