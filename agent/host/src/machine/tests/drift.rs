//! Drift of every kind, found and repaired.

use ostler_core::drift::{Difference, Drift, Subject};
use ostler_core::transaction::Ending;
use serde_json::json;

use super::*;
use crate::disk::{Attributes, Disk, RootPath};

fn at(path: &str) -> RootPath {
    RootPath::new(path).unwrap()
}

fn target() -> Recorded {
    config(
        "rendered-1",
        json!({
            "storage": {"files": [
                {"path": "/etc/a.conf", "contents": {"source": "data:,one"}},
                {"path": "/etc/b.conf", "contents": {"source": "data:,one"}},
                {"path": "/etc/kubernetes/kubelet-ca.crt", "contents": {"source": "data:,one"}},
            ]},
            "systemd": {"units": [
                {"name": "n.service", "enabled": true, "contents": "[Install]\nWantedBy=multi-user.target\n",
                 "dropins": [{"name": "10-x.conf", "contents": "[Unit]\n"}]},
                {"name": "m.service", "mask": true},
            ]},
            "passwd": {"users": [{"name": "core", "passwordHash": "$y$hash", "sshAuthorizedKeys": ["ssh-rsa a"]}]},
        }),
    )
}

fn configured() -> MemoryDisk {
    let disk = fresh();
    apply(&disk, &target()).unwrap();
    disk
}

fn drift(disk: &MemoryDisk) -> Vec<Drift> {
    Machine::look(disk, surroundings()).unwrap().drift().unwrap()
}

fn file(path: &str) -> Subject {
    Subject::File { path: path.to_owned() }
}

fn unit(unit: &str) -> Subject {
    Subject::Unit { unit: unit.to_owned() }
}

fn dropin(dropin: &str) -> Subject {
    Subject::Dropin { unit: "n.service".to_owned(), dropin: dropin.to_owned() }
}

fn state(expected: &str, found: &str) -> Difference {
    Difference::State { expected: expected.to_owned(), found: found.to_owned() }
}

/// Something done behind the agent's back, and how it has to be told.
type Case = (Box<dyn Fn(&MemoryDisk) -> io::Result<()>>, Subject, Difference);

const PLAIN: Attributes = Attributes { mode: 0o644, uid: 0, gid: 0 };
const WANTS: &str = "/etc/systemd/system/multi-user.target.wants/n.service";

fn of_files() -> Vec<Case> {
    vec![
        (Box::new(|disk| disk.remove(&at("/etc/a.conf"))), file("/etc/a.conf"), Difference::Missing),
        (Box::new(|disk| disk.put(&at("/etc/a.conf"), b"two", PLAIN)), file("/etc/a.conf"), Difference::Contents),
        (
            Box::new(|disk| disk.set_attributes(&at("/etc/a.conf"), Attributes { mode: 0o666, ..PLAIN })),
            file("/etc/a.conf"),
            Difference::Mode { expected: 0o644, found: 0o666 },
        ),
        (
            Box::new(|disk| disk.set_attributes(&at("/etc/a.conf"), Attributes { uid: 5, ..PLAIN })),
            file("/etc/a.conf"),
            Difference::Owner { expected: (0, 0), found: (5, 0) },
        ),
        (
            Box::new(|disk| disk.put_link(&at("/etc/a.conf"), "/etc/b.conf")),
            file("/etc/a.conf"),
            Difference::Kind { found: "link".to_owned() },
        ),
    ]
}

fn of_units_and_users() -> Vec<Case> {
    vec![
        (Box::new(|disk| disk.remove(&at(WANTS))), unit("n.service"), state("enabled", "disabled")),
        (
            Box::new(|disk| disk.put_link(&at("/etc/systemd/system/n.service"), "/dev/null")),
            unit("n.service"),
            state("not masked", "masked"),
        ),
        (
            Box::new(|disk| disk.remove(&at("/etc/systemd/system/m.service"))),
            unit("m.service"),
            state("masked", "not masked"),
        ),
        (
            Box::new(|disk| disk.put(&at("/etc/systemd/system/n.service.d/10-x.conf"), b"", PLAIN)),
            dropin("10-x.conf"),
            Difference::Contents,
        ),
        (
            Box::new(|disk| disk.put(&at("/etc/systemd/system/n.service.d/99-mine.conf"), b"[Unit]", PLAIN)),
            dropin("99-mine.conf"),
            Difference::Extra,
        ),
        (
            Box::new(|disk| disk.remove(&at("/home/core/.ssh/authorized_keys.d/ignition"))),
            Subject::SshKeys { user: "core".to_owned() },
            Difference::Missing,
        ),
        (
            Box::new(|disk| disk.put(&at("/etc/shadow"), b"core:!:1::::::\n", Attributes { mode: 0, ..PLAIN })),
            Subject::Password { user: "core".to_owned() },
            Difference::Contents,
        ),
    ]
}

