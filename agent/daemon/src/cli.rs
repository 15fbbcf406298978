//! The command line, and nothing but its shape: man pages and completions are generated from here.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// The node agent of an OpenShift or OKD node.
#[derive(Debug, Parser)]
#[command(name = "ostler", version, max_term_width = 100, disable_help_subcommand = true)]
#[command(after_help = "Every command takes --help. Colours follow the terminal; NO_COLOR turns them off.")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// All commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Say what a MachineConfig would change on a node, and why, without changing anything
    #[command(after_help = PLAN_EXIT)]
    Plan(PlanOptions),
    /// Say what differs from the configuration a node was installed with and can no longer be applied
    #[command(after_help = DIFF_EXIT)]
    Diff(DiffOptions),
    /// Bring the machine, or a root directory, into a configuration: wholly, or not at all
    #[command(after_help = APPLY_EXIT)]
    Apply(ApplyOptions),
    /// Finish or undo a transaction that was interrupted
    #[command(after_help = RECOVER_EXIT)]
    Recover(RecoverOptions),
    /// Go back to the configuration before the current one
    #[command(after_help = ROLLBACK_EXIT)]
    Rollback(RollbackOptions),
    /// Restart the machine so that what waits for it takes effect
    #[command(after_help = REBOOT_EXIT)]
    Reboot(RebootOptions),
    /// Look at the boot loader, bring it up to date, or let bootupd take it over
    #[command(disable_help_subcommand = true)]
    Bootloader(BootloaderOptions),
    /// Say which configuration the machine is in, and whether something is unfinished
    #[command(after_help = STATUS_EXIT)]
    Status(StatusOptions),
    /// Say how the machine differs from the configuration it is in, and put it right if asked
    #[command(after_help = DRIFT_EXIT)]
    Drift(DriftOptions),
    /// Write what packages ship beside the command
    #[command(hide = true)]
    Pack(PackOptions),
}

const PLAN_EXIT: &str = "\
Exit status:
  0  the change can be applied
  2  a file could not be read or is no MachineConfig, or the command line is wrong
  3  the change is refused; the reason and the remedy are shown";

const DIFF_EXIT: &str = "\
Exit status:
  0  nothing differs
  2  a file could not be read or is no MachineConfig, or the command line is wrong
  4  something differs";

const APPLY_EXIT: &str = "\
Exit status:
  0  applied, or checked with --dry-run, or there was nothing to do
  1  not applied, and the machine is as it was: it failed, it was undone, or you said no
  2  a file cannot be used, --yes is missing, or the command line is wrong
  3  refused; the reason and the remedy are shown, and nothing was changed
  5  it failed and the machine is not settled: see \"ostler status\", run \"ostler recover\"";

const RECOVER_EXIT: &str = "\
Exit status:
  0  what was interrupted is finished, or there was nothing to do
  1  what was interrupted is undone, and the machine is as it was before it; or nothing was done
  2  the command line is wrong, or --root is no directory
  3  refused; the reason and the remedy are shown
  5  it failed and the machine is not settled: a person has to look at it";

const ROLLBACK_EXIT: &str = "\
Exit status:
  0  rolled back, or checked with --dry-run, or there was nothing to do
  1  not rolled back, and the machine is as it was: it failed, it was undone, or you said no
  2  there is no configuration to go back to, --yes is missing, or the command line is wrong
  3  refused; the reason and the remedy are shown, and nothing was changed
  5  it failed and the machine is not settled: see \"ostler status\", run \"ostler recover\"";

const REBOOT_EXIT: &str = "\
Exit status:
  0  the machine is restarting, or would with --dry-run
  1  not restarted: it failed, somebody holds it up, or you said no
  2  --yes is missing, or the command line is wrong
  3  refused; the reason and the remedy are shown
  5  a transaction was interrupted: run \"ostler recover\" first";

const BOOTLOADER_STATUS_EXIT: &str = "\
Exit status:
  0  up to date, or bootupd keeps no boot loader here
  1  it could not be had
  2  the command line is wrong
  3  refused; the reason and the remedy are shown
  4  something needs attention: an interrupted update, a newer boot loader, one to be adopted";

const BOOTLOADER_WRITE_EXIT: &str = "\
Exit status:
  0  written, or it could be with --dry-run
  1  not written, and the boot loader is as it was: it could not be begun, or you said no
  2  --yes is missing, or the command line is wrong
  3  refused, also when there is nothing to write; the reason and the remedy are shown
  5  it failed while it was written, or nobody can tell: do NOT restart the machine,
     see \"ostler bootloader status\" first";

const STATUS_EXIT: &str = "\
Exit status:
  0  settled
  1  the status could not be had
  2  the command line is wrong, or --root is no directory
  4  something needs attention: an open transaction, a damaged record, a restart to come,
     deployments that could not be read or finished";

const DRIFT_EXIT: &str = "\
Exit status:
  0  nothing differs, or everything was repaired
  1  not told or repaired, and the machine is as it was: it failed, was undone, or you said no
  2  --yes is missing, or the command line is wrong
  3  refused; the reason and the remedy are shown, and nothing was changed
  4  something differs
  5  it failed and the machine is not settled: see \"ostler status\", run \"ostler recover\"";

/// `ostler plan`.
#[derive(Debug, Args)]
pub struct PlanOptions {
    /// MachineConfig the node is in now, JSON or YAML, - for standard input [default: an empty machine]
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// MachineConfig the node shall be in, JSON or YAML, - for standard input
    #[arg(long, value_name = "FILE")]
    pub to: PathBuf,
    /// By which rules.
    #[command(flatten)]
    pub rules: RuleOptions,
    /// Show how the contents of files change; files and lines that hold secrets stay masked
    #[arg(long)]
    pub show_contents: bool,
    /// How to print
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: Format,
}

