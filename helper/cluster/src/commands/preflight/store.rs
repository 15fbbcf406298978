//! Writing the document so that a reader sees the old one or the new one, never a part.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use ostler_cluster_core::preflight::Document;

use crate::commands::Trouble;

/// Writes the document beside the file, then takes the file's place.
pub fn write(path: &Path, document: &Document) -> Result<()> {
    let mut text = serde_json::to_string_pretty(document).context("cannot write the document as JSON")?;
    text.push('\n');
    let Some(name) = path.file_name() else {
        return Err(Trouble::input(format!("{} is no name of a file", path.display())).into());
    };
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}", std::process::id()));
    let beside = path.with_file_name(hidden);
    replace(&beside, path, text.as_bytes()).with_context(|| {
        // What is left of a failure is of no use to anybody.
        let _ = fs::remove_file(&beside);
        format!("cannot write {}", path.display())
    })
}

fn replace(beside: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    // One of the same name is left of a process that had our number and was killed.
    match fs::remove_file(beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o644).open(beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(beside, path)
}
