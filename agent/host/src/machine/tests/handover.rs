//! What a machine-config-daemon leaves, taken over and handed back; its state is made by hand.

use ostler_core::node::keys;
use ostler_core::protocol::{Handed, Sealed, TakeOver};
use serde_json::json;

use super::*;
use crate::disk::memory::every_crash;
use crate::disk::{Attributes, Disk, RootPath};
use crate::machine::place::{
    CURRENT_CONFIG, CURRENT_IMAGE, DAEMON_OF_THIS_BOOT, ENCAPSULATED, ENCAPSULATED_DONE, IGNITION_PRESET, INSTALL_TIME,
    NODE_ANNOTATIONS, NODE_ANNOTATIONS_DONE,
};

const PLAIN: Attributes = Attributes { mode: 0o644, uid: 0, gid: 0 };

fn put(disk: &MemoryDisk, path: &str, text: &str) {
    disk.put(&RootPath::new(path).unwrap(), text.as_bytes(), PLAIN).unwrap();
}

fn document(name: &str, motd: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {
        "osImageURL": "", "baseOSExtensionsContainerImage": "", "config": {
            "ignition": {"version": "3.4.0"},
            "storage": {"files": [{"path": "/etc/motd", "mode": 420, "contents": {"source": format!("data:,{motd}")}}]},
        }, "kernelArguments": [], "extensions": [], "fips": false, "kernelType": "default",
    }})
}

/// As the daemon writes it.
fn go(document: &Value) -> String {
    String::from_utf8(ostler_core::shared_text::shared_text(document)).unwrap()
}

/// A machine that a daemon has brought into a configuration.
fn theirs() -> MemoryDisk {
    let disk = fresh();
    put(&disk, "/etc/motd", "one");
    put(&disk, CURRENT_CONFIG, &go(&document("rendered-1", "one")));
    put(&disk, CURRENT_IMAGE, "");
    put(&disk, "/etc/machine-config-daemon/noorig/etc/motd.mcdnoorig", "");
    disk
}

fn take(disk: &MemoryDisk, order: TakeOver) -> Result<Handed, Trouble> {
    open(disk)?.take_over(order, &mut |_| {})
}

fn took(disk: &MemoryDisk) -> Vec<String> {
    take(disk, TakeOver::default()).unwrap().done
}

#[test]
fn a_machine_in_order_is_taken_over_without_a_change_and_once() {
    let disk = theirs();
    assert!(status(&disk).inherited.is_some());
    let before = tree(&disk);
    assert_eq!(took(&disk), Vec::<String>::new());
    assert_eq!(tree(&disk), before);
    assert_eq!(status(&disk).inherited, None);
    put(&disk, "/etc/motd", "by hand");
    assert_eq!(took(&disk), Vec::<String>::new(), "what is ours already is not put right here");
    assert!(status(&fresh()).inherited.is_none(), "without a configuration there is nothing to take over");
}

#[test]
fn files_of_an_update_that_was_not_finished_are_put_right() {
    let disk = theirs();
    put(&disk, "/etc/motd", "tw");
    assert_eq!(took(&disk), ["1 difference from its configuration repaired"]);
    assert_eq!(text(&disk, "/etc/motd").as_deref(), Some("one"));
    assert!(status(&disk).inherited.is_none());
}

#[test]
fn what_we_brought_about_is_ours_until_another_agent_brings_something_else() {
    let disk = fresh();
    let first = Recorded::from_document(document("rendered-1", "one")).unwrap();
    apply(&disk, &first).unwrap();
    assert_eq!(status(&disk).inherited, None);
    put(&disk, CURRENT_CONFIG, &go(&document("rendered-2", "two")));
    assert!(status(&disk).inherited.is_some() && status(&disk).previous.is_some());
    took(&disk);
    let after = status(&disk);
    assert_eq!((after.inherited, after.previous), (None, None), "where it was before is not known any more");
    assert_eq!(text(&disk, "/etc/motd").as_deref(), Some("two"));
}

