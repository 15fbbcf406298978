//! The command line, and nothing but its shape: man pages and completions are generated from here.

mod exits;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use exits::{
    ABANDON_EXIT, APPLY_EXIT, BOOTLOADER_STATUS_EXIT, BOOTLOADER_WRITE_EXIT, DAEMON_EXIT, DIFF_EXIT, DRIFT_EXIT,
    FIRSTBOOT_EXIT, HAND_BACK_EXIT, PLAN_EXIT, REBOOT_EXIT, RECOVER_EXIT, ROLLBACK_EXIT, STATUS_EXIT,
};
use ostler_core::node::RebootWindow;

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
    /// Look after this node: bring it into every configuration that is desired of it, and say how it is
    #[command(after_help = DAEMON_EXIT)]
    Daemon(DaemonOptions),
    /// Complete the first boot of this machine: bring it into the operating system of its configuration, and restart
    #[command(after_help = FIRSTBOOT_EXIT)]
    Firstboot(FirstBootOptions),
    /// Bring the machine, or a root directory, into a configuration: wholly, or not at all
    #[command(after_help = APPLY_EXIT)]
    Apply(ApplyOptions),
    /// Finish or undo a transaction that was interrupted
    #[command(after_help = RECOVER_EXIT)]
    Recover(RecoverOptions),
    /// Close a transaction that can be neither finished nor undone, and leave the machine as it is
    ///
    /// The last way out, where "ostler recover" fails for good. It tries that first. Then it puts back all that can be put
    /// back, records how the machine differs from the old and the new configuration ("ostler status" and "ostler drift"
    /// show it), and closes the transaction, so that another configuration can be applied. The next change repairs what was
    /// left. Refused where a restart is all that is missing.
    #[command(after_help = ABANDON_EXIT)]
    Abandon(AbandonOptions),
    /// Go back to the configuration before the current one, and stay there until released
    ///
    /// The machine is held there: the agent does not update it to the configuration that was left until "ostler rollback
    /// --release", or until another configuration is desired or applied. Where the agent runs, it makes the rollback, with
    /// the drain, the policies and the restart of an update, and --policy does not count.
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
    /// Leave the machine so that a machine-config-daemon can begin with it
    #[command(after_help = HAND_BACK_EXIT)]
    HandBack(HandBackOptions),
    /// Write what packages ship beside the command
    #[command(hide = true)]
    Pack(PackOptions),
}

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

/// Where a kubelet says how it is.
pub const KUBELET: &str = "http://localhost:10248/healthz";

/// `ostler daemon`.
#[derive(Debug, Args)]
pub struct DaemonOptions {
    /// Take desired configurations from this directory instead of from a cluster
    ///
    /// It holds MachineConfigs (.json, .yaml). The last by file name is desired, unless a file "desired" names another.
    /// "machineconfiguration.yaml" holds the settings; a file "hold" stops updates and says why. The status goes to
    /// /run/ostler/agent/machineconfignode.json.
    #[arg(long, value_name = "DIR")]
    pub standalone: Option<PathBuf>,
    /// Take desired configurations from what a hosted cluster mounts on this directory
    ///
    /// It holds "config", an Ignition config, plain or packed with gzip and base64, whose file
    /// /etc/mcs-machine-config-content.json is the MachineConfig; and "hash", by which the Node's annotations name it.
    /// Everything else is as in any cluster, but there is no MachineConfigNode.
    #[arg(long, value_name = "DIR", conflicts_with = "standalone")]
    pub hosted: Option<PathBuf>,
    /// When to restart for a configuration that takes effect with a restart [default: manual]
    ///
    /// In a cluster the machine restarts as soon as the configuration is in place.
    #[arg(long, value_enum, value_name = "POLICY", requires = "standalone")]
    pub reboot: Option<Reboot>,
    /// When the window of --reboot=window is open: days, start and length, in UTC, as in "Sat,Sun 02:00 3h"
    ///
    /// Days are named as in "Mon..Fri" or "Sat,Sun"; without any the window opens every day. The length is in hours or
    /// minutes, from 1m to 24h.
    #[arg(long, value_name = "WINDOW", requires = "reboot", required_if_eq("reboot", "window"))]
    pub reboot_window: Option<RebootWindow>,
    /// Look after the files under this directory instead of this machine
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// End as soon as nothing is left to do
    #[arg(long)]
    pub once: bool,
    /// Name of the node; the host's name unless given
    #[arg(long, value_name = "NAME", env = "NODE_NAME")]
    pub node_name: Option<String>,
    /// Credentials for the cluster
    #[arg(long, value_name = "FILE", default_value = "/var/lib/kubelet/kubeconfig", conflicts_with = "standalone")]
    pub kubeconfig: PathBuf,
    /// Where the kubelet says how it is; "none" to not ask
    #[arg(long, value_name = "URL", default_value = KUBELET)]
    pub kubelet_healthz: String,
    /// How many minutes a machine has to prove itself after a restart, before it goes back
    #[arg(long, value_name = "MINUTES", default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=1440))]
    pub prove_within: u32,
    /// Pull and stage a new operating system only when workloads have left; by default that comes first, so that the node
    /// is out of service no longer than files, services and the restart take
    #[arg(long)]
    pub stage_after_drain: bool,
    /// Where to serve metrics; "none" to serve none
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8797")]
    pub metrics: String,
    /// How much to log
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t = LogLevel::Info)]
    pub log_level: LogLevel,
    /// Whether this is `ostler firstboot`.
    #[arg(skip)]
    pub first_boot: bool,
}

/// When to restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Reboot {
    /// As soon as the configuration is in place
    Auto,
    /// While the window is open
    Window,
    /// When "ostler reboot" is run
    Manual,
}

/// `ostler firstboot`.
#[derive(Debug, Args)]
pub struct FirstBootOptions {
    /// Work on the files under this directory instead of on this machine
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// How much to log
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t = LogLevel::Info)]
    pub log_level: LogLevel,
}

/// How much to log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogLevel {
    /// What failed
    Error,
    /// What is not usual, too
    Warning,
    /// The course of things, too
    Info,
    /// Every turn, too
    Debug,
    /// What the libraries say, too
    Trace,
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

/// `ostler abandon`.
#[derive(Debug, Args)]
pub struct AbandonOptions {
    /// Do not ask before giving the transaction up
    #[arg(short, long)]
    pub yes: bool,
    /// Which machine.
    #[command(flatten)]
    pub machine: MachineOptions,
}

/// `ostler rollback`.
#[derive(Debug, Args)]
pub struct RollbackOptions {
    /// Release the hold that an earlier rollback left: the agent updates the machine to the desired configuration again
    #[arg(long, conflicts_with = "dry_run")]
    pub release: bool,
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

/// `ostler hand-back`.
#[derive(Debug, Args)]
pub struct HandBackOptions {
    /// Whether, and whether to ask.
    #[command(flatten)]
    pub consent: ConsentOptions,
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
