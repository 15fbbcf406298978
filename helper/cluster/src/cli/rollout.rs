//! `ostler-cluster rollout`.

use clap::{Args, Subcommand, value_parser};

use super::Format;
use super::exits::ANSWER_EXIT;

/// `ostler-cluster rollout`.
#[derive(Debug, Args)]
pub struct RolloutOptions {
    /// What about it.
    #[command(subcommand)]
    pub command: RolloutCommand,
}

/// What can be asked about a rollout.
#[derive(Debug, Subcommand)]
pub enum RolloutCommand {
    /// Say where each pool and node stands, and what it waits for
    #[command(after_help = ANSWER_EXIT)]
    Status(StatusOptions),
    /// Say which nodes are next, in order
    #[command(after_help = ANSWER_EXIT)]
    Next(ViewOptions),
    /// Say everything about one node: where it stands, what it waits for, and how long each part took
    #[command(after_help = ANSWER_EXIT)]
    Explain(ExplainOptions),
    /// Say how long the rollout will take
    #[command(after_help = ANSWER_EXIT)]
    Estimate(EstimateOptions),
}

/// How to show an answer.
#[derive(Clone, Copy, Debug, Args)]
pub struct ViewOptions {
    /// How to print
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: Format,
    /// Go on, and show it anew when it has changed
    #[arg(short, long)]
    pub watch: bool,
    /// How often to look with --watch, in seconds
    #[arg(long, default_value_t = 5, value_name = "SECONDS", value_parser = value_parser!(u64).range(1..=3600))]
    pub interval: u64,
}

/// `ostler-cluster rollout status`.
#[derive(Debug, Args)]
pub struct StatusOptions {
    /// Only these pools
    #[arg(long = "pool", value_name = "NAME")]
    pub pools: Vec<String>,
    /// Also nodes that are updated or wait for their turn
    #[arg(short, long)]
    pub all: bool,
    /// How to show it.
    #[command(flatten)]
    pub view: ViewOptions,
}

/// `ostler-cluster rollout explain`.
#[derive(Debug, Args)]
pub struct ExplainOptions {
    /// The node
    #[arg(value_name = "NODE")]
    pub node: String,
    /// How to show it.
    #[command(flatten)]
    pub view: ViewOptions,
}

/// `ostler-cluster rollout estimate`.
#[derive(Debug, Args)]
pub struct EstimateOptions {
    /// What a node takes [default: what nodes took that are done, else 5]
    #[arg(long, value_name = "MINUTES", value_parser = value_parser!(u32).range(0..=10_000))]
    pub minutes_per_node: Option<u32>,
    /// What everything before the nodes takes in a whole update
    #[arg(long, default_value_t = 60, value_name = "MINUTES", value_parser = value_parser!(u32).range(0..=100_000))]
    pub payload_minutes: u32,
    /// How to show it.
    #[command(flatten)]
    pub view: ViewOptions,
}
