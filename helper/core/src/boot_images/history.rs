//! What was done to the boot image of each machine resource, and what has to be put back to undo it.
//!
//! Records live in one ConfigMap beside those of the release, bounded in number and size: those of machine resources that
//! are gone go first, then the oldest.

use std::collections::{BTreeMap, BTreeSet};

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
    /// Keys that are to go from the ConfigMap.
    dropped: BTreeSet<String>,
    /// Version of the ConfigMap that this was read from, opaque; empty where there was none.
    pub version: String,
}

/// What is to be written to the ConfigMap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Texts by key.
    pub data: BTreeMap<String, String>,
    /// Keys that are to go.
    pub dropped: BTreeSet<String>,
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
        let version = map.metadata.resource_version.clone();
        Self { entries: entries.collect(), dropped: BTreeSet::new(), version }
    }

    /// Entries by key.
    pub const fn entries(&self) -> &BTreeMap<String, Entry> {
        &self.entries
    }

    /// The guard against loops, as it was when this was written.
    pub fn guard(&self) -> HotLoop {
        let attempts = self.entries.iter().filter_map(|(key, entry)| Some((key.clone(), entry.attempt.clone()?)));
        HotLoop::new(attempts.collect())
    }

    /// Adds a change.
    pub fn add(&mut self, key: &str, reference: Reference, record: Record, attempt: Option<Attempt>) {
        self.dropped.remove(key);
        let entry = self.entries.entry(key.to_owned()).or_default();
        entry.machine_resource_reference = reference;
        entry.attempt = attempt;
        entry.details.push(record);
        let surplus = entry.details.len().saturating_sub(MAX_RECORDS);
        entry.details.drain(..surplus);
    }

    /// Makes the records of a machine resource what they were before: what was noted was not done.
    pub fn take_back(&mut self, key: &str, before: &Self) {
        match before.entries.get(key) {
            Some(entry) => {
                self.entries.insert(key.to_owned(), entry.clone());
            }
            None => self.drop_key(key),
        }
    }

    fn drop_key(&mut self, key: &str) {
        self.entries.remove(key);
        self.dropped.insert(key.to_owned());
    }

    /// Forgets how often a change was made; says whether there was anything to forget.
    pub fn forget_attempts(&mut self, key: &str) -> bool {
        self.entries.get_mut(key).and_then(|entry| entry.attempt.take()).is_some()
    }

    /// What goes into the ConfigMap. Where it would not fit, machine resources that are not there any more go first, then
    /// the oldest records of the longest entries.
    pub fn written(&mut self, is_there: impl Fn(&str) -> bool) -> Result<Written, Overfull> {
        let text = |entry: &Entry| serde_json::to_string(entry).unwrap_or_default();
        let mut data: BTreeMap<String, String> =
            self.entries.iter().map(|(key, entry)| (key.clone(), text(entry))).collect();
        let size = |data: &BTreeMap<String, String>| -> usize {
            data.iter().map(|(key, text)| key.len().saturating_add(text.len())).sum()
        };
        if size(&data) > MAX_BYTES {
            data.retain(|key, _| is_there(key));
            let gone: Vec<String> = self.entries.keys().filter(|key| !data.contains_key(*key)).cloned().collect();
            gone.iter().for_each(|key| self.drop_key(key));
        }
        let mut bytes = size(&data);
        while bytes > MAX_BYTES {
            let longest = self.entries.iter_mut().max_by_key(|(_, entry)| entry.details.len());
            let (key, entry) = longest.filter(|(_, entry)| entry.details.len() > 1).ok_or(Overfull)?;
            entry.details.remove(0);
            let shorter = text(entry);
            let longer = data.insert(key.clone(), shorter.clone()).unwrap_or_default();
            bytes = bytes.saturating_sub(longer.len()).saturating_add(shorter.len());
        }
        Ok(Written { data, dropped: self.dropped.clone() })
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
        let map = ConfigMap { data: history.written(|_| true).unwrap().data, ..ConfigMap::default() };
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
        let data = history.written(|_| true).unwrap().data;
        assert!(data["a"].len() <= MAX_BYTES);
        assert_eq!(history.entries()["a"].details.len(), 2);
        for key in ["b", "c", "d"] {
            history.add(key, Reference::default(), record(0, MAX_BYTES / 3), None);
        }
        assert_eq!(history.clone().written(|_| true), Err(Overfull));
        let written = history.written(|key| matches!(key, "a" | "b")).unwrap();
        assert_eq!(written.data.keys().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(written.dropped, ["c".to_owned(), "d".to_owned()].into());
        history.add("c", Reference::default(), record(1, 1), None);
        assert_eq!(history.written(|_| true).unwrap().dropped, ["d".to_owned()].into());
    }

    #[test]
    fn what_was_noted_and_not_done_leaves_no_trace() {
        let mut history = History::default();
        let attempt = |digest: &str, count: u32| Some(Attempt { digest: digest.to_owned(), count });
        history.add("a", Reference::default(), record(1, 1), attempt("x", 3));
        let before = history.clone();
        history.add("a", Reference::default(), record(2, 1), attempt("y", 1));
        history.add("b", Reference::default(), record(1, 1), attempt("y", 1));
        history.take_back("a", &before);
        history.take_back("b", &before);
        assert_eq!(history.entries(), before.entries());
        assert!(history.guard().refuses("a", "x"));
        assert_eq!(history.written(|_| true).unwrap().dropped, ["b".to_owned()].into());
    }
}
