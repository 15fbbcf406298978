//! What each operation does when nobody interferes.

use std::ffi::OsStr;
use std::fs::Permissions;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use super::*;
use crate::disk::{Kind, Stat};

#[test]
fn a_created_file_has_its_contents_mode_and_owner() {
    let machine = Machine::new();
    for (name, mode) in [("/etc/a", 0o644), ("/etc/b", 0o600), ("/b", 0o4755), ("/etc/c", 0o1666)] {
        machine.disk.create(&at(name), b"contents", mine(mode)).unwrap();
        let Attributes { uid, gid, .. } = mine(mode);
        let expected = Stat { kind: Kind::File, mode, uid, gid, size: 8 };
        assert_eq!(machine.disk.stat(&at(name)).unwrap(), Some(expected));
        assert_eq!(machine.disk.read(&at(name), 8).unwrap(), b"contents");
    }
}

#[test]
fn what_exists_is_never_created_over() {
    let machine = Machine::new();
    machine.disk.create(&at("/etc/a"), b"first", mine(0o644)).unwrap();
    for path in ["/etc/a", "/etc"] {
        let error = machine.disk.create(&at(path), b"second", mine(0o600)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{path}");
        assert_eq!(machine.disk.make_directory(&at(path), mine(0o700)).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(machine.disk.link(&at(path), "x").unwrap_err().kind(), ErrorKind::AlreadyExists);
    }
    assert_eq!(machine.disk.read(&at("/etc/a"), 100).unwrap(), b"first");
    assert_eq!(machine.disk.stat(&at("/etc/a")).unwrap().unwrap().mode, 0o644);
}

#[test]
fn nothing_stands_below_what_is_missing_or_no_directory() {
    let machine = Machine::new();
    machine.disk.create(&at("/file"), b"", mine(0o600)).unwrap();
    machine.link("dangling", "nowhere");
    for path in ["/none", "/none/at/all", "/file/below", "/dangling/below"] {
        assert_eq!(machine.disk.stat(&at(path)).unwrap(), None, "{path}");
        assert!(machine.disk.read(&at(path), 10).is_err(), "{path}");
        assert!(machine.disk.remove(&at(path)).is_err(), "{path}");
    }
    assert_eq!(machine.disk.stat(&at("/dangling")).unwrap().unwrap().kind, Kind::Link);
}

#[test]
fn a_file_is_read_up_to_the_limit_and_refused_beyond() {
    let machine = Machine::new();
    machine.disk.create(&at("/a"), &[7; 1000], mine(0o600)).unwrap();
    for (most, fits) in [(u64::MAX, true), (1001, true), (1000, true), (999, false), (0, false)] {
        let read = machine.disk.read(&at("/a"), most).map_err(|error| error.kind());
        assert_eq!(read, if fits { Ok(vec![7; 1000]) } else { Err(ErrorKind::FileTooLarge) }, "{most}");
    }
    // Sparse: were the size not looked at first, this would take all memory.
    fs::File::create(machine.host("sparse")).unwrap().set_len(1 << 40).unwrap();
    assert_eq!(machine.disk.read(&at("/sparse"), 1 << 20).unwrap_err().kind(), ErrorKind::FileTooLarge);
}

#[test]
fn a_file_that_hides_its_size_is_bounded_all_the_same() {
    let proc = RootDisk::open(Path::new("/proc")).unwrap();
    assert_eq!(proc.stat(&at("/cpuinfo")).unwrap().unwrap().size, 0);
    assert_eq!(proc.read(&at("/cpuinfo"), 3).unwrap_err().kind(), ErrorKind::FileTooLarge);
    assert!(proc.read(&at("/cpuinfo"), 1 << 20).unwrap().len() > 3);
}

#[test]
fn a_directory_is_made_with_its_mode_and_removed_when_empty() {
    let machine = Machine::new();
    machine.disk.make_directory(&at("/d"), mine(0o2750)).unwrap();
    let stat = machine.disk.stat(&at("/d")).unwrap().unwrap();
    assert_eq!((stat.kind, stat.mode), (Kind::Directory, 0o2750));
    machine.disk.create(&at("/d/a"), b"", mine(0o600)).unwrap();
    assert_eq!(machine.disk.remove_directory(&at("/d")).unwrap_err().kind(), ErrorKind::DirectoryNotEmpty);
    assert_eq!(machine.disk.remove(&at("/d")).unwrap_err().kind(), ErrorKind::IsADirectory);
    assert_eq!(machine.disk.remove_directory(&at("/d/a")).unwrap_err().kind(), ErrorKind::NotADirectory);
    machine.disk.remove(&at("/d/a")).unwrap();
    machine.disk.remove_directory(&at("/d")).unwrap();
    assert_eq!(machine.disk.stat(&at("/d")).unwrap(), None);
    assert_eq!(machine.disk.make_directory(&at("/no/parent"), mine(0o700)).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn names_are_listed_sorted_and_as_they_are() {
    let machine = Machine::new();
    let odd = OsStr::from_bytes(b"\xff\xfe odd");
    for name in [OsStr::new("b"), OsStr::new("a"), OsStr::new(".hidden"), OsStr::new("..."), odd] {
        fs::write(machine.host("etc").join(name), "").unwrap();
    }
    let expected = [OsStr::new("..."), OsStr::new(".hidden"), OsStr::new("a"), OsStr::new("b"), odd];
    assert_eq!(machine.disk.list(&at("/etc")).unwrap(), expected);
    assert_eq!(machine.disk.list(&at("/etc/a")).unwrap_err().kind(), ErrorKind::NotADirectory);
    assert_eq!(machine.disk.list(&at("/none")).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_link_says_where_it_points_and_is_no_more() {
    let machine = Machine::new();
    machine.disk.link(&at("/etc/l"), "../else where").unwrap();
    assert_eq!(machine.disk.read_link(&at("/etc/l")).unwrap(), "../else where");
    assert_eq!(machine.disk.stat(&at("/etc/l")).unwrap().unwrap().kind, Kind::Link);
    assert_eq!(machine.disk.link(&at("/etc/m"), "nul\0").unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(machine.disk.read_link(&at("/etc")).unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn a_rename_replaces_files_and_links_but_no_directory() {
    let machine = Machine::new();
    for (path, contents) in [("/etc/new", "new"), ("/old", "old")] {
        machine.disk.create(&at(path), contents.as_bytes(), mine(0o600)).unwrap();
    }
    machine.disk.rename(&at("/etc/new"), &at("/old")).unwrap();
    assert_eq!(machine.disk.read(&at("/old"), 10).unwrap(), b"new");
    assert_eq!(machine.disk.stat(&at("/etc/new")).unwrap(), None);
    machine.disk.link(&at("/etc/l"), "x").unwrap();
    machine.disk.rename(&at("/etc/l"), &at("/old")).unwrap();
    assert_eq!(machine.disk.read_link(&at("/old")).unwrap(), "x");
    machine.disk.make_directory(&at("/empty"), mine(0o700)).unwrap();
    for (from, to) in [("/old", "/empty"), ("/etc", "/empty"), ("/etc", "/moved")] {
        assert_eq!(machine.disk.rename(&at(from), &at(to)).unwrap_err().kind(), ErrorKind::IsADirectory, "{from}");
    }
    assert_eq!(machine.disk.rename(&at("/none"), &at("/x")).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn attributes_change_on_files_and_directories() {
    let machine = Machine::new();
    machine.disk.create(&at("/a"), b"a", mine(0o600)).unwrap();
    for (path, mode) in [("/a", 0o644), ("/a", 0o4711), ("/a", 0o400), ("/etc", 0o711), ("/etc", 0o1777)] {
        machine.disk.set_attributes(&at(path), mine(mode)).unwrap();
        assert_eq!(machine.disk.stat(&at(path)).unwrap().unwrap().mode, mode, "{path}");
    }
}

#[test]
fn another_owner_is_given_with_the_exact_mode_or_nothing_changes() {
    let machine = Machine::new();
    machine.disk.create(&at("/old"), b"", mine(0o660)).unwrap();
    let other = Attributes { mode: 0o4755, uid: mine(0).uid + 4242, gid: mine(0).gid + 4243 };
    let results = [
        machine.disk.create(&at("/new"), b"x", other),
        machine.disk.make_directory(&at("/dir"), other),
        machine.disk.set_attributes(&at("/old"), other),
    ];
    let seen = |path| machine.disk.stat(&at(path)).unwrap().map(|stat| (stat.mode, stat.uid, stat.gid));
    let owned = Some((other.mode, other.uid, other.gid));
    if results.iter().all(Result::is_ok) {
        assert_eq!([seen("/new"), seen("/dir"), seen("/old")], [owned; 3]);
    } else {
        for result in results {
            assert_eq!(result.unwrap_err().kind(), ErrorKind::PermissionDenied);
        }
        let Attributes { mode, uid, gid } = mine(0o660);
        assert_eq!([seen("/new"), seen("/dir"), seen("/old")], [None, None, Some((mode, uid, gid))]);
    }
}

#[test]
fn attributes_that_the_kernel_would_read_otherwise_are_refused_before_anything_is_made() {
    let machine = Machine::new();
    machine.disk.create(&at("/old"), b"", mine(0o640)).unwrap();
    for bad in [
        Attributes { mode: 0o10_0644, ..mine(0) },
        Attributes { uid: u32::MAX, ..mine(0o600) },
        Attributes { gid: u32::MAX, ..mine(0o600) },
    ] {
        assert_eq!(machine.disk.create(&at("/new"), b"", bad).unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(machine.disk.make_directory(&at("/new"), bad).unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(machine.disk.set_attributes(&at("/old"), bad).unwrap_err().kind(), ErrorKind::InvalidInput);
    }
    assert_eq!(machine.disk.stat(&at("/new")).unwrap(), None);
    assert_eq!(machine.disk.stat(&at("/old")).unwrap().unwrap().mode, 0o640);
}

#[test]
fn files_and_directories_are_synced_and_every_entry_has_a_filesystem() {
    let machine = Machine::new();
    machine.disk.create(&at("/etc/a"), b"a", mine(0o600)).unwrap();
    machine.disk.link(&at("/etc/l"), "/nowhere").unwrap();
    for (path, syncs) in [("/etc/a", true), ("/etc", true), ("/etc/l", false)] {
        assert_eq!(machine.disk.sync(&at(path)).is_ok(), syncs, "{path}");
        machine.disk.sync_filesystem(&at(path)).unwrap();
    }
    assert_eq!(machine.disk.sync(&at("/none")).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(machine.disk.sync_filesystem(&at("/none")).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn one_holder_at_a_time_has_the_lock() {
    let machine = Machine::new();
    let held = machine.disk.lock(&at("/etc/lock")).unwrap().unwrap();
    assert_eq!(machine.disk.stat(&at("/etc/lock")).unwrap().unwrap().mode & 0o177, 0);
    let other = RootDisk::open(&machine.root).unwrap();
    assert!(other.lock(&at("/etc/lock")).unwrap().is_none());
    assert!(machine.disk.lock(&at("/etc/lock")).unwrap().is_none());
    drop(held);
    assert!(other.lock(&at("/etc/lock")).unwrap().is_some());
    let foreign = fs::File::open(machine.host("etc/lock")).unwrap();
    foreign.lock().unwrap();
    assert!(other.lock(&at("/etc/lock")).unwrap().is_none());
    assert_eq!(machine.disk.lock(&at("/none/lock")).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_lock_file_that_exists_keeps_its_contents_and_mode() {
    let machine = Machine::new();
    machine.disk.create(&at("/lock"), b"pid", mine(0o644)).unwrap();
    drop(machine.disk.lock(&at("/lock")).unwrap().unwrap());
    assert_eq!(machine.disk.read(&at("/lock"), 10).unwrap(), b"pid");
    assert_eq!(machine.disk.stat(&at("/lock")).unwrap().unwrap().mode, 0o644);
}

#[test]
fn names_and_paths_of_the_greatest_length_work() {
    let machine = Machine::new();
    let name = "n".repeat(255);
    let mut path = format!("/{name}");
    // The kernel takes at most 4096 bytes, so the host's own path does not matter and ours may be as long.
    for _ in 0..14 {
        machine.disk.make_directory(&at(&path), mine(0o700)).unwrap();
        path = format!("{path}/{name}");
    }
    machine.disk.create(&at(&path), b"far", mine(0o600)).unwrap();
    assert_eq!(machine.disk.read(&at(&path), 10).unwrap(), b"far");
    machine.disk.rename(&at(&path), &at("/near")).unwrap();
    assert_eq!(machine.disk.read(&at("/near"), 10).unwrap(), b"far");
}

#[test]
fn the_root_must_be_a_directory_and_stays_the_one_it_was() {
    let machine = Machine::new();
    assert_eq!(RootDisk::open(&machine.outside.join("secret")).unwrap_err().kind(), ErrorKind::NotADirectory);
    assert_eq!(RootDisk::open(&machine.root.join("none")).unwrap_err().kind(), ErrorKind::NotFound);
    let moved = machine.root.with_extension("moved");
    fs::rename(&machine.root, &moved).unwrap();
    symlink(&machine.outside, &machine.root).unwrap();
    machine.disk.create(&at("/etc/a"), b"a", mine(0o600)).unwrap();
    assert!(moved.join("etc/a").exists());
    machine.assert_outside_is_untouched("the root's name was taken");
}

/// Runs a test again as a child whose shell first does `setup`, which the whole process would feel otherwise.
fn in_child(test: &str, setup: &str, root: &Path) {
    let output = Command::new("sh")
        .args(["-c", &format!("{setup}; exec \"$0\" --exact \"$1\" --nocapture")])
        .arg(std::env::current_exe().unwrap())
        .arg(format!("disk::root::tests::operations::{test}"))
        .env(CHILD_ROOT, root)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{output:?}");
}

const CHILD_ROOT: &str = "OSTLER_TEST_CHILD_ROOT";

#[test]
fn modes_are_exact_under_any_umask() {
    if let Some(root) = std::env::var_os(CHILD_ROOT) {
        let disk = RootDisk::open(Path::new(&root)).unwrap();
        disk.create(&at("/file"), b"", mine(0o666)).unwrap();
        disk.make_directory(&at("/dir"), mine(0o777)).unwrap();
        fs::write(Path::new(&root).join("plain"), "").unwrap();
        return;
    }
    let machine = Machine::new();
    in_child("modes_are_exact_under_any_umask", "umask 077", &machine.root);
    for (path, mode) in [("/file", 0o666), ("/dir", 0o777), ("/plain", 0o600)] {
        assert_eq!(machine.disk.stat(&at(path)).unwrap().unwrap().mode, mode, "{path}");
    }
}

#[test]
fn a_file_that_cannot_be_finished_is_not_left_behind() {
    if let Some(root) = std::env::var_os(CHILD_ROOT) {
        let disk = RootDisk::open(Path::new(&root)).unwrap();
        let error = disk.create(&at("/file"), &vec![0; 1 << 20], mine(0o666)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        disk.create(&at("/small"), b"fits", mine(0o666)).unwrap();
        return;
    }
    let machine = Machine::new();
    in_child("a_file_that_cannot_be_finished_is_not_left_behind", "trap '' XFSZ; ulimit -f 8", &machine.root);
    assert_eq!(machine.disk.stat(&at("/file")).unwrap(), None);
    assert_eq!(machine.disk.read(&at("/small"), 10).unwrap(), b"fits");
}

#[test]
fn what_may_not_be_entered_is_an_error_and_not_absence() {
    let machine = Machine::new();
    fs::create_dir(machine.host("closed")).unwrap();
    fs::set_permissions(machine.host("closed"), Permissions::from_mode(0o000)).unwrap();
    match machine.disk.stat(&at("/closed/a")) {
        Ok(stat) => assert!(stat.is_none() && geteuid().is_root()),
        Err(error) => assert_eq!(error.kind(), ErrorKind::PermissionDenied),
    }
    fs::set_permissions(machine.host("closed"), Permissions::from_mode(0o700)).unwrap();
}
