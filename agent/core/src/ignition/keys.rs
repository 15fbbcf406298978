//! Field names as Go reads them: without regard to case.
//!
//! Owns the table of every field name of Ignition spec 2 and 3. One table serves all objects because an Ignition
//! config has no free-form maps and no two of its names differ by case alone.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Map, Value, map::Entry};

/// Every field name, sorted by its lower-case form.
const NAMES: [&str; 105] = [
    "advertisement",
    "append",
    "certificateAuthorities",
    "cex",
    "clevis",
    "compression",
    "config",
    "contents",
    "create",
    "custom",
    "device",
    "devices",
    "directories",
    "discard",
    "disks",
    "dropins",
    "enable",
    "enabled",
    "files",
    "filesystem",
    "filesystems",
    "force",
    "format",
    "gecos",
    "gid",
    "group",
    "groups",
    "guid",
    "hard",
    "hash",
    "homeDir",
    "httpHeaders",
    "httpProxy",
    "httpResponseHeaders",
    "httpsProxy",
    "httpTotal",
    "id",
    "ignition",
    "kernelArguments",
    "keyFile",
    "label",
    "level",
    "links",
    "luks",
    "mask",
    "merge",
    "mode",
    "mount",
    "mountOptions",
    "name",
    "needsNetwork",
    "networkd",
    "noCreateHome",
    "noLogInit",
    "noProxy",
    "noUserGroup",
    "number",
    "openOptions",
    "options",
    "overwrite",
    "partitions",
    "passwd",
    "passwordHash",
    "path",
    "pin",
    "primaryGroup",
    "proxy",
    "raid",
    "replace",
    "resize",
    "security",
    "shell",
    "shouldExist",
    "shouldNotExist",
    "size",
    "sizeMiB",
    "source",
    "spares",
    "sshAuthorizedKeys",
    "start",
    "startMiB",
    "storage",
    "system",
    "systemd",
    "tang",
    "target",
    "threshold",
    "thumbprint",
    "timeouts",
    "tls",
    "tpm2",
    "typeGuid",
    "uid",
    "units",
    "url",
    "user",
    "users",
    "uuid",
    "value",
    "verification",
    "version",
    "wipeFilesystem",
    "wipePartitionEntry",
    "wipeTable",
    "wipeVolume",
];

/// The config with every field name in the spelling of the Ignition specification.
pub(super) fn canonical(config: Cow<'_, Value>) -> Cow<'_, Value> {
    if is_canonical(&config, &mut HashSet::new()) { config } else { Cow::Owned(respell(config.into_owned())) }
}

/// A config has few names, and many times each: those that were found right are not looked up again.
fn is_canonical<'v>(value: &'v Value, right: &mut HashSet<&'v str>) -> bool {
    match value {
        Value::Array(items) => items.iter().all(|item| is_canonical(item, right)),
        Value::Object(fields) => fields.iter().all(|(key, field)| {
            let known = right.contains(key.as_str());
            (known || spelling(key).is_none_or(|name| name == key) && right.insert(key)) && is_canonical(field, right)
        }),
        _ => true,
    }
}

/// The specification's spelling of a key; `None` for a key that is in no specification.
fn spelling(key: &str) -> Option<&'static str> {
    let found = NAMES.binary_search_by(|name| name.bytes().map(|byte| byte.to_ascii_lowercase()).cmp(folded(key)));
    found.ok().and_then(|at| NAMES.get(at)).copied()
}

/// The two characters beyond ASCII that Unicode folds to ASCII letters are folded by Go as well. Every other character
/// beyond ASCII becomes one byte that is in no name.
fn folded(key: &str) -> impl Iterator<Item = u8> {
    key.chars().map(|char| match char {
        '\u{17f}' => b's',
        '\u{212a}' => b'k',
        _ => u8::try_from(char).unwrap_or(u8::MAX).to_ascii_lowercase(),
    })
}

/// Texts are moved: among them are the contents of every file.
fn respell(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(respell).collect(),
        Value::Object(fields) => {
            let mut respelled = Map::new();
            for (key, field) in fields {
                assign(&mut respelled, spelling(&key).unwrap_or(&key), respell(field));
            }
            Value::Object(respelled)
        }
        other => other,
    }
}

