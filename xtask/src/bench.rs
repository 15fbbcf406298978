//! `cargo xtask bench`: the criterion benchmarks of the core and the one of the disk, whole runs of the released
//! command, then the released agent at rest in a cluster.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, bail};

use crate::arguments::Arguments;
use crate::needs::Door;
use crate::{e2e, estimates, process, setup, vm, workspace};

/// Shown by `--help`.
pub const USAGE: &str = "\
cargo xtask bench [--runs N] [PART]

Runs the criterion benchmarks of the core, compares writing a batch of files with
`cp -r` and a sync, then times whole runs of `ostler plan` on docs/examples and,
where it is there, on ../shared/fixtures, then measures `ostler daemon` at rest
against a real API server, which takes two minutes.

  --runs N    how often each command is run (default 200)
  --mb N      size of the large image of `outage` (default 500)
  PART        only this part: core, plan, daemon or outage

`outage` runs only when named, as root, and takes some minutes: how long a node is
out of service for an update of its operating system, with the image staged before
the drain and after it.
";

const RUNS: u64 = 200;
const OUTAGE_MB: u64 = 500;

/// The door.
pub fn run(mut arguments: Arguments) -> Result<()> {
    let runs = arguments.number("--runs")?.unwrap_or(RUNS);
    let megabytes = arguments.number("--mb")?.unwrap_or(OUTAGE_MB);
    let part = arguments.operand();
    arguments.finish()?;
    if runs == 0 {
        bail!("--runs needs at least 1");
    }
    match part.as_deref() {
        None => {
            functions()?;
            commands(runs)?;
            agent()
        }
        Some("core") => functions(),
        Some("plan") => commands(runs),
        Some("daemon") => agent(),
        Some("outage") => outage(megabytes),
        Some(other) => bail!("there is no part {other:?}; there are core, plan, daemon and outage"),
    }
}

/// The released agent with nothing to do, beside its goals. What measures it is a test target without a harness.
fn agent() -> Result<()> {
    let cluster = e2e::provide()?;
    let packages = ["--package", "ostler", "--package", "ostler-applier"];
    process::run(process::cargo(["build", "--release", "--locked"]).args(packages))?;
    let mut measure = process::cargo(["test", "--locked", "--package", "ostler", "--test", "daemon"]);
    measure.env("KUBE_APISERVER", cluster.server).env("ETCD", cluster.store);
    process::run(measure.env("OSTLER_MEASURED", workspace::target().join("release/ostler")))
}

/// A node in a container, updated from a real registry over a network of limited speed.
fn outage(megabytes: u64) -> Result<()> {
    setup::for_door(Door::Test)?;
    vm::build_stand_ins()?;
    let mut measure = process::cargo(["test", "--locked", "--package", "ostler", "--test", "outage"]);
    process::run(measure.env("OSTLER_REQUIRE_SYSTEMD", "1").env("OSTLER_OUTAGE_MB", megabytes.to_string()))
}

fn functions() -> Result<()> {
    let start = SystemTime::now();
    process::run(&mut process::cargo(["bench", "--locked", "--package", "ostler-tests"]))?;
    println!("\n{:<44} {:>12} {:>16}", "function", "median", "per 100 KB");
    for estimate in estimates::read(&workspace::target().join("criterion"), start)? {
        let rate = estimate.per_100_kb().map_or_else(|| "-".to_owned(), |rate| format!("{rate:.3} ms"));
        println!("{:<44} {:>12} {rate:>16}", estimate.name, short(estimate.nanoseconds));
    }
    Ok(())
}

fn commands(runs: u64) -> Result<()> {
    process::run(&mut process::cargo(["build", "--release", "--locked", "--package", "ostler"]))?;
    let program = workspace::target().join("release/ostler");
    println!("\n{:<44} {:>10} {:>10} {:>10}   ({runs} runs each)", "ostler plan", "median", "p95", "worst");
    for (from, to) in pairs()? {
        let spread = Spread::of((0..runs).map(|_| once(&program, &from, &to)).collect::<Result<_>>()?);
        let name = format!("{} > {}", stem(&from), stem(&to));
        println!("{name:<44} {:>10} {:>10} {:>10}", millis(spread.median), millis(spread.p95), millis(spread.worst));
    }
    Ok(())
}

/// Examples, then real configs: each to itself, and the first to the second.
fn pairs() -> Result<Vec<(PathBuf, PathBuf)>> {
    let examples = workspace::root().join("docs/examples");
    let example = |name: &str| examples.join(format!("worker-{name}.yaml"));
    let mut pairs: Vec<_> =
        ["current", "desired", "reboot", "new-disk"].map(|to| (example("current"), example(to))).into();
    let fixtures = rendered(&workspace::root().join("../shared/fixtures"))?;
    pairs.extend(fixtures.iter().map(|config| (config.clone(), config.clone())));
    if let [first, second, ..] = fixtures.as_slice() {
        pairs.push((first.clone(), second.clone()));
    }
    Ok(pairs)
}

fn rendered(directory: &Path) -> Result<Vec<PathBuf>> {
    if !directory.is_dir() {
        println!("bench: no {}, measuring the examples only", directory.display());
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).with_context(|| format!("cannot list {}", directory.display()))? {
        let path = entry?.path();
        found.extend(stem(&path).starts_with("rendered-").then_some(path));
    }
    found.sort_unstable();
    Ok(found)
}

/// One run, start to end. A refusal is an answer too; only a crash or a wrong command line is not.
fn once(program: &Path, from: &Path, to: &Path) -> Result<Duration> {
    let mut command = Command::new(program);
    command.arg("plan").arg("--from").arg(from).arg("--to").arg(to);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let status = command.status().with_context(|| format!("cannot start {}", program.display()))?;
    let took = start.elapsed();
    match status.code() {
        Some(0 | 3 | 4) => Ok(took),
        _ => bail!("{} ended with {status}", process::line(&command)),
    }
}

/// Name for a table, without most of the hash that a rendered config carries.
fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().chars().take(20).collect()
}

fn millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

fn short(nanoseconds: f64) -> String {
    match nanoseconds {
        n if n < 1e3 => format!("{n:.1} ns"),
        n if n < 1e6 => format!("{:.2} us", n / 1e3),
        n => format!("{:.2} ms", n / 1e6),
    }
}

/// What a table shows of many runs.
#[derive(Debug, PartialEq)]
struct Spread {
    median: Duration,
    p95: Duration,
    worst: Duration,
}

impl Spread {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let last = times.len().saturating_sub(1);
        let at = |percent: usize| times.get(last * percent / 100).copied().unwrap_or_default();
        Self { median: at(50), p95: at(95), worst: at(100) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_of_many_runs_does_not_depend_on_their_order() {
        let times = (1..=101).rev().map(Duration::from_millis).collect();
        let expected = [51, 96, 101].map(Duration::from_millis);
        assert_eq!(Spread::of(times), Spread { median: expected[0], p95: expected[1], worst: expected[2] });
    }

    #[test]
    fn one_run_is_its_own_spread() {
        let one = Duration::from_millis(7);
        assert_eq!(Spread::of(vec![one]), Spread { median: one, p95: one, worst: one });
    }

    #[test]
    fn names_and_numbers_fit_the_table() {
        assert_eq!(stem(Path::new("x/rendered-worker-f1c885da81adc9b9.yaml")), "rendered-worker-f1c8");
        assert_eq!(stem(Path::new("x/worker-current.yaml")), "worker-current");
        assert_eq!([short(12.34), short(1234.0), short(5_600_000.0)], ["12.3 ns", "1.23 us", "5.60 ms"]);
    }
}
