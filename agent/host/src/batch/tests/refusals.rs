//! What is refused before anything is written, and what is foreseen.

use super::*;
use crate::disk::{ForeignLink, Obstacle};

#[test]
fn what_cannot_be_written_is_refused_before_anything_is() {
    let long = format!("/{}", ["a".repeat(255).as_str()].repeat(15).join("/") + "/" + &"b".repeat(250) + "/c");
    for (writes, removals, at, why) in [
        (vec!["/etc"], vec![], "/etc", Refusal::Directory),
        (vec!["/new", "/etc/private"], vec![], "/etc/private", Refusal::Directory),
        (vec!["/new"], vec!["/etc"], "/etc", Refusal::Directory),
        (vec!["/new", "/etc/a/b/c"], vec![], "/etc/a", Refusal::NotADirectory),
        (vec!["/new", "/new"], vec![], "/new", Refusal::Repeated),
        (vec!["/etc/a"], vec!["/etc/a"], "/etc/a", Refusal::Repeated),
        (vec!["/new", "/new/b"], vec![], "/new", Refusal::Nested),
        (vec!["/etc/a/b"], vec!["/etc/a"], "/etc/a", Refusal::Nested),
        (vec!["/etc/.ostler-t-0"], vec![], "/etc/.ostler-t-0", Refusal::Reserved),
        (vec![long.as_str()], vec![], long.as_str(), Refusal::TooLong),
        (vec![], vec![long.as_str()], long.as_str(), Refusal::TooLong),
    ] {
        let disk = mixed().0;
        let before = (disk.tree(), disk.effects());
        let writes = writes.iter().map(|at| write(at, "x")).collect();
        let batch = Batch { writes, removals: removals.into_iter().map(path).collect(), ..Batch::default() };
        for outcome in [apply(&disk, &batch, TAG).map(drop), forecast(&disk, &batch, TAG).map(drop)] {
            match outcome {
                Err(BatchError::Refused { path, why: found }) => assert_eq!((path.as_str(), found), (at, why)),
                other => panic!("{at}: {other:?}"),
            }
        }
        assert_eq!((disk.tree(), disk.effects()), before, "{at}");
    }
}

#[test]
fn links_and_directories_that_cannot_be_made_are_refused() {
    let long = "a".repeat(4096);
    for (links, directories, at, why) in [
        (vec![("/etc", "x")], vec![], "/etc", Refusal::Directory),
        (vec![("/etc/l", "")], vec![], "/etc/l", Refusal::Target),
        (vec![("/etc/l", "a\0b")], vec![], "/etc/l", Refusal::Target),
        (vec![("/etc/l", long.as_str())], vec![], "/etc/l", Refusal::Target),
        (vec![("/bye", "x")], vec![], "/bye", Refusal::Repeated),
        (vec![("/etc/a/l", "x")], vec![], "/etc/a", Refusal::NotADirectory),
        (vec![("/bye/l", "x")], vec![], "/bye", Refusal::Nested),
        (vec![("/l", "x")], vec!["/l"], "/l", Refusal::Repeated),
        (vec![("/l", "x")], vec!["/l/d"], "/l", Refusal::Nested),
        (vec![], vec!["/d", "/d"], "/d", Refusal::Repeated),
        (vec![], vec!["/bye"], "/bye", Refusal::Repeated),
        (vec![], vec!["/etc/a"], "/etc/a", Refusal::NotADirectory),
        (vec![], vec!["/.ostler-x"], "/.ostler-x", Refusal::Reserved),
    ] {
        let disk = mixed().0;
        let links = links.into_iter().map(|(at, target)| link(at, target)).collect();
        let directories = directories.into_iter().map(|at| directory(at, 0o755, 0, None)).collect();
        let batch = Batch { links, directories, removals: vec![path("/bye")], ..Batch::default() };
        match apply(&disk, &batch, TAG) {
            Err(BatchError::Refused { path, why: found }) => assert_eq!((path.as_str(), found), (at, why)),
            other => panic!("{at}: {other:?}"),
        }
        assert_eq!(disk.effects(), 0, "{at}");
    }
}

#[test]
fn a_forecast_says_what_applying_does_and_does_nothing() {
    for (name, scenario) in SCENARIOS {
        let (disk, batch) = scenario();
        let before = disk.tree();
        let expected = forecast(&disk, &batch, TAG).unwrap();
        assert_eq!((disk.effects(), disk.tree()), (0, before.clone()), "{name}");
        let counts = apply(&disk, &batch, TAG).unwrap();
        let foreseen = Counts { written: expected.changed, unchanged: expected.unchanged, removed: expected.removed };
        assert_eq!(counts, foreseen, "{name}");
        let new = disk.tree().into_iter().filter(|(path, _)| !before.contains_key(path));
        let made = new.filter(|(_, node)| matches!(node, Node::Directory { .. })).count();
        assert_eq!(expected.directories.len(), made, "{name}");
        assert!(expected.directories.is_sorted(), "{name}");
        let nothing = forecast(&disk, &batch, TAG).unwrap();
        assert_eq!((nothing.changed, nothing.removed, nothing.bytes, nothing.directories.len()), (0, 0, 0, 0));
    }
    let (disk, batch) = alone();
    assert_eq!(forecast(&disk, &batch, TAG).unwrap().bytes, 6);
}

