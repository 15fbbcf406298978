//! One model for every spec version: what Ostler applies in full, the rest as comparable sections.
//!
//! Equality here is equality of meaning to the machine-config-daemon's diff: every field of a file or a unit counts,
//! an absent object equals an empty one, an absent scalar does not equal an empty one.

use ignition_config::v3_6 as spec;

use super::Section;
use crate::secret::Secret;

/// An Ignition config, whatever version it was written in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// `storage.files`, in order.
    pub files: Vec<File>,
    /// `systemd.units`, in order.
    pub units: Vec<Unit>,
    /// `passwd.users`, in order.
    pub users: Vec<User>,
    /// `passwd.groups`.
    pub groups: Section,
    /// `storage.disks`.
    pub disks: Section,
    /// `storage.raid`.
    pub raid: Section,
    /// `storage.filesystems`.
    pub filesystems: Section,
    /// `storage.luks`.
    pub luks: Section,
    /// `storage.directories`.
    pub directories: Section,
    /// `storage.links`.
    pub links: Section,
    /// `kernelArguments` of Ignition, not the MachineConfig's own.
    pub kernel_arguments: Section,
}

/// `storage.files[]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct File {
    /// Absolute path on the node.
    pub path: String,
    /// Permission bits as written, not yet validated.
    pub mode: Option<i64>,
    /// Ignition's own field; the daemon ignores it, a change of it still counts as a change.
    pub overwrite: Option<bool>,
    /// Owning user.
    pub user: Owner,
    /// Owning group.
    pub group: Owner,
    /// What the file holds.
    pub contents: Resource,
    /// Fragments to append; refused on a running node.
    pub append: Vec<Resource>,
}

impl File {
    /// Mode that a file gets when the config does not say.
    const DEFAULT_MODE: u32 = 0o644;

    /// The mode the file is to have. Validation has refused what does not fit.
    pub fn permissions(&self) -> u32 {
        self.mode.and_then(|mode| u32::try_from(mode).ok()).unwrap_or(Self::DEFAULT_MODE)
    }
}

/// A user or group, by number or by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    /// Numeric id; wins over the name.
    pub id: Option<i64>,
    /// Name to be looked up on the node.
    pub name: Option<String>,
}

/// Where contents come from and how they are packed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resource {
    /// A URL; only `data:` can be applied to a running node.
    pub source: Option<Secret<String>>,
    /// `gzip`, empty or absent.
    pub compression: Option<String>,
    /// `verification.hash`, as written.
    pub hash: Option<String>,
    /// `httpHeaders`: they may carry credentials.
    pub headers: Section,
}

/// `systemd.units[]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unit {
    /// File name of the unit.
    pub name: String,
    /// Enable, disable, or leave to the presets.
    pub enabled: Option<bool>,
    /// Link to `/dev/null`.
    pub mask: Option<bool>,
    /// Text of the unit file.
    pub contents: Option<Secret<String>>,
    /// Drop-ins, in order.
    pub dropins: Vec<Dropin>,
}

/// `systemd.units[].dropins[]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dropin {
    /// File name below `<unit>.d`.
    pub name: String,
    /// Text of the drop-in; empty text removes it.
    pub contents: Option<Secret<String>>,
}

/// `passwd.users[]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct User {
    /// Login name.
    pub name: String,
    /// Crypted password.
    pub password_hash: Option<Secret<String>>,
    /// Lines of `authorized_keys`.
    pub ssh_keys: Vec<Secret<String>>,
    /// Every other field, none of which can be applied to a running node.
    pub rest: Section,
}

impl From<spec::Config> for Config {
    fn from(config: spec::Config) -> Self {
        let storage = config.storage.unwrap_or_default();
        let passwd = config.passwd.unwrap_or_default();
        let units = config.systemd.and_then(|systemd| systemd.units);
        Self {
            files: list(storage.files),
            units: list(units),
            users: list(passwd.users),
            groups: Section::of(&passwd.groups),
            disks: Section::of(&storage.disks),
            raid: Section::of(&storage.raid),
            filesystems: Section::of(&storage.filesystems),
            luks: Section::of(&storage.luks),
            directories: Section::of(&storage.directories),
            links: Section::of(&storage.links),
            kernel_arguments: Section::of(&config.kernel_arguments),
        }
    }
}

fn list<T, U: From<T>>(items: Option<Vec<T>>) -> Vec<U> {
    items.unwrap_or_default().into_iter().map(U::from).collect()
}

impl From<spec::File> for File {
    fn from(file: spec::File) -> Self {
        let user = file.user.unwrap_or_default();
        let group = file.group.unwrap_or_default();
        Self {
            path: file.path,
            mode: file.mode,
            overwrite: file.overwrite,
            user: Owner { id: user.id, name: user.name },
            group: Owner { id: group.id, name: group.name },
            contents: file.contents.map(Resource::from).unwrap_or_default(),
            append: list(file.append),
        }
    }
}

impl From<spec::Resource> for Resource {
    fn from(resource: spec::Resource) -> Self {
        Self {
            source: resource.source.map(Secret::new),
            compression: resource.compression,
            hash: resource.verification.and_then(|verification| verification.hash),
            headers: Section::of(&resource.http_headers),
        }
    }
}

impl From<spec::Unit> for Unit {
    fn from(unit: spec::Unit) -> Self {
        Self {
            name: unit.name,
            enabled: unit.enabled,
            mask: unit.mask,
            contents: unit.contents.map(Secret::new),
            dropins: list(unit.dropins),
        }
    }
}

impl From<spec::Dropin> for Dropin {
    fn from(dropin: spec::Dropin) -> Self {
        Self { name: dropin.name, contents: dropin.contents.map(Secret::new) }
    }
}

impl From<spec::User> for User {
    fn from(mut user: spec::User) -> Self {
        let name = std::mem::take(&mut user.name);
        let password_hash = user.password_hash.take().map(Secret::new);
        let ssh_keys = user.ssh_authorized_keys.take().unwrap_or_default();
        let mut rest = serde_json::to_value(&user).unwrap_or_default();
        if let Some(fields) = rest.as_object_mut() {
            fields.remove("name");
        }
        Self {
            name,
            password_hash,
            ssh_keys: ssh_keys.into_iter().map(Secret::new).collect(),
            rest: Section::from(rest),
        }
    }
}
