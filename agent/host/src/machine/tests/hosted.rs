//! The record of a machine in a hosted cluster: where that cluster's daemon looks, with a hash beside it.

use ostler_core::machine_config::set_hosted_hash;
use serde_json::json;

use super::*;
use crate::disk::memory::every_crash;
use crate::disk::{Attributes, RootPath};
use crate::machine::place::{CURRENT_CONFIG, CURRENT_IMAGE, HOSTED_CONFIG, HOSTED_HASH, INSTALL_TIME};

const OPEN: Attributes = Attributes { mode: 0o644, uid: 0, gid: 0 };

fn put(disk: &MemoryDisk, path: &str, text: &str) {
    disk.put(&RootPath::new(path).unwrap(), text.as_bytes(), OPEN).unwrap();
}

fn document(name: &str, motd: &str) -> Value {
    let files = json!([{"path": "/etc/motd", "contents": {"source": format!("data:,{motd}")}}]);
    json!({"kind": "MachineConfig", "metadata": {"name": name},
        "spec": {"config": {"ignition": {"version": "3.4.0"}, "storage": {"files": files}}}})
}

fn hosted(name: &str, hash: &str, motd: &str) -> Recorded {
    let mut document = document(name, motd);
    set_hosted_hash(&mut document, Some(hash));
    Recorded::from_document(document).unwrap()
}

/// The daemon's text as Go writes it, in another order of fields and with white space.
fn foreign(name: &str, motd: &str) -> String {
    serde_json::to_string_pretty(&document(name, motd)).unwrap()
}

fn rollback(disk: &MemoryDisk) -> Option<Finished> {
    let machine = open(disk).unwrap();
    let proposal = transaction::propose_rollback(&machine, &Rules::default()).unwrap()?;
    Some(transaction::run(&machine, &proposal, &mut |_| {}).unwrap())
}

#[test]
fn the_record_is_where_the_clusters_daemon_looks_and_holds_nothing_of_ours() {
    let disk = fresh();
    apply(&disk, &hosted("rendered-1", "1f", "one")).unwrap().unwrap();
    let kept: Value = serde_json::from_str(&text(&disk, HOSTED_CONFIG).unwrap()).unwrap();
    assert_eq!(kept, document("rendered-1", "one"));
    assert!(text(&disk, HOSTED_HASH).unwrap().starts_with("1f "));
    assert_eq!(text(&disk, CURRENT_CONFIG), None);
    let told = status(&disk);
    assert_eq!((told.config.as_deref(), told.hosted), (Some("1f"), true));
    assert_eq!(apply(&disk, &hosted("rendered-1", "1f", "one")).unwrap(), None);
}

#[test]
fn the_same_configuration_under_another_hash_is_only_recorded() {
    let disk = fresh();
    apply(&disk, &hosted("rendered-1", "1f", "one")).unwrap().unwrap();
    let finished = apply(&disk, &hosted("rendered-1", "2a", "one")).unwrap().unwrap();
    assert_eq!((finished.from.as_str(), finished.to.as_str(), finished.reboot), ("1f", "2a", false));
    assert_eq!(status(&disk).config.as_deref(), Some("2a"));
}

#[test]
fn another_agents_record_has_no_hash_of_ours_even_if_ours_is_still_there() {
    let disk = fresh();
    put(&disk, HOSTED_CONFIG, &foreign("rendered-1", "one"));
    let told = status(&disk);
    assert_eq!((told.config.as_deref(), told.hosted), (Some("rendered-1"), false));
    apply(&disk, &hosted("rendered-1", "1f", "one")).unwrap().unwrap();
    assert_eq!(status(&disk).config.as_deref(), Some("1f"));
    put(&disk, HOSTED_CONFIG, &foreign("rendered-2", "two"));
    let told = status(&disk);
    assert_eq!((told.config.as_deref(), told.hosted), (Some("rendered-2"), false));
    for (hash, text) in [("", ""), ("1f", "1f"), ("broken", "\u{fffd} x y z")] {
        put(&disk, HOSTED_HASH, text);
        assert!(!status(&disk).hosted, "{hash}");
    }
}