/// Three blocks of files and one directory on one filesystem, one block on another.
fn demanding() -> (MemoryDisk, Batch) {
    let disk = MemoryDisk::with(&[("/etc/same", "same", 0o644), ("/m/", "", 0o755)]).unwrap();
    disk.mount(&path("/m")).unwrap();
    let two = "x".repeat(4097);
    let writes = vec![write("/etc/same", "same"), write("/etc/d/a", &two), write("/b", "x"), write("/m/c", "x")];
    (disk, Batch { writes, ..Batch::default() })
}

#[test]
fn a_batch_that_does_not_fit_is_refused_before_anything_is_written() {
    let (disk, batch) = demanding();
    disk.set_free(4 * 4096 - 1);
    for outcome in [apply(&disk, &batch, TAG).map(drop), forecast(&disk, &batch, TAG).map(drop)] {
        let error = outcome.unwrap_err();
        assert!(matches!(&error, BatchError::Space { path, needed: 16384, free: 16383 } if path.as_str() == "/b"));
        let text = error.to_string();
        for part in ["16384", "16383", "/b", "free space"] {
            assert!(text.contains(part), "{text}");
        }
    }
    assert_eq!(disk.effects(), 0);
    disk.set_free(4 * 4096);
    apply(&disk, &batch, TAG).unwrap();
    disk.set_free(0);
    assert_eq!(apply(&disk, &batch, TAG).unwrap().unchanged, 4, "nothing to write needs no space");
}

/// Three files, one of them on another filesystem, a directory and its marker.
#[test]
fn a_batch_for_which_inodes_are_missing_is_refused_before_anything_is_written() {
    let (disk, batch) = demanding();
    disk.set_free_files(3);
    for outcome in [apply(&disk, &batch, TAG).map(drop), forecast(&disk, &batch, TAG).map(drop)] {
        let error = outcome.unwrap_err();
        assert!(matches!(&error, BatchError::Files { path, needed: 4, free: 3 } if path.as_str() == "/b"), "{error}");
        assert!(["4", "3", "/b", "inodes"].iter().all(|part| error.to_string().contains(part)), "{error}");
    }
    assert_eq!(disk.effects(), 0);
    disk.set_free_files(4);
    apply(&disk, &batch, TAG).unwrap();
    disk.set_free_files(0);
    assert_eq!(apply(&disk, &batch, TAG).unwrap().unchanged, 4, "nothing to write needs no inode");
}

#[test]
fn what_the_machine_does_not_let_be_changed_is_refused_with_a_remedy_before_anything_is_written() {
    use Obstacle::{AppendOnly, Immutable, Kernel, MountPoint, ReadOnly};
    for (at, obstacle, target, refused) in [
        ("/m", Kernel("cgroup2"), "/m/a", true),
        ("/m", Kernel("cgroup2"), "/m/not/there/a", true),
        ("/m", Kernel("cgroup2"), "/link/a", true),
        ("/m", ReadOnly, "/m/old", true),
        ("/m", ReadOnly, "/etc/a", false),
        ("/m/old", MountPoint, "/m/old", true),
        ("/m/old", MountPoint, "/m/other", false),
        ("/m", MountPoint, "/m/old", false),
        ("/m/old", Immutable, "/m/old", true),
        ("/m", Immutable, "/m/new", true),
        ("/m", Immutable, "/m/d/new", false),
        ("/m/old", AppendOnly, "/link/old", true),
        ("/m", AppendOnly, "/m/new", true),
    ] {
        let disk = MemoryDisk::with(&[("/etc/a", "a", 0o644), ("/m/old", "o", 0o644), ("/m/d/", "", 0o755)]).unwrap();
        disk.put_link(&path("/link"), "m").unwrap();
        disk.obstruct(&path(at), obstacle);
        let writes = Batch { writes: vec![write("/etc/b", "x"), write(target, "x")], ..Batch::default() };
        let removals = Batch { removals: vec![path(target)], ..Batch::default() };
        let links = Batch { links: vec![link(target, "x")], ..Batch::default() };
        for batch in [writes, removals, links] {
            // Nothing is removed where nothing is.
            let refused = refused && (batch.removals.is_empty() || target.ends_with("old"));
            match forecast(&disk, &batch, TAG) {
                Err(BatchError::Refused { path, why }) => {
                    assert_eq!((path.as_str(), why, refused), (target, Refusal::Obstructed(obstacle), true));
                    assert!(!why.remedy().is_empty());
                }
                outcome => assert!(!refused && outcome.is_ok(), "{at} {obstacle:?} {target}: {outcome:?}"),
            }
        }
        assert_eq!(disk.effects(), 0);
    }
}

