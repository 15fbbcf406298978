//! Programs of this machine: run to their end, and an error that names them and what they said.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// What a command prints; fails if that does not succeed.
pub fn answer(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {command:?}"))?;
    let [stdout, stderr] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    if !output.status.success() {
        bail!("{command:?}: {}\n{stdout}{stderr}", output.status);
    }
    Ok(stdout)
}

/// Whether this machine has a program on its path.
pub fn on_path(name: &str) -> bool {
    let directories = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&directories).chain(["/usr/sbin", "/sbin"].map(Into::into));
    places.any(|directory| directory.join(name).is_file())
}
