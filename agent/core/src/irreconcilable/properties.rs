//! What holds for every report, checked against a comparison index by index.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::{Change, MAX_CHANGES, MAX_DIFF, MAX_FIELD_PATH, report};
use crate::ignition::{Config, Section};

const SECRET: &str = "S3CRET";

fn partition() -> impl Strategy<Value = Value> {
    (of(0..6_u8), of(select(vec!["var", "root", "boot", "häuser\n"])), of(0..3_u16), any::<Option<bool>>()).prop_map(
        |(number, label, size, wipe)| {
            json!({"number": number, "label": label, "sizeMiB": size, "wipePartitionEntry": wipe, "startMiB": 0})
        },
    )
}

fn disk(partitions: usize) -> impl Strategy<Value = Value> {
    (0..8_u8, any::<Option<bool>>(), vec(partition(), 0..=partitions)).prop_map(|(device, wipe, partitions)| {
        json!({"device": format!("/dev/sd{device}"), "wipeTable": wipe, "partitions": partitions})
    })
}

fn array() -> impl Strategy<Value = Value> {
    (0..4_u8, 0..2_u8, vec(0..4_u8, 0..5)).prop_map(|(name, level, devices)| {
        let devices: Vec<String> = devices.iter().map(|device| format!("/dev/sd{device}")).collect();
        json!({"name": format!("md{name}"), "level": format!("raid{level}"), "devices": devices})
    })
}

fn filesystem() -> impl Strategy<Value = Value> {
    let options = vec(select(vec!["noatime", "defaults", "prjquota"]), 0..4);
    (0..4_u8, any::<Option<bool>>(), options, 0..3_usize).prop_map(|(device, wipe, options, size)| {
        json!({"device": device.to_string(), "wipeFilesystem": wipe, "mountOptions": options, "path": "/v".repeat(size * 2000)})
    })
}

fn volume() -> impl Strategy<Value = Value> {
    let tang = vec((0..3_u8, select(vec!["a\nb\nc\n", "a\nx\nc\n", "a"])), 0..3);
    (0..3_u8, of(0..2_u8), of(0..2_u8), tang).prop_map(|(name, source, config, tang)| {
        let secret = |n: Option<u8>| n.map(|n| format!("{SECRET}{n}"));
        let tang: Vec<Value> = tang.iter().map(|(url, text)| json!({"url": url, "advertisement": text})).collect();
        json!({
            "name": format!("luks{name}"),
            "keyFile": {
                "source": secret(source),
                "httpHeaders": [{"name": "Authorization", "value": secret(source)}],
            },
            "clevis": {"custom": {"pin": "sss", "config": secret(config)}, "tang": tang},
            "device": config.map(|n| format!("data:;base64,{SECRET}{n}")),
        })
    })
}

prop_compose! {
    fn config(disks: usize)(
        disks in vec(disk(4), 0..=disks),
        raid in vec(array(), 0..3),
        filesystems in vec(filesystem(), 0..3),
        luks in vec(volume(), 0..3),
    ) -> Config {
        Config {
            disks: Section::from(Value::from(disks)),
            raid: Section::from(Value::from(raid)),
            filesystems: Section::from(Value::from(filesystems)),
            luks: Section::from(Value::from(luks)),
            ..Config::default()
        }
    }
}

/// A config and what an administrator might make of it: items added, dropped, moved and replaced.
fn edited() -> impl Strategy<Value = (Config, Config)> {
    let edits = vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), disk(4), 0..5_u8), 0..4);
    (config(6), config(0), edits).prop_map(|(install, other, edits)| {
        let mut list: Vec<Value> = install.disks.value().as_array().cloned().unwrap_or_default();
        for (at, to, disk, edit) in edits {
            let position = at.index(list.len() + 1);
            let inside = position < list.len();
            match edit {
                0 => list.insert(position, disk),
                1 if inside => drop(list.remove(position)),
                2 if inside => list[position] = disk,
                3 if inside => list[position]["wipeTable"] = json!(to.index(2) == 0),
                4 if inside => {
                    let moved = list.remove(position);
                    list.insert(to.index(list.len() + 1), moved);
                }
                _ => {}
            }
        }
        let target = Config { disks: Section::from(Value::from(list)), raid: other.raid, ..install.clone() };
        (install, target)
    })
}

