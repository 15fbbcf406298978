//! The `ostler` command: parse, run, exit code.
#![forbid(unsafe_code)]

mod cli;
mod commands;
mod input;
mod show;

use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command};
use commands::Outcome;

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Plan(options) => commands::plan(&options),
        Command::Diff(options) => commands::diff(&options),
        Command::Pack(options) => commands::pack(&options),
    };
    match result {
        Ok(outcome) => outcome.into(),
        Err(error) => {
            show::error(&error);
            Outcome::BadInput.into()
        }
    }
}
