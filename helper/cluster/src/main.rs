//! The `ostler-cluster` command: parse, run, exit code.
#![forbid(unsafe_code)]

mod cli;
mod commands;
mod input;
mod inspection;
mod output;
mod own;
mod source;

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;

use cli::{Cli, Command};
use commands::Outcome;

fn main() -> ExitCode {
    match run(Cli::parse_from(cli::spelt_out(std::env::args_os()))) {
        Ok(outcome) => outcome.into(),
        Err(error) => {
            output::error(&error);
            Outcome::from(&error).into()
        }
    }
}

fn run(cli: Cli) -> Result<Outcome> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start what waits for answers")?;
    runtime.block_on(async {
        match cli.command {
            Command::Streams(options) => commands::streams(&cli.cluster, options.command).await,
            Command::Preflight(options) => commands::preflight(&cli.cluster, &options).await,
            Command::Rollout(options) => commands::rollout(&cli.cluster, options.command).await,
            Command::BootImages(options) => commands::boot_images(&cli.cluster, options.command).await,
            Command::Pack(options) => commands::pack(&options),
        }
    })
}