#[test]
fn where_a_path_leads_is_judged_and_not_its_text() {
    for (target, written, expected) in [
        ("/var/lib/ostler", "/etc/l/journal/plan", Some(Refusal::AgentFile)),
        ("../var/lib/ostler/journal", "/etc/l/plan", Some(Refusal::AgentFile)),
        ("/etc/systemd/system", "/etc/l/ostler.service", Some(Refusal::AgentFile)),
        ("/etc/systemd/system", "/etc/l/ostler.service.d/x.conf", Some(Refusal::AgentFile)),
        ("/etc/systemd/system", "/etc/l/other.service", None),
        ("/proc/sys", "/etc/l/x", Some(Refusal::KernelTree("/proc"))),
        ("/dev", "/etc/l/not/there/x", Some(Refusal::KernelTree("/dev"))),
    ] {
        let directories = ["/var/lib/ostler/journal/", "/etc/systemd/system/", "/proc/sys/", "/dev/"];
        let disk = MemoryDisk::with(&directories.map(|directory| (directory, "", 0o755))).unwrap();
        disk.put_link(&path("/etc/l"), target).unwrap();
        let batch = Batch { writes: vec![write(written, "x")], ..Batch::default() };
        match forecast(&disk, &batch, TAG) {
            Err(BatchError::Refused { why, .. }) => assert_eq!(Some(why), expected, "{target} {written}"),
            outcome => assert!(expected.is_none() && outcome.is_ok(), "{target} {written}: {outcome:?}"),
        }
        let own = Batch { writes: vec![write("/var/lib/ostler/base", "x")], ..Batch::default() };
        forecast(&disk, &own, TAG).unwrap();
    }
}

#[test]
fn a_link_of_somebody_else_is_not_followed() {
    const CORE: Attributes = Attributes { mode: 0o755, uid: 1000, gid: 1000 };
    for (owner, target, followed) in [
        (0, "/etc/cron.d", true),
        (0, "own", true),
        (1000, "/home/core/own", true),
        (1000, "own", true),
        (1000, "/etc/cron.d", false),
        (1000, "../../etc/cron.d", false),
        (1000, "/roots", false),
        (1001, "own", false),
    ] {
        let disk = MemoryDisk::with(&[("/etc/cron.d/", "", 0o755)]).unwrap();
        disk.put_link(&path("/roots"), "/etc/cron.d").unwrap();
        disk.put_directory(&path("/home/core"), CORE).unwrap();
        disk.put_directory(&path("/home/core/own"), CORE).unwrap();
        disk.put_link_of(&path("/home/core/keys"), target, owner).unwrap();
        let batch = Batch { writes: vec![write("/home/core/keys/ignition", "x")], ..Batch::default() };
        match forecast(&disk, &batch, TAG) {
            Ok(_) => assert!(followed, "{owner} {target}"),
            Err(BatchError::Untouched { source, .. }) => {
                assert!(!followed && ForeignLink::is(&source), "{owner} {target}: {source}");
            }
            other => panic!("{owner} {target}: {other:?}"),
        }
        assert_eq!(disk.effects(), 0);
    }
}

#[test]
fn space_that_an_interrupted_run_took_is_not_asked_for_again() {
    let (disk, batch) = demanding();
    disk.put(&path("/.ostler-t-2"), b"half", PLAIN).unwrap();
    disk.set_free(3 * 4096);
    disk.set_free_files(3);
    apply(&disk, &batch, TAG).unwrap();
    assert!(!disk.tree().contains_key("/.ostler-t-2"));
}

#[test]
fn a_sweep_removes_leftovers_of_its_tag_and_nothing_else() {
    let names = [".ostler-t-0", ".ostler-t-17", ".ostler-other-0", ".ostler-t-x", "file"];
    let files = names.map(|name| (format!("/etc/d/{name}"), "x", 0o600));
    let disk =
        MemoryDisk::with(&files.each_ref().map(|(path, contents, mode)| (path.as_str(), *contents, *mode))).unwrap();
    let directories = [path("/etc/d"), path("/etc/absent"), path("/etc/d/file")];
    assert_eq!(sweep(&disk, &directories, TAG).unwrap(), 2);
    assert_eq!(disk.list(&path("/etc/d")).unwrap(), [".ostler-other-0", ".ostler-t-x", "file"]);
    assert_eq!(disk.durable_tree(), disk.tree());
    assert_eq!(sweep(&disk, &directories, TAG).unwrap(), 0);
}

#[test]
fn a_link_above_a_target_is_refused_unless_it_leads_to_a_directory() {
    for (target, leads) in [("/nowhere", false), ("l", false), ("/etc/a", false), ("/etc", true)] {
        let disk = mixed().0;
        disk.link(&path("/l"), target).unwrap();
        let before = disk.tree();
        let batch = Batch { writes: vec![write("/l/new", "x")], ..Batch::default() };
        match apply(&disk, &batch, TAG) {
            Ok(_) => assert!(leads, "{target}"),
            Err(BatchError::Refused { path, why }) => {
                assert_eq!((path.as_str(), why, leads), ("/l", Refusal::LeadsNowhere, false), "{target}");
                assert_eq!(disk.tree(), before, "{target}");
            }
            other => panic!("{target}: {other:?}"),
        }
    }
}
