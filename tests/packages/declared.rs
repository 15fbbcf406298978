//! What the sources say a package brings: its files, its units and which of them are enabled.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const UNITS: &str = "usr/lib/systemd/system";
const PRESET: &str = "usr/lib/systemd/system-preset/50-ostler.preset";
const PROGRAMS: [&str; 2] = ["/usr/bin/ostler", "/usr/libexec/ostler/ostler-applier"];

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../units")
}

/// Files that must be there, apart from pages and completions.
pub fn files() -> BTreeSet<String> {
    let mut files: BTreeSet<_> = PROGRAMS.iter().map(|path| (*path).to_owned()).collect();
    collect(&sources(), &mut files);
    files
}

fn collect(directory: &Path, into: &mut BTreeSet<String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, into);
        } else {
            into.insert(format!("/{}", path.strip_prefix(sources()).unwrap().display()));
        }
    }
}

/// Mode of a file of the package.
pub fn mode(path: &str) -> u32 {
    if PROGRAMS.contains(&path) { 0o755 } else { 0o644 }
}

/// Units that the preset enables.
pub fn enabled() -> Vec<String> {
    let preset = fs::read_to_string(sources().join(PRESET)).unwrap();
    preset.lines().filter_map(|line| Some(line.strip_prefix("enable ")?.trim().to_owned())).collect()
}

/// The links that enabling a unit makes, by its own `[Install]`.
pub fn links(unit: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(sources().join(UNITS).join(unit)).unwrap();
    let of = |line: &str| {
        let (key, targets) = line.split_once('=')?;
        let kind = match key {
            "WantedBy" => "wants",
            "RequiredBy" => "requires",
            _ => return None,
        };
        let link = |target| format!("/etc/systemd/system/{target}.{kind}/{unit}");
        Some(targets.split_whitespace().map(link).collect::<Vec<_>>())
    };
    text.lines().filter_map(of).flatten().collect()
}

/// The links of all that are enabled.
pub fn all_links() -> BTreeSet<String> {
    enabled().iter().flat_map(|unit| links(unit)).collect()
}