#[test]
fn a_record_without_contents_is_completed_from_what_was_served() {
    let disk = theirs();
    let served = document("rendered-1", "one");
    let mut empty = served.clone();
    empty["spec"]["config"] = json!({"ignition": {"version": "3.4.0"}});
    put(&disk, CURRENT_CONFIG, &go(&empty));
    put(&disk, INSTALL_TIME, &serde_json::to_string_pretty(&served).unwrap());
    put(&disk, "/etc/motd", "drifted");
    let done = took(&disk);
    assert_eq!(done.len(), 2, "{done:?}");
    assert_eq!(text(&disk, CURRENT_CONFIG), Some(go(&served)));
    assert_eq!(text(&disk, "/etc/motd").as_deref(), Some("one"));
}

#[test]
fn a_machine_that_was_just_installed_gets_its_record_and_keeps_what_it_is_introduced_with() {
    let disk = fresh();
    put(&disk, "/etc/motd", "one");
    put(&disk, INSTALL_TIME, &serde_json::to_string_pretty(&document("rendered-1", "one")).unwrap());
    let told =
        json!({keys::CURRENT_CONFIG: "rendered-1", keys::DESIRED_CONFIG: "rendered-1", keys::CURRENT_IMAGE: "i"});
    put(&disk, NODE_ANNOTATIONS, &told.to_string());
    for leftover in [ENCAPSULATED, IGNITION_PRESET] {
        put(&disk, leftover, "{}");
    }
    assert!(status(&disk).bootstrap.is_some());
    assert_eq!(took(&disk).len(), 3);
    assert_eq!(text(&disk, CURRENT_CONFIG), Some(go(&document("rendered-1", "one"))));
    assert_eq!(text(&disk, CURRENT_IMAGE).as_deref(), Some("i"));
    assert_eq!((text(&disk, ENCAPSULATED), text(&disk, IGNITION_PRESET)), (None, None));
    assert!(text(&disk, ENCAPSULATED_DONE).is_some() && text(&disk, NODE_ANNOTATIONS).is_some());
    assert!(open(&disk).unwrap().introduced().unwrap() && !open(&disk).unwrap().introduced().unwrap());
    assert_eq!(text(&disk, NODE_ANNOTATIONS_DONE), Some(told.to_string()));
    assert_eq!((status(&disk).bootstrap, disk.tree()), (None, disk.durable_tree()));
}

#[test]
fn a_record_that_cannot_be_read_is_made_anew_from_the_clusters_and_applied_once_more() {
    let disk = theirs();
    put(&disk, CURRENT_CONFIG, "{\"metadata\":{\"na");
    assert!(status(&disk).inherited.unwrap().unreadable.is_some());
    assert!(matches!(take(&disk, TakeOver::default()), Err(Trouble::Record { .. })));
    let config = Some(Sealed::new(document("rendered-1", "one")));
    take(&disk, TakeOver { config, ..TakeOver::default() }).unwrap();
    assert_eq!(text(&disk, CURRENT_CONFIG), Some(go(&document("rendered-1", "one"))));
    assert_eq!(status(&disk).inherited, None);
    let behind = || crate::machine::behind(&disk, &Default::default()).unwrap();
    assert!(behind().is_some());
    let target = Recorded::from_document(document("rendered-1", "one")).unwrap();
    let machine = open(&disk).unwrap();
    let proposal = transaction::propose(&machine, target, &Rules::default()).unwrap().unwrap();
    transaction::run(&machine, &proposal, &mut |_| {}).unwrap();
    assert_eq!(behind(), None, "once is enough");
    assert!(status(&disk).trial.is_some());
}

#[test]
fn a_restart_that_was_announced_is_due_only_in_the_boot_in_which_the_daemon_ran() {
    for (announced, ran, due) in [(true, true, true), (true, false, false), (false, true, false)] {
        let disk = theirs();
        if ran {
            put(&disk, DAEMON_OF_THIS_BOOT, "x");
        }
        take(&disk, TakeOver { restart: announced, ..TakeOver::default() }).unwrap();
        assert_eq!(status(&disk).awaits_reboot, due, "{announced} {ran}");
        let next = crate::machine::status(&disk, &"boot-2".to_owned().into()).unwrap();
        assert!(!next.awaits_reboot && next.inherited.is_none());
    }
}

