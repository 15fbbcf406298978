//! Programs of this machine: run to their end, and an error that names them and what they said.

use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// A program, with its arguments to come, that is ended with all its children when it has not ended in time.
pub fn bounded(program: &str, most: Duration) -> Command {
    let mut command = Command::new("timeout");
    command.arg("--kill-after=10").arg(most.as_secs().to_string()).arg(program);
    command
}

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
