//! Images with files and units in `/usr/etc`, configurations that equal, differ from, add to and drop from them, and what
//! has to stand at every path in the end.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde_json::{Value, json};

use crate::chance::Chance;

const UNITS: &str = "etc/systemd/system";
const WANTS: &str = "etc/systemd/system/multi-user.target.wants";
const MASK: &str = "/dev/null";
/// What the probe writes the hash of the user's password down as.
pub const PASSWORD: &str = "core";
const PASSWORDS: [&str; 2] = ["$6$salt$aaaa", "$6$salt$bbbb"];

/// What stands at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    Nothing,
    File {
        text: String,
        mode: u32,
    },
    Link(String),
    /// With one file in it.
    Directory,
}

impl Entry {
    pub fn file(text: &str, mode: u32) -> Self {
        Self::File { text: text.to_owned(), mode }
    }

    /// As the probe writes it down.
    pub fn line(&self) -> String {
        match self {
            Self::Nothing => "nothing".to_owned(),
            Self::File { text, mode } => {
                format!("file {mode:o} {}", text.split_whitespace().collect::<Vec<_>>().join(" "))
            }
            Self::Link(target) => format!("link {target}"),
            Self::Directory => "directory".to_owned(),
        }
    }

    fn put(&self, at: &Path) {
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        match self {
            Self::Nothing => {}
            Self::File { text, mode } => {
                fs::write(at, text).unwrap();
                fs::set_permissions(at, fs::Permissions::from_mode(*mode)).unwrap();
            }
            Self::Link(target) => symlink(target, at).unwrap(),
            Self::Directory => {
                fs::create_dir(at).unwrap();
                fs::write(at.join("own"), "").unwrap();
            }
        }
    }
}

/// A unit as an image has it in `/usr/etc`. One of the same name is in its `/usr/lib` as well.
#[derive(Clone, Debug)]
pub struct ImageUnit {
    pub text: Entry,
    pub dropin: Entry,
    pub enabled: bool,
}

/// What an image has at managed paths, by their names.
#[derive(Clone, Debug, Default)]
pub struct Image {
    /// The hash of the user's password.
    pub password: Option<&'static str>,
    pub files: BTreeMap<String, Entry>,
    pub units: BTreeMap<String, ImageUnit>,
}

/// A unit as a configuration has it.
#[derive(Clone, Debug, Default)]
pub struct ConfigUnit {
    pub text: Option<String>,
    pub dropin: Option<String>,
    pub mask: bool,
    pub enabled: Option<bool>,
}

/// What a configuration manages, by the same names.
#[derive(Clone, Debug, Default)]
pub struct Config {
    pub password: Option<&'static str>,
    pub files: BTreeMap<String, Entry>,
    pub units: BTreeMap<String, ConfigUnit>,
}

/// A unit that writes down which text of it was started.
pub fn unit_text(unit: &str, word: &str) -> String {
    format!(
        "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/sh -c 'echo {word} > /run/started-{unit}'\n\
         [Install]\nWantedBy=multi-user.target\n"
    )
}

fn dropin_text(word: &str) -> String {
    format!("[Unit]\nDescription={word}\n")
}

fn one<T: Clone>(chance: &mut Chance, of: &[T]) -> T {
    of[usize::try_from(chance.below(of.len() as u64)).unwrap()].clone()
}

/// Few texts and modes, so that an image and a configuration often agree.
fn any_entry(chance: &mut Chance, links: bool) -> Entry {
    match chance.below(if links { 6 } else { 5 }) {
        0 | 1 => Entry::Nothing,
        5 => Entry::Link("../hostname".to_owned()),
        _ => Entry::file(one(chance, &["a\n", "b\n"]), one(chance, &[0o644, 0o644, 0o600])),
    }
}

impl Image {
    /// An image with something or nothing at each of so many names.
    pub fn any(chance: &mut Chance, names: usize) -> Self {
        let mut image = Self { password: Some(one(chance, &PASSWORDS)), ..Self::default() };
        for number in 0..names {
            image.files.insert(format!("f{number}"), any_entry(chance, true));
            let unit = format!("u{number}.service");
            let own = |word: &str| Entry::file(&unit_text(&unit, word), 0o644);
            let text = one(chance, &[Entry::Nothing, own("a"), own("b"), Entry::Link(MASK.to_owned())]);
            let dropins = ["a", "b"].map(|word| Entry::file(&dropin_text(word), 0o644));
            let dropin = one(chance, &[Entry::Nothing, dropins[0].clone(), dropins[1].clone()]);
            let enabled = chance.below(2) == 0;
            image.units.insert(unit, ImageUnit { text, dropin, enabled });
        }
        image
    }

