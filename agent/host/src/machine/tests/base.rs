//! The configuration that a machine was installed with, and the one that is kept in its place.

use serde_json::json;

use super::*;
use crate::disk::memory::every_crash;
use crate::disk::{Attributes, RootPath};
use crate::machine::place::{CURRENT_CONFIG, INSTALL_TIME, KEPT_BASE};

const OPEN: Attributes = Attributes { mode: 0o644, uid: 0, gid: 0 };

fn put(disk: &MemoryDisk, path: &str, text: &str) {
    disk.put(&RootPath::new(path).unwrap(), text.as_bytes(), OPEN).unwrap();
}

fn document(name: &str) -> String {
    String::from_utf8(config(name, json!({})).json.expose().clone()).unwrap()
}

#[test]
fn a_base_is_kept_once_and_only_where_the_real_one_is_of_no_use() {
    for (installed, kept, keeps, base) in [
        (None, None, true, ("earliest", true)),
        (Some("{\"kind\": "), None, true, ("earliest", true)),
        (Some(""), None, true, ("earliest", true)),
        (Some("installed"), None, false, ("installed", false)),
        (None, Some("kept"), false, ("kept", true)),
        (Some("installed"), Some("kept"), false, ("installed", false)),
        (None, Some("torn"), true, ("earliest", true)),
    ] {
        let disk = fresh();
        put(&disk, CURRENT_CONFIG, &document("current"));
        for (path, name) in [(INSTALL_TIME, installed), (KEPT_BASE, kept)] {
            match name {
                Some(name @ ("installed" | "kept")) => put(&disk, path, &document(name)),
                Some(text) => put(&disk, path, text),
                None => {}
            }
        }
        let machine = open(&disk).unwrap();
        assert_eq!(machine.keep_base(&config("earliest", json!({}))).unwrap(), keeps, "{installed:?} {kept:?}");
        let snapshot = machine.observe().unwrap();
        let found = snapshot.install_time.unwrap();
        assert_eq!((found.config.name.as_str(), snapshot.base_kept), base, "{installed:?} {kept:?}");
        assert!(!machine.keep_base(&config("later", json!({}))).unwrap());
        if keeps {
            assert!(format!("{:?}", disk.tree()[KEPT_BASE]).starts_with("file 0600 0:0"));
            assert_eq!(disk.tree(), disk.durable_tree());
        }
    }
}

#[test]
fn a_kept_base_is_whole_or_not_there_after_every_crash() {
    let before = fresh();
    drop(open(&before).unwrap());
    let earliest = config("earliest", json!({}));
    let keep = |disk: &MemoryDisk| open(disk).and_then(|machine| machine.keep_base(&earliest));
    let points = every_crash(
        || before.kill(),
        |disk| keep(disk).map(drop).map_err(io_error),
        2,
        |disk, point| {
            let there = text(&disk, KEPT_BASE);
            assert!(there.is_none() || there == Some(document("earliest")), "{point:?}");
            keep(&disk).unwrap();
            assert_eq!(text(&disk, KEPT_BASE), Some(document("earliest")), "{point:?}");
            let left =
                disk.tree().into_keys().filter(|path| path.starts_with("/var/lib/ostler/") && path.contains("tx"));
            assert_eq!(left.count(), 0, "{point:?}");
        },
    );
    println!("kept bases: {} points, each kept whole or not at all", points.unwrap());
}

#[test]
fn a_machine_that_is_only_looked_at_keeps_no_base() {
    let disk = fresh();
    let machine = Machine::look(&disk, surroundings()).unwrap();
    assert!(matches!(machine.keep_base(&config("earliest", json!({}))), Err(Trouble::OnlyLooking)));
    assert_eq!(text(&disk, KEPT_BASE), None);
}

#[test]
fn a_machine_says_what_it_was_installed_from_if_it_knows() {
    let disk = fresh();
    assert_eq!(status(&disk).boot_image, None);
    disk.put_directory(&RootPath::new("/sysroot").unwrap(), OPEN).unwrap();
    put(&disk, "/sysroot/.coreos-aleph-version.json", r#"{"build":"412.86.202301061548-0","imgid":"rhcos.qcow2"}"#);
    assert_eq!(status(&disk).boot_image.as_deref(), Some("412.86.202301061548-0"));
    put(&disk, "/sysroot/.aleph-version.json", r#"{"version":"9.6.20250930-0"}"#);
    assert_eq!(status(&disk).boot_image.as_deref(), Some("9.6.20250930-0"), "the newer name comes first");
    put(&disk, "/sysroot/.aleph-version.json", "{");
    assert_eq!(status(&disk).boot_image, None, "what is not understood is not told");
}
