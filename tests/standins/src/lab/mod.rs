//! The lab: makes the inputs of tests. Trees become commits, commits become OCI images in a directory or a registry, and
//! images become the first deployment of a fresh sysroot.
//!
//! It drives the `ostree` and `skopeo` commands and ostree-ext; it writes nowhere but where it is told to.

pub mod derive;
pub mod image;
pub mod sysroot;
pub mod tree;

use std::process::Command;

use anyhow::{Context, Result, bail};

/// Runs a command to its end and gives its output; an error names the command and what it said.
pub(crate) fn run(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("running {:?}", command.get_program()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{:?} ended with {}: {}", command.get_program(), output.status, said.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