/// By which rules a change is planned.
#[derive(Debug, Default, Args)]
pub struct RuleOptions {
    /// Sections that may differ without being applied: Disks, FileSystems, Raid
    #[arg(long, value_name = "SECTION", value_delimiter = ',', ignore_case = true)]
    pub overrides: Vec<Override>,
    /// Node disruption policy: a MachineConfiguration, or its nodeDisruptionPolicy [default: the built-in policies]
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Decide as at first boot, by a fixed table; a policy has no say then
    #[arg(long)]
    pub first_boot: bool,
}

/// Which machine, and how to answer.
#[derive(Debug, Default, Args)]
pub struct MachineOptions {
    /// Root directory to work on instead of the running machine; services are then left alone
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// How to print
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: Format,
}

/// Whether to change anything, and whether to ask first.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct ConsentOptions {
    /// Check everything that can be checked, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask before changing the machine
    #[arg(short, long)]
    pub yes: bool,
}

/// `ostler apply`.
#[derive(Debug, Args)]
pub struct ApplyOptions {
    /// MachineConfig to bring the machine into, JSON or YAML, - for standard input
    #[arg(long, value_name = "FILE")]
    pub to: PathBuf,
    /// Whether, and whether to ask.
    #[command(flatten)]
    pub consent: ConsentOptions,
    /// By which rules.
    #[command(flatten)]
    pub rules: RuleOptions,
    /// Which machine.
    #[command(flatten)]
    pub machine: MachineOptions,
}

/// `ostler recover`.
#[derive(Debug, Args)]
pub struct RecoverOptions {
    /// Which machine.
    #[command(flatten)]
    pub machine: MachineOptions,
}

/// `ostler rollback`.
#[derive(Debug, Args)]
pub struct RollbackOptions {
    /// Whether, and whether to ask.
    #[command(flatten)]
    pub consent: ConsentOptions,
    /// By which rules.
    #[command(flatten)]
    pub rules: RuleOptions,
    /// Which machine.
    #[command(flatten)]
    pub machine: MachineOptions,
}

/// `ostler reboot`.
#[derive(Debug, Args)]
pub struct RebootOptions {
    /// Restart user space alone, where systemd can and the kernel stays; else the machine restarts as a whole
    #[arg(long)]
    pub soft: bool,
    /// Whether, and whether to ask.
    #[command(flatten)]
    pub consent: ConsentOptions,
    /// How to print
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: Format,
}

/// `ostler bootloader`.
#[derive(Debug, Args)]
pub struct BootloaderOptions {
    /// What about it.
    #[command(subcommand)]
    pub command: BootloaderCommand,
}

/// What can be done about the boot loader.
#[derive(Debug, Subcommand)]
pub enum BootloaderCommand {
    /// Say which boot loader is installed, which one the booted image brings, and where it lies
    #[command(after_help = BOOTLOADER_STATUS_EXIT)]
    Status(BootloaderStatusOptions),
    /// Bring the boot loader that bootupd keeps to the version of the booted image
    #[command(after_help = BOOTLOADER_WRITE_EXIT)]
    Update(BootloaderWriteOptions),
    /// Let bootupd take over a boot loader that it does not keep yet, and update it
    #[command(after_help = BOOTLOADER_WRITE_EXIT)]
    Adopt(BootloaderWriteOptions),
}

/// `ostler bootloader status`.
#[derive(Debug, Args)]
pub struct BootloaderStatusOptions {
    /// How to print
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: Format,
}

/// `ostler bootloader update` and `ostler bootloader adopt`.
#[derive(Debug, Args)]
pub struct BootloaderWriteOptions {
    /// Whether, and whether to ask.
    #[command(flatten)]
    pub consent: ConsentOptions,
    /// How to print
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: Format,
}

/// `ostler status`.
#[derive(Debug, Args)]
pub struct StatusOptions {
    /// Which machine.
    #[command(flatten)]
    pub machine: MachineOptions,
}

/// `ostler drift`.
#[derive(Debug, Args)]
pub struct DriftOptions {
    /// Make the machine agree with its configuration again; drop-ins that are not configured are removed
    #[arg(long)]
    pub repair: bool,
    /// Do not ask before changing the machine
    #[arg(short, long, requires = "repair")]
    pub yes: bool,
    /// Which machine.
    #[command(flatten)]
    pub machine: MachineOptions,
}

/// `ostler diff`.
#[derive(Debug, Args)]
pub struct DiffOptions {
    /// MachineConfig the node was installed with (/etc/mcs-machine-config-content.json on a node)
    #[arg(long, value_name = "FILE")]
    pub install_time: PathBuf,
    /// MachineConfig the node shall be in, JSON or YAML, - for standard input
    #[arg(long, value_name = "FILE")]
    pub to: PathBuf,
    /// How to print
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: Format,
}

/// `ostler pack`.
#[derive(Debug, Args)]
pub struct PackOptions {
    /// What to write.
    #[arg(value_enum)]
    pub what: Packed,
    /// Directory to write to; made if it is not there.
    pub directory: PathBuf,
}

/// What `ostler pack` can write.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Packed {
    /// Man pages.
    Man,
    /// Shell completions.
    Completions,
}

/// Formats of output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For a person
    #[default]
    Text,
    /// For a program
    Json,
}

/// Sections of storage that an administrator may let differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Override {
    /// storage.disks
    #[value(name = "Disks")]
    Disks,
    /// storage.filesystems
    #[value(name = "FileSystems")]
    FileSystems,
    /// storage.raid
    #[value(name = "Raid")]
    Raid,
}
