//! The three versions of spec 2 that are read, as differences to 2.2.
//!
//! A field that a version does not have is ignored there, even when a later version gives it a meaning.

use serde_json::Value;

use super::error::ConversionError;
use super::model::Config;
use crate::ignition::unknown::{Place, UnknownKeys};

/// Nothing that is read lies deeper; what does is part of an unknown field.
const DEPTH: usize = 16;

/// What spec 2.2 added: where, and which fields.
const NEW_IN_2_2: &[(&str, &[&str])] = &[
    ("ignition", &["security"]),
    ("storage.files", &["append", "overwrite"]),
    ("storage.directories", &["overwrite"]),
    ("storage.links", &["overwrite"]),
    ("storage.raid", &["options"]),
];

/// What spec 2.1 added.
const NEW_IN_2_1: &[(&str, &[&str])] = &[
    ("ignition", &["timeouts"]),
    ("storage", &["directories", "links"]),
    ("storage.files.user", &["name"]),
    ("storage.files.group", &["name"]),
    ("storage.filesystems.mount", &["label", "uuid", "options", "wipeFilesystem"]),
    ("systemd.units", &["enabled"]),
    (
        "passwd.users",
        &[
            "gecos",
            "groups",
            "homeDir",
            "noCreateHome",
            "noLogInit",
            "noUserGroup",
            "primaryGroup",
            "shell",
            "system",
            "uid",
        ],
    ),
];

/// The keys of spec 2.2: where, and which.
const KNOWN_IN_2_2: &[(&str, &[&str])] = &[
    ("", &["ignition", "networkd", "passwd", "storage", "systemd"]),
    ("ignition", &["config", "security", "timeouts", "version"]),
    ("ignition.config", &["append", "replace"]),
    ("ignition.config.append", REFERENCE),
    ("ignition.config.append.verification", &["hash"]),
    ("ignition.config.replace", REFERENCE),
    ("ignition.config.replace.verification", &["hash"]),
    ("ignition.security", &["tls"]),
    ("ignition.security.tls", &["certificateAuthorities"]),
    ("ignition.security.tls.certificateAuthorities", REFERENCE),
    ("ignition.security.tls.certificateAuthorities.verification", &["hash"]),
    ("ignition.timeouts", &["httpResponseHeaders", "httpTotal"]),
    ("networkd", &["units"]),
    ("networkd.units", &["contents", "dropins", "name"]),
    ("networkd.units.dropins", &["contents", "name"]),
    ("passwd", &["groups", "users"]),
    ("passwd.groups", &["gid", "name", "passwordHash", "system"]),
    (
        "passwd.users",
        &[
            "create",
            "gecos",
            "groups",
            "homeDir",
            "name",
            "noCreateHome",
            "noLogInit",
            "noUserGroup",
            "passwordHash",
            "primaryGroup",
            "shell",
            "sshAuthorizedKeys",
            "system",
            "uid",
        ],
    ),
    ("storage", &["directories", "disks", "files", "filesystems", "links", "raid"]),
    ("storage.directories", &["filesystem", "group", "mode", "overwrite", "path", "user"]),
    ("storage.directories.group", OWNER),
    ("storage.directories.user", OWNER),
    ("storage.disks", &["device", "partitions", "wipeTable"]),
    ("storage.disks.partitions", &["guid", "label", "number", "size", "start", "typeGuid"]),
    ("storage.files", &["append", "contents", "filesystem", "group", "mode", "overwrite", "path", "user"]),
    ("storage.files.contents", &["compression", "source", "verification"]),
    ("storage.files.contents.verification", &["hash"]),
    ("storage.files.group", OWNER),
    ("storage.files.user", OWNER),
    ("storage.filesystems", &["mount", "name", "path"]),
    ("storage.filesystems.mount", &["create", "device", "format", "label", "options", "uuid", "wipeFilesystem"]),
    ("storage.filesystems.mount.create", &["force", "options"]),
    ("storage.links", &["filesystem", "group", "hard", "overwrite", "path", "target", "user"]),
    ("storage.links.group", OWNER),
    ("storage.links.user", OWNER),
    ("storage.raid", &["devices", "level", "name", "options", "spares"]),
    ("systemd", &["units"]),
    ("systemd.units", &["contents", "dropins", "enable", "enabled", "mask", "name"]),
    ("systemd.units.dropins", &["contents", "name"]),
];
const OWNER: &[&str] = &["id", "name"];
const REFERENCE: &[&str] = &["source", "verification"];

