//! The stand-in for bootc.

use std::process::ExitCode;

use clap::Parser;
use ostler_standins::bootc::{Cli, enter_own_namespace, run};

fn main() -> ExitCode {
    let cli = Cli::parse();
    match enter_own_namespace().and_then(|()| run(cli)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
