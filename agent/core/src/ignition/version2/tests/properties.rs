//! What holds for every config.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{dedupe, model, upgrade};
use super::config;

const SECTIONS: &[&str] = &["ignition", "storage", "systemd", "passwd", "networkd"];
const LISTS: &[&str] =
    &["files", "directories", "links", "disks", "raid", "filesystems", "units", "users", "groups", "config"];
const FIELDS: &[&str] = &[
    "filesystem",
    "path",
    "mode",
    "overwrite",
    "append",
    "user",
    "group",
    "id",
    "name",
    "target",
    "hard",
    "device",
    "partitions",
    "level",
    "devices",
    "spares",
    "mount",
    "create",
    "force",
    "format",
    "label",
    "options",
    "enable",
    "enabled",
    "mask",
    "dropins",
    "compression",
    "verification",
    "uid",
    "tls",
    "replace",
    "size",
];
const SECRETS: &[&str] = &["source", "contents", "hash", "passwordHash", "sshAuthorizedKeys"];
const WORDS: &[&str] =
    &["", "root", "core", "/", "/a", "/a/b", "//a", "..", "a.service", "b.conf", "xfs", "raid0", "gzip", "ü"];

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        prop_oneof![Just(0), Just(420), any::<i64>()].prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        proptest::sample::select(WORDS).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            fields(inner).prop_map(Value::Object),
        ]
    })
}

/// An object of known fields, with the secret ones always holding the same recognisable text.
fn fields(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = serde_json::Map<String, Value>> {
    let plain = proptest::collection::hash_map(proptest::sample::select(FIELDS), inner, 0..8);
    let secret = proptest::collection::hash_map(
        proptest::sample::select(SECRETS),
        prop_oneof![Just(json!("hunter2")), Just(json!(["hunter2"])), Just(json!({"source": "hunter2"}))],
        0..3,
    );
    (plain, secret)
        .prop_map(|(plain, secret)| plain.into_iter().chain(secret).map(|(k, v)| (k.to_owned(), v)).collect())
}

fn any_config() -> impl Strategy<Value = Value> {
    let entries =
        proptest::collection::vec(prop_oneof![9 => fields(any_json()).prop_map(Value::Object), 1 => any_json()], 0..4);
    let lists = proptest::collection::hash_map(proptest::sample::select(LISTS), entries.prop_map(Value::from), 0..4);
    let section = prop_oneof![9 => lists.prop_map(|lists| json!(lists)), 1 => any_json()];
    let sections = proptest::collection::hash_map(proptest::sample::select(SECTIONS), section, 0..5);
    (sections, proptest::sample::select(&["2.0.0", "2.1.0", "2.2.0"][..])).prop_map(|(mut sections, version)| {
        sections.entry("ignition").or_insert_with(|| json!({}));
        if let Some(ignition) = sections.get_mut("ignition").filter(|ignition| !ignition.is_object()) {
            *ignition = json!({});
        }
        config(version, json!(sections))
    })
}

/// A config that reaches the reduction of duplicates: valid entries with few names.
fn repetitive_config() -> impl Strategy<Value = Value> {
    let letter = || proptest::sample::select(&["a", "b", "c"][..]);
    let file = (letter(), any::<u8>()).prop_map(|(name, n)| {
        json!({"filesystem": "root", "path": format!("/{name}"), "contents": {"source": format!("data:,{n}")}})
    });
    let dropins = proptest::collection::btree_map(letter(), any::<u8>(), 0..3);
    let unit = (letter(), dropins).prop_map(|(name, dropins)| {
        let dropins =
            dropins.iter().map(|(name, n)| json!({"name": format!("{name}.conf"), "contents": n.to_string()}));
        json!({"name": format!("{name}.service"), "dropins": dropins.collect::<Vec<_>>()})
    });
    let user =
        proptest::collection::vec(letter(), 0..4).prop_map(|keys| json!({"name": "core", "sshAuthorizedKeys": keys}));
    let list = |entry: BoxedStrategy<Value>| proptest::collection::vec(entry, 0..7);
    (list(file.boxed()), list(unit.boxed()), list(user.boxed())).prop_map(|(files, units, users)| {
        let sections = json!({"storage": {"files": files}, "systemd": {"units": units}, "passwd": {"users": users}});
        config("2.2.0", sections)
    })
}

proptest! {
    #[test]
    fn no_config_makes_it_panic_and_no_error_tells_a_secret(config in any_config()) {
        if let Err(error) = upgrade(&config) {
            let told = format!("{error} {error:?}");
            prop_assert!(!told.contains("hunter2"));
        }
    }

    #[test]
    fn dedupe_is_idempotent(config in repetitive_config()) {
        let once = dedupe::dedupe(model::read(&config).unwrap()).unwrap();
        let twice = dedupe::dedupe(once.clone()).unwrap();
        prop_assert!(once == twice);
    }

    #[test]
    fn after_dedupe_every_name_is_left_once_and_none_is_lost(config in repetitive_config()) {
        let read = model::read(&config).unwrap();
        let sorted = |mut names: Vec<String>| { names.sort(); names };
        let distinct = |names: Vec<String>| { let mut names = sorted(names); names.dedup(); names };
        let left = dedupe::dedupe(read.clone()).unwrap();
        let paths = |config: &model::Config| config.files.iter().map(|file| file.node.path.clone()).collect();
        prop_assert_eq!(sorted(paths(&left)), distinct(paths(&read)));
        let dropins = |config: &model::Config| {
            let of = |unit: &model::Unit| unit.dropins.iter().map(|d| format!("{} {}", unit.name, d.name)).collect::<Vec<_>>();
            config.units.iter().flat_map(of).collect()
        };
        prop_assert_eq!(sorted(dropins(&left)), distinct(dropins(&read)));
        let keys = |config: &model::Config| config.users.iter().flat_map(|user| user.ssh_authorized_keys.clone()).collect();
        prop_assert_eq!(sorted(keys(&left)), distinct(keys(&read)));
        prop_assert!(upgrade(&config).is_ok());
    }
}
