//! Neither a kill at any moment nor a full disk costs a good configuration anything: it is gone on with, or tried again.

use nix::errno::Errno;
use ostler_core::protocol::Class;
use ostler_core::transaction::Ending;
use serde_json::json;

use super::*;
use crate::disk::memory::Fault;
use crate::disk::{ForeignLink, Obstacle, RootPath, disk_errors};

/// Links in directories of dependencies, aliases, masks and drop-ins: everything whose directory is listed.
fn units(own: &str, other: &str) -> Value {
    let unit = |name: &str, install: &str, enabled: bool| {
        let contents = format!("[Unit]\nDescription={own}\n[Install]\n{install}\n");
        json!({"name": name, "enabled": enabled, "contents": contents})
    };
    json!({
        "storage": {"files": [{"path": "/etc/motd", "contents": {"source": format!("data:,{own}")}}]},
        "systemd": {"units": [
            unit("both.service", &format!("WantedBy={own}.target multi-user.target"), true),
            unit("required.service", &format!("RequiredBy={own}.target\nAlias=alias-{own}.service"), true),
            unit(&format!("only-{own}.service"), "WantedBy=multi-user.target", true),
            unit("off.service", "WantedBy=multi-user.target", own == "a"),
            {"name": format!("masked-{own}.service"), "mask": true},
            {"name": format!("masked-{other}.service"), "mask": false},
            {"name": "os.service", "enabled": own == "b", "dropins": [{"name": format!("{own}.conf"), "contents": "#\n"}]},
        ]},
    })
}

#[test]
fn recovery_after_a_kill_at_any_moment_reaches_the_configuration_that_was_begun() {
    let before = fresh();
    apply(&before, &config("rendered-a", units("a", "b"))).unwrap();
    let target = config("rendered-b", units("b", "a"));
    before.remember();
    assert_eq!(apply(&before, &target).unwrap().unwrap().ending, Ending::Applied);
    let new = tree(&before);
    let mut with_links = 0;
    for (moment, disk) in before.history().into_iter().enumerate() {
        let temporaries = disk.tree().keys().filter(|path| path.contains(".wants/.ostler-")).count();
        with_links += usize::from(temporaries > 0);
        let Some(finished) = recover(&disk).unwrap() else { continue };
        assert_eq!(finished.ending, Ending::Applied, "killed at effect {moment}, {temporaries} temporary links");
        assert_eq!(tree(&disk), new, "killed at effect {moment}");
    }
    assert!(with_links > 0, "no kill fell between a temporary link and its final name");
}

#[test]
fn a_full_disk_is_held_against_no_configuration_and_room_is_all_it_takes() {
    let before = fresh();
    apply(&before, &config("rendered-a", units("a", "b"))).unwrap();
    let target = config("rendered-b", units("b", "a"));
    let effects = {
        let disk = before.kill();
        apply(&disk, &target).unwrap();
        disk.effects()
    };
    let mut failed = 0;
    for (effect, errno) in (0..effects).flat_map(|effect| [(effect, Errno::ENOSPC), (effect, Errno::EDQUOT)]) {
        let disk = before.kill();
        disk.fail_at(effect, Fault::ErrorFrom(errno));
        match apply(&disk, &target) {
            Ok(_) => {}
            Err(trouble @ Trouble::Unsettled { .. }) => assert!(!trouble.unchanged()),
            Err(trouble) => {
                assert_eq!(trouble.class(), Class::Transient, "{errno} from {effect}: {}", trouble.reason())
            }
        }
        disk.heal();
        recover(&disk).unwrap();
        assert_eq!(status(&disk).rejected, Vec::new(), "{errno} from effect {effect}");
        failed += usize::from(status(&disk).config.as_deref() != Some("rendered-b"));
        apply(&disk, &target).unwrap();
        assert_eq!(status(&disk).config.as_deref(), Some("rendered-b"), "{errno} from effect {effect}");
    }
    assert!(failed > 0, "the disk was never full in time");
}

#[test]
fn too_little_space_or_too_few_inodes_are_found_in_time_and_are_the_moments_fault() {
    type Scarcity = fn(&MemoryDisk);
    let scarcities: [Scarcity; 2] = [|disk| disk.set_free(8192), |disk| disk.set_free_files(4)];
    for scarce in scarcities {
        let disk = fresh();
        scarce(&disk);
        let before = tree(&disk);
        let trouble = apply(&disk, &config("rendered-a", units("a", "b"))).unwrap_err();
        assert_eq!((trouble.class(), trouble.unchanged()), (Class::Transient, true), "{trouble}");
        assert!(trouble.remedy().unwrap().contains("free space and inodes"));
        assert_eq!(tree(&disk), before);
        assert!(open(&disk).unwrap().observe().unwrap().interrupted.is_none());
    }
}

#[test]
fn paths_that_cannot_be_transacted_are_refusals_of_the_check_wherever_they_come_from() {
    let at = |path: &str| RootPath::new(path).unwrap();
    let keys = json!({"passwd": {"users": [{"name": "core", "sshAuthorizedKeys": ["ssh-rsa a"]}]}});
    let file = |path: &str| json!({"storage": {"files": [{"path": path, "contents": {"source": "data:,x"}}]}});
    let unit = json!({"systemd": {"units": [{"name": "n.service", "enabled": true,
        "contents": "[Install]\nWantedBy=multi-user.target\n"}]}});
    for (obstructed, obstacle, ignition) in [
        ("/etc", Obstacle::ReadOnly, file("/etc/new")),
        ("/etc/motd", Obstacle::Immutable, file("/etc/motd")),
        ("/etc/motd", Obstacle::MountPoint, file("/etc/motd")),
        ("/opt", Obstacle::Kernel("cgroup2"), file("/opt/deep/file")),
        ("/etc/systemd/system", Obstacle::AppendOnly, unit),
        ("/home/core", Obstacle::ReadOnly, keys.clone()),
        ("/etc/machine-config-daemon/noorig", Obstacle::ReadOnly, file("/etc/new")),
    ] {
        let disk = fresh();
        disk.put_directory(&at("/opt/deep"), crate::batch::MADE).unwrap();
        disk.put_directory(&at("/etc/machine-config-daemon/noorig"), crate::batch::MADE).unwrap();
        disk.obstruct(&at(obstructed), obstacle);
        let before = tree(&disk);
        let trouble = apply(&disk, &config("rendered-1", ignition)).unwrap_err();
        assert_eq!((trouble.class(), trouble.unchanged()), (Class::Refusal, true), "{obstructed}: {trouble}");
        assert!(trouble.remedy().is_some() && trouble.reason().contains(&obstacle.to_string()), "{trouble}");
        assert_eq!(tree(&disk), before, "{obstructed}");
    }
    let disk = fresh();
    disk.put_directory(&at("/etc/cron.d"), crate::batch::MADE).unwrap();
    disk.put_directory(&at("/home/core/.ssh"), crate::batch::MADE).unwrap();
    disk.put_link_of(&at("/home/core/.ssh/authorized_keys.d"), "/etc/cron.d", 1000).unwrap();
    let trouble = apply(&disk, &config("rendered-1", keys)).unwrap_err();
    assert_eq!((trouble.class(), trouble.unchanged()), (Class::Refusal, true), "{trouble}");
    assert!(disk_errors(&trouble).any(ForeignLink::is) && trouble.remedy().unwrap().contains("link"), "{trouble}");
    assert!(!disk.tree().contains_key("/etc/cron.d/ignition"));
}
