//! `cargo xtask deny`: cargo-deny over both lock files, installed below `target` when the machine has none.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::arguments::Arguments;
use crate::{needs, process, workspace};

/// Shown by `--help`.
pub const USAGE: &str = "\
cargo xtask deny [--advisories]

Checks the licences, bans and sources of every dependency against deny.toml.
Builds cargo-deny below target/tools the first time, which takes some minutes.

  --advisories    also fetch the advisory database and check against it (needs the network)
";

const MANIFESTS: [&str; 2] = ["Cargo.toml", "agent/core/fuzz/Cargo.toml"];

/// The door.
pub fn run(mut arguments: Arguments) -> Result<()> {
    let advisories = arguments.flag("--advisories");
    arguments.finish()?;
    let program = program()?;
    for manifest in MANIFESTS {
        let mut command = Command::new(&program);
        command.current_dir(workspace::root());
        command.args(["--locked", "--config", "deny.toml", "--manifest-path", manifest, "check"]);
        command.args(["licenses", "bans", "sources"]).args(advisories.then_some("advisories"));
        process::run(&mut command)?;
    }
    Ok(())
}

fn program() -> Result<PathBuf> {
    let tools = workspace::target().join("tools");
    let own = tools.join("bin/cargo-deny");
    if own.exists() {
        return Ok(own);
    }
    if needs::on_path("cargo-deny") {
        return Ok("cargo-deny".into());
    }
    process::run(process::cargo(["install", "--locked", "cargo-deny", "--root"]).arg(&tools))?;
    Ok(own)
}
