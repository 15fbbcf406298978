//! `ostler-cluster bootimages`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use ostler_cluster_core::stream_metadata::Architecture;

use super::Format;
use super::exits::{ANSWER_EXIT, CHANGE_EXIT, TURNS_EXIT};

/// `ostler-cluster bootimages`.
#[derive(Debug, Args)]
pub struct BootImagesOptions {
    /// What about them.
    #[command(subcommand)]
    pub command: BootImagesCommand,
}

/// What can be asked and done about boot images.
#[derive(Debug, Subcommand)]
pub enum BootImagesCommand {
    /// Say which boot image each machine resource has, and which boot images the release ships
    #[command(after_help = ANSWER_EXIT)]
    List(PlanOptions),
    /// Say what becomes of the boot image of each machine resource, and why
    #[command(after_help = ANSWER_EXIT)]
    Plan(PlanOptions),
    /// Say all there is to say about one machine resource
    #[command(after_help = ANSWER_EXIT)]
    Explain(ExplainOptions),
    /// Update boot images once, where nobody else does
    #[command(after_help = CHANGE_EXIT)]
    Apply(ApplyOptions),
    /// Say again and again what is to be done about boot images; with --own, do it
    #[command(after_help = TURNS_EXIT)]
    Run(RunOptions),
    /// Say what was done to boot images
    #[command(after_help = ANSWER_EXIT)]
    History(HistoryOptions),
    /// Put a boot image back
    #[command(after_help = CHANGE_EXIT)]
    Restore(RestoreOptions),
    /// Say whether boot images are too old for the cluster to be updated
    #[command(after_help = ANSWER_EXIT)]
    Skew(SkewOptions),
}

/// What a decision is made on.
#[derive(Clone, Debug, Default, Args)]
pub struct BasisOptions {
    /// Decide, and where the command changes things do so, in the place of the machine-config operator
    #[arg(long)]
    pub own: bool,
    /// File with AMIs that are known to be RHEL CoreOS: stream metadata, a ConfigMap with them, or one AMI to a line
    #[arg(long, value_name = "FILE")]
    pub known: Vec<PathBuf>,
    /// Architecture of the control plane, where no node says it
    #[arg(long, value_name = "ARCH", value_parser = architecture)]
    pub architecture: Option<Architecture>,
    /// Take in all machine resources of the Cluster API: a MachineConfiguration cannot name them
    #[arg(long)]
    pub include_capi: bool,
}

fn architecture(name: &str) -> Result<Architecture, String> {
    Architecture::of(name).ok_or_else(|| "use x86_64, aarch64, ppc64le or s390x".to_owned())
}

/// `ostler-cluster bootimages plan` and `list`.
#[derive(Debug, Args)]
pub struct PlanOptions {
    /// What the decision is made on.
    #[command(flatten)]
    pub basis: BasisOptions,
    /// Decide as if the cluster were not being updated
    #[arg(long)]
    pub ungated: bool,
    /// How to print
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: Format,
}

/// `ostler-cluster bootimages explain`.
#[derive(Debug, Args)]
pub struct ExplainOptions {
    /// Name of the machine resource
    pub name: String,
    /// The rest.
    #[command(flatten)]
    pub plan: PlanOptions,
}

/// `ostler-cluster bootimages apply`.
#[derive(Debug, Args)]
pub struct ApplyOptions {
    /// What the decision is made on.
    #[command(flatten)]
    pub basis: BasisOptions,
    /// Only the machine resources of this name
    #[arg(long, value_name = "NAME")]
    pub only: Option<String>,
    /// Go on although the machine-config controller runs, which updates boot images too
    #[arg(long)]
    pub beside_controller: bool,
    /// How to print
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: Format,
}

/// `ostler-cluster bootimages run`.
#[derive(Debug, Args)]
pub struct RunOptions {
    /// What the decision is made on.
    #[command(flatten)]
    pub basis: BasisOptions,
    /// Seconds between two turns
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86400))]
    pub interval: u64,
    /// End after one turn
    #[arg(long)]
    pub once: bool,
    /// Go on although the machine-config controller runs, which updates boot images too
    #[arg(long, requires = "own")]
    pub beside_controller: bool,
    /// Name under which the Lease is held; of all that run with --own only its holder writes
    #[arg(long, value_name = "NAME", env = "POD_NAME", default_value = "ostler-cluster")]
    pub identity: String,
    /// Namespace of the Lease
    #[arg(long, value_name = "NAMESPACE", default_value = "openshift-machine-config-operator")]
    pub lease_namespace: String,
    /// Seconds after which a Lease that is not renewed is lost
    #[arg(long, value_name = "SECONDS", default_value_t = 15, value_parser = clap::value_parser!(u32).range(3..=600))]
    pub lease_seconds: u32,
}

/// `ostler-cluster bootimages history`.
#[derive(Debug, Args)]
pub struct HistoryOptions {
    /// Only the machine resources of this name
    pub name: Option<String>,
    /// How to print
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: Format,
}

/// `ostler-cluster bootimages restore`.
#[derive(Debug, Args)]
pub struct RestoreOptions {
    /// Name of the machine resource
    pub name: String,
    /// Undo the change that `bootimages history` gives this number, and all after it [default: the last]
    #[arg(long, value_name = "NUMBER")]
    pub change: Option<usize>,
    /// Kind, where several have the name
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,
    /// Say that this command updates boot images, and nobody else
    #[arg(long)]
    pub own: bool,
}

/// `ostler-cluster bootimages skew`.
#[derive(Debug, Args)]
pub struct SkewOptions {
    /// How to print
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: Format,
}
