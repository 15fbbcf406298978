//! What is known of images already: labels and files by digest, in one file.
//!
//! Owns the file, whose shape is the machine-config-controller's. What a tag means changes, and what a list's digest means
//! depends on the platform, so neither is ever kept. Refuses to look at the clock itself, and to fail for a cache: one that
//! cannot be read is empty.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};
use ostler_core::os::image::is_digest;
use serde::{Deserialize, Serialize};

const VERSION: u32 = 1;
const MOST_BYTES: u64 = 64 * 1024 * 1024;
const MOST_ENTRIES: usize = 4096;
const MOST_FILE: usize = 4 * 1024 * 1024;
/// Entries younger than this stay, whether anybody refers to them or not.
const KEPT: SignedDuration = SignedDuration::from_hours(48);

/// A cache that its holders share.
#[derive(Clone)]
pub struct Cache {
    path: PathBuf,
    clock: fn() -> Timestamp,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    entries: BTreeMap<String, Entry>,
    changed: bool,
}

#[derive(Serialize, Deserialize)]
struct Document {
    version: u32,
    entries: BTreeMap<String, Entry>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    #[serde(default)]
    labels: Option<BTreeMap<String, String>>,
    /// Base64, by path.
    #[serde(default)]
    files: Option<BTreeMap<String, String>>,
    created_at: Timestamp,
}

impl Cache {
    /// Reads the file. One that is missing, unreadable, too large or of another version makes an empty cache.
    pub fn open(path: &Path, clock: fn() -> Timestamp) -> Self {
        let entries = read(path).unwrap_or_default();
        let state = Arc::new(Mutex::new(State { entries, changed: false }));
        Self { path: path.to_owned(), clock, state }
    }

    /// Replaces the file at once, if there is anything new. Only one process may own a cache.
    pub fn save(&self) -> io::Result<()> {
        let mut state = self.state();
        if !state.changed {
            return Ok(());
        }
        let directory = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let mut file = tempfile::NamedTempFile::new_in(directory.unwrap_or(Path::new(".")))?;
        let document = Document { version: VERSION, entries: std::mem::take(&mut state.entries) };
        let written = serde_json::to_writer(io::BufWriter::new(&mut file), &document);
        state.entries = document.entries;
        written?;
        file.flush()?;
        file.as_file().sync_all()?;
        file.persist(&self.path)?;
        state.changed = false;
        Ok(())
    }

    /// Drops what is older than two days and not among the digests that somebody still refers to.
    pub fn evict(&self, referenced: &BTreeSet<String>) {
        let now = (self.clock)();
        let mut state = self.state();
        let before = state.entries.len();
        state
            .entries
            .retain(|digest, entry| referenced.contains(digest) || now.duration_since(entry.created_at) < KEPT);
        state.changed |= state.entries.len() != before;
    }

    /// How many images are known.
    pub fn len(&self) -> usize {
        self.state().entries.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn labels(&self, digest: &str) -> Option<BTreeMap<String, String>> {
        self.state().entries.get(digest)?.labels.clone()
    }

    pub(crate) fn file(&self, digest: &str, path: &str) -> Option<Vec<u8>> {
        let state = self.state();
        STANDARD.decode(state.entries.get(digest)?.files.as_ref()?.get(path)?).ok()
    }

    pub(crate) fn keep_labels(&self, digest: &str, labels: &BTreeMap<String, String>) {
        self.keep(digest, |entry| entry.labels = Some(labels.clone()));
    }

    pub(crate) fn keep_file(&self, digest: &str, path: &str, contents: &[u8]) {
        if contents.len() <= MOST_FILE {
            let encoded = STANDARD.encode(contents);
            self.keep(digest, |entry| drop(entry.files.get_or_insert_default().insert(path.to_owned(), encoded)));
        }
    }

    fn keep(&self, digest: &str, change: impl FnOnce(&mut Entry)) {
        let created_at = (self.clock)();
        let mut state = self.state();
        if !state.entries.contains_key(digest) && state.entries.len() >= MOST_ENTRIES {
            let oldest = state.entries.iter().min_by_key(|(_, entry)| entry.created_at);
            if let Some(oldest) = oldest.map(|(digest, _)| digest.clone()) {
                state.entries.remove(&oldest);
            }
        }
        let new = || Entry { labels: None, files: None, created_at };
        change(state.entries.entry(digest.to_owned()).or_insert_with(new));
        state.changed = true;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Cache").field("path", &self.path).finish_non_exhaustive()
    }
}

fn read(path: &Path) -> Option<BTreeMap<String, Entry>> {
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(MOST_BYTES.saturating_add(1)).read_to_end(&mut bytes).ok()?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > MOST_BYTES) {
        return None;
    }
    let document: Document = serde_json::from_slice(&bytes).ok()?;
    let sound = document.version == VERSION && document.entries.keys().all(|digest| is_digest(digest));
    sound.then_some(document.entries)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::{Value, json};

