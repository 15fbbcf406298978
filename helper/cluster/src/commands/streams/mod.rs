//! `ostler-cluster streams`: what the core decides about OS image streams, asked and shown.

mod discover;
mod knowledge;
mod list;
mod plan;
mod run;
mod set;
mod sets;
mod show;
mod verdict;

use anyhow::Result;

use super::Outcome;
use crate::cli::{ClusterOptions, StreamsCommand};

/// All of it.
pub async fn streams(cluster: &ClusterOptions, command: StreamsCommand) -> Result<Outcome> {
    match command {
        StreamsCommand::List(options) => list::list(cluster, &options).await,
        StreamsCommand::Show(options) => show::show(cluster, &options).await,
        StreamsCommand::Discover(options) => discover::discover(cluster, &options).await,
        StreamsCommand::Plan(options) => plan::plan(cluster, &options).await,
        StreamsCommand::Set(options) => set::set(cluster, &options).await,
        StreamsCommand::Run(options) => run::run(cluster, &options).await,
    }
}
