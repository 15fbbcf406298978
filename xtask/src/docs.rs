//! `cargo xtask docs`: what is generated from the command line's own definition and from the message catalogue, written
//! or compared.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::arguments::Arguments;
use crate::{built, process, troubleshoot, workspace};

/// Shown by `--help`.
pub const USAGE: &str = "\
cargo xtask docs [--check]

Writes docs/man and docs/completions from the definitions of the command lines, and the
messages in docs/usage/troubleshoot.md from the message catalogue.

  --check    write nothing; fail if what is committed is not what would be written
";

/// What `pack` of a program writes, and the directory below `docs` of the same name.
const KINDS: [&str; 2] = ["man", "completions"];

type Files = BTreeMap<String, Vec<u8>>;

/// The door.
pub fn run(mut arguments: Arguments) -> Result<()> {
    let only_check = arguments.flag("--check");
    arguments.finish()?;
    if only_check { check() } else { write() }
}

/// Replaces the committed files, so that a command that is gone takes its page along.
fn write() -> Result<()> {
    let programs = build()?;
    for kind in KINDS {
        generate(&programs, kind, &workspace::root().join("docs").join(kind))?;
    }
    fs::write(troubleshoot::path(), troubleshoot::page()?)
        .with_context(|| format!("cannot write {}", troubleshoot::PAGE))
}

/// Fails if the committed files are not what the command line would generate.
pub fn check() -> Result<()> {
    let programs = build()?;
    let mut stale = Vec::new();
    for kind in KINDS {
        let fresh = workspace::target().join("xtask/docs").join(kind);
        generate(&programs, kind, &fresh)?;
        let committed = read(&workspace::root().join("docs").join(kind))?;
        stale.extend(differences(&committed, &read(&fresh)?).map(|name| format!("docs/{kind}/{name}")));
    }
    let committed = fs::read_to_string(troubleshoot::path()).context("cannot read the page of messages")?;
    stale.extend((committed != troubleshoot::page()?).then(|| troubleshoot::PAGE.to_owned()));
    if stale.is_empty() {
        return Ok(());
    }
    bail!("not what the code generates: {}; run `cargo xtask docs` and commit the result", stale.join(", "))
}

/// The agent and the cluster helper.
fn build() -> Result<[PathBuf; 2]> {
    let names = ["ostler", "ostler-cluster"];
    let directory = built::programs(&names)?;
    Ok(names.map(|name| directory.join(name)))
}

fn generate(programs: &[PathBuf], kind: &str, directory: &Path) -> Result<()> {
    if directory.exists() {
        fs::remove_dir_all(directory).with_context(|| format!("cannot clear {}", directory.display()))?;
    }
    fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    programs.iter().try_for_each(|program| process::run(Command::new(program).args(["pack", kind]).arg(directory)))
}

fn read(directory: &Path) -> Result<Files> {
    let mut files = Files::new();
    if !directory.exists() {
        return Ok(files);
    }
    for entry in fs::read_dir(directory).with_context(|| format!("cannot list {}", directory.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        files.insert(name, bytes);
    }
    Ok(files)
}

fn differences<'a>(committed: &'a Files, fresh: &'a Files) -> impl Iterator<Item = &'a str> {
    let wrong = committed.iter().filter(|(name, bytes)| fresh.get(*name) != Some(*bytes));
    let absent = fresh.iter().filter(|(name, _)| !committed.contains_key(*name));
    wrong.chain(absent).map(|(name, _)| name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(of: &[(&str, &str)]) -> Files {
        of.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect()
    }

    #[test]
    fn a_changed_a_lost_and_a_new_page_are_all_stale() {
        let committed = files(&[("same.1", "x"), ("changed.1", "old"), ("gone.1", "x")]);
        let fresh = files(&[("same.1", "x"), ("changed.1", "new"), ("added.1", "x")]);
        assert_eq!(differences(&committed, &fresh).collect::<Vec<_>>(), ["changed.1", "gone.1", "added.1"]);
        assert_eq!(differences(&fresh, &fresh).count(), 0);
    }
}
