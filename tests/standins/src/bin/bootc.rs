//! The stand-in for bootc.

use std::process::ExitCode;

use clap::Parser;
use ostler_standins::bootc::{Cli, enter_own_namespace, run};

fn main() -> ExitCode {
    let cli = Cli::parse();
    match enter_own_namespace().and_then(|()| run(cli)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // In colour unless `NO_COLOR` forbids it, terminal or not.
            let coloured = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
            let label = if coloured { "\u{1b}[31mERROR\u{1b}[0m" } else { "ERROR" };
            eprintln!("{label} {error:#}");
            ExitCode::FAILURE
        }
    }
}
