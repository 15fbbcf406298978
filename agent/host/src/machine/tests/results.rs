//! What a transaction leaves behind, on a machine without a service manager.

use ostler_core::transaction::Ending;
use serde_json::json;

use super::*;
use crate::disk::{Disk, RootPath};

#[test]
fn files_get_their_contents_modes_owners_and_originals() {
    let disk = fresh();
    let target = config(
        "rendered-1",
        json!({"storage": {"files": [
            {"path": "/etc/chrony.conf", "contents": {"source": "data:,pool%20ours"}},
            {"path": "/etc/motd", "mode": 0o600, "user": {"name": "app"}, "contents": {"source": "data:,hello"}},
            {"path": "/etc/x/y.conf", "contents": {"source": "data:,new"}},
        ]}}),
    );
    let finished = apply(&disk, &target).unwrap().unwrap();
    assert_eq!((finished.ending, finished.from.as_str()), (Ending::Applied, "mco-empty-mc"));
    assert_eq!(text(&disk, "/etc/chrony.conf").unwrap(), "pool ours");
    assert_eq!(text(&disk, "/etc/x/y.conf").unwrap(), "new");
    assert!(format!("{:?}", disk.tree()["/etc/motd"]).starts_with("file 0600 77:0"));
    let daemon = "/etc/machine-config-daemon";
    assert_eq!(text(&disk, &format!("{daemon}/orig/etc/chrony.conf.mcdorig")).unwrap(), "pool shipped\n");
    assert_eq!(text(&disk, &format!("{daemon}/noorig/etc/motd.mcdnoorig")).unwrap(), "");
    assert_eq!(text(&disk, &format!("{daemon}/noorig/etc/x/y.conf.mcdnoorig")).unwrap(), "");
    assert_eq!(text(&disk, &format!("{daemon}/currentconfig")).unwrap().as_bytes(), target.json.expose());
    assert_eq!(text(&disk, &format!("{daemon}/currentimage")).unwrap(), "");
    assert!(apply(&disk, &target).unwrap().is_none(), "the second time there is nothing to do");
}

#[test]
fn what_leaves_the_configuration_gives_the_system_its_own_again() {
    let disk = fresh();
    let first =
        config("rendered-1", json!({"storage": {"files": [{"path": "/etc/chrony.conf"}, {"path": "/etc/x/y"}]}}));
    apply(&disk, &first).unwrap();
    apply(&disk, &config("rendered-2", json!({}))).unwrap();
    assert_eq!(text(&disk, "/etc/chrony.conf").unwrap(), "pool shipped\n");
    assert_eq!(text(&disk, "/etc/x/y"), None);
    assert!(!disk.tree().keys().any(|path| path.contains("mcdorig") || path.contains("mcdnoorig")));
}

#[test]
fn keys_and_passwords_are_set_and_locked_again() {
    let disk = fresh();
    let core = |hash: Value| {
        json!({"passwd": {"users": [
            {"name": "core", "passwordHash": hash, "sshAuthorizedKeys": ["ssh-rsa a", "ssh-rsa b"]},
        ]}})
    };
    apply(&disk, &config("rendered-1", core(json!("$y$hash")))).unwrap();
    let keys = "/home/core/.ssh/authorized_keys.d/ignition";
    assert_eq!(text(&disk, keys).unwrap(), "ssh-rsa a\nssh-rsa b\n");
    assert!(format!("{:?}", disk.tree()[keys]).starts_with("file 0600 1000:1000"));
    assert!(format!("{:?}", disk.tree()["/home/core/.ssh"]).starts_with("directory 0700 1000:1000"));
    assert!(text(&disk, "/etc/shadow").unwrap().contains("core:$y$hash:20000:0:99999:7:::"));
    apply(&disk, &config("rendered-2", core(json!(null)))).unwrap();
    assert!(text(&disk, "/etc/shadow").unwrap().contains("core:*:20000:0:99999:7:::"));
    assert!(format!("{:?}", disk.tree()["/etc/shadow"]).starts_with("file 0000 0:0"));
}

#[test]
fn what_the_configuration_changes_is_counted_and_no_record_of_it() {
    let many: Vec<Value> = (0..3000).map(|file| json!({"path": format!("/etc/many/{file}")})).collect();
    let enabled = json!({"systemd": {"units": [{"name": "os.service", "enabled": true}]}});
    let password = json!({"passwd": {"users": [{"name": "core", "passwordHash": "$y$hash"}]}});
    for (name, ignition, changed, changed_back) in [
        ("new files", json!({"storage": {"files": many}}), 3000, 3000),
        ("files of the operating system", json!({"storage": {"files": [{"path": "/etc/chrony.conf"}]}}), 1, 1),
        ("a unit", json!({"systemd": {"units": [{"name": "n.service", "contents": "[Unit]\n"}]}}), 1, 1),
        // A unit of the operating system goes on starting at boot when no configuration names it any more.
        ("a unit that starts at boot", enabled, 1, 0),
        ("a password", password, 1, 1),
        ("nothing", json!({}), 0, 0),
    ] {
        let disk = fresh();
        let there = config("rendered-1", ignition);
        let back = config("rendered-2", json!({}));
        for (direction, target, changed) in [("there", &there, changed), ("back", &back, changed_back)] {
            let Some(foreseen) = foreseen(&disk, target) else { continue };
            let finished = apply(&disk, target).unwrap().unwrap();
            assert_eq!((foreseen, finished.changed), (changed, changed), "{name}, {direction}");
        }
    }
}

