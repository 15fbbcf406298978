//! The translation proper: a checked spec 2 config without obstacles, written as spec 3.
//!
//! Spec 2 does not tell an empty field from an absent one, spec 3 does: empty becomes absent, except for a file's
//! source, where empty means an empty file.

use ignition_config::v3_6 as spec;

use super::model::{
    Config, Contents, Directory, Disk, Dropin, File, Group, Ignition, Link, Node, Owner, Raid, Reference, Unit, User,
    Verification,
};

/// Converts what the other modules let pass. Filesystems are gone by design: only `root` passes, and it is implied.
pub(super) fn convert(config: Config) -> spec::Config {
    let storage = spec::Storage {
        directories: list(config.directories, directory),
        disks: list(config.disks, disk),
        files: latest_first(config.files, file),
        filesystems: None,
        links: list(config.links, link),
        luks: None,
        raid: list(config.raid, raid),
    };
    let passwd = spec::Passwd { groups: list(config.groups, group), users: list(config.users, user) };
    let systemd = spec::Systemd { units: latest_first(config.units, unit) };
    spec::Config {
        ignition: ignition(config.ignition),
        kernel_arguments: None,
        passwd: filled(passwd),
        storage: filled(storage),
        systemd: filled(systemd),
    }
}

/// Cleans an absolute path as Go's `path.Clean` does: by its text, without looking at any disk.
pub(super) fn clean(path: &str) -> String {
    let mut kept = Vec::new();
    for component in path.split('/') {
        match component {
            "" | "." => {}
            ".." => drop(kept.pop()),
            name => kept.push(name),
        }
    }
    format!("/{}", kept.join("/"))
}

fn filled<T: Default + PartialEq>(value: T) -> Option<T> {
    (value != T::default()).then_some(value)
}

fn list<T, U>(items: Vec<T>, convert: fn(T) -> U) -> Option<Vec<U>> {
    (!items.is_empty()).then(|| items.into_iter().map(convert).collect())
}

/// The machine-config-operator reads files and units from the back and leaves them in that order. Its diff is sensitive
/// to order, so the same order keeps a config from differing from itself.
fn latest_first<T, U>(mut items: Vec<T>, convert: fn(T) -> U) -> Option<Vec<U>> {
    items.reverse();
    list(items, convert)
}

fn ignition(ignition: Ignition) -> spec::Ignition {
    let config = spec::IgnitionConfig {
        merge: list(ignition.config.append, reference),
        replace: ignition.config.replace.map(reference),
    };
    let tls =
        spec::SecurityTls { certificate_authorities: list(ignition.security.tls.certificate_authorities, reference) };
    let timeouts = spec::Timeouts {
        http_response_headers: ignition.timeouts.http_response_headers,
        http_total: ignition.timeouts.http_total,
    };
    spec::Ignition {
        config: filled(config),
        security: filled(spec::Security { tls: filled(tls) }),
        timeouts: filled(timeouts),
        ..spec::Ignition::default()
    }
}

fn reference(reference: Reference) -> spec::Resource {
    spec::Resource {
        source: Some(reference.source),
        verification: verification(reference.verification),
        ..spec::Resource::default()
    }
}

fn verification(verification: Verification) -> Option<spec::Verification> {
    verification.hash.map(|hash| spec::Verification { hash: Some(hash) })
}

/// `create` is dropped, as the machine-config-operator does: the only user is `core`, which exists.
fn user(user: User) -> spec::User {
    spec::User {
        gecos: text(user.gecos),
        groups: list(user.groups, std::convert::identity),
        home_dir: text(user.home_dir),
        name: user.name,
        no_create_home: flag(user.no_create_home),
        no_log_init: flag(user.no_log_init),
        no_user_group: flag(user.no_user_group),
        password_hash: user.password_hash,
        primary_group: text(user.primary_group),
        shell: text(user.shell),
        should_exist: None,
        ssh_authorized_keys: list(user.ssh_authorized_keys, std::convert::identity),
        system: flag(user.system),
        uid: user.uid,
    }
}

fn group(group: Group) -> spec::Group {
    spec::Group {
        gid: group.gid,
        name: group.name,
        password_hash: text(group.password_hash),
        should_exist: None,
        system: flag(group.system),
    }
}

fn directory(directory: Directory) -> spec::Directory {
    let node = node(directory.node);
    spec::Directory {
        group: node.group,
        mode: directory.mode,
        overwrite: node.overwrite,
        path: node.path,
        user: node.user,
    }
}

/// Files of spec 2 replace what is there unless told otherwise, those of spec 3 do not; a file to append to must not.
fn file(file: File) -> spec::File {
    let node = node(file.node);
    let overwrite = if file.append { false } else { node.overwrite.unwrap_or(true) };
    let resource = contents(file.contents);
    let (append, contents) = if file.append { (Some(vec![resource]), None) } else { (None, Some(resource)) };
    spec::File {
        append,
        contents,
        group: node.group,
        mode: file.mode,
        overwrite: Some(overwrite),
        path: node.path,
        user: node.user,
    }
}

fn contents(contents: Contents) -> spec::Resource {
    spec::Resource {
        compression: text(contents.compression),
        http_headers: None,
        source: Some(contents.source),
        verification: verification(contents.verification),
    }
}

fn link(link: Link) -> spec::Link {
    let node = node(link.node);
    spec::Link {
        group: node.group,
        hard: flag(link.hard),
        overwrite: node.overwrite,
        path: node.path,
        target: Some(link.target),
        user: node.user,
    }
}

fn node(node: Node) -> spec::Node {
    let (user, group) = (owner(node.user), owner(node.group));
    spec::Node {
        group: group.map(|(id, name)| spec::NodeGroup { id, name }),
        overwrite: node.overwrite,
        path: clean(&node.path),
        user: user.map(|(id, name)| spec::NodeUser { id, name }),
    }
}

fn owner(owner: Owner) -> Option<(Option<i64>, Option<String>)> {
    filled((owner.id, text(owner.name)))
}

fn disk(disk: Disk) -> spec::Disk {
    spec::Disk { device: disk.device, partitions: None, wipe_table: flag(disk.wipe_table) }
}

fn raid(raid: Raid) -> spec::Raid {
    spec::Raid {
        devices: list(raid.devices, std::convert::identity),
        level: Some(raid.level),
        name: raid.name,
        options: list(raid.options, std::convert::identity),
        spares: filled(raid.spares),
    }
}

/// `enabled` wins over the deprecated `enable`, which can only switch on.
fn unit(unit: Unit) -> spec::Unit {
    spec::Unit {
        contents: text(unit.contents),
        dropins: list(unit.dropins, dropin),
        enabled: unit.enabled.or(flag(unit.enable)),
        mask: flag(unit.mask),
        name: unit.name,
    }
}

fn dropin(dropin: Dropin) -> spec::Dropin {
    spec::Dropin { contents: text(dropin.contents), name: dropin.name }
}

fn text(value: String) -> Option<String> {
    filled(value)
}

fn flag(value: bool) -> Option<bool> {
    filled(value)
}
