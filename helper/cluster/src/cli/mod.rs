//! The command line, and nothing but its shape: man pages and completions are generated from here.

pub mod boot_images;
mod exits;
mod preflight;
mod rollout;
mod streams;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use boot_images::BootImagesOptions;
pub use preflight::{PreflightOptions, ReleaseOptions, spelt_out};
pub use rollout::{EstimateOptions, ExplainOptions, RolloutCommand, RolloutOptions, StatusOptions, ViewOptions};
pub use streams::{
    DiscoverFormat, DiscoverOptions, ListOptions, PlanOptions, PolicyOptions, RegistryOptions, RunOptions, SetOptions,
    ShowOptions, SourceOptions, StreamsCommand, StreamsOptions,
};

/// What an OpenShift or OKD cluster does with its nodes, explained, planned and, on request, done.
#[derive(Debug, Parser)]
#[command(name = "ostler-cluster", version, max_term_width = 100, disable_help_subcommand = true)]
#[command(after_help = "Every command takes --help. Colours follow the terminal; NO_COLOR turns them off.")]
pub struct Cli {
    /// Which cluster.
    #[command(flatten)]
    pub cluster: ClusterOptions,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Which cluster, or what was saved of one.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Which cluster")]
pub struct ClusterOptions {
    /// Read objects from a must-gather, or any directory of YAML and JSON files, instead of from a cluster
    #[arg(long, global = true, value_name = "DIR", conflicts_with_all = ["kubeconfig", "context"])]
    pub from_dir: Option<PathBuf>,
    /// Credentials for the cluster [default: $KUBECONFIG, ~/.kube/config, or those of the pod]
    #[arg(long, global = true, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig
    #[arg(long, global = true, value_name = "NAME")]
    pub context: Option<String>,
}

/// All commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// OS image streams: which operating systems a release offers, and which one each pool runs
    #[command(disable_help_subcommand = true)]
    Streams(StreamsOptions),
    /// Say what would go wrong if the cluster were updated to a release; changes nothing
    Preflight(Box<PreflightOptions>),
    /// Where an update of the nodes stands, which are next and how long it takes; changes nothing
    #[command(disable_help_subcommand = true)]
    Rollout(RolloutOptions),
    /// Boot images: what new machines start from, and whether it is what the release ships
    #[command(name = "bootimages", disable_help_subcommand = true)]
    BootImages(BootImagesOptions),
    /// Write what packages ship beside the command
    #[command(hide = true)]
    Pack(PackOptions),
}

/// `ostler-cluster pack`.
#[derive(Debug, Args)]
pub struct PackOptions {
    /// What to write.
    #[arg(value_enum)]
    pub what: Packed,
    /// Directory to write to; made if it is not there.
    pub directory: PathBuf,
}

/// What `ostler-cluster pack` can write.
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
