//! Which changes on a disk may be drift: the names to listen for, directory by directory.
//!
//! Owns the translation of a configuration into directories and names, as text. Refuses to look at a disk: what is a
//! directory, a link or nothing at all is found out by who listens. Every directory above something configured is listened
//! to for the next element of the path, so that one that is replaced, removed or made is noticed.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{SHADOW, UNIT_DIRECTORY, UNWATCHED, keys_path, policy};
use crate::ignition::{Unit, User};
use crate::machine_config::MachineConfig;
use crate::root_path::RootPath;

/// What ends the name of a directory of links that start units.
const LINK_DIRECTORIES: [&str; 2] = [".wants", ".requires"];
/// What ends the name of a drop-in.
const DROPIN: &str = ".conf";

/// What a name in a directory means to who listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Heard {
    /// It is configured.
    Leaf,
    /// Something configured is below it: it may be another directory now.
    Step,
}

/// The names in a directory that matter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Names {
    exact: BTreeMap<String, Heard>,
    shapes: BTreeSet<Shape>,
}

/// Names that begin and end in a certain way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Shape {
    start: String,
    end: String,
    heard: Heard,
}

impl Names {
    /// What a name means; nothing where it does not matter.
    pub fn hear(&self, name: &str) -> Option<Heard> {
        let fits = |shape: &&Shape| {
            name.len() >= shape.start.len() + shape.end.len()
                && name.starts_with(&shape.start)
                && name.ends_with(&shape.end)
        };
        let shaped = self.shapes.iter().filter(fits).map(|shape| shape.heard).max();
        self.exact.get(name).copied().max(shaped)
    }

    /// Takes in the names of another.
    pub fn join(&mut self, other: &Self) {
        for (name, heard) in &other.exact {
            self.add(name, *heard);
        }
        self.shapes.extend(other.shapes.iter().cloned());
    }

    /// Listens for one more name.
    pub fn add(&mut self, name: &str, heard: Heard) {
        match self.exact.get_mut(name) {
            Some(known) => *known = heard.max(*known),
            None => {
                self.exact.insert(name.to_owned(), heard);
            }
        }
    }

    fn shape(&mut self, start: &str, end: &str, heard: Heard) {
        self.shapes.insert(Shape { start: start.to_owned(), end: end.to_owned(), heard });
    }
}

/// What has to be listened to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interest {
    directories: BTreeMap<String, Names>,
    links: Names,
}

impl Interest {
    /// What concerns a configuration, and the policy.
    pub fn of(config: &MachineConfig) -> Self {
        let mut interest = Self::default();
        for path in policy::FILES {
            interest.path(path);
        }
        for file in config.ignition.files.iter().filter(|file| !UNWATCHED.contains(&file.path.as_str())) {
            interest.path(&file.path);
        }
        for unit in &config.ignition.units {
            interest.unit(unit);
        }
        for user in &config.ignition.users {
            interest.user(user);
        }
        interest
    }

    /// Every directory, by its path as configured, those above before those below; and what to listen for in it.
    pub fn directories(&self) -> impl Iterator<Item = (&str, &Names)> {
        self.directories.iter().map(|(path, names)| (path.as_str(), names))
    }

    /// What to listen for in every directory of links below [`UNIT_DIRECTORY`].
    pub const fn links(&self) -> &Names {
        &self.links
    }

    /// Whether a name in [`UNIT_DIRECTORY`] is that of a directory of links.
    pub fn is_link_directory(name: &str) -> bool {
        LINK_DIRECTORIES.iter().any(|end| name.ends_with(end))
    }

    fn path(&mut self, path: &str) {
        // What cannot be placed is not on the disk either.
        if RootPath::new(path).is_ok()
            && let Some((directory, name)) = path.rsplit_once('/')
        {
            self.directory(directory).add(name, Heard::Leaf);
        }
    }

    /// A directory, and all above it.
    fn directory(&mut self, path: &str) -> &mut Names {
        let mut below = path;
        while let Some((above, name)) = below.rsplit_once('/') {
            self.directories.entry(rooted(above)).or_default().add(name, Heard::Step);
            below = above;
        }
        self.directories.entry(rooted(path)).or_default()
    }

    fn unit(&mut self, unit: &Unit) {
        let name = unit.name.as_str();
        if RootPath::new(format!("/{name}")).is_err() || name.contains('/') {
            return;
        }
        self.path(&format!("{UNIT_DIRECTORY}/{name}"));
        self.directory(&format!("{UNIT_DIRECTORY}/{name}.d")).shape("", DROPIN, Heard::Leaf);
        if unit.enabled.is_some() {
            self.enablement(unit);
        }
    }

    /// A unit starts at boot by a link of its name, of its instance's where it is a template, or of an alias.
    fn enablement(&mut self, unit: &Unit) {
        let units = self.directory(UNIT_DIRECTORY);
        for end in LINK_DIRECTORIES {
            units.shape("", end, Heard::Step);
        }
        let text = unit.contents.iter().map(|text| text.expose().as_str());
        let aliases = text.flat_map(str::lines).filter_map(|line| line.trim().strip_prefix("Alias="));
        for alias in aliases.flat_map(str::split_whitespace) {
            self.path(&format!("{UNIT_DIRECTORY}/{alias}"));
        }
        match unit.name.split_once("@.") {
            Some((prefix, suffix)) => self.links.shape(&format!("{prefix}@"), &format!(".{suffix}"), Heard::Leaf),
            None => self.links.add(&unit.name, Heard::Leaf),
        }
    }

