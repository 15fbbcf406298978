//! Preset files: the distribution's and the administrator's word on which units are enabled.

use std::collections::BTreeMap;

use super::existing::{fixed, list, stat};
use super::glob;
use super::name::Name;
use super::{OfflineError, RootPath};
use crate::disk::{Disk, Kind};

/// Where the files stand, most important first.
const DIRECTORIES: &[&str] = &[
    "/etc/systemd/system-preset",
    "/run/systemd/system-preset",
    "/usr/local/lib/systemd/system-preset",
    "/usr/lib/systemd/system-preset",
    "/lib/systemd/system-preset",
];
const MOST_BYTES: u64 = 1 << 20;
const MOST_FILES: usize = 1024;

/// What the presets say of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Enable,
    /// A template, of which these instances are enabled.
    Instances(Vec<String>),
    Disable,
    Ignore,
}

/// All rules, in the order in which they are asked.
#[derive(Clone, Debug, Default)]
pub(super) struct Presets(Vec<Rule>);

#[derive(Clone, Debug)]
struct Rule {
    verdict: Verdict,
    pattern: String,
    instances: Vec<String>,
}

impl Presets {
    /// The first rule that matches; nothing said means enable, as upstream systemd has it.
    pub fn verdict(&self, unit: &str) -> Verdict {
        self.0.iter().find_map(|rule| rule.on(unit)).unwrap_or(Verdict::Enable)
    }

    fn parse(&mut self, text: &str) {
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let verdict = match words.next() {
                Some("enable") => Verdict::Enable,
                Some("disable") => Verdict::Disable,
                Some("ignore") => Verdict::Ignore,
                _ => continue,
            };
            if let Some(pattern) = words.next() {
                let instances = match verdict {
                    Verdict::Enable => words.map(str::to_owned).collect(),
                    _ => Vec::new(),
                };
                self.0.push(Rule { verdict, pattern: pattern.to_owned(), instances });
            }
        }
    }
}

impl Rule {
    fn on(&self, unit: &str) -> Option<Verdict> {
        let name = Name::of(unit);
        if self.instances.is_empty() {
            return glob::matches(&self.pattern, unit).then(|| self.verdict.clone());
        }
        match (name.is_template(), name.template()) {
            (true, _) if glob::matches(&self.pattern, unit) => {
                Some(Verdict::Instances(self.instances.iter().map(|instance| name.with_instance(instance)).collect()))
            }
            (false, Some(template)) if glob::matches(&self.pattern, &template) => {
                let listed = self.instances.iter().any(|instance| Some(instance.as_str()) == name.instance);
                listed.then_some(Verdict::Enable)
            }
            _ => None,
        }
    }
}

/// Reads all preset files; of two with one name the more important directory's counts.
pub(super) fn read(disk: &impl Disk) -> Result<Presets, OfflineError> {
    let mut files: BTreeMap<String, RootPath> = BTreeMap::new();
    for directory in DIRECTORIES {
        let directory = fixed(directory)?;
        for name in list(disk, &directory)?.into_iter().filter(|name| name.ends_with(".preset")) {
            if let Ok(path) = directory.join(&name) {
                files.entry(name).or_insert(path);
            }
        }
    }
    if files.len() > MOST_FILES {
        return Err(OfflineError::TooMany { what: "preset files", most: MOST_FILES });
    }
    let mut presets = Presets::default();
    for path in files.into_values() {
        // A link, such as the one to /dev/null that hides a file of the same name, says nothing.
        if stat(disk, &path)? == Some(Kind::File) {
            let bytes = disk.read(&path, MOST_BYTES).map_err(OfflineError::read(path.as_str()))?;
            presets.parse(&String::from_utf8_lossy(&bytes));
        }
    }
    Ok(presets)
}
