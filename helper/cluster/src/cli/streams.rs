//! `ostler-cluster streams`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::Format;
use super::exits::{ANSWER_EXIT, RUN_EXIT, SET_EXIT};

/// `ostler-cluster streams`.
#[derive(Debug, Args)]
pub struct StreamsOptions {
    /// What about them.
    #[command(subcommand)]
    pub command: StreamsCommand,
}

/// What can be asked and done about streams.
#[derive(Debug, Subcommand)]
pub enum StreamsCommand {
    /// Say which streams the cluster offers, and which pools follow which
    #[command(after_help = ANSWER_EXIT)]
    List(ListOptions),
    /// Show the OSImageStream: the images of its streams, of which release it is, and who writes it
    #[command(after_help = ANSWER_EXIT)]
    Show(ShowOptions),
    /// Find out which streams a release offers, from its images and their labels
    #[command(after_help = ANSWER_EXIT)]
    Discover(Box<DiscoverOptions>),
    /// Say what a stream means for a pool, and what stands in the way
    #[command(after_help = ANSWER_EXIT)]
    Plan(PlanOptions),
    /// Move a pool to a stream
    #[command(after_help = SET_EXIT)]
    Set(SetOptions),
    /// Watch over the streams of a cluster: say what is to be done, or with --own do it
    #[command(after_help = RUN_EXIT)]
    Run(Box<RunOptions>),
}

/// What a person says about streams that come to their end.
#[derive(Debug, Default, Args)]
pub struct PolicyOptions {
    /// Policy of streams that come to their end [default: ConfigMap ostler-os-stream-policy]
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
}

/// `ostler-cluster streams list`.
#[derive(Debug, Args)]
pub struct ListOptions {
    /// What comes to its end.
    #[command(flatten)]
    pub policy: PolicyOptions,
    /// How to print
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: Format,
}

/// `ostler-cluster streams show`.
#[derive(Debug, Args)]
pub struct ShowOptions {
    /// Show this stream only
    pub stream: Option<String>,
    /// How to print
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: Format,
}

/// `ostler-cluster streams discover`.
///
/// With --image-references or --release-image no cluster is asked, unless one is named.
#[derive(Debug, Args)]
pub struct DiscoverOptions {
    /// How to print
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: DiscoverFormat,
    /// With -o image, the stream whose image is meant [default: the default stream]
    #[arg(long, value_name = "STREAM")]
    pub stream: Option<String>,
    /// Where the images come from.
    #[command(flatten)]
    pub sources: SourceOptions,
}

/// What `ostler-cluster streams discover` prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum DiscoverFormat {
    /// For a person
    #[default]
    Text,
    /// For a program: the streams and the default
    Json,
    /// An OSImageStream to be applied, as JSON
    Manifest,
    /// The OS image of one stream, and nothing else
    Image,
}

/// Where images, labels and the rest come from.
#[derive(Debug, Default, Args)]
pub struct SourceOptions {
    /// image-references of the release: an ImageStream, JSON or YAML
    #[arg(long, value_name = "FILE", conflicts_with = "release_image")]
    pub image_references: Option<PathBuf>,
    /// Image of the release, whose image-references are read from its layers [default: the one the cluster wants]
    #[arg(long, value_name = "IMAGE")]
    pub release_image: Option<String>,
    /// OS image beside those of the release; counts least
    #[arg(long, value_name = "IMAGE", requires = "extensions_image")]
    pub os_image: Option<String>,
    /// The extensions image to it
    #[arg(long, value_name = "IMAGE", requires = "os_image")]
    pub extensions_image: Option<String>,
    /// ConfigMap machine-config-osimageurl, JSON or YAML [default: that of the cluster]
    #[arg(long, value_name = "FILE")]
    pub url_config_map: Option<PathBuf>,
    /// OSImageStream that is there already, JSON or YAML [default: that of the cluster]
    #[arg(long, value_name = "FILE")]
    pub existing: Option<PathBuf>,
    /// Version the cluster was installed with [default: by the history of the cluster]
    #[arg(long, value_name = "VERSION")]
    pub install_version: Option<String>,
    /// The release is of OKD [default: by its version]
    #[arg(long)]
    pub okd: bool,
    /// Look at tags that only the proposal of streams names, too, as rhel_9-coreos
    #[arg(long)]
    pub all_tags: bool,
    /// Registries.
    #[command(flatten, next_help_heading = "Registries")]
    pub registry: RegistryOptions,
}

