//! Extended attributes and access control lists of files that a configuration displaces come back with the files.

use std::fs;
use std::process::Command;

use ostler_core::transaction::Ending;
use serde_json::json;

use super::*;
use crate::disk::{Disk, RootDisk, Xattrs};

fn target() -> Recorded {
    let file = |path: &str| json!({"path": path, "mode": 0o600, "contents": {"source": "data:,ours"}});
    let core = json!({"name": "core", "passwordHash": "$y$hash"});
    config(
        "rendered-1",
        json!({"storage": {"files": [file("/etc/motd"), file("/etc/chrony.conf")]}, "passwd": {"users": [core]}}),
    )
}

fn run(disk: &impl Disk, target: &Recorded) -> Finished {
    let machine = Machine::open(disk, surroundings()).unwrap();
    let proposal = transaction::propose(&machine, target.clone(), &Rules::default()).unwrap().unwrap();
    transaction::run(&machine, &proposal, &mut |_| {}).unwrap()
}

fn roll_back(disk: &impl Disk) -> Finished {
    let machine = Machine::open(disk, surroundings()).unwrap();
    let proposal = transaction::propose_rollback(&machine, &Rules::default()).unwrap().unwrap();
    transaction::run(&machine, &proposal, &mut |_| {}).unwrap()
}

fn xattrs(disk: &impl Disk, path: &str) -> Xattrs {
    disk.xattrs(&RootPath::new(path).unwrap()).unwrap()
}

#[test]
fn a_rollback_and_an_empty_configuration_bring_them_back_and_the_configuration_has_none() {
    let paths = ["/etc/motd", "/etc/chrony.conf"];
    let old = paths.map(|path| xattrs(&fresh(), path));
    assert!(old.iter().all(|xattrs| !xattrs.is_empty()));
    let leave = |disk: &MemoryDisk| run(disk, &config("rendered-2", json!({})));
    for (back, restored) in [(roll_back as fn(&MemoryDisk) -> Finished, true), (leave, false)] {
        let disk = fresh();
        run(&disk, &target());
        assert!(paths.iter().all(|path| xattrs(&disk, path).is_empty()), "the configuration's files have none");
        assert_eq!(
            xattrs(&disk, "/etc/shadow"),
            xattrs(&fresh(), "/etc/shadow"),
            "a password is no reason to lose them"
        );
        assert_eq!(back(&disk).ending, Ending::Applied);
        // The original of a file that is not the operating system's own comes back with a rollback only.
        assert_eq!(xattrs(&disk, "/etc/chrony.conf"), old[1]);
        assert!(!restored || xattrs(&disk, "/etc/motd") == old[0]);
    }
}

#[test]
fn an_origin_without_them_is_read_and_one_with_them_is_whole_again() {
    use super::super::origin::{Origin, Stored};
    use crate::journal::TextId;
    use ostler_core::secret::Secret;

    let id = TextId::of(b"text");
    let text = r#"{"version":2,"config":"ID","displaced":[{"path":"/etc/a","stood":{"file":
        {"contents":"eA==","mode":420,"uid":0,"gid":0,"label":null}}}],"passwords":[],"made":[],"directories":[]}"#;
    let read = |payload: Secret<Vec<u8>>| -> Origin {
        let machine_config = target().plain().expose().clone();
        Stored::decode(&payload).unwrap().with(Secret::new(machine_config)).unwrap()
    };
    let mut origin = read(Secret::new(text.replace("ID", id.as_str()).into_bytes()));
    let standing = origin.displaced.values_mut().next().unwrap().as_mut().unwrap();
    let crate::originals::Standing::File { xattrs, .. } = standing else { panic!("no file") };
    assert!(xattrs.is_empty());
    *xattrs = [("user.a".to_owned(), vec![0, 255])].into_iter().collect();
    let expected = origin.displaced.clone();
    assert_eq!(read(origin.encode(&id).unwrap()).displaced, expected);
}

#[test]
fn a_real_filesystem_gives_them_back_too_and_default_lists_open_nothing() {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let at = |path: &str| root.path().join(path);
    fs::create_dir_all(at("etc/shared")).unwrap();
    for (path, text) in [("etc/passwd", "root:x:0:0::/:\n"), ("etc/group", "root:x:0:\n"), ("etc/shadow", "")] {
        fs::write(at(path), text).unwrap();
    }
    fs::write(at("etc/motd"), "old").unwrap();
    for (program, arguments, path) in [
        ("setfacl", ["-m", "u:1234:rw"].as_slice(), "etc/motd"),
        ("setfattr", &["-n", "user.note", "-v", "kept"], "etc/motd"),
        ("setfattr", &["-n", "trusted.note", "-v", "kept"], "etc/motd"),
        ("setfacl", &["-d", "-m", "u:1234:rwx,g:1235:rwx"], "etc/shared"),
    ] {
        if !Command::new(program).args(arguments).arg(at(path)).status().is_ok_and(|status| status.success()) {
            eprintln!("SKIPPED: {program} cannot be used here");
            return;
        }
    }
    let disk = RootDisk::open(root.path()).unwrap();
    let old = xattrs(&disk, "/etc/motd");
    assert_eq!(old.iter().count(), 3, "{old:?}");
    let shared = json!({"path": "/etc/shared/sub/file", "mode": 0o640, "contents": {"source": "data:,ours"}});
    let motd = json!({"path": "/etc/motd", "mode": 0o644, "contents": {"source": "data:,ours"}});
    run(&disk, &config("rendered-1", json!({"storage": {"files": [shared, motd]}})));
    assert!(xattrs(&disk, "/etc/motd").is_empty());
    assert!(xattrs(&disk, "/etc/shared/sub/file").is_empty());
    let lists = Command::new("getfacl").arg("-n").args([at("etc/shared/sub"), at("etc/shared/sub/file")]).output();
    let lists = String::from_utf8(lists.unwrap().stdout).unwrap();
    let opened: Vec<&str> =
        lists.lines().filter(|line| line.starts_with("user:1234") || line.starts_with("group:1235")).collect();
    assert_eq!(opened, Vec::<&str>::new(), "{lists}");
    assert!(lists.contains("group::r--") && lists.contains("other::---"), "{lists}");
    roll_back(&disk);
    assert_eq!(fs::read_to_string(at("etc/motd")).unwrap(), "old");
    assert_eq!(xattrs(&disk, "/etc/motd"), old);
}
