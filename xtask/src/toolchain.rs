//! Which Rust the project names: its warnings fail a check. Those of any other are printed, because a newer one finds new
//! things in the same source.

use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::process;

/// What a warning means for the check that prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warnings {
    Deny,
    /// It goes on.
    Print,
}

/// The compiler that cargo would use.
pub fn rustc() -> Command {
    Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}

/// What warnings of this machine's Rust mean; says so where they are only printed.
pub fn warnings() -> Result<Warnings> {
    let metadata = process::answer(&mut process::cargo(["metadata", "--no-deps", "--locked", "--format-version=1"]))?;
    let metadata: Value = serde_json::from_str(&metadata).context("cannot read what cargo says of the workspace")?;
    let named = metadata.pointer("/metadata/toolchain").and_then(Value::as_str);
    let named = named.context("Cargo.toml has no workspace.metadata.toolchain")?;
    let found = process::answer(rustc().arg("--version"))?;
    let warnings = of(&found, named);
    if warnings == Warnings::Print {
        println!("{found} is not {named}, which the project names: warnings are printed and do not fail");
    }
    Ok(warnings)
}

fn of(found: &str, named: &str) -> Warnings {
    let version = found.split_whitespace().nth(1).unwrap_or_default();
    let patch = version.strip_prefix(named).and_then(|rest| rest.strip_prefix('.'));
    // A nightly or a beta of the same version is another compiler.
    if patch.is_some_and(|patch| patch.parse::<u32>().is_ok()) { Warnings::Deny } else { Warnings::Print }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    #[test]
    fn warnings_fail_with_the_named_toolchain_alone() {
        for (found, expected) in [
            ("rustc 1.95.0 (59807616e 2026-04-14)", Warnings::Deny),
            ("rustc 1.95.1", Warnings::Deny),
            ("rustc 1.97.1 (8bab26f4f 2026-07-14) (built from a source tarball)", Warnings::Print),
            ("rustc 1.89.0 (29483883e 2025-08-04)", Warnings::Print),
            ("rustc 1.95.0-nightly (0a1b2c3d4 2026-02-01)", Warnings::Print),
            ("rustc 1.950.0", Warnings::Print),
            ("", Warnings::Print),
        ] {
            assert_eq!(of(found, "1.95"), expected, "{found}");
        }
        warnings().unwrap();
    }

    #[test]
    fn the_readme_names_the_oldest_rust() {
        let text = std::fs::read_to_string(workspace::root().join("README.md")).unwrap();
        assert!(text.contains(&format!("Rust {} or newer", env!("CARGO_PKG_RUST_VERSION"))));
    }
}
