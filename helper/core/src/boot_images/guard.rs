//! The guard against loops: when somebody puts the old boot image back each time, it is changed a few times and no more.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// How often the same change is made to the same machine resource.
pub const HOT_LOOP_LIMIT: u32 = 3;

/// A change that was made, and how often.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Attempt {
    /// Which change.
    pub digest: String,
    /// How often in a row.
    pub count: u32,
}

/// Changes that were made, by machine resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HotLoop(BTreeMap<String, Attempt>);

impl HotLoop {
    /// From what was kept.
    pub const fn new(attempts: BTreeMap<String, Attempt>) -> Self {
        Self(attempts)
    }

    /// Whether a change would be one too many.
    pub fn refuses(&self, key: &str, digest: &str) -> bool {
        self.0.get(key).is_some_and(|made| made.digest == digest && made.count >= HOT_LOOP_LIMIT)
    }

    /// Notes a change that was made, and says how often it was.
    pub fn note(&mut self, key: &str, digest: &str) -> Attempt {
        let made = self.0.entry(key.to_owned()).or_default();
        let count = if made.digest == digest { made.count.saturating_add(1) } else { 1 };
        *made = Attempt { digest: digest.to_owned(), count };
        made.clone()
    }

    /// Forgets a machine resource: it has been opted out.
    pub fn forget(&mut self, key: &str) {
        self.0.remove(key);
    }
}

/// Tells a value from any other.
pub(super) fn digest(value: &Value) -> String {
    let digest = Sha256::digest(value.to_string().as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fourth_same_change_in_a_row_is_refused_until_it_is_forgotten() {
        let mut guard = HotLoop::default();
        for _ in 0..HOT_LOOP_LIMIT {
            assert!(!guard.refuses("a", "x"));
            guard.note("a", "x");
        }
        assert!(guard.refuses("a", "x") && !guard.refuses("a", "y") && !guard.refuses("b", "x"));
        guard.forget("a");
        assert!(!guard.refuses("a", "x"));
        guard.note("a", "y");
        assert_eq!(guard.note("a", "x").count, 1);
    }
}
