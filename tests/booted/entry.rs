//! The boot loader entry that a boot loader would take. Reads the Boot Loader Specification's files as ostree writes them.

use std::fs;
use std::path::Path;

/// What is booted, and how.
pub struct Entry {
    /// The deployment as the kernel argument `ostree` has it, from the sysroot.
    pub deployment: String,
    /// The kernel command line.
    pub arguments: String,
    version: u32,
}

/// The entry of the highest version: ostree gives that to the first deployment.
pub fn default_of(directory: &Path) -> Result<Entry, String> {
    let files = fs::read_dir(directory).map_err(|error| format!("no boot loader entries: {error}"))?;
    let texts = files.flatten().map(|file| fs::read_to_string(file.path()).unwrap_or_default());
    let entries = texts.filter_map(|text| parse(&text));
    entries.max_by_key(|entry| entry.version).ok_or_else(|| "no boot loader entry names a deployment".to_owned())
}

fn parse(text: &str) -> Option<Entry> {
    let field = |name| text.lines().filter_map(|line| line.split_once(' ')).find(|(key, _)| *key == name);
    let (_, arguments) = field("options")?;
    let deployment = arguments.split(' ').find_map(|argument| argument.strip_prefix("ostree="))?;
    let version = field("version")?.1.trim().parse().ok()?;
    Some(Entry { deployment: deployment.to_owned(), arguments: arguments.trim().to_owned(), version })
}
