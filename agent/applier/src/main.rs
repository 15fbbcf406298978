//! The `ostler-applier` command: started by systemd for its socket, or by `ostler` as a child. Not for people.
#![forbid(unsafe_code)]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{ArgGroup, Parser};
use ostler_applier::machine::Machine;
use ostler_applier::sysroot::{Change, exit_status};
use ostler_applier::{
    Allowed, Limits, Peer, Service, Stop, Tickets, converse, from_systemd, log, outlive_the_terminal, panics,
};

/// The root half of the Ostler node agent; "ostler" starts it when there is work
#[derive(Debug, Parser)]
#[command(name = "ostler-applier", version, max_term_width = 100)]
#[command(group = ArgGroup::new("peer").required(true).args(["stdio", "socket", "sysroot", "next_etc"]))]
struct Arguments {
    /// Serve one peer at standard input and output, until it closes them
    #[arg(long)]
    stdio: bool,
    /// Serve peers at the sockets systemd passes
    #[arg(long)]
    socket: bool,
    /// Make the one change of the deployments at this root that standard input orders; for this program's own use
    #[arg(long, value_name = "DIR", conflicts_with = "root", hide = true)]
    sysroot: Option<PathBuf>,
    /// Write the configuration into /etc of the deployment that the next boot starts; for ostler-recover.service
    #[arg(long, conflicts_with = "root", hide = true)]
    next_etc: bool,
    /// Work on the files under this directory instead of on this machine
    #[arg(long, value_name = "DIR", conflicts_with = "socket")]
    root: Option<PathBuf>,
    /// End when nobody has connected for this long
    #[arg(long, value_name = "SECONDS", default_value_t = 60, conflicts_with = "stdio")]
    idle: u64,
    /// User who may connect besides root; may be repeated
    #[arg(long = "allow-user", value_name = "NAME", default_values_t = ["ostler".to_owned()], conflicts_with = "stdio")]
    allow_users: Vec<String>,
}

fn main() -> ExitCode {
    panics::keep_quiet();
    let arguments = Arguments::parse();
    let result = match &arguments.sysroot {
        Some(root) => Change::from_standard_input(root),
        None if arguments.next_etc => write_next_etc(),
        None if arguments.socket => serve_sockets(&arguments),
        None => serve_standard_streams(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log(&causes(&*error));
            ExitCode::from(exit_status(&*error))
        }
    }
}

fn write_next_etc() -> Result<(), Box<dyn Error>> {
    let written = Machine::new(PathBuf::from("/"), true).write_next_etc();
    let cannot = |error: Box<dyn Error>| {
        format!(
            "cannot write /etc of the next deployment: {}; ostler-recover.service repairs it at boot",
            causes(&*error)
        )
    };
    written.map_err(cannot)?.iter().for_each(|done| log(done));
    Ok(())
}

fn serve_standard_streams(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    outlive_the_terminal()?;
    let stop = Stop::on_sigterm()?;
    let (root, live) = match &arguments.root {
        Some(directory) => directory_of(directory)?,
        None => (PathBuf::from("/"), true),
    };
    let peer = Peer::of_standard_streams()?;
    // The command that started us may do as it likes with its time: nobody else waits.
    let limits = Limits { pause: Duration::MAX, ..Limits::default() };
    match converse(&peer, &mut Machine::new(root, live), &limits, &stop) {
        ending if ending.is_notable() => Err(ending.to_string().into()),
        _ => Ok(()),
    }
}

fn serve_sockets(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let stop = Stop::on_sigterm()?;
    let listeners = from_systemd()?;
    let (allowed, unknown) = Allowed::users(&arguments.allow_users)?;
    for name in unknown {
        log(&format!("there is no user {name} on this machine, who could otherwise connect"));
    }
    let service = Service { allowed, idle: Duration::from_secs(arguments.idle), limits: Limits::default(), stop };
    let tickets = Tickets::default();
    service.serve(&listeners, || Machine::new(PathBuf::from("/"), true).sharing(tickets.clone()))?;
    Ok(())
}

/// A root directory with nothing left to resolve, and whether it is this machine's own after all.
fn directory_of(given: &Path) -> Result<(PathBuf, bool), String> {
    let root = given.canonicalize().map_err(|error| format!("--root {}: {error}", given.display()))?;
    if !root.is_dir() {
        return Err(format!(
            "--root {}: not a directory; give the directory that holds etc, usr and var",
            given.display()
        ));
    }
    let live = root == Path::new("/");
    Ok((root, live))
}

fn causes(error: &dyn Error) -> String {
    let lines = std::iter::successors(Some(error), |&error| error.source()).map(ToString::to_string);
    lines.collect::<Vec<_>>().join(": ")
}
