//! `ostler-vm`: cases and power cuts in virtual machines. `cargo xtask vm` builds what it needs and runs it.

mod cases;
mod chance;
#[cfg(feature = "cluster")]
#[path = "../../tests/cluster/mod.rs"]
#[allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what tests with a cluster share, which panics as tests do"
)]
mod cluster;
mod command;
mod cuts;
mod disk;
mod fsck;
mod furnish;
mod guest;
mod image;
mod keep;
mod lab;
mod loader;
mod machine;
mod node;
mod qemu;
mod registry;
mod socket;
mod tools;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::cases::CASES;
use crate::image::{Image, Programs};
use crate::lab::Lab;
use crate::machine::PATIENCE;
use crate::node::Target;

/// Power cuts unless somebody says how many.
const CUTS: u64 = 10;
/// How long CI waits for a boot, which takes a minute where every instruction is emulated.
const BOOT: Duration = Duration::from_secs(600);

fn main() -> ExitCode {
    match enter(std::env::args().skip(1).collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("vm: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn enter(words: Vec<String>) -> Result<()> {
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    if words == ["list"] {
        CASES.iter().for_each(|case| println!("{:<26}{}", case.name, case.summary));
        return Ok(());
    }
    if let Some(reason) = lab::obstacle() {
        println!("SKIPPED: the virtual machines: {reason}");
        return Ok(());
    }
    match words.as_slice() {
        ["cases"] => run_cases(""),
        ["cases", wanted] => run_cases(wanted),
        ["cuts", cuts, seed, first, jobs, report] => {
            let report = PathBuf::from(report);
            let order = cuts::Order {
                cuts: number(cuts)?.unwrap_or(CUTS),
                seed: number(seed)?.unwrap_or_default(),
                first: number(first)?.unwrap_or(1),
                jobs: number(jobs)?.unwrap_or(1),
                report: (*first == "-").then_some(report.as_path()),
            };
            cuts::run(&Lab::open(&programs()?)?, &order)
        }
        ["boot"] => boot(),
        ["shell"] => shell(),
        other => bail!("not understood: {}; use cargo xtask vm", other.join(" ")),
    }
}

/// A number, or nothing where none was given.
fn number(word: &str) -> Result<Option<u64>> {
    if word == "-" {
        return Ok(None);
    }
    word.parse().map(Some).with_context(|| format!("{word:?} is not a whole number"))
}

fn programs() -> Result<Programs> {
    let named = |name: &str| {
        std::env::var_os(name).map(PathBuf::from).with_context(|| format!("{name} is not set: use cargo xtask vm"))
    };
    let (package, standins) = (named("OSTLER_PACKAGE")?, named("OSTLER_STANDINS")?);
    Ok(Programs { package, standins, checkout: named("OSTLER_CHECKOUT")? })
}

/// One boot: all that CI has time for. A mirror that cannot be reached, or not in time, is no fault of what is booted.
fn boot() -> Result<()> {
    let programs = programs()?;
    if let Err(error) = Image::fetch() {
        println!("SKIPPED: the virtual machine: its packages cannot be had: {error:#}");
        return Ok(());
    }
    let lab = Lab::open(&programs)?;
    let mut node = lab.installed()?;
    let start = Instant::now();
    node.machine.power_on()?;
    node.machine.wait_for_guest(BOOT)?;
    furnish::furnish(&mut node)?;
    println!("vm: booted, and its agent at rest, after {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// Runs what is typed on a node in the configuration `old`, line by line: for whoever wants to look.
fn shell() -> Result<()> {
    let lab = Lab::open(&programs()?)?;
    let mut node = lab.node()?;
    for line in std::io::stdin().lines() {
        match line?.as_str() {
            "update" => node.desire(&Target::new_os())?,
            command => {
                let said = node.machine.ask(command)?;
                println!("{}[{}]", said.text, said.status);
            }
        }
        if node.machine.keep_on()? {
            node.machine.wait_for_guest(PATIENCE)?;
        }
    }
    Ok(())
}

fn run_cases(wanted: &str) -> Result<()> {
    let chosen: Vec<_> = CASES.iter().filter(|case| case.name.contains(wanted)).collect();
    if chosen.is_empty() {
        bail!("there is no case {wanted:?}; --list names them");
    }
    let mut lab = Lab::open(&programs()?)?;
    let mut failed = Vec::new();
    for case in chosen {
        println!("vm: {} ({})", case.name, case.summary);
        let start = Instant::now();
        let result = (case.run)(&mut lab);
        let verdict = if result.is_ok() { "ok" } else { "FAILED" };
        println!("vm: {} {verdict} ({:.0} s)", case.name, start.elapsed().as_secs_f64());
        if let Err(error) = result {
            println!("{error:#}");
            failed.push(case.name);
        }
    }
    if failed.is_empty() { Ok(()) } else { bail!("failed: {}", failed.join(", ")) }
}
