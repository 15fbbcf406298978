//! `cargo xtask test`: every check in order, each timed; the first failure ends it and says how to repeat it alone.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::arguments::Arguments;
use crate::needs::Door;
use crate::toolchain::Warnings;
use crate::{built, demo, docs, e2e, fuzz, needs, package, process, setup, toolchain, units, vm};

/// Shown by `--help`.
pub const USAGE: &str = "\
cargo xtask test [--fast]

Everything that CI checks: format, lints, stand-ins, a cluster to test with, tests, API
documentation, generated pages, units, packages, fuzz targets, demo. Stops at the first failure.

  --fast    leave out the fuzz targets, which need a build of their own
";

struct Stage {
    name: &'static str,
    alone: &'static str,
    run: fn() -> Result<()>,
}

/// Seconds each fuzz target gets here; long enough to replay the seeds and to notice a fresh blunder.
const FUZZ_SECONDS: u64 = 10;

const STAGES: &[Stage] = &[
    Stage { name: "format", alone: "cargo fmt --all", run: format },
    Stage { name: "lint", alone: "cargo clippy --workspace --all-targets --locked -- -D warnings", run: lint },
    Stage { name: "stand-ins", alone: "cargo test --locked --manifest-path tests/standins/Cargo.toml", run: stand_ins },
    Stage { name: "cluster", alone: "cargo xtask e2e --only-build", run: cluster },
    Stage { name: "test", alone: "cargo test --workspace --locked", run: test },
    Stage {
        name: "api-docs",
        alone: "RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --locked",
        run: api_docs,
    },
    Stage { name: "pages", alone: "cargo xtask docs --check", run: docs::check },
    Stage { name: "units", alone: "cargo xtask units", run: units::check },
    Stage { name: "packages", alone: "cargo xtask package --trial", run: package::trial },
    Stage { name: FUZZ, alone: "cargo xtask fuzz --seconds 10", run: || fuzz::all(FUZZ_SECONDS) },
    Stage { name: "vm", alone: "cargo xtask vm boot", run: vm::short },
    Stage { name: "demo", alone: "cargo xtask demo", run: demo::show },
];

const FUZZ: &str = "fuzz";

/// A workspace of its own: it links another version of libostree's bindings.
const STAND_INS: &str = "tests/standins/Cargo.toml";

/// The door.
pub fn run(mut arguments: Arguments) -> Result<()> {
    let fast = arguments.flag("--fast");
    arguments.finish()?;
    setup::for_door(Door::Test)?;
    setup::for_door(Door::Package)?;
    setup::for_door(Door::Vm)?;
    if !fast {
        setup::for_door(Door::Fuzz)?;
    }
    let wanted: Vec<_> = STAGES.iter().filter(|stage| !(fast && stage.name == FUZZ)).collect();
    let mut took = Vec::new();
    for stage in &wanted {
        println!("\n==== {} ====", stage.name);
        let start = Instant::now();
        let result = (stage.run)();
        took.push(start.elapsed());
        if let Err(error) = result {
            print!("{}", table(&wanted, &took, true));
            bail!("stage {} failed: {error:#}\nto run it alone: {}", stage.name, stage.alone);
        }
    }
    print!("{}", table(&wanted, &took, false));
    Ok(())
}

/// One line per stage; the last that ran is the one that failed, if one did.
fn table(stages: &[&Stage], took: &[Duration], failed: bool) -> String {
    let mut text = String::from("\nstage      seconds  result\n");
    for (at, stage) in stages.iter().enumerate() {
        let (seconds, result) = match took.get(at) {
            Some(time) if failed && at + 1 == took.len() => (format!("{:.1}", time.as_secs_f64()), "FAILED"),
            Some(time) => (format!("{:.1}", time.as_secs_f64()), "ok"),
            None => ("-".to_owned(), "not run"),
        };
        text.push_str(&format!("{:<10} {seconds:>7}  {result}\n", stage.name));
    }
    let total: Duration = took.iter().sum();
    text.push_str(&format!("{:<10} {:>7.1}\n", "total", total.as_secs_f64()));
    text
}

fn format() -> Result<()> {
    process::run(&mut process::cargo(["fmt", "--all", "--", "--check"]))?;
    for manifest in [fuzz::MANIFEST, STAND_INS] {
        process::run(&mut process::cargo(["fmt", "--manifest-path", manifest, "--", "--check"]))?;
    }
    Ok(())
}

fn lint() -> Result<()> {
    let mut command = process::cargo(["clippy", "--workspace", "--all-targets", "--locked"]);
    if toolchain::warnings()? == Warnings::Deny {
        command.args(["--", "-D", "warnings"]);
    }
    process::run(&mut command)
}

/// What the tests of the operating system run against has to be there before them, and right.
fn stand_ins() -> Result<()> {
    for (verb, rest) in [("build", &["--bins"][..]), ("test", &[])] {
        process::run(process::cargo([verb, "--locked", "--manifest-path", STAND_INS]).args(rest))?;
    }
    Ok(())
}

/// A real API server is built from packages that a mirror may drop one day; that is no fault of what is tested here, so
/// its absence is told and does not fail.
fn cluster() -> Result<()> {
    if let Err(error) = e2e::provide() {
        println!("SKIPPED: the tests with a cluster, because no API server could be had: {error:#}");
    }
    Ok(())
}

fn test() -> Result<()> {
    let mut command = built::tests();
    if let Some(binaries) = e2e::kept() {
        binaries.name_for(&mut command);
    }
    // Where the tests with a real systemd can run they must: a skip would look like a success.
    if needs::systemd() && is_root() && has_namespaces() {
        command.env("OSTLER_REQUIRE_SYSTEMD", "1");
    }
    process::run(&mut command)?;
    built::all();
    Ok(())
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// Whether the kernel, and whatever this machine runs in, lets root have namespaces of its own.
fn has_namespaces() -> bool {
    needs::succeeds(Command::new("unshare").args(["--mount", "--pid", "--fork", "--net", "--cgroup", "true"]))
}

fn api_docs() -> Result<()> {
    let mut command = process::cargo(["doc", "--workspace", "--no-deps", "--locked"]);
    if toolchain::warnings()? == Warnings::Deny {
        command.env("RUSTDOCFLAGS", "-D warnings");
    }
    process::run(&mut command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_says_which_stage_failed_and_which_never_ran() {
        let stages: Vec<_> = STAGES.iter().take(3).collect();
        let took = [Duration::from_millis(1500), Duration::from_secs(2)];
        let text = table(&stages, &took, true);
        let rows: Vec<_> = text.lines().skip(2).map(|line| line.split_whitespace().collect::<Vec<_>>()).collect();
        assert_eq!(
            rows,
            [
                vec!["format", "1.5", "ok"],
                vec!["lint", "2.0", "FAILED"],
                vec!["stand-ins", "-", "not", "run"],
                vec!["total", "3.5"],
            ]
        );
    }

    #[test]
    fn stage_names_are_unique_and_fit_the_table() {
        for (at, stage) in STAGES.iter().enumerate() {
            assert!(stage.name.len() <= 10, "{}", stage.name);
            assert!(STAGES.iter().skip(at + 1).all(|other| other.name != stage.name), "{}", stage.name);
        }
    }
}