fn pairs() -> impl Strategy<Value = (Config, Config)> {
    prop_oneof![4 => (config(4), config(4)), 1 => (config(40), config(40)), 4 => edited()]
}

/// Every scalar by its path, indexes as in the document.
fn leaves(config: &Config) -> BTreeMap<String, Value> {
    fn walk(path: String, value: &Value, leaves: &mut BTreeMap<String, Value>) {
        match value {
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(index, item)| walk(format!("{path}[{index}]"), item, leaves));
            }
            Value::Object(fields) => {
                fields.iter().for_each(|(name, field)| walk(format!("{path}.{name}"), field, leaves));
            }
            Value::Null => {}
            scalar => drop(leaves.insert(path, scalar.clone())),
        }
    }
    let mut found = BTreeMap::new();
    walk("spec.config.storage.disks".to_owned(), config.disks.value(), &mut found);
    walk("spec.config.storage.filesystems".to_owned(), config.filesystems.value(), &mut found);
    walk("spec.config.storage.luks".to_owned(), config.luks.value(), &mut found);
    walk("spec.config.storage.raid".to_owned(), config.raid.value(), &mut found);
    found
}

fn differing_paths(install: &Config, target: &Config) -> Vec<String> {
    let (old, new) = (leaves(install), leaves(target));
    let all: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    all.into_iter().filter(|path| old.get(*path) != new.get(*path)).cloned().collect()
}

fn is_under(path: &str, parent: &str) -> bool {
    path.strip_prefix(parent).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

fn paths(changes: &[Change]) -> Vec<&str> {
    changes.iter().map(|change| change.field_path.as_str()).collect()
}

proptest! {
    #[test]
    fn every_differing_leaf_is_under_a_reported_path_and_nothing_else_is_reported((install, target) in pairs()) {
        let changes = report(&install, &target);
        let differing = differing_paths(&install, &target);
        for path in &differing {
            prop_assert!(paths(&changes).iter().any(|parent| is_under(path, parent)), "{path} not in {changes:#?}");
        }
        for parent in paths(&changes) {
            prop_assert!(differing.iter().any(|path| is_under(path, parent)), "{parent} not in {differing:#?}");
        }
    }

    #[test]
    fn every_report_is_accepted_by_the_api((install, target) in pairs()) {
        let changes = report(&install, &target);
        prop_assert!(changes.len() <= MAX_CHANGES);
        for change in &changes {
            let Change { field_path, diff } = change;
            prop_assert!(field_path.starts_with("spec.") && field_path.len() <= MAX_FIELD_PATH, "{field_path}");
            prop_assert!(field_path.chars().all(|c| c.is_ascii_alphanumeric() || "[].".contains(c)), "{field_path}");
            prop_assert!((1..=MAX_DIFF).contains(&diff.chars().count()) && diff.ends_with('\n'), "{diff}");
        }
        for (position, path) in paths(&changes).iter().enumerate() {
            for (other, parent) in paths(&changes).iter().enumerate() {
                prop_assert!(position == other || !is_under(path, parent), "{path} and {parent}");
            }
        }
    }

    #[test]
    fn no_secret_is_in_any_report((install, target) in pairs()) {
        for change in report(&install, &target) {
            prop_assert!(!change.diff.contains(SECRET), "{}", change.diff);
        }
    }

    #[test]
    fn a_config_does_not_differ_from_itself(config in config(4)) {
        prop_assert_eq!(report(&config, &config.clone()), []);
    }

    #[test]
    fn the_same_pair_gives_the_same_report((install, target) in pairs()) {
        prop_assert_eq!(report(&install, &target), report(&install.clone(), &target.clone()));
    }

    #[test]
    fn leaves_alone_differ_where_no_item_comes_goes_or_moves(
        (mut list, wipes) in vec(disk(0), 1..8).prop_flat_map(|list| {
            let wipes = vec(any::<bool>(), list.len());
            (Just(list), wipes)
        })
    ) {
        for (index, disk) in list.iter_mut().enumerate() {
            disk["device"] = json!(index);
        }
        let install = Config { disks: Section::from(Value::from(list.clone())), ..Config::default() };
        for (disk, wipe) in list.iter_mut().zip(wipes) {
            disk["wipeTable"] = json!(wipe);
        }
        let target = Config { disks: Section::from(Value::from(list)), ..Config::default() };
        let changes = report(&install, &target);
        prop_assert_eq!(paths(&changes), differing_paths(&install, &target));
    }
}
