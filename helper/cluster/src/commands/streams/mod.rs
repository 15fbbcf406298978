//! `ostler-cluster streams`: what the core decides about OS image streams, asked and shown.

use anyhow::Result;
use ostler_cluster_core::objects::OSImageStream;

use super::{Outcome, Trouble};
use crate::cli::{ClusterOptions, Format, ListOptions, StreamsCommand};
use crate::output::{self, Table};
use crate::source::Source;

/// All of it.
pub async fn streams(cluster: &ClusterOptions, command: StreamsCommand) -> Result<Outcome> {
    match command {
        StreamsCommand::List(options) => list(cluster, &options).await,
    }
}

async fn list(cluster: &ClusterOptions, options: &ListOptions) -> Result<Outcome> {
    let source = Source::open(cluster).await?;
    let stream: Option<OSImageStream> = source.get(None, OSImageStream::NAME).await?;
    source.notes().iter().for_each(|note| output::note(note));
    let Some(status) = stream.and_then(|stream| stream.status) else {
        return Err(Trouble::no_answer("there are no streams yet").into());
    };
    if options.output == Format::Json {
        output::json(&status)?;
        return Ok(Outcome::Done);
    }
    let mut table = Table::new(&["NAME", "OS IMAGE"]);
    for set in &status.available_streams {
        table.row(&[&set.name, &set.os_image]);
    }
    output::text(&table.show())?;
    Ok(Outcome::Done)
}
