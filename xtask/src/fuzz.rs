//! `cargo xtask fuzz`: builds the fuzz targets with the stable toolchain and runs them, without cargo-fuzz.
//!
//! A target is a file in `fuzz_targets`; its seeds are in `seeds/NAME`. What a run finds goes to `corpus/NAME` and
//! `artifacts/NAME`, the places that cargo-fuzz uses.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::arguments::Arguments;
use crate::needs::Door;
use crate::sanitizer::Compiler;
use crate::{process, setup, workspace};

/// Shown by `--help`.
pub const USAGE: &str = "\
cargo xtask fuzz [TARGET] [--seconds N]
cargo xtask fuzz TARGET --input FILE

Builds the fuzz targets and runs one or all of them, starting from the committed seeds.

  --seconds N     how long each target runs (default 60)
  --input FILE    run this one input, to repeat a crash
";

/// Manifest of the fuzz crate, from the top of the checkout.
pub const MANIFEST: &str = "agent/core/fuzz/Cargo.toml";

const SECONDS: u64 = 60;

/// The door.
pub fn run(mut arguments: Arguments) -> Result<()> {
    let seconds = arguments.number("--seconds")?.unwrap_or(SECONDS);
    let input = arguments.value("--input")?.map(PathBuf::from);
    let name = arguments.operand();
    arguments.finish()?;
    let targets = chosen(targets()?, name.as_deref())?;
    setup::for_door(Door::Fuzz)?;
    match (input, targets.as_slice()) {
        (None, _) => explore(&targets, seconds, Noise::Pulse),
        (Some(input), [target]) => repeat(target, &input),
        (Some(_), _) => bail!("--input needs the TARGET that the file is for"),
    }
}

/// Every target for so many seconds, with a short account.
pub fn all(seconds: u64) -> Result<()> {
    explore(&targets()?, seconds, Noise::Account)
}

/// What libFuzzer prints while it runs.
#[derive(Clone, Copy)]
enum Noise {
    Pulse,
    Account,
}

fn explore(targets: &[String], seconds: u64, noise: Noise) -> Result<()> {
    let programs = build()?;
    for target in targets {
        let (corpus, artifacts) = (made("corpus", target)?, made("artifacts", target)?);
        let mut command = Command::new(programs.join(target));
        // Leaks are not what we look for, and the leak checker fails where ptrace is forbidden, as in most containers.
        command.env("ASAN_OPTIONS", "detect_leaks=0").arg("-detect_leaks=0");
        command.args(["-timeout=10", "-rss_limit_mb=2048", "-max_len=65536"]);
        command.arg(format!("-max_total_time={seconds}")).arg(format!("-artifact_prefix={}/", artifacts.display()));
        if matches!(noise, Noise::Account) {
            command.args(["-verbosity=0", "-print_funcs=0", "-print_final_stats=1"]);
        }
        command.arg(corpus).arg(home().join("seeds").join(target));
        process::run(&mut command).with_context(|| blame(target, &artifacts))?;
    }
    Ok(())
}

fn blame(target: &str, artifacts: &Path) -> String {
    format!(
        "fuzz target {target} found something; repeat it with `cargo xtask fuzz {target} --input FILE`, FILE being the \
         newest in {}",
        artifacts.display()
    )
}

fn repeat(target: &str, input: &Path) -> Result<()> {
    process::run(Command::new(build()?.join(target)).env("ASAN_OPTIONS", "detect_leaks=0").arg(input))
}

/// Builds every target and gives the directory of the programs.
fn build() -> Result<PathBuf> {
    let compiler = Compiler::found()?;
    println!("fuzz: building with {}", compiler.instruments());
    let directory = workspace::target().join("fuzz");
    let mut command = process::cargo(["build", "--release", "--locked", "--bins", "--manifest-path", MANIFEST]);
    command.args(["--target", &compiler.host, "--target-dir"]).arg(&directory);
    command.env("RUSTC_BOOTSTRAP", "1").env("CARGO_ENCODED_RUSTFLAGS", compiler.flags());
    process::run(&mut command).context(
        "cannot build the fuzz targets; if the lock file is out of date, \
         `cargo update --workspace --manifest-path agent/core/fuzz/Cargo.toml` and commit it",
    )?;
    Ok(directory.join(compiler.host).join("release"))
}

fn home() -> PathBuf {
    workspace::root().join("agent/core/fuzz")
}

fn made(kind: &str, target: &str) -> Result<PathBuf> {
    let directory = home().join(kind).join(target);
    fs::create_dir_all(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
    Ok(directory)
}

fn targets() -> Result<Vec<String>> {
    let directory = home().join("fuzz_targets");
    let mut names = Vec::new();
    for entry in fs::read_dir(&directory).with_context(|| format!("cannot list {}", directory.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    names.sort_unstable();
    Ok(names)
}

fn chosen(targets: Vec<String>, name: Option<&str>) -> Result<Vec<String>> {
    match name {
        None => Ok(targets),
        Some(name) if targets.iter().any(|target| target == name) => Ok(vec![name.to_owned()]),
        Some(name) => bail!("there is no fuzz target {name:?}; there are {}", targets.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_is_declared_and_has_seeds() {
        let manifest = fs::read_to_string(workspace::root().join(MANIFEST)).unwrap();
        let targets = targets().unwrap();
        assert!(!targets.is_empty());
        for target in targets {
            assert!(
                manifest.contains(&format!("path = \"fuzz_targets/{target}.rs\"")),
                "{target} is not in Cargo.toml"
            );
            let seeds = fs::read_dir(home().join("seeds").join(&target)).map_or(0, Iterator::count);
            assert!(seeds > 0, "{target} has no seeds");
        }
    }

    #[test]
    fn a_target_that_is_not_there_is_refused_with_those_that_are() {
        let there = || vec!["config".to_owned(), "kargs".to_owned()];
        assert_eq!(chosen(there(), Some("kargs")).unwrap(), ["kargs"]);
        assert_eq!(chosen(there(), None).unwrap(), there());
        let error = chosen(there(), Some("karg")).unwrap_err();
        assert!(error.to_string().ends_with("there are config, kargs"), "{error}");
    }
}