#[test]
fn every_kind_of_drift_is_found_named_and_repaired() {
    let cases = of_files().into_iter().chain(of_units_and_users());
    let sound = tree(&configured());
    for (mischief, subject, difference) in cases {
        let disk = configured();
        mischief(&disk).unwrap();
        assert_eq!(drift(&disk), [Drift { subject, difference }]);
        let machine = open(&disk).unwrap();
        let proposal = machine.propose_repair(&[]).unwrap().unwrap();
        assert_eq!(transaction::run(&machine, &proposal, &mut |_| {}).unwrap().ending, Ending::Applied);
        drop(machine);
        assert_eq!(drift(&disk), []);
        let mut repaired = tree(&disk);
        if repaired.get("/etc/shadow") != sound.get("/etc/shadow") {
            assert!(text(&disk, "/etc/shadow").unwrap().contains("core:$y$hash:"));
            repaired.insert("/etc/shadow".to_owned(), sound["/etc/shadow"].clone());
        }
        assert_eq!(repaired, sound);
    }
}

#[test]
fn what_others_keep_current_is_no_drift() {
    let disk = configured();
    let plain = Attributes { mode: 0o600, uid: 0, gid: 0 };
    disk.put(&at("/etc/kubernetes/kubelet-ca.crt"), b"rotated", plain).unwrap();
    disk.put(&at("/etc/systemd/system/other.service.d/x.conf"), b"", plain).unwrap();
    assert_eq!(drift(&disk), []);
}

#[test]
fn a_repair_goes_on_past_a_path_that_cannot_be_repaired() {
    let disk = configured();
    disk.remove(&at("/etc/a.conf")).unwrap();
    disk.make_directory(&at("/etc/a.conf"), Attributes { mode: 0o755, uid: 0, gid: 0 }).unwrap();
    disk.remove(&at("/etc/b.conf")).unwrap();
    let machine = Machine::open(&disk, surroundings()).unwrap();
    let repair = machine.propose_repair(&[]).unwrap().unwrap();
    let finished = transaction::run(&machine, &repair, &mut |_| {}).unwrap();
    assert_eq!((finished.ending, finished.leftovers), (Ending::Applied, vec!["/etc/a.conf".to_owned()]));
    let left = Difference::Kind { found: "directory".to_owned() };
    assert_eq!(machine.drift().unwrap(), [Drift { subject: file("/etc/a.conf"), difference: left }]);
}

#[test]
fn looking_changes_nothing_and_a_repair_keeps_the_way_back() {
    let disk = configured();
    let before = disk.tree();
    drift(&disk);
    assert_eq!(disk.tree(), before);
    disk.remove(&at("/etc/a.conf")).unwrap();
    let machine = open(&disk).unwrap();
    let repair = machine.propose_repair(&[]).unwrap().unwrap();
    transaction::run(&machine, &repair, &mut |_| {}).unwrap();
    let back = transaction::propose_rollback(&machine, &Rules::default()).unwrap().unwrap();
    assert_eq!(transaction::run(&machine, &back, &mut |_| {}).unwrap().to, MachineConfig::EMPTY);
}

#[test]
fn a_repair_of_some_leaves_the_others() {
    let disk = configured();
    let plain = Attributes { mode: 0o644, uid: 0, gid: 0 };
    for path in ["/etc/a.conf", "/etc/b.conf"] {
        disk.put(&at(path), b"another", plain).unwrap();
    }
    let machine = open(&disk).unwrap();
    let repair = machine.propose_repair(&[file("/etc/b.conf"), file("/etc/c.conf")]).unwrap().unwrap();
    transaction::run(&machine, &repair, &mut |_| {}).unwrap();
    drop(machine);
    assert_eq!(drift(&disk), [Drift { subject: file("/etc/a.conf"), difference: Difference::Contents }]);
    assert!(open(&disk).unwrap().propose_repair(&[file("/etc/b.conf")]).unwrap().is_none());
}

#[test]
fn a_rollback_puts_no_certificates_back_that_were_renewed_since() {
    let disk = fresh();
    let delivered = ["/etc/docker/certs.d/a/ca.crt", ostler_core::certificates::CLOUD_CA];
    let files = delivered.map(|path| json!({"path": path, "contents": {"source": "data:,configured"}}));
    apply(&disk, &config("before", json!({"storage": {"files": []}}))).unwrap();
    apply(&disk, &config("after", json!({"storage": {"files": files}}))).unwrap();
    let plain = Attributes { mode: 0o644, uid: 0, gid: 0 };
    for path in delivered {
        disk.put(&at(path), b"renewed", plain).unwrap();
    }
    let machine = open(&disk).unwrap();
    let back = transaction::propose_rollback(&machine, &Rules::default()).unwrap().unwrap();
    transaction::run(&machine, &back, &mut |_| {}).unwrap();
    for path in delivered {
        assert_eq!(text(&disk, path).as_deref(), Some("renewed"), "{path}");
    }
}
