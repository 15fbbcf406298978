//! Kernel arguments of images in `/usr/lib/bootc/kargs.d`, merged as bootc does.
//!
//! The line of the booted deployment loses what only the old image lists, all equal arguments at once, and gets what only
//! the new one lists. An image without the directory drops nothing; up to release 1.10 it doubles what the old one lists.

use std::path::Path;

use anyhow::{Context, Result, bail};
use ostree_ext::prelude::*;
use ostree_ext::{gio, ostree};
use serde::Deserialize;

use super::release::Release;
use crate::sysroot::{NONE, file_of_commit, kargs};

const DIRECTORY: &str = "usr/lib/bootc/kargs.d";

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct File {
    kargs: Vec<String>,
    match_architectures: Option<Vec<String>>,
}

/// The line of a deployment of `commit` made from `merge`.
pub fn line(sysroot: &ostree::Sysroot, merge: &ostree::Deployment, commit: &str) -> Result<Vec<String>> {
    let release = Release::current()?;
    let line = kargs::of(merge);
    if release.cuts_quoted() && line.iter().any(|argument| argument.contains('"') && argument.contains(' ')) {
        // As an assertion of libostree does.
        std::process::abort();
    }
    let root = sysroot.path().path().context("the sysroot has no path")?;
    let old = of_directory(&root.join(sysroot.deployment_dirpath(merge).as_str()).join(DIRECTORY))?;
    let new = of_commit(sysroot, commit)?;
    Ok(merged(release, line, &old, new.as_deref()))
}

fn merged(release: Release, mut line: Vec<String>, old: &[String], new: Option<&[String]>) -> Vec<String> {
    let (dropped, mut added) = match new {
        Some(new) => (only(old, new), only(new, old)),
        None => (Vec::new(), old.to_vec()),
    };
    line.retain(|argument| !dropped.contains(argument));
    if !release.cuts_quoted() {
        added.retain(|argument| !line.contains(argument));
    }
    line.extend(added);
    line
}

fn only(these: &[String], those: &[String]) -> Vec<String> {
    these.iter().filter(|one| !those.contains(one)).cloned().collect()
}

fn of_directory(directory: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    match std::fs::read_dir(directory) {
        Ok(entries) => {
            for entry in entries {
                names.push(entry?.path());
            }
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => bail!(error),
    }
    names.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    names.sort();
    let mut all = Vec::new();
    for path in names {
        all.extend(parse(&std::fs::read_to_string(&path)?)?);
    }
    Ok(all)
}

fn of_commit(sysroot: &ostree::Sysroot, commit: &str) -> Result<Option<Vec<String>>> {
    let (root, _) = sysroot.repo().read_commit(commit, NONE)?;
    let directory = root.resolve_relative_path(DIRECTORY);
    if !directory.query_exists(NONE) {
        return Ok(None);
    }
    let files = directory.enumerate_children("standard::name", gio::FileQueryInfoFlags::NOFOLLOW_SYMLINKS, NONE)?;
    let mut all = Vec::new();
    while let Some(file) = files.next_file(NONE)? {
        let name = file.name();
        if name.extension().is_some_and(|ending| ending == "toml") {
            let path = format!("{DIRECTORY}/{}", name.display());
            all.extend(parse(&file_of_commit(sysroot, commit, &path).with_context(|| format!("Parsing {path}"))?)?);
        }
    }
    Ok(Some(all))
}

fn parse(text: &str) -> Result<Vec<String>> {
    let file: File = toml::from_str(text)?;
    let matches = file.match_architectures.is_none_or(|all| all.iter().any(|one| one == std::env::consts::ARCH));
    Ok(if matches { file.kargs.iter().flat_map(|entry| kargs::split(entry)).collect() } else { Vec::new() })
}
