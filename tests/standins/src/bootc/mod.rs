//! The stand-in for bootc: `status`, `switch`, `upgrade` and `rollback`, with bootc's status JSON and exit codes.
//!
//! It never reboots, and knows no soft reboot and no composefs. What differs between releases is that of the release in the
//! fault switch `release`, which `bootc --version` tells.

mod change;
mod kargs_d;
mod release;
mod status;

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args, Parser, Subcommand, ValueEnum};
use tokio::sync::{mpsc, watch};

use crate::faults::Faults;
use crate::narrator::{Heard, Narrator, Note};
use crate::sysroot::open;
use release::Release;

/// The name of this program in fault switches.
pub const PROGRAM: &str = "bootc";

/// Stands in for bootc.
#[derive(Parser)]
#[command(name = "bootc", disable_version_flag = true, arg_required_else_help = true)]
pub struct Cli {
    /// Tells the release.
    #[arg(long, exclusive = true)]
    version: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Shows the deployments.
    Status(StatusArgs),
    /// Takes another image from now on.
    Switch(SwitchArgs),
    /// Takes the newest image of the same reference.
    Upgrade(UpgradeArgs),
    /// Boots the previous deployment next.
    Rollback(RollbackArgs),
}

#[derive(Args)]
struct StatusArgs {
    /// JSON, the same as `--format json`.
    #[arg(long, conflicts_with = "format")]
    json: bool,
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// The version of the format.
    #[arg(long)]
    format_version: Option<u32>,
    /// Only the booted deployment.
    #[arg(long)]
    booted: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Humanreadable,
    Json,
}

#[derive(Args)]
struct SwitchArgs {
    #[arg(long)]
    quiet: bool,
    /// Refused: the stand-in does not reboot.
    #[arg(long)]
    apply: bool,
    #[arg(long, default_value = "registry")]
    transport: String,
    #[arg(long)]
    enforce_container_sigpolicy: bool,
    /// Keeps the image that was booted.
    #[arg(long)]
    retain: bool,
    target: String,
}

#[derive(Args)]
struct UpgradeArgs {
    #[arg(long)]
    quiet: bool,
    /// Only looks whether there is a newer image.
    #[arg(long)]
    check: bool,
    /// Refused: the stand-in does not reboot.
    #[arg(long)]
    apply: bool,
}

#[derive(Args)]
struct RollbackArgs {
    /// Refused: the stand-in does not reboot.
    #[arg(long)]
    apply: bool,
}

/// Runs one command.
pub fn run(cli: Cli) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        match cli.command {
            None => {
                println!("bootc {}", Release::current()?);
                Ok(())
            }
            Some(Command::Status(args)) => show(&args).await.context("Status"),
            Some(Command::Switch(args)) => switch(&args).await.context("Switching"),
            Some(Command::Upgrade(args)) => upgrade(&args).await.context("Upgrading"),
            Some(Command::Rollback(args)) => rollback(&args).await.context("Rolling back"),
        }
    })
}

async fn show(args: &StatusArgs) -> Result<()> {
    if args.format_version.is_some_and(|version| version > 1) {
        bail!("Unsupported format version: {}", args.format_version.unwrap_or_default());
    }
    let locked = change::lock(&open(&sysroot_path())?).await?;
    let host = status::read(&locked)?.shown(args.booted);
    if args.json || args.format == Some(Format::Json) {
        println!("{}", serde_json::to_string(&host)?);
    } else {
        println!("{}", serde_json::to_string_pretty(&host)?);
    }
    Ok(())
}

async fn switch(args: &SwitchArgs) -> Result<()> {
    refuse_reboot(args.apply)?;
    let image = change::reference(&args.transport, &args.target, args.enforce_container_sigpolicy)?;
    let narrator = narrator("switch", args.quiet)?;
    change::switch(&open(&sysroot_path())?, &image, args.retain, &narrator).await
}

async fn upgrade(args: &UpgradeArgs) -> Result<()> {
    refuse_reboot(args.apply)?;
    let narrator = narrator("upgrade", args.quiet)?;
    change::upgrade(&open(&sysroot_path())?, args.check, &narrator).await
}

async fn rollback(args: &RollbackArgs) -> Result<()> {
    refuse_reboot(args.apply)?;
    let narrator = narrator("rollback", false)?;
    change::rollback(&open(&sysroot_path())?, &narrator).await
}

fn refuse_reboot(apply: bool) -> Result<()> {
    if apply { bail!("the stand-in does not reboot") } else { Ok(()) }
}

/// Goes on in a mount namespace of its own when it works on the running system: libostree remounts what is read-only,
/// which the system must not see.
pub fn enter_own_namespace() -> Result<()> {
    const MARK: &str = "STANDIN_IN_NAMESPACE";
    if sysroot_path() != Path::new("/") || std::env::var_os(MARK).is_some() {
        return Ok(());
    }
    let mut command = std::process::Command::new("unshare");
    command.args(["--mount", "--propagation=slave", "--"]).arg(std::env::current_exe()?);
    let failure = command.args(std::env::args_os().skip(1)).env(MARK, "1").exec();
    Err(failure).context("entering a mount namespace with unshare")
}

/// The sysroot: `/`, or what `STANDIN_SYSROOT` names, since bootc has no option for it.
fn sysroot_path() -> PathBuf {
    std::env::var_os("STANDIN_SYSROOT").map_or_else(|| PathBuf::from("/"), PathBuf::from)
}

/// A narrator that writes to standard error. Nothing cancels a command but a signal.
fn narrator(command: &str, quiet: bool) -> Result<Narrator> {
    let faults = Faults::load(PROGRAM)?.for_method(command);
    let (listener, mut heard) = mpsc::channel::<Heard>(1);
    let (_, cancelled) = watch::channel(false);
    tokio::spawn(async move {
        while let Some((note, acknowledge)) = heard.recv().await {
            if !quiet {
                print(&note);
            }
            let _ = acknowledge.send(());
        }
    });
    Ok(Narrator::new(listener, cancelled, faults))
}

fn print(note: &Note) {
    match note {
        Note::Message(text) | Note::TaskBegin(text) | Note::TaskEnd(text) => eprintln!("{text}"),
        Note::Percent(text, percentage) => eprintln!("{text} {percentage}%"),
        Note::Download { bytes, fetched, requested } => eprintln!("Fetched layers: {fetched}/{requested} ({bytes} B)"),
        Note::ProgressEnd | Note::Finished(..) | Note::Cut => {}
    }
}
