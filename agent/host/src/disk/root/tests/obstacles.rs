//! Places on a real kernel at which nothing can be changed, and links that are not followed.

use std::os::unix::fs::{chown, lchown};
use std::process::Command;

use super::*;
use crate::batch::{self, Batch, BatchError, Refusal, Write};
use crate::disk::{ForeignLink, Obstacle, Xattrs};

/// Unmounts, or takes flags off, when dropped.
struct Undo(Command);

impl Drop for Undo {
    fn drop(&mut self) {
        let _ = self.0.status();
    }
}

/// Runs a command for which it takes root, and another when dropped; `None` where it cannot be run.
fn set_up(setup: &[&str], undo: &[&str], at: &Path) -> Option<Undo> {
    let command = |words: &[&str]| {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg(at);
        command
    };
    let done = command(setup).output().is_ok_and(|output| output.status.success());
    if !done {
        eprintln!("SKIPPED: {setup:?} cannot be run here");
    }
    done.then(|| Undo(command(undo)))
}

fn write(path: &str) -> Batch {
    let contents = std::sync::Arc::new(ostler_core::secret::Secret::new(b"x".to_vec()));
    let (path, attributes, xattrs) = (at(path), mine(0o644), Xattrs::default());
    Batch { writes: vec![Write { path, contents, attributes, label: None, xattrs }], ..Batch::default() }
}

#[track_caller]
fn assert_obstructed(machine: &Machine, path: &str, expected: Option<Obstacle>) {
    assert_eq!(machine.disk.obstacle(&at(path)).unwrap(), expected, "{path}");
    let before = snapshot(&machine.root);
    let removal = Batch { removals: vec![at(path)], ..Batch::default() };
    for batch in [write(path), removal] {
        let nothing_to_do = batch.writes.is_empty() && !machine.host(path).exists();
        match (batch::apply(&machine.disk, &batch, "t"), expected) {
            (Err(BatchError::Refused { why: Refusal::Obstructed(found), .. }), Some(expected)) => {
                assert_eq!(found, expected, "{path}");
            }
            (Ok(_), expected) => assert!(expected.is_none() || nothing_to_do, "{path} was changed"),
            other => panic!("{path}: {other:?}"),
        }
        if expected.is_some() {
            assert_eq!(snapshot(&machine.root), before, "{path}");
        }
    }
}

#[test]
fn filesystems_of_the_kernel_are_known_wherever_they_are_mounted() {
    let disk = RootDisk::open(Path::new("/")).unwrap();
    assert_eq!(disk.obstacle(&at("/proc/sys/vm/swappiness")).unwrap(), Some(Obstacle::Kernel("proc")));
    assert_eq!(disk.obstacle(&at("/proc/none")).unwrap(), Some(Obstacle::Kernel("proc")));
    if Path::new("/sys/kernel").exists() {
        assert_eq!(disk.obstacle(&at("/sys/kernel/none")).unwrap(), Some(Obstacle::Kernel("sysfs")));
    }
    let machine = Machine::new();
    for kind in ["proc", "sysfs", "cgroup2", "tracefs", "debugfs", "securityfs", "bpf", "mqueue", "devpts"] {
        let name = format!("/here/{kind}");
        fs::create_dir_all(machine.host(&name)).unwrap();
        let mount = ["mount", "-t", kind, kind];
        let Some(_mounted) = set_up(&mount, &["umount"], &machine.host(&name)) else { continue };
        machine.link(&format!("here/link-{kind}"), &name);
        for path in [format!("{name}/file"), format!("{name}/not/there"), format!("/here/link-{kind}/file")] {
            let found = batch::forecast(&machine.disk, &write(&path), "t").unwrap_err();
            let expected = Refusal::Obstructed(Obstacle::Kernel(kind));
            assert!(matches!(&found, BatchError::Refused { why, .. } if *why == expected), "{path}: {found}");
        }
    }
}

#[test]
fn a_sync_that_a_filesystem_does_not_know_is_one_of_the_whole_filesystem() {
    let disk = RootDisk::open(Path::new("/proc")).unwrap();
    disk.sync_directory(None).unwrap();
    disk.sync_directory(Some(&at("/sys/vm"))).unwrap();
    disk.sync(&at("/version")).unwrap();
}

