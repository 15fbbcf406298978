//! The programs that packages hold, built so that neither this machine's paths nor its time are in them.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::{process, workspace};

/// How carefully to build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// As it is released.
    Release,
    /// As it is tested, which is there already.
    Quick,
}

/// Name of a program, and where it is installed.
pub const PROGRAMS: [(&str, &str); 2] =
    [("ostler", "usr/bin/ostler"), ("ostler-applier", "usr/libexec/ostler/ostler-applier")];

impl Build {
    /// Builds, strips and gives the directory that holds the programs.
    pub fn programs(self) -> Result<PathBuf> {
        let built = match self {
            Self::Quick => {
                process::run(&mut process::cargo(["build", "--locked", "-p", "ostler", "-p", "ostler-applier"]))?;
                workspace::target().join("debug")
            }
            Self::Release => release()?,
        };
        let stripped = workspace::target().join("package/programs");
        std::fs::create_dir_all(&stripped).with_context(|| format!("cannot make {}", stripped.display()))?;
        for (name, _) in PROGRAMS {
            let to = stripped.join(name);
            process::run(Command::new("strip").arg("-o").arg(&to).arg(built.join(name)))?;
        }
        Ok(stripped)
    }
}

/// A directory of its own: the flags would make everybody else's build anew.
fn release() -> Result<PathBuf> {
    let target = workspace::target().join("package/target");
    let mut build = process::cargo(["build", "--release", "--locked", "-p", "ostler", "-p", "ostler-applier"]);
    build.arg("--target-dir").arg(&target).env("CARGO_ENCODED_RUSTFLAGS", remapped());
    process::run(&mut build)?;
    Ok(target.join("release"))
}

/// Paths of this machine are in messages of panics, if they are anywhere.
fn remapped() -> String {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let cargo = std::env::var_os("CARGO_HOME").map_or_else(|| home.join(".cargo"), PathBuf::from);
    let rule = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    [rule(&workspace::root(), "/ostler"), rule(&cargo, "/cargo")].join("\u{1f}")
}
