//! Help for tests against material of the real cluster.
//!
//! The material lies beside the project, in `../shared` or where `OSTLER_SHARED` says, and is never copied into it. A
//! test whose material is absent passes, and says so loudly.

pub mod crd;
pub mod crio;
pub mod schema;

use anyhow::Context as _;
use serde_json::Value;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Where `name` lies in the shared material; none, with a line on stderr, when it is absent.
pub fn shared(name: &str) -> Option<PathBuf> {
    let beside = || Some(Path::new(env!("CARGO_MANIFEST_DIR")).parent()?.parent()?.join("shared"));
    let root = std::env::var_os("OSTLER_SHARED").map(PathBuf::from).or_else(beside)?;
    let path = root.join(name);
    if path.exists() {
        return Some(path);
    }
    // Written to the stream itself: the test harness would swallow what the print macros write.
    let line = format!("SKIPPED: {} is absent; set OSTLER_SHARED to the shared material\n", path.display());
    let _ = std::io::stderr().write_all(line.as_bytes());
    None
}

/// Reads a file of one YAML document.
///
/// # Errors
/// When the file cannot be read or is not YAML.
pub fn yaml(path: &Path) -> anyhow::Result<Value> {
    let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    serde_saphyr::from_str(&text).with_context(|| format!("parsing {}", path.display()))
}