    use super::*;

    const NOW: &str = "2026-11-16T12:00:00Z";

    fn now() -> Timestamp {
        NOW.parse().unwrap()
    }

    fn digest(digit: char) -> String {
        format!("sha256:{}", digit.to_string().repeat(64))
    }

    fn labels() -> BTreeMap<String, String> {
        BTreeMap::from([("a".to_owned(), "b".to_owned())])
    }

    #[test]
    fn what_is_kept_is_there_after_the_next_start() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cache.json");
        let cache = Cache::open(&path, now);
        cache.save().unwrap();
        assert!(!path.exists(), "nothing new, nothing written");
        cache.keep_labels(&digest('a'), &labels());
        cache.keep_file(&digest('a'), "x/y", b"\0\xff");
        cache.save().unwrap();
        let written: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let entry = json!({"labels": {"a": "b"}, "files": {"x/y": "AP8="}, "createdAt": NOW});
        assert_eq!(written, json!({"version": 1, "entries": {digest('a'): entry}}));

        let cache = Cache::open(&path, now);
        assert_eq!(cache.labels(&digest('a')), Some(labels()));
        assert_eq!(cache.file(&digest('a'), "x/y").unwrap(), b"\0\xff");
        assert_eq!((cache.labels(&digest('b')), cache.file(&digest('a'), "z")), (None, None));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "no temporary file is left");
    }

    #[test]
    fn a_file_that_cannot_be_used_is_an_empty_cache() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cache.json");
        let entry = r#"{"labels":{},"files":null,"createdAt":"2026-11-16T14:00:00.123456789+02:00"}"#;
        let good = format!(r#"{{"version":1,"entries":{{"{}":{entry}}}}}"#, digest('a'));
        for (text, expected) in [
            (good.clone(), 1),
            (good.replace(":1,", ":2,"), 0),
            (good.replace("sha256:", "tag:"), 0),
            (good.replace("2026", "x"), 0),
            ("{}".to_owned(), 0),
            (String::new(), 0),
        ] {
            fs::write(&path, &text).unwrap();
            assert_eq!(Cache::open(&path, now).len(), expected, "{text}");
        }
        assert!(Cache::open(&directory.path().join("missing"), now).is_empty());
        assert!(Cache::open(directory.path(), now).is_empty());
    }

    #[test]
    fn only_old_entries_that_nobody_refers_to_go() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cache.json");
        let entry = |at: &str| json!({"labels": {}, "createdAt": at});
        let (old, young) = ("2026-11-14T12:00:00Z", "2026-11-14T12:00:01Z");
        let entries = json!({digest('a'): entry(old), digest('b'): entry(old), digest('c'): entry(young)});
        fs::write(&path, json!({"version": 1, "entries": entries}).to_string()).unwrap();
        let cache = Cache::open(&path, now);
        cache.evict(&BTreeSet::from([digest('b')]));
        cache.save().unwrap();
        let left = Cache::open(&path, now);
        assert_eq!(left.state().entries.keys().cloned().collect::<Vec<_>>(), [digest('b'), digest('c')]);
    }

    #[test]
    fn the_number_of_entries_is_bounded() {
        let cache = Cache::open(Path::new("never/saved"), now);
        for number in 0..=MOST_ENTRIES {
            cache.keep_labels(&format!("sha256:{number:064x}"), &labels());
        }
        assert_eq!(cache.len(), MOST_ENTRIES);
    }
}
