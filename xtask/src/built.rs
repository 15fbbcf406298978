//! Programs of the workspace without optimisation, for doors that only run them.
//!
//! Each selection of packages has its own features of what they depend on, and cargo builds nearly everything anew for it.
//! So whoever has built all packages with their tests says so, and no part of them is built once more after that.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;

use crate::{process, workspace};

/// Tests that run a program of another package build it, unless this is `1`.
const BUILT: &str = "OSTLER_PROGRAMS_BUILT";

static ALL: AtomicBool = AtomicBool::new(false);

/// Tests of all packages, whose programs are there from then on. What else they are to know is up to the caller.
pub fn tests() -> Command {
    let mut command = process::cargo(["test", "--workspace", "--locked"]);
    command.env(BUILT, "1");
    command
}

/// One test of a package's.
pub fn test(package: &str, name: &str) -> Command {
    let mut command = match ALL.load(Ordering::Relaxed) {
        true => tests(),
        false => process::cargo(["test", "--locked", "--package", package]),
    };
    command.args(["--test", name]);
    command
}

/// That [`tests`] has run.
pub fn all() {
    ALL.store(true, Ordering::Relaxed);
}

/// The directory of the programs of these packages, which are built if they may not be there.
pub fn programs(packages: &[&str]) -> Result<PathBuf> {
    if !ALL.load(Ordering::Relaxed) {
        let chosen = packages.iter().map(|package| format!("--package={package}"));
        process::run(process::cargo(["build", "--locked", "--quiet", "--bins"]).args(chosen))?;
    }
    Ok(workspace::target().join("debug"))
}
