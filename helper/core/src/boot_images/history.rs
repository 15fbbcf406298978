//! What was done to the boot image of each machine resource, and what has to be put back to undo it.
//!
//! Records live in one ConfigMap beside those of the release, bounded in number and size: the oldest go first.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Attempt, HotLoop, Item, ShippedImages};
use crate::objects::ConfigMap;

/// Name of the ConfigMap, in the namespace of the machine-config operator.
pub const HISTORY: &str = "ostler-boot-image-history";
/// Most records of a machine resource.
const MAX_RECORDS: usize = 10;
/// Most bytes of all records; a ConfigMap holds a mebibyte.
const MAX_BYTES: usize = 900 * 1024;

/// Everything that was done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    entries: BTreeMap<String, Entry>,
}

/// What was done to one machine resource.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Entry {
    /// Which.
    pub machine_resource_reference: Reference,
    /// How often the last change was made, for the guard against loops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<Attempt>,
    /// Changes, oldest first.
    pub details: Vec<Record>,
}

/// A machine resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Reference {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub resource: String,
    /// Its group.
    pub api_group: String,
}

/// One change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Record {
    /// When, as RFC 3339.
    pub update_time: String,
    /// Version of the OS in the new boot image.
    pub boot_image_version: String,
    /// Generation of the ConfigMap that it came from, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map_generation: Option<i64>,
    /// Version of that ConfigMap, opaque.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub config_map_version: String,
    /// The release that it came with.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub release_version: String,
    /// The boot image before, as people write it.
    pub from: String,
    /// The boot image after.
    pub to: String,
    /// What has to be put back to undo it.
    pub before: Value,
}

/// Records that would not fit even after the oldest are gone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the records of boot images have more than {} KiB; remove keys from ConfigMap {HISTORY}", MAX_BYTES / 1024)]
pub struct Overfull;

impl History {
    /// Reads the ConfigMap. An entry that somebody spoilt is left out; it is written anew with the next change.
    pub fn of(map: &ConfigMap) -> Self {
        let entries = map.data.iter().filter_map(|(key, text)| {
            let entry: Entry = serde_json::from_str(text).ok()?;
            Some((key.clone(), entry))
        });
        Self { entries: entries.collect() }
    }

    /// Entries by key.
    pub const fn entries(&self) -> &BTreeMap<String, Entry> {
        &self.entries
    }

    /// What was done to the machine resources of a name.
    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (&'a str, &'a Entry)> {
        let named = self.entries.iter().filter(move |(_, entry)| entry.machine_resource_reference.name == name);
        named.map(|(key, entry)| (key.as_str(), entry))
    }

    /// The guard against loops, as it was when this was written.
    pub fn guard(&self) -> HotLoop {
        let attempts = self.entries.iter().filter_map(|(key, entry)| Some((key.clone(), entry.attempt.clone()?)));
        HotLoop::new(attempts.collect())
    }

    /// Adds a change.
    pub fn add(&mut self, key: &str, reference: Reference, record: Record, attempt: Option<Attempt>) {
        let entry = self.entries.entry(key.to_owned()).or_default();
        entry.machine_resource_reference = reference;
        entry.attempt = attempt;
        entry.details.push(record);
        let surplus = entry.details.len().saturating_sub(MAX_RECORDS);
        entry.details.drain(..surplus);
    }

    /// Takes the last change back: it was not made.
    pub fn take_back(&mut self, key: &str) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        entry.details.pop();
        if let Some(attempt) = &mut entry.attempt {
            attempt.count = attempt.count.saturating_sub(1);
        }
    }

    /// Forgets how often a change was made; says whether there was anything to forget.
    pub fn forget_attempts(&mut self, key: &str) -> bool {
        self.entries.get_mut(key).and_then(|entry| entry.attempt.take()).is_some()
    }

    /// What goes into the ConfigMap. The oldest records of the longest entries go first where it would not fit.
    pub fn data(&mut self) -> Result<BTreeMap<String, String>, Overfull> {
        let text = |entry: &Entry| serde_json::to_string(entry).unwrap_or_default();
        let mut data: BTreeMap<String, String> =
            self.entries.iter().map(|(key, entry)| (key.clone(), text(entry))).collect();
        let mut bytes: usize = data.iter().map(|(key, text)| key.len() + text.len()).sum();
        while bytes > MAX_BYTES {
            let longest = self.entries.iter_mut().max_by_key(|(_, entry)| entry.details.len());
            let (key, entry) = longest.filter(|(_, entry)| entry.details.len() > 1).ok_or(Overfull)?;
            entry.details.remove(0);
            let shorter = text(entry);
            let longer = data.insert(key.clone(), shorter.clone()).unwrap_or_default();
            bytes = bytes.saturating_sub(longer.len()).saturating_add(shorter.len());
        }
        Ok(data)
    }
}

impl Record {
    /// Of a change that is to be made at a time.
    pub fn of(item: &Item, shipped: Option<&ShippedImages>, time: &str) -> Self {
        Self {
            update_time: time.to_owned(),
            boot_image_version: item.release.clone(),
            config_map_generation: shipped.and_then(|shipped| shipped.generation),
            config_map_version: shipped.map(|shipped| shipped.resource_version.clone()).unwrap_or_default(),
            release_version: shipped.map(|shipped| shipped.release_version.clone()).unwrap_or_default(),
            from: item.current.clone(),
            to: item.target.clone(),
            before: item.before.clone().unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(number: usize, size: usize) -> Record {
        Record { update_time: number.to_string(), before: json!("x".repeat(size)), ..Record::default() }
    }

    #[test]
    fn records_are_kept_and_the_oldest_go_first() {
        let mut history = History::default();
        for number in 0..MAX_RECORDS + 3 {
            history.add("machinesets.a", Reference::default(), record(number, 1), None);
        }
        let map = ConfigMap { data: history.data().unwrap(), ..ConfigMap::default() };
        let read = History::of(&map);
        assert_eq!(read, history);
        assert_eq!(read.entries()["machinesets.a"].details[0].update_time, "3");
    }

    #[test]
    fn what_does_not_fit_is_dropped_and_what_never_fits_is_refused() {
        let mut history = History::default();
        for number in 0..4 {
            history.add("a", Reference::default(), record(number, MAX_BYTES / 3), None);
        }
        let data = history.data().unwrap();
        assert!(data["a"].len() <= MAX_BYTES);
        assert_eq!(history.entries()["a"].details.len(), 2);
        for key in ["b", "c", "d"] {
            history.add(key, Reference::default(), record(0, MAX_BYTES / 3), None);
        }
        assert_eq!(history.data(), Err(Overfull));
    }
}