#[test]
fn mount_points_and_read_only_mounts_are_obstacles() {
    let machine = Machine::new();
    for file in ["etc/file", "etc/other"] {
        fs::write(machine.host(file), "old").unwrap();
    }
    for directory in ["etc/ro", "etc/bound", "etc/real"] {
        fs::create_dir(machine.host(directory)).unwrap();
    }
    fs::write(machine.host("etc/real/file"), "old").unwrap();
    let (other, real) = (machine.host("etc/other"), machine.host("etc/real"));
    let bind = ["mount", "--bind", other.to_str().unwrap()];
    let Some(_file) = set_up(&bind, &["umount"], &machine.host("etc/file")) else { return };
    assert_obstructed(&machine, "/etc/file", Some(Obstacle::MountPoint));
    let read_only = ["mount", "-t", "tmpfs", "-o", "ro", "tmpfs"];
    let _tmpfs = set_up(&read_only, &["umount"], &machine.host("etc/ro")).unwrap();
    assert_obstructed(&machine, "/etc/ro/file", Some(Obstacle::ReadOnly));
    let deep = batch::forecast(&machine.disk, &write("/etc/ro/deep/er"), "t").unwrap_err();
    assert!(matches!(deep, BatchError::Refused { why: Refusal::Obstructed(Obstacle::ReadOnly), .. }), "{deep}");
    let bind = ["mount", "--bind", "-o", "ro", real.to_str().unwrap()];
    let _bound = set_up(&bind, &["umount"], &machine.host("etc/bound")).unwrap();
    assert_obstructed(&machine, "/etc/bound/file", Some(Obstacle::ReadOnly));
    assert_obstructed(&machine, "/etc/real/file", None);
    assert_obstructed(&machine, "/etc/fresh", None);
}

#[test]
fn immutable_and_append_only_files_and_directories_are_obstacles() {
    for (flag, obstacle) in [("i", Obstacle::Immutable), ("a", Obstacle::AppendOnly)] {
        let machine = Machine::new();
        fs::create_dir(machine.host("etc/d")).unwrap();
        for file in ["etc/file", "etc/d/old"] {
            fs::write(machine.host(file), "old").unwrap();
        }
        let (on, off) = (format!("+{flag}"), format!("-{flag}"));
        for (flagged, refused) in [("etc/file", "/etc/file"), ("etc/d", "/etc/d/old"), ("etc/d", "/etc/d/new")] {
            let Some(_flag) = set_up(&["chattr", &on], &["chattr", &off], &machine.host(flagged)) else { return };
            assert_obstructed(&machine, refused, Some(obstacle));
        }
        assert_obstructed(&machine, "/etc/d/old", None);
    }
}

/// A machine with a user's home, and what a link of the user leads to.
fn home(target: &str) -> Machine {
    let machine = Machine::new();
    fs::create_dir_all(machine.host("etc/cron.d")).unwrap();
    fs::create_dir_all(machine.host("home/core/own")).unwrap();
    for own in ["home/core", "home/core/own"] {
        chown(machine.host(own), Some(1000), Some(1000)).unwrap();
    }
    machine.link("home/core/keys", target);
    machine
}

#[test]
fn a_link_is_followed_only_if_it_is_roots_or_its_owner_owns_where_it_leads() {
    if !geteuid().is_root() {
        return;
    }
    for (owner, target, followed) in [
        (0, "/etc/cron.d", true),
        (0, "own", true),
        (1000, "own", true),
        (1000, "/home/core/own", true),
        (1000, "../core/./own/../own", true),
        (1000, "/etc/cron.d", false),
        (1000, "../../etc/cron.d", false),
        (1000, "/", false),
        (1000, "..", false),
        (1000, "hop", false),
        (1001, "own", false),
    ] {
        let machine = home(target);
        machine.link("home/core/hop", "/etc/cron.d");
        lchown(machine.host("home/core/keys"), Some(owner), Some(owner)).unwrap();
        let path = at("/home/core/keys/file");
        let results = [
            machine.disk.create(&path, b"x", mine(0o644)),
            machine.disk.stat(&path).map(drop),
            machine.disk.resolve(&path).map(drop),
            machine.disk.sync_directory(Some(&at("/home/core/keys"))),
            machine.disk.free(Some(&at("/home/core/keys"))).map(drop),
        ];
        for result in results {
            match result {
                Ok(()) => assert!(followed, "{owner} {target}"),
                Err(error) => assert!(!followed && ForeignLink::is(&error), "{owner} {target}: {error}"),
            }
        }
        let written = ["etc/cron.d/file", "home/core/own/file", "file", "home/file"];
        assert_eq!(written.iter().any(|path| machine.host(path).exists()), followed, "{owner} {target}");
    }
}

#[test]
fn a_path_is_resolved_as_the_kernel_does_it() {
    let machine = Machine::new();
    fs::create_dir_all(machine.host("usr/lib/deep")).unwrap();
    machine.link("lib", "usr/lib");
    machine.link("usr/up", "../../../..");
    machine.link("etc/abs", "/lib/deep/");
    machine.link("etc/dots", "./../lib/deep/./..");
    for (path, expected) in [
        ("/file", "/file"),
        ("/etc/file", "/etc/file"),
        ("/lib/file", "/usr/lib/file"),
        ("/lib/deep/file", "/usr/lib/deep/file"),
        ("/etc/abs/file", "/usr/lib/deep/file"),
        ("/etc/dots/file", "/usr/lib/file"),
        ("/usr/up/etc/file", "/etc/file"),
        ("/usr/up/file", "/file"),
        ("/etc/abs", "/etc/abs"),
    ] {
        assert_eq!(machine.disk.resolve(&at(path)).unwrap().as_str(), expected, "{path}");
    }
    assert_eq!(machine.disk.resolve(&at("/none/file")).unwrap_err().kind(), io::ErrorKind::NotFound);
}
