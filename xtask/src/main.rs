//! The developer's doors: `cargo xtask NAME`. Dispatch only; every door lives in the module of its name.
//!
//! Needs cargo and a C compiler, nothing else, so that it can install the rest.

mod arguments;
mod bench;
mod built;
mod cri;
mod demo;
mod deny;
mod docs;
mod e2e;
mod estimates;
mod fuzz;
mod golden;
mod needs;
mod package;
mod process;
mod sanitizer;
mod selinux;
mod setup;
mod stages;
mod toolchain;
mod troubleshoot;
mod units;
mod vm;
mod workspace;

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::arguments::Arguments;

struct Door {
    name: &'static str,
    usage: &'static str,
    summary: &'static str,
    run: fn(Arguments) -> Result<()>,
}

const DOORS: &[Door] = &[
    Door { name: "setup", usage: setup::USAGE, summary: "install the packages that are missing", run: setup::run },
    Door { name: "demo", usage: demo::USAGE, summary: "build ostler and show it at work", run: demo::run },
    Door { name: "test", usage: stages::USAGE, summary: "everything that CI checks", run: stages::run },
    Door { name: "e2e", usage: e2e::USAGE, summary: "test against a real API server", run: e2e::run },
    Door { name: "vm", usage: vm::USAGE, summary: "boot, update and cut off whole machines", run: vm::run },
    Door { name: "golden", usage: golden::USAGE, summary: "check or rewrite the golden plans", run: golden::run },
    Door { name: "cri", usage: cri::USAGE, summary: "check or rewrite what protobuf makes", run: cri::run },
    Door { name: "fuzz", usage: fuzz::USAGE, summary: "fuzz what reads bytes from outside", run: fuzz::run },
    Door { name: "bench", usage: bench::USAGE, summary: "measure the core and the command", run: bench::run },
    Door {
        name: "package",
        usage: package::USAGE,
        summary: "make an RPM, a deb and a system extension",
        run: package::run,
    },
    Door { name: "units", usage: units::USAGE, summary: "verify units and their exposure", run: units::run },
    Door { name: "docs", usage: docs::USAGE, summary: "generate man pages, completions and messages", run: docs::run },
    Door { name: "deny", usage: deny::USAGE, summary: "check licences, bans and sources", run: deny::run },
];

fn main() -> ExitCode {
    match enter(std::env::args().skip(1).collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn enter(mut words: Vec<String>) -> Result<()> {
    let wants_help = words.iter().any(|word| matches!(word.as_str(), "-h" | "--help" | "help"));
    words.retain(|word| !matches!(word.as_str(), "-h" | "--help" | "help"));
    if words.is_empty() {
        print!("{}", overview());
        return Ok(());
    }
    let name = words.remove(0);
    let Some(door) = DOORS.iter().find(|door| door.name == name) else {
        bail!("there is no door {name:?}\n\n{}", overview());
    };
    if wants_help {
        print!("{}", door.usage);
        return Ok(());
    }
    (door.run)(Arguments::new(words))
}

fn overview() -> String {
    let mut text = String::from("cargo xtask NAME [OPTION]...\n\n");
    for door in DOORS {
        text.push_str(&format!("  {:<8}{}\n", door.name, door.summary));
    }
    text.push_str("\n`cargo xtask NAME --help` says more. New here? `cargo xtask demo`.\n");
    text
}
