//! `cargo xtask package`: what a node can be given, made from one tree of files.
//!
//! Owns which packages there are and where they go. Two runs on one commit give the same bytes: times come from the
//! commit, names from the workspace, and nothing of this machine gets in.

mod binaries;
mod deb;
mod rpm;
mod sbom;
mod sysext;
mod tree;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::arguments::Arguments;
use crate::needs::Door;
use crate::{process, setup, workspace};
use binaries::Build;

/// Shown by `--help`.
pub const USAGE: &str = "\
cargo xtask package [rpm|deb|sysext]... [--quick] [--out DIR]

Builds the programs and makes packages of them: all kinds, unless some are named.

  --quick      take unoptimised programs, to try the packages themselves
  --out DIR    where to; target/package unless given
";

/// Everything that a package is made from.
pub struct Content {
    /// The files, as they are to be installed.
    pub tree: PathBuf,
    /// Version of the workspace.
    pub version: String,
    /// Seconds since 1970 of the commit: the time of every file.
    pub time: String,
    /// Where packages go.
    pub out: PathBuf,
}

type Maker = fn(&Content) -> Result<PathBuf>;

const KINDS: [(&str, Maker); 3] = [("rpm", rpm::make), ("deb", deb::make), ("sysext", sysext::make)];

/// The door.
pub fn run(mut arguments: Arguments) -> Result<()> {
    let build = if arguments.flag("--quick") { Build::Quick } else { Build::Release };
    let out = arguments.value("--out")?.map_or_else(|| workspace::target().join("package"), PathBuf::from);
    let mut wanted = Vec::new();
    while let Some(kind) = arguments.operand() {
        wanted.push(*KINDS.iter().find(|(name, _)| *name == kind).with_context(|| format!("no package {kind:?}"))?);
    }
    arguments.finish()?;
    if wanted.is_empty() {
        wanted.extend(KINDS);
    }
    setup::for_door(Door::Package)?;
    let content = content(build, out)?;
    for (_, make) in wanted {
        let package = make(&content)?;
        println!("{}  {}", process::answer(Command::new("sha256sum").arg(&package))?, size(&package)?);
    }
    Ok(())
}

/// Gathers what all packages hold.
fn content(build: Build, out: PathBuf) -> Result<Content> {
    fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
    let out = out.canonicalize().with_context(|| format!("cannot use {}", out.display()))?;
    let programs = build.programs()?;
    let tree = out.join("tree");
    let version = process::answer(&mut process::cargo(["pkgid", "-p", "ostler"]))?;
    let version = version.rsplit(['#', '@']).next().unwrap_or_default().to_owned();
    tree::stage(&tree, &programs)?;
    sbom::write(&tree.join("usr/share/doc/ostler/sbom.cdx.json"), &version)?;
    Ok(Content { tree, version, time: commit_time()?, out })
}

/// An archive without its history has no better time than this.
fn commit_time() -> Result<String> {
    let asked = Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(workspace::root()).output();
    match asked {
        Ok(output) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        _ => match std::env::var("SOURCE_DATE_EPOCH") {
            Ok(given) => Ok(given),
            Err(_) => bail!("this is no git checkout; set SOURCE_DATE_EPOCH"),
        },
    }
}

fn size(path: &Path) -> Result<String> {
    let bytes = fs::metadata(path).with_context(|| format!("cannot look at {}", path.display()))?.len();
    Ok(format!("{:.1} MB", bytes as f64 / 1e6))
}

impl Content {
    /// A command that gives every file the time of the commit.
    fn tool(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SOURCE_DATE_EPOCH", &self.time).env("LC_ALL", "C.UTF-8").env("TZ", "UTC");
        command
    }
}

/// What this machine is called in package names.
fn architecture() -> (&'static str, &'static str) {
    match std::env::consts::ARCH {
        "x86_64" => ("x86_64", "amd64"),
        "aarch64" => ("aarch64", "arm64"),
        "s390x" => ("s390x", "s390x"),
        "powerpc64" => ("ppc64le", "ppc64el"),
        other => (other, other),
    }
}