/// Go decodes one spelling after the other into the same field: the later value wins, and an object fills in what
/// an earlier one left out. A null leaves an object as it is.
fn assign(fields: &mut Map<String, Value>, name: &str, later: Value) {
    match (fields.entry(name), later) {
        (Entry::Vacant(field), later) => {
            field.insert(later);
        }
        (Entry::Occupied(mut field), later) => match (field.get_mut(), later) {
            (Value::Object(earlier), Value::Object(later)) => {
                later.into_iter().for_each(|(name, field)| assign(earlier, &name, field));
            }
            (Value::Object(_), Value::Null) => {}
            (field, later) => *field = later,
        },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_sorted_and_unique_without_regard_to_case() {
        assert!(NAMES.windows(2).all(|pair| pair[0].to_ascii_lowercase() < pair[1].to_ascii_lowercase()));
        assert!(NAMES.iter().all(|name| spelling(name) == Some(name)));
    }

    #[test]
    fn a_canonical_config_is_borrowed() {
        for config in [
            json!({}),
            json!({"ignition": {"version": "3.5.0"}, "storage": {"files": [{"path": "/a", "contents": {"source": "data:,X"}}]}}),
            json!({"ignition": {"version": "3.5.0"}, "unknownKey": {"Other": 1}}),
            json!([1, "Path", null]),
        ] {
            assert!(matches!(canonical(Cow::Borrowed(&config)), Cow::Borrowed(_)), "{config}");
        }
    }

    #[test]
    fn other_spellings_become_the_specifications() {
        for (written, read) in [
            (json!({"Ignition": {"VERSION": "3.5.0"}}), json!({"ignition": {"version": "3.5.0"}})),
            (json!({"storage": {"Files": [{"PATH": "/A"}]}}), json!({"storage": {"files": [{"path": "/A"}]}})),
            (json!({"SSHAUTHORIZEDKEYS": ["K"]}), json!({"sshAuthorizedKeys": ["K"]})),
            (json!({"sizemib": 1, "typeguid": "X"}), json!({"sizeMiB": 1, "typeGuid": "X"})),
            // Go folds as Unicode does.
            (json!({"\u{17f}torage": {}, "ma\u{17f}\u{212a}": true}), json!({"storage": {}, "mask": true})),
            (json!({"Unknown": {"Path": 1}}), json!({"Unknown": {"path": 1}})),
            (json!({"pâth": 1, "Name": 2}), json!({"pâth": 1, "name": 2})),
        ] {
            assert_eq!(*canonical(Cow::Borrowed(&written)), read, "{written}");
        }
    }

    #[test]
    fn contents_of_files_are_moved() {
        let place = |config: &Value| config["storage"]["files"][0]["path"].as_str().unwrap().as_ptr();
        let mut written = json!({"storage": {"files": [{"path": "/a"}]}, "Passwd": {}});
        for _ in 0..2 {
            let before = place(&written);
            written = canonical(Cow::Owned(written)).into_owned();
            assert_eq!(place(&written), before);
        }
    }

    #[test]
    fn the_last_of_several_spellings_wins() {
        // The API server sorts keys by byte, as the map does: that is the order Go reads them in.
        for (written, read) in [
            (json!({"Path": "/upper", "path": "/lower"}), json!({"path": "/lower"})),
            (json!({"sizeMiB": 1, "sizemib": 2}), json!({"sizeMiB": 2})),
            (json!({"Files": [1, 2], "files": [3]}), json!({"files": [3]})),
            (json!({"Path": "/upper", "path": null}), json!({"path": null})),
        ] {
            assert_eq!(*canonical(Cow::Borrowed(&written)), read, "{written}");
        }
    }

    #[test]
    fn several_spellings_of_an_object_fill_each_other_in() {
        let written = json!({"Storage": {"files": [1], "links": [2]}, "storage": {"links": [3]}});
        assert_eq!(*canonical(Cow::Borrowed(&written)), json!({"storage": {"files": [1], "links": [3]}}));
        let written = json!({"Storage": {"files": [1]}, "storage": null});
        assert_eq!(*canonical(Cow::Borrowed(&written)), json!({"storage": {"files": [1]}}));
    }

    fn configs() -> impl Strategy<Value = Value> {
        let leaf =
            prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::from), "[a-zA-Z]{0,4}".prop_map(Value::from)];
        let key = prop_oneof!["[pP][aA][tT][hH]", "[sS][iI][zZ][eE][mM][iI][bB]", "(Files|files|FILES)", "\\PC{0,3}"];
        leaf.prop_recursive(4, 24, 4, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::hash_map(key.clone(), inner, 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn canonical_is_idempotent(config in configs()) {
            let once = canonical(Cow::Borrowed(&config));
            let twice = canonical(Cow::Borrowed(&once));
            prop_assert_eq!(&*twice, &*once);
            prop_assert!(matches!(twice, Cow::Borrowed(_)));
        }
    }
}
