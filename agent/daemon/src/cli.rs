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

/// `ostler plan`.
#[derive(Debug, Args)]
pub struct PlanOptions {
    /// MachineConfig the node is in now, JSON or YAML, - for standard input [default: an empty machine]
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// MachineConfig the node shall be in, JSON or YAML, - for standard input
    #[arg(long, value_name = "FILE")]
    pub to: PathBuf,
    /// Sections that may differ without being applied: Disks, FileSystems, Raid
    #[arg(long, value_name = "SECTION", value_delimiter = ',', ignore_case = true)]
    pub overrides: Vec<Override>,
    /// Node disruption policy: a MachineConfiguration, or its nodeDisruptionPolicy [default: the built-in policies]
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Decide as at first boot, by a fixed table; a policy has no say then
    #[arg(long)]
    pub first_boot: bool,
    /// Show how the contents of files change; files and lines that hold secrets stay masked
    #[arg(long)]
    pub show_contents: bool,
    /// How to print
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: Format,
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
