//! Spec 2.2 as serde types. Unknown fields are ignored, as Ignition does; absent ones take Go's zero values.
//!
//! No type here has `Debug`: nearly every one can hold contents, keys or hashes.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::ConversionError;

/// A whole config.
#[derive(Clone, Default, PartialEq)]
pub(super) struct Config {
    pub(super) ignition: Ignition,
    pub(super) networkd: Vec<NetworkdUnit>,
    pub(super) users: Vec<User>,
    pub(super) groups: Vec<Group>,
    pub(super) directories: Vec<Directory>,
    pub(super) disks: Vec<Disk>,
    pub(super) files: Vec<File>,
    pub(super) filesystems: Vec<Filesystem>,
    pub(super) links: Vec<Link>,
    pub(super) raid: Vec<Raid>,
    pub(super) units: Vec<Unit>,
}

#[derive(Clone, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(super) struct Ignition {
    pub(super) config: IgnitionConfig,
    pub(super) security: Security,
    pub(super) timeouts: Timeouts,
}

#[derive(Clone, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(super) struct IgnitionConfig {
    pub(super) append: Vec<Reference>,
    pub(super) replace: Option<Reference>,
}

#[derive(Clone, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(super) struct Security {
    pub(super) tls: Tls,
}

#[derive(Clone, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Tls {
    pub(super) certificate_authorities: Vec<Reference>,
}

#[derive(Clone, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Timeouts {
    pub(super) http_response_headers: Option<i64>,
    pub(super) http_total: Option<i64>,
}

/// Another config or a certificate, by URL.
#[derive(Clone, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(super) struct Reference {
    pub(super) source: String,
    pub(super) verification: Verification,
}

#[derive(Clone, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(super) struct Verification {
    pub(super) hash: Option<String>,
}

#[derive(Clone, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(super) struct NetworkdUnit {
    pub(super) name: String,
}

#[derive(Clone, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct User {
    /// Deprecated; only its presence matters, because the conversion drops it.
    pub(super) create: Option<Create>,
    pub(super) gecos: String,
    pub(super) groups: Vec<String>,
    pub(super) home_dir: String,
    pub(super) name: String,
    pub(super) no_create_home: bool,
    pub(super) no_log_init: bool,
    pub(super) no_user_group: bool,
    pub(super) password_hash: Option<String>,
    pub(super) primary_group: String,
    pub(super) ssh_authorized_keys: Vec<String>,
    pub(super) shell: String,
    pub(super) system: bool,
    pub(super) uid: Option<i64>,
}

#[derive(Clone, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Group {
    pub(super) gid: Option<i64>,
    pub(super) name: String,
    pub(super) password_hash: String,
    pub(super) system: bool,
}

/// What files, directories and links share.
#[derive(Clone, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(super) struct Node {
    pub(super) filesystem: String,
    pub(super) group: Owner,
    pub(super) overwrite: Option<bool>,
    pub(super) path: String,
    pub(super) user: Owner,
}

#[derive(Clone, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(super) struct Owner {
    pub(super) id: Option<i64>,
    pub(super) name: String,
}

#[derive(Clone, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(super) struct Directory {
    #[serde(flatten)]
    pub(super) node: Node,
    pub(super) mode: Option<i64>,
}

#[derive(Clone, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(super) struct File {
    #[serde(flatten)]
    pub(super) node: Node,
    pub(super) append: bool,
    pub(super) contents: Contents,
    pub(super) mode: Option<i64>,
}

#[derive(Clone, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(super) struct Contents {
    pub(super) compression: String,
    pub(super) source: String,
    pub(super) verification: Verification,
}

#[derive(Clone, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(super) struct Link {
    #[serde(flatten)]
    pub(super) node: Node,
    pub(super) hard: bool,
    pub(super) target: String,
}

#[derive(Clone, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Disk {
    pub(super) device: String,
    pub(super) partitions: Vec<Partition>,
    pub(super) wipe_table: bool,
}

/// Only the type is read: no partition of spec 2 can be converted.
#[derive(Clone, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(super) struct Partition {
    number: i64,
    size: i64,
    start: i64,
}

#[derive(Clone, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(super) struct Filesystem {
    pub(super) mount: Option<Mount>,
    pub(super) name: String,
    pub(super) path: Option<String>,
}

#[derive(Clone, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Mount {
    pub(super) create: Option<Create>,
    pub(super) device: String,
    pub(super) format: String,
    pub(super) label: Option<String>,
    pub(super) options: Vec<String>,
    pub(super) wipe_filesystem: bool,
}

/// The deprecated section of a filesystem; of a user's, only the presence counts.
#[derive(Clone, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(super) struct Create {
    pub(super) force: bool,
}

#[derive(Clone, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(super) struct Raid {
    pub(super) devices: Vec<String>,
    pub(super) level: String,
    pub(super) name: String,
    pub(super) options: Vec<String>,
    pub(super) spares: i64,
}

#[derive(Clone, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(super) struct Unit {
    pub(super) contents: String,
    pub(super) dropins: Vec<Dropin>,
    pub(super) enable: bool,
    pub(super) enabled: Option<bool>,
    pub(super) mask: bool,
    pub(super) name: String,
}

#[derive(Clone, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(super) struct Dropin {
    pub(super) contents: String,
    pub(super) name: String,
}

/// Reads a config entry by entry, so that a malformed one can be named without quoting it.
pub(super) fn read(config: &Value) -> Result<Config, ConversionError> {
    Ok(Config {
        ignition: config.get("ignition").map_or(Ok(Ignition::default()), |value| entry(value, || "ignition".into()))?,
        networkd: list(config, "networkd", "units")?,
        users: list(config, "passwd", "users")?,
        groups: list(config, "passwd", "groups")?,
        directories: list(config, "storage", "directories")?,
        disks: list(config, "storage", "disks")?,
        files: list(config, "storage", "files")?,
        filesystems: list(config, "storage", "filesystems")?,
        links: list(config, "storage", "links")?,
        raid: list(config, "storage", "raid")?,
        units: list(config, "systemd", "units")?,
    })
}

fn list<T: DeserializeOwned>(config: &Value, section: &str, name: &str) -> Result<Vec<T>, ConversionError> {
    let Some(parent) = config.get(section) else { return Ok(Vec::new()) };
    let parent = parent.as_object().ok_or_else(|| ConversionError::Malformed { at: section.to_owned() })?;
    let Some(items) = parent.get(name) else { return Ok(Vec::new()) };
    let malformed = || ConversionError::Malformed { at: format!("{section}.{name}") };
    let items = items.as_array().ok_or_else(malformed)?;
    items.iter().enumerate().map(|(i, item)| entry(item, || format!("{section}.{name}[{i}]"))).collect()
}

/// The cause is dropped on purpose: serde quotes the value it did not expect.
fn entry<T: DeserializeOwned>(value: &Value, at: impl Fn() -> String) -> Result<T, ConversionError> {
    let malformed = || ConversionError::Malformed { at: at() };
    // serde would also read a struct from an array, which Go refuses.
    if !value.is_object() {
        return Err(malformed());
    }
    T::deserialize(value).map_err(|_| malformed())
}
