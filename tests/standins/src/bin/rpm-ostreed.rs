//! The stand-in for rpm-ostreed.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use ostler_standins::rpmostreed::{Options, serve};

/// Stands in for rpm-ostreed on a bus.
#[derive(Parser)]
struct Cli {
    /// The bus; without it DBUS_SYSTEM_BUS_ADDRESS, else the system bus.
    #[arg(long)]
    address: Option<String>,
    /// The sysroot.
    #[arg(long, default_value = "/")]
    sysroot: PathBuf,
    /// The socket of transactions.
    #[arg(long, default_value = "/run/rpm-ostree-transaction.sock")]
    transaction_socket: PathBuf,
    /// The directory of repository files.
    #[arg(long, default_value = "/etc/yum.repos.d")]
    repos_dir: PathBuf,
    /// How long to stay without calls, registered clients and transactions.
    #[arg(long, default_value_t = 60)]
    idle_seconds: u64,
}

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    let options = Options {
        address: cli.address,
        sysroot: cli.sysroot,
        socket: cli.transaction_socket,
        repos_dir: cli.repos_dir,
        idle: Duration::from_secs(cli.idle_seconds),
    };
    match serve(options).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
