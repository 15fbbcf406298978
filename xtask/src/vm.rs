//! `cargo xtask vm`: updates, boots and power cuts on virtual machines and, by the thousand, in containers.
//!
//! Builds what goes into a machine and hands over: the machines are `vm-tests`', the containers `tests/booted`'s.

use std::env;
use std::path::PathBuf;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};

use crate::arguments::Arguments;
use crate::needs::Door;
use crate::{e2e, package, process, setup, workspace};

/// Shown by `--help`.
pub const USAGE: &str = "\
cargo xtask vm [CASE] [--list]
cargo xtask vm boot
cargo xtask vm cuts [--cuts N] [--seed S] [--jobs J] [--first K]
cargo xtask vm kills [--cuts N] [--seed S]

Cases on virtual machines that boot a real ostree system with the agent's own units;
all of them without CASE, those whose name contains it with one. The first run fetches
Debian packages and makes an image, which takes some minutes; both stay below
~/.cache/ostler/vm. Needs root. Without a processor that KVM can use everything is
emulated, at 30 to 60 seconds per boot.

  --list      name the cases
  boot        what CI runs of it: one boot, until the agent is at rest
  cuts        take the power away in the middle of updates, N times (10); the account
              goes to docs/reports/vm-cuts.md
  kills       the same in a container that runs a deployment, in seconds (100); the
              account goes to docs/reports/container-kills.md
  --seed S    repeat the cuts of a run
  --jobs J    so many machines at a time (1)
  --first K   begin with cut K of the seed, to repeat one that failed; no account is kept
";

const STAND_INS: &str = "tests/standins/Cargo.toml";
/// The directory of stand-ins that somebody has built elsewhere.
const OTHERS: &str = "OSTLER_STANDINS";
/// A Debian package of the agent that somebody has made elsewhere.
const PACKAGE: &str = "OSTLER_PACKAGE";
/// How the harness is built where no cluster is needed.
const LIGHT: &[&str] = &["--no-default-features"];
const KILLS: u64 = 100;
/// The case that takes a real API server, which is built the first time.
const WITH_CLUSTER: &str = "14-api-away";

/// The door.
pub fn run(mut arguments: Arguments) -> Result<()> {
    let list = arguments.flag("--list");
    let (cuts, seed, jobs) = (arguments.number("--cuts")?, arguments.number("--seed")?, arguments.number("--jobs")?);
    let first = arguments.number("--first")?;
    let case = arguments.operand();
    arguments.finish()?;
    if list {
        return process::run(machines(&[]).arg("list"));
    }
    setup::for_door(Door::Vm)?;
    let seed = seed.unwrap_or_else(any_seed);
    match case.as_deref() {
        Some("kills") => kills(cuts.unwrap_or(KILLS), seed),
        Some("cuts") => self::cuts(cuts, seed, [first, jobs]),
        None if cuts.is_some() => self::cuts(cuts, seed, [first, jobs]),
        Some(_) if cuts.is_some() => bail!("--cuts goes with cuts or kills; try --help"),
        Some("boot") => short(),
        Some(case) => cases(case),
        None => cases(""),
    }
}

/// What CI has time for: one boot. What it needs is fetched within some minutes, or it says that it is skipped.
pub fn short() -> Result<()> {
    process::run(with_programs(machines(LIGHT))?.arg("boot"))
}

/// All cases with a name that contains a word.
fn cases(word: &str) -> Result<()> {
    let with_cluster = WITH_CLUSTER.contains(word);
    let mut command = with_programs(if with_cluster { machines(&[]) } else { machines(LIGHT) })?;
    if with_cluster {
        e2e::provide()?.name_for(&mut command);
    }
    process::run(command.args(["cases", word]))
}

fn cuts(cuts: Option<u64>, seed: u64, [first, jobs]: [Option<u64>; 2]) -> Result<()> {
    let word = |number: Option<u64>| number.map_or("-".to_owned(), |number| number.to_string());
    let report = report("vm-cuts.md")?.display().to_string();
    let mut command = with_programs(machines(LIGHT))?;
    process::run(command.args(["cuts", &word(cuts), &seed.to_string(), &word(first), &word(jobs), &report]))
}

fn kills(kills: u64, seed: u64) -> Result<()> {
    build_stand_ins()?;
    let mut command = process::cargo(["test", "--locked", "-p", "ostler", "--test", "booted", "--", "--nocapture"]);
    command.arg("killed_at_any_instant");
    command.env("OSTLER_KILLS", kills.to_string()).env("OSTLER_KILL_SEED", seed.to_string());
    command.env("OSTLER_KILLS_REPORT", report("container-kills.md")?).env("OSTLER_REQUIRE_SYSTEMD", "1");
    process::run(&mut command)
}

/// Where the account of a run goes.
fn report(name: &str) -> Result<PathBuf> {
    let directory = workspace::root().join("docs/reports");
    std::fs::create_dir_all(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
    Ok(directory.join(name))
}

fn any_seed() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| u64::from(now.subsec_nanos()))
}

/// Unless somebody names others.
pub fn build_stand_ins() -> Result<()> {
    if env::var_os(OTHERS).is_some() {
        return Ok(());
    }
    process::run(&mut process::cargo(["build", "--locked", "--bins", "--manifest-path", STAND_INS]))
}

/// The harness with what goes into a machine, which is built first.
fn with_programs(mut command: Command) -> Result<Command> {
    build_stand_ins()?;
    let package = match env::var_os(PACKAGE) {
        Some(made) => made.into(),
        None => package::deb_to_try(&workspace::target().join("xtask/vm"))?,
    };
    command.env(PACKAGE, package).env("OSTLER_CHECKOUT", workspace::root());
    if env::var_os(OTHERS).is_none() {
        command.env(OTHERS, workspace::root().join("tests/standins/target/debug"));
    }
    Ok(command)
}

/// The harness, with its arguments to come.
fn machines(build: &[&str]) -> Command {
    let mut command = process::cargo(["run", "--locked", "--quiet", "-p", "ostler-vm-tests"]);
    command.args(build).arg("--");
    command
}