/// How many changes a check announces.
fn foreseen(disk: &MemoryDisk, target: &Recorded) -> Option<usize> {
    let machine = open(disk).unwrap();
    let proposal = transaction::propose(&machine, target.clone(), &Rules::default()).unwrap()?;
    Some(transaction::check(&machine, &proposal).unwrap().forecast().changed)
}

#[test]
fn a_rollback_leads_to_the_machine_as_it_was() {
    let disk = fresh();
    let before = tree(&disk);
    let target = config(
        "rendered-1",
        json!({
            "storage": {"files": [{"path": "/etc/motd"}, {"path": "/etc/chrony.conf"}, {"path": "/etc/n.conf"}]},
            "systemd": {"units": [{"name": "os.service", "enabled": true}, {"name": "n.service", "contents": "[Unit]\n"}]},
        }),
    );
    apply(&disk, &target).unwrap();
    let machine = open(&disk).unwrap();
    let proposal = transaction::propose_rollback(&machine, &Rules::default()).unwrap().unwrap();
    let finished = transaction::run(&machine, &proposal, &mut |_| {}).unwrap();
    drop(machine);
    assert_eq!((finished.ending, finished.to.as_str()), (Ending::Applied, "mco-empty-mc"));
    let mut after = tree(&disk);
    let made = ["/etc/machine-config-daemon", "/etc/systemd/system/multi-user.target.wants"];
    after.retain(|path, _| !made.iter().any(|made| path.starts_with(made)));
    assert_eq!(after, before);
}

#[test]
fn a_plan_for_another_state_of_the_machine_is_not_run() {
    let disk = fresh();
    let target = config("rendered-1", json!({"storage": {"files": [{"path": "/etc/motd"}]}}));
    let machine = open(&disk).unwrap();
    let first = transaction::propose(&machine, target.clone(), &Rules::default()).unwrap().unwrap();
    transaction::still_holds(&machine, &first).unwrap();
    let other = config("rendered-2", json!({"storage": {"files": [{"path": "/etc/issue"}]}}));
    let second = transaction::propose(&machine, other, &Rules::default()).unwrap().unwrap();
    transaction::run(&machine, &second, &mut |_| {}).unwrap();
    let trouble = transaction::still_holds(&machine, &first).unwrap_err();
    assert!(matches!(trouble, Trouble::PlanChanged), "{trouble}");
}

#[test]
fn what_cannot_succeed_is_refused_before_anything_is_written() {
    let file = |file: Value| json!({"storage": {"files": [file]}});
    for (ignition, expected) in [
        (file(json!({"path": "/etc/a", "user": {"name": "nobody-here"}})), "/etc/a"),
        (file(json!({"path": "/etc/a", "group": {"name": "nobody-here"}})), "/etc/a"),
        (file(json!({"path": "/usr"})), "/usr"),
        (file(json!({"path": "/etc/motd/below"})), "/etc/motd"),
        (file(json!({"path": "/var/lib/ostler/journal/plan"})), "/var/lib/ostler"),
    ] {
        let disk = fresh();
        let before = tree(&disk);
        let trouble = apply(&disk, &config("rendered-1", ignition)).unwrap_err();
        assert_eq!(trouble.class(), ostler_core::protocol::Class::Refusal, "{trouble}");
        assert!(trouble.reason().contains(expected) && trouble.remedy().is_some(), "{}", trouble.reason());
        assert_eq!(tree(&disk), before);
    }
}

#[test]
fn a_password_lock_that_is_no_file_stops_a_change_of_passwords_before_it_begins() {
    let hash = |hash: &str| json!({"passwd": {"users": [{"name": "core", "passwordHash": hash}]}});
    let disk = fresh();
    disk.link(&RootPath::new("/etc/.pwd.lock").unwrap(), "/etc/motd").unwrap();
    let before = tree(&disk);
    let trouble = apply(&disk, &config("rendered-1", hash("$y$hash"))).unwrap_err();
    assert!(trouble.unchanged() && trouble.reason().contains("/etc/.pwd.lock"), "{}", trouble.reason());
    assert_eq!(tree(&disk), before);
    assert!(open(&disk).unwrap().observe().unwrap().interrupted.is_none());
    apply(&disk, &config("rendered-1", json!({"storage": {"files": [{"path": "/etc/motd"}]}}))).unwrap();
}
