//! `ostler-cluster streams`.

use clap::{Args, Subcommand};

use super::Format;
use super::exits::ANSWER_EXIT;

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
}

/// `ostler-cluster streams list`.
#[derive(Debug, Args)]
pub struct ListOptions {
    /// How to print
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: Format,
}
