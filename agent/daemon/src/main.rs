//! The `ostler` command: parse, run, exit code.
#![forbid(unsafe_code)]

mod account;
mod applier;
mod cli;
mod cluster;
mod commands;
mod course;
mod duty;
mod input;
mod service;
mod show;
mod telling;

use std::process::ExitCode;

use clap::Parser;

use applier::Connection;
use cli::{Cli, Command};
use commands::{Console, Heard, LocalAgent, Outcome};

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Plan(options) => commands::plan(&options),
        Command::Diff(options) => commands::diff(&options),
        Command::Pack(options) => commands::pack(&options),
        Command::Daemon(options) => service::daemon(&options),
        Command::Firstboot(options) => service::first_boot(&options),
        Command::Apply(options) => {
            commands::apply(&options, &mut Console::standard(options.machine.output), Connection::open)
        }
        Command::Recover(options) => {
            commands::recover(&options, &mut Console::standard(options.machine.output), Connection::open)
        }
        Command::Abandon(options) => {
            commands::abandon(&options, &mut Console::standard(options.machine.output), Connection::open)
        }
        Command::Rollback(options) => {
            let agent = LocalAgent::of(options.machine.root.as_deref());
            commands::rollback(&options, &mut Console::standard(options.machine.output), Connection::open, &agent)
        }
        Command::Reboot(options) => {
            commands::reboot(&options, &mut Console::standard(options.output), Connection::open)
        }
        Command::Bootloader(options) => commands::bootloader(&options.command, Console::standard, Connection::open),
        Command::Status(options) => {
            let mut console = Console::standard(options.machine.output);
            commands::status(&options, &mut console, Connection::open, Heard::from_agent)
        }
        Command::HandBack(options) => {
            let mut console = Console::standard(options.machine.output);
            commands::hand_back(&options, &mut console, Connection::open, Heard::from_agent)
        }
        Command::Drift(options) => {
            let mut console = Console::standard(options.machine.output);
            commands::drift(&options, &mut console, Connection::open, commands::drift_policy)
        }
    };
    match result {
        Ok(outcome) => outcome.into(),
        Err(error) => {
            show::error(&error);
            Outcome::from(&error).into()
        }
    }
}