/// How images are looked at.
#[derive(Debug, Default, Args)]
pub struct RegistryOptions {
    /// Labels by image, a JSON object; null for an image that cannot be reached. No registry is asked then
    #[arg(long, value_name = "FILE")]
    pub image_labels: Option<PathBuf>,
    /// Credentials for registries, as in a pull secret [default: the pull secret of the cluster]
    #[arg(long, value_name = "FILE")]
    pub authfile: Option<PathBuf>,
    /// registries.conf with mirrors [default: the mirrors of the cluster]
    #[arg(long, value_name = "FILE")]
    pub registry_config: Option<PathBuf>,
    /// PEM certificates that are trusted, too: a file, or a directory of files; may be repeated
    #[arg(long, value_name = "FILE")]
    pub trust_bundle: Vec<PathBuf>,
    /// Directory of certificates for each registry, as /etc/containers/certs.d
    #[arg(long, value_name = "DIR")]
    pub per_host_certs: Option<PathBuf>,
    /// Architecture whose image of a manifest list is meant, as amd64 [default: that of this machine]
    #[arg(long, value_name = "ARCH")]
    pub architecture: Option<String>,
    /// File in which what is known of images by digest is kept
    #[arg(long, value_name = "FILE")]
    pub cache: Option<PathBuf>,
}

/// `ostler-cluster streams plan`.
#[derive(Debug, Args)]
pub struct PlanOptions {
    /// The pool
    pub pool: String,
    /// The stream it would name [default: the one it follows]
    #[arg(long, value_name = "STREAM")]
    pub stream: Option<String>,
    /// Labels by image, a JSON object, for an OS image that is no stream's
    #[arg(long, value_name = "FILE")]
    pub image_labels: Option<PathBuf>,
    /// What comes to its end.
    #[command(flatten)]
    pub policy: PolicyOptions,
    /// How to print
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: Format,
}

/// `ostler-cluster streams set`.
#[derive(Debug, Args)]
pub struct SetOptions {
    /// The pool
    pub pool: String,
    /// The stream
    pub stream: String,
    /// Do it even if it goes back to an older system, or the pool could not be rendered
    #[arg(long)]
    pub force: bool,
    /// Check everything that can be checked, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// What comes to its end.
    #[command(flatten)]
    pub policy: PolicyOptions,
    /// How to print
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: Format,
}

/// `ostler-cluster streams run`.
#[derive(Debug, Args)]
pub struct RunOptions {
    /// Write the OSImageStream, its status and conditions of pools, instead of only saying what would be written
    ///
    /// Only one of all that run with this does so, the holder of a Lease. It steps back where a machine-config controller
    /// writes the object.
    #[arg(long)]
    pub own: bool,
    /// Write even though somebody else wrote the object before; make sure that they have ended
    #[arg(long, requires = "own")]
    pub take_over: bool,
    /// End after one turn
    #[arg(long)]
    pub once: bool,
    /// Seconds between two turns
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub interval: u32,
    /// Name under which the Lease is held
    #[arg(long, value_name = "NAME", env = "POD_NAME", default_value = "ostler-cluster")]
    pub identity: String,
    /// Namespace of the Lease
    #[arg(long, value_name = "NAMESPACE", default_value = "openshift-machine-config-operator")]
    pub lease_namespace: String,
    /// Seconds after which a Lease that is not renewed is lost
    #[arg(long, value_name = "SECONDS", default_value_t = 15, value_parser = clap::value_parser!(u32).range(3..=600))]
    pub lease_seconds: u32,
    /// What comes to its end.
    #[command(flatten)]
    pub policy: PolicyOptions,
    /// How to print: text goes to standard error, JSON to standard output, one line for each turn that differs
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: Format,
    /// Where the images come from.
    #[command(flatten)]
    pub sources: SourceOptions,
}