    /// Puts it into a tree.
    pub fn plant(&self, tree: &Path) {
        if let Some(hash) = self.password {
            let text = format!("root:*:19000:0:99999:7:::\ncore:{hash}:19000:0:99999:7:::\n");
            Entry::file(&text, 0o600).put(&tree.join("usr/etc/shadow"));
        }
        for (name, entry) in &self.files {
            entry.put(&tree.join(format!("usr/etc/{}", file_name(name))));
        }
        for (name, unit) in &self.units {
            Entry::file(&unit_text(name, "usr"), 0o644).put(&tree.join(format!("usr/lib/systemd/system/{name}")));
            unit.text.put(&tree.join(format!("usr/{UNITS}/{name}")));
            unit.dropin.put(&tree.join(format!("usr/{UNITS}/{name}.d/10-site.conf")));
            if unit.enabled {
                Entry::Link(format!("../{name}")).put(&tree.join(format!("usr/{WANTS}/{name}")));
            }
        }
    }
}

fn file_name(name: &str) -> String {
    // One directory for each, which goes and comes with what is in it.
    format!("site-{name}/conf")
}

impl Config {
    /// A configuration that manages some of so many names.
    pub fn any(chance: &mut Chance, names: usize) -> Self {
        let password = one(chance, &[None, Some(PASSWORDS[0]), Some(PASSWORDS[1])]);
        let mut config = Self { password, ..Self::default() };
        for number in 0..names {
            match any_entry(chance, false) {
                Entry::Nothing => {}
                entry => drop(config.files.insert(format!("f{number}"), entry)),
            }
            if chance.below(3) == 0 {
                continue;
            }
            let unit = format!("u{number}.service");
            let words = [None, Some("a"), Some("b"), Some("c")];
            let text = one(chance, &words).map(|word| unit_text(&unit, word));
            let dropin = one(chance, &words).map(dropin_text);
            let mask = chance.below(4) == 0;
            // A unit that an image masks cannot be enabled without a text of its own.
            let enabled = one(chance, &[None, Some(true), Some(false)]).filter(|on| !mask && (!on || text.is_some()));
            config.units.insert(unit, ConfigUnit { text, dropin, mask, enabled });
        }
        config
    }

    /// As Ignition has it, beside what else is in there.
    pub fn add_to(&self, document: &mut Value) {
        let ignition = &mut document["spec"]["config"];
        if let Some(hash) = self.password {
            ignition["passwd"] = json!({"users": [{"name": "core", "passwordHash": hash}]});
        }
        for (name, entry) in &self.files {
            let Entry::File { text, mode } = entry else { continue };
            let source = format!("data:,{}", text.replace('\n', "%0A").replace(' ', "%20"));
            let path = format!("/etc/{}", file_name(name));
            let file = json!({"path": path, "mode": mode, "overwrite": true, "contents": {"source": source}});
            ignition["storage"]["files"].as_array_mut().unwrap().push(file);
        }
        let units = self.units.iter().map(|(name, unit)| {
            let mut value = json!({"name": name});
            if let Some(text) = &unit.text {
                value["contents"] = json!(text);
            }
            if let Some(text) = &unit.dropin {
                value["dropins"] = json!([{"name": "10-site.conf", "contents": text}]);
            }
            if unit.mask {
                value["mask"] = json!(true);
            }
            if let Some(enabled) = unit.enabled {
                value["enabled"] = json!(enabled);
            }
            value
        });
        ignition["systemd"]["units"] = Value::Array(units.collect());
    }

    /// What has to be at every path on a machine that runs an image.
    pub fn expected(&self, image: &Image) -> BTreeMap<String, String> {
        let mut expected = BTreeMap::new();
        if let Some(hash) = self.password {
            expected.insert(PASSWORD.to_owned(), hash.to_owned());
        }
        for (name, entry) in &image.files {
            let entry = self.files.get(name).unwrap_or(entry);
            expected.insert(format!("/etc/{}", file_name(name)), entry.line());
        }
        for (name, own) in &image.units {
            let unit = self.units.get(name);
            expected.insert(format!("/{UNITS}/{name}"), unit_entry(unit, own).line());
            let dropin = unit.and_then(|unit| unit.dropin.as_ref()).map(|text| Entry::file(text, 0o644));
            let path = format!("/{UNITS}/{name}.d/10-site.conf");
            expected.insert(path, dropin.unwrap_or_else(|| own.dropin.clone()).line());
        }
        expected
    }

    /// Units that have to run with this word after a boot, or must not run.
    pub fn running(&self) -> BTreeMap<String, Option<String>> {
        let mut running = BTreeMap::new();
        for (name, unit) in &self.units {
            if unit.mask || unit.enabled == Some(false) {
                running.insert(name.clone(), None);
            } else if unit.enabled == Some(true)
                && let Some(text) = &unit.text
            {
                let word = text.split("echo ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
                running.insert(name.clone(), Some(word.to_owned()));
            }
        }
        running
    }
}

fn unit_entry(unit: Option<&ConfigUnit>, own: &ImageUnit) -> Entry {
    match unit {
        None => own.text.clone(),
        Some(unit) if unit.mask => Entry::Link(MASK.to_owned()),
        Some(ConfigUnit { text: Some(text), .. }) => Entry::file(text, 0o644),
        Some(_) => own.text.clone(),
    }
}