#[test]
fn drop_ins_that_somebody_added_stay() {
    let disk = theirs();
    let mut with_unit = document("rendered-1", "one");
    with_unit["spec"]["config"]["systemd"] = json!({"units": [{"name": "n.service", "contents": "[Unit]\n"}]});
    put(&disk, CURRENT_CONFIG, &go(&with_unit));
    put(&disk, "/etc/systemd/system/n.service", "[Unit]\n");
    put(&disk, "/etc/systemd/system/n.service.d/50-site.conf", "[Service]\n");
    assert_eq!(took(&disk), Vec::<String>::new());
    assert!(text(&disk, "/etc/systemd/system/n.service.d/50-site.conf").is_some());
}

#[test]
fn a_machine_that_is_cut_off_while_it_is_taken_over_is_taken_over_in_the_end() {
    let before = theirs();
    put(&before, "/etc/motd", "tw");
    put(&before, IGNITION_PRESET, "x");
    before.sync_filesystem(&RootPath::new("/etc").unwrap()).unwrap();
    drop(open(&before).unwrap());
    let points = every_crash(
        || before.kill(),
        |disk| take(disk, TakeOver::default()).map(drop).map_err(io_error),
        1,
        |disk, point| {
            let found = text(&disk, "/etc/motd");
            assert!(matches!(found.as_deref(), Some("tw" | "one")), "{point:?}");
            recover(&disk).unwrap();
            if status(&disk).inherited.is_some() {
                took(&disk);
            }
            assert_eq!(text(&disk, "/etc/motd").as_deref(), Some("one"), "{point:?}");
            assert_eq!(status(&disk).inherited, None, "{point:?}");
        },
    );
    assert!(points.unwrap() > 20);
}

fn hand_back(disk: &MemoryDisk) -> Result<Handed, Trouble> {
    open(disk)?.hand_back(false)
}

#[test]
fn what_is_handed_back_is_as_the_daemon_would_have_left_it_and_can_be_taken_over_anew() {
    let disk = theirs();
    took(&disk);
    let mut second = document("rendered-2", "two");
    second["kind"] = json!("MachineConfig");
    second["metadata"]["annotations"] = json!({"ostler.dev/built-image": "registry.example/i@sha256:1", "a": "b"});
    apply(&disk, &Recorded::from_document(second).unwrap()).unwrap();
    put(&disk, ostler_core::reconcile::FORCE_FILE, "");
    let in_next_boot = || Machine::open(&disk, Surroundings { boot: "boot-2".to_owned().into(), ..surroundings() });
    assert!(matches!(hand_back(&disk), Err(Trouble::NotRestarted { .. } | Trouble::OnTrial { .. })));
    in_next_boot().unwrap().confirm().unwrap();
    assert_eq!(in_next_boot().unwrap().hand_back(true).unwrap().done, Vec::<String>::new(), "only looked");
    let handed = in_next_boot().unwrap().hand_back(false).unwrap();
    assert_eq!((handed.config.as_str(), handed.done.len()), ("rendered-2", 3), "{handed:?}");
    let mut expected = document("rendered-2", "two");
    expected["metadata"]["annotations"] = json!({"a": "b"});
    assert_eq!(text(&disk, CURRENT_CONFIG), Some(go(&expected)));
    assert_eq!(text(&disk, CURRENT_IMAGE).as_deref(), Some("registry.example/i@sha256:1"));
    assert_eq!(text(&disk, ostler_core::reconcile::FORCE_FILE), None);
    assert!(text(&disk, "/etc/machine-config-daemon/noorig/etc/motd.mcdnoorig").is_some());
    let again = hand_back(&disk).unwrap();
    assert_eq!(again.done, Vec::<String>::new(), "a second time there is nothing to do");
    let status = status(&disk);
    assert!(status.inherited.is_some() && status.previous.is_none() && status.last.is_none());
    took(&disk);
}

#[test]
fn nothing_is_handed_back_that_the_daemon_would_stumble_over() {
    let disk = theirs();
    took(&disk);
    disk.set_attributes(&RootPath::new("/etc/motd").unwrap(), Attributes { uid: 77, ..PLAIN }).unwrap();
    hand_back(&disk).unwrap();
    disk.set_attributes(&RootPath::new("/etc/motd").unwrap(), Attributes { mode: 0o600, ..PLAIN }).unwrap();
    let trouble = hand_back(&disk).unwrap_err();
    assert!(trouble.reason().contains("/etc/motd") && trouble.remedy().unwrap().contains("--repair"), "{trouble:?}");
    assert!(matches!(hand_back(&fresh()), Err(Trouble::NothingToHandBack)));
}
