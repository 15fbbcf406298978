//! Child processes: shown before they run, and an error that names them when they fail.

use std::env;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::workspace;

/// Cargo itself, the one that runs us, at the top of the checkout.
pub fn cargo<const N: usize>(arguments: [&str; N]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(workspace::root());
    // What cargo told us of our own package: ring's build script runs again whenever it differs, and all that depends
    // on ring is compiled once more.
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(|name| ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|own| name.starts_with(own))) {
            command.env_remove(name);
        }
    }
    command
}

/// Shows the command, runs it, and fails if it does.
pub fn run(command: &mut Command) -> Result<()> {
    println!("+ {}", line(command));
    let status = command.status().with_context(|| format!("cannot start {}", line(command)))?;
    if status.success() {
        return Ok(());
    }
    bail!("{} failed: {status}", line(command))
}

/// Standard output of a command that asks a question, trimmed.
pub fn answer(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {}", line(command)))?;
    if !output.status.success() {
        bail!("{} failed: {}", line(command), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The command as a person would type it.
pub fn line(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let program = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy();
    let words = command.get_args().map(|word| quoted(&word.to_string_lossy()));
    std::iter::once(program.into_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-_=./:,@+%".contains(c));
    if plain { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_so_that_it_can_be_pasted() {
        let mut command = Command::new("/usr/bin/printf");
        command.args(["%s", "two words", "it's", ""]);
        assert_eq!(line(&command), r"printf %s 'two words' 'it'\''s' ''");
    }

    #[test]
    fn a_command_that_fails_is_named_with_its_status() {
        let error = run(&mut Command::new("false")).unwrap_err();
        assert_eq!(error.to_string(), "false failed: exit status: 1");
    }
}