#[test]
fn at_first_contact_the_record_is_the_hosted_one_then_the_installers() {
    let disk = fresh();
    put(&disk, INSTALL_TIME, &foreign("rendered-0", "zero"));
    assert_eq!(status(&disk).config.as_deref(), Some("rendered-0"));
    // What the machine-config-daemon writes at the first boot is the installer's without all that Ignition did.
    put(
        &disk,
        CURRENT_CONFIG,
        r#"{"metadata":{"name":"rendered-0"},"spec":{"config":{"ignition":{"version":"3.4.0"}}}}"#,
    );
    assert_eq!(open(&disk).unwrap().observe().unwrap().current.config.ignition.files.len(), 1);
    put(&disk, CURRENT_CONFIG, &foreign("rendered-1", "one"));
    assert_eq!(status(&disk).config.as_deref(), Some("rendered-1"));
    put(&disk, CURRENT_IMAGE, "registry.example/os@sha256:1");
    put(&disk, HOSTED_CONFIG, &foreign("rendered-2", "two"));
    let told = status(&disk);
    assert_eq!((told.config.as_deref(), told.image), (Some("rendered-2"), None));
}

#[test]
fn a_rollback_puts_another_agents_record_back_byte_for_byte() {
    let disk = fresh();
    put(&disk, "/etc/motd", "one");
    put(&disk, HOSTED_CONFIG, &foreign("rendered-1", "one"));
    apply(&disk, &hosted("rendered-2", "2a", "two")).unwrap().unwrap();
    assert_eq!(text(&disk, "/etc/motd").as_deref(), Some("two"));
    rollback(&disk).unwrap();
    assert_eq!(text(&disk, HOSTED_CONFIG), Some(foreign("rendered-1", "one")));
    assert_eq!(text(&disk, "/etc/motd").as_deref(), Some("one"));
    assert_eq!((text(&disk, CURRENT_CONFIG), text(&disk, HOSTED_HASH)), (None, None));
}

#[test]
fn a_rollback_between_hashes_leads_to_the_hash_before() {
    let disk = fresh();
    apply(&disk, &hosted("rendered-1", "1f", "one")).unwrap().unwrap();
    let before = tree(&disk);
    apply(&disk, &hosted("rendered-2", "2a", "two")).unwrap().unwrap();
    rollback(&disk).unwrap();
    assert_eq!(status(&disk).config.as_deref(), Some("1f"));
    assert_eq!(tree(&disk), before);
}

#[test]
fn a_machine_that_leaves_its_hosted_cluster_keeps_no_record_of_it() {
    let disk = fresh();
    apply(&disk, &hosted("rendered-1", "1f", "one")).unwrap().unwrap();
    apply(&disk, &config("rendered-9", json!({}))).unwrap().unwrap();
    assert_eq!((text(&disk, HOSTED_CONFIG), text(&disk, HOSTED_HASH)), (None, None));
    let told = status(&disk);
    assert_eq!((told.config.as_deref(), told.hosted), (Some("rendered-9"), false));
    rollback(&disk).unwrap();
    assert_eq!(status(&disk).config.as_deref(), Some("1f"));
    assert_eq!(text(&disk, CURRENT_CONFIG), None);
}

#[test]
fn after_every_crash_the_record_is_of_one_end() {
    for origin in [true, false] {
        let before = fresh();
        if origin {
            apply(&before, &hosted("rendered-1", "1f", "one")).unwrap().unwrap();
        } else {
            put(&before, HOSTED_CONFIG, &foreign("rendered-1", "one"));
        }
        let next = hosted("rendered-2", "2a", "two");
        let points = every_crash(
            || before.kill(),
            |disk| apply(disk, &next).map(drop).map_err(io_error),
            2,
            |disk, point| {
                recover(&disk).unwrap();
                if status(&disk).config.as_deref() != Some("2a") {
                    apply(&disk, &next).unwrap();
                }
                let told = status(&disk);
                assert_eq!((told.config.as_deref(), told.hosted), (Some("2a"), true), "{point:?}");
                assert_eq!(text(&disk, "/etc/motd").as_deref(), Some("two"), "{point:?}");
                let kept: Value = serde_json::from_str(&text(&disk, HOSTED_CONFIG).unwrap()).unwrap();
                assert_eq!(kept, document("rendered-2", "two"), "{point:?}");
            },
        );
        println!("hosted records: {} points", points.unwrap());
    }
}