/// A version of spec 2.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Release {
    Zero,
    One,
    Two,
}

impl Release {
    /// The version a config claims to be written in.
    pub(super) fn of(config: &Value) -> Result<Self, ConversionError> {
        let version = config.get("ignition").and_then(|ignition| ignition.get("version")).and_then(Value::as_str);
        match version.unwrap_or_default() {
            "2.0.0" => Ok(Self::Zero),
            "2.1.0" => Ok(Self::One),
            "2.2.0" => Ok(Self::Two),
            other => Err(ConversionError::UnsupportedVersion { version: other.to_owned() }),
        }
    }

    /// The part of a config that this version gives a meaning to. Null means absent, as in Go.
    pub(super) fn known(self, config: &Value) -> Value {
        let mut config = without_nulls(config, DEPTH);
        for (place, fields) in self.newer() {
            for entry in reach(&mut config, place).into_iter().filter_map(Value::as_object_mut) {
                entry.retain(|name, _| !fields.contains(&name.as_str()));
            }
        }
        config
    }

    /// What later versions added.
    fn newer(self) -> impl Iterator<Item = &'static (&'static str, &'static [&'static str])> {
        let newer: &[_] = match self {
            Self::Zero => &[NEW_IN_2_2, NEW_IN_2_1],
            Self::One => &[NEW_IN_2_2],
            Self::Two => &[],
        };
        newer.iter().copied().flatten()
    }

    /// The keys of an object; none of one that has a shape of its own.
    fn keys_of(self, place: &str) -> Option<Vec<&'static str>> {
        let (_, known) = KNOWN_IN_2_2.iter().find(|(known, _)| *known == place)?;
        let newer: Vec<_> = self.newer().filter(|(newer, _)| *newer == place).flat_map(|(_, fields)| *fields).collect();
        Some(known.iter().copied().filter(|key| !newer.contains(&key)).collect())
    }

    /// Sets what older versions could not leave open, so that the config means the same in 2.2.
    pub(super) fn fill_in(self, config: &mut Config) {
        if self < Self::Two {
            config.files.iter_mut().for_each(|file| file.mode = file.mode.or(Some(0)));
            config.directories.iter_mut().for_each(|directory| directory.mode = directory.mode.or(Some(0)));
        }
        if self < Self::One {
            for node in config.files.iter_mut().map(|file| &mut file.node) {
                node.user.id = node.user.id.or(Some(0));
                node.group.id = node.group.id.or(Some(0));
            }
            config
                .users
                .iter_mut()
                .for_each(|user| user.password_hash = user.password_hash.take().filter(|hash| !hash.is_empty()));
        }
    }
}

/// The keys that the version of a config does not have.
pub(in crate::ignition) fn unknown_keys(config: &Value, path: &str) -> UnknownKeys {
    let mut found = UnknownKeys::default();
    if let Ok(release) = Release::of(config) {
        look_through(config, release, ("", Place::Root(path)), &mut found);
    }
    found
}

/// At a place of the tables, which is also a path into this config.
fn look_through(value: &Value, release: Release, (place, path): (&str, Place<'_>), found: &mut UnknownKeys) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                look_through(item, release, (place, Place::Item(&path, index)), found);
            }
        }
        Value::Object(object) => {
            let Some(known) = release.keys_of(place) else { return };
            found.add(path, object, &known);
            for name in known {
                let Some(value) = object.get(name) else { continue };
                let place = if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
                look_through(value, release, (&place, Place::Field(&path, name)), found);
            }
        }
        _ => {}
    }
}

fn without_nulls(value: &Value, depth: usize) -> Value {
    let Some(depth) = depth.checked_sub(1) else { return Value::Null };
    match value {
        Value::Array(items) => items.iter().map(|item| without_nulls(item, depth)).collect(),
        Value::Object(fields) => {
            let known = fields.iter().filter(|(_, value)| !value.is_null());
            Value::Object(known.map(|(name, value)| (name.clone(), without_nulls(value, depth))).collect())
        }
        scalar => scalar.clone(),
    }
}

/// Every value at a dotted place; a list on the way stands for all its items.
fn reach<'a>(config: &'a mut Value, place: &str) -> Vec<&'a mut Value> {
    let mut found = vec![config];
    for step in place.split('.') {
        let next = found.into_iter().filter_map(|value| value.get_mut(step));
        found = next
            .flat_map(|value| match value {
                Value::Array(items) => items.iter_mut().collect(),
                other => vec![other],
            })
            .collect();
    }
    found
}