    fn user(&mut self, user: &User) {
        if !user.ssh_keys.is_empty() {
            self.path(&keys_path(&user.name));
        }
        if user.password_hash.is_some() {
            self.path(SHADOW);
        }
    }
}

fn rooted(path: &str) -> String {
    if path.is_empty() { "/".to_owned() } else { path.to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn interest(ignition: Value) -> Interest {
        let mut ignition = ignition;
        ignition["ignition"] = json!({"version": "3.4.0"});
        let document = json!({"metadata": {"name": "a"}, "spec": {"config": ignition}});
        Interest::of(&MachineConfig::from_document(document).unwrap())
    }

    fn heard(interest: &Interest, directory: &str, name: &str) -> Option<Heard> {
        interest.directories().find(|(path, _)| *path == directory).and_then(|(_, names)| names.hear(name))
    }

    fn everything() -> Interest {
        interest(json!({
            "storage": {"files": [
                {"path": "/etc/foo/bar/baz.conf"}, {"path": "/etc/foo"}, {"path": "/root"},
                {"path": "/etc/kubernetes/kubelet-ca.crt"},
            ]},
            "systemd": {"units": [
                {"name": "a.service", "enabled": true, "contents": "[Install]\nAlias=b.service  c.service\n"},
                {"name": "t@.timer", "enabled": false},
                {"name": "p.service", "dropins": [{"name": "x.conf", "contents": "[Unit]\n"}]},
            ]},
            "passwd": {"users": [{"name": "core", "passwordHash": "$y$x", "sshAuthorizedKeys": ["ssh-rsa a"]}]},
        }))
    }

    #[test]
    fn everything_configured_is_listened_for_in_its_directory_and_in_all_above() {
        let interest = everything();
        let (leaf, step) = (Some(Heard::Leaf), Some(Heard::Step));
        for (directory, name, expected) in [
            ("/", "etc", step),
            ("/", "root", leaf),
            ("/", "usr", None),
            ("/etc", "foo", step),
            ("/etc/foo", "bar", step),
            ("/etc/foo/bar", "baz.conf", leaf),
            ("/etc/foo/bar", ".baz.conf.swp", None),
            ("/etc", "shadow", leaf),
            ("/etc", "shadow-", None),
            ("/etc", "passwd", None),
            ("/etc", "kubernetes", None),
            ("/etc/ostler", "drift.yaml", leaf),
            ("/etc/systemd/system", "a.service", leaf),
            ("/etc/systemd/system", "a.service.d", step),
            ("/etc/systemd/system", "b.service", leaf),
            ("/etc/systemd/system", "c.service", leaf),
            ("/etc/systemd/system", "multi-user.target.wants", step),
            ("/etc/systemd/system", "x.requires", step),
            ("/etc/systemd/system", "other.service", None),
            ("/etc/systemd/system/a.service.d", "new.conf", leaf),
            ("/etc/systemd/system/a.service.d", "new.conf~", None),
            ("/etc/systemd/system/p.service.d", "x.conf", leaf),
            ("/home/core/.ssh", "authorized_keys.d", step),
            ("/home/core/.ssh/authorized_keys.d", "ignition", leaf),
        ] {
            assert_eq!(heard(&interest, directory, name), expected, "{directory} {name}");
        }
        for (name, expected) in [
            ("a.service", leaf),
            ("t@.timer", leaf),
            ("t@one.timer", leaf),
            ("p.service", None),
            ("t@one.service", None),
            ("u.service", None),
        ] {
            assert_eq!(interest.links().hear(name), expected, "{name}");
        }
        assert!(Interest::is_link_directory("a.wants") && !Interest::is_link_directory("a.service.d"));
    }

    #[test]
    fn what_has_no_place_on_a_disk_is_not_listened_for() {
        let mut config = MachineConfig::empty();
        let bare = Interest::of(&config);
        for name in ["../x.service", "", "a/b.service"] {
            config.ignition.units.push(Unit { name: name.to_owned(), ..Unit::default() });
        }
        assert_eq!(Interest::of(&config), bare);
        let directories: Vec<&str> = bare.directories().map(|(path, _)| path).collect();
        assert_eq!(directories, ["/", "/etc", "/etc/ostler"]);
    }

    proptest! {
        #[test]
        fn from_the_root_every_path_is_led_to(paths in prop::collection::vec("(/[a-c]{1,2}){1,5}", 1..8)) {
            let files: Vec<Value> = paths.iter().map(|path| json!({"path": path})).collect();
            let interest = interest(json!({"storage": {"files": files}}));
            for path in &paths {
                let elements: Vec<&str> = path.split('/').skip(1).collect();
                let mut directory = String::new();
                for (index, element) in elements.iter().enumerate() {
                    let at = if directory.is_empty() { "/" } else { &directory };
                    let heard = heard(&interest, at, element);
                    prop_assert!(heard.is_some(), "{} in {}", element, at);
                    prop_assert!(index + 1 == elements.len() || heard == Some(Heard::Step));
                    directory = format!("{directory}/{element}");
                }
            }
            let above = |path: &str| crate::path::parent(path).unwrap_or("/").to_owned();
            let all: BTreeSet<&str> = interest.directories().map(|(path, _)| path).collect();
            prop_assert!(all.iter().all(|path| all.contains(above(path).as_str())));
        }
    }
}
