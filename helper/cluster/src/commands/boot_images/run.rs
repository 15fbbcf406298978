//! `ostler-cluster bootimages run`: turn after turn, what is to be done about boot images; with `--own` it is done.

use std::time::Duration;

use anyhow::{Context, Result};
use ostler_cluster_core::boot_images::{self, Decision, Item};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::sleep;

use super::apply::owned;
use super::gather::{Gathered, gather};
use super::pass::{Memory, Pass};
use crate::cli::ClusterOptions;
use crate::cli::boot_images::RunOptions;
use crate::commands::{Outcome, Trouble};
use crate::output;
use crate::own::Leadership;
use crate::source::Source;

/// Name of the Lease that whoever writes holds.
const LEASE: &str = "ostler-cluster-bootimages";

/// Runs until told to end, or for one turn.
pub async fn run(cluster: &ClusterOptions, options: &RunOptions) -> Result<Outcome> {
    let source = Source::open(cluster).await?;
    let Some(live) = source.live() else {
        return Err(Trouble::input("a directory does not change: use `bootimages plan`").into());
    };
    if !options.basis.own {
        return turns(&source, options, None).await;
    }
    owned(&source, true, options.beside_controller).await?;
    let lasts = Duration::from_secs(u64::from(options.lease_seconds));
    let mut leadership = Leadership::stand(live.client(), LEASE, &options.lease_namespace, &options.identity, lasts);
    let ended = turns(&source, options, Some(&mut leadership)).await;
    leadership.give_up().await;
    ended
}

async fn turns(source: &Source, options: &RunOptions, mut leadership: Option<&mut Leadership>) -> Result<Outcome> {
    let mut ends = Ends::listen()?;
    let mut memory = Memory::default();
    loop {
        let turn = turn(source, options, leadership.as_deref_mut(), &mut memory);
        let done = tokio::select! {
            done = turn => done,
            () = ends.asked() => return Ok(Outcome::Done),
        };
        match done {
            Ok(items) if options.once => return Ok(outcome(&items)),
            Ok(_) => {}
            Err(error) if options.once => return Err(error),
            // The next turn may find the cluster again.
            Err(error) => output::error(&error),
        }
        tokio::select! {
            () = sleep(Duration::from_secs(options.interval)) => {}
            () = ends.asked() => return Ok(Outcome::Done),
        }
    }
}

async fn turn(
    source: &Source,
    options: &RunOptions,
    leadership: Option<&mut Leadership>,
    memory: &mut Memory,
) -> Result<Vec<Item>> {
    let basis = &options.basis;
    let (Some(leadership), Some(live)) = (leadership, source.live()) else {
        let Gathered { cluster, notes, .. } = gather(source, basis).await?;
        memory.tell("notes", &notes.join("; "));
        let items = boot_images::plan(&cluster, &boot_images::gate(&cluster));
        tell(&items, memory, "would get another boot image");
        return Ok(items);
    };
    leadership.won().await;
    let pass = Pass { source, live, basis, only: None, leadership: Some(leadership) };
    let items = pass.go(memory).await?;
    tell(&items, memory, "gets another boot image");
    Ok(items)
}

/// Says what is not as it was when it was last said.
fn tell(items: &[Item], memory: &mut Memory, patched: &str) {
    for item in items {
        let what = format!("{} {}", item.kind, item.name);
        let changed = item.decision == Decision::Current && item.patch.is_some();
        let words = match item.decision {
            Decision::Patch => format!("{what} {patched}: {}", item.reason),
            Decision::Current if changed => format!("{what} was changed: {}", item.reason),
            Decision::Skipped => format!("{what} is left to people: {}", item.reason),
            Decision::Error => format!("{what} cannot be decided or changed: {}", item.reason),
            Decision::Current | Decision::Ignored => String::new(),
        };
        memory.tell(&format!("{}/{}/{}", item.api_group, item.namespace, what), &words);
    }
}

fn outcome(items: &[Item]) -> Outcome {
    let failed = items.iter().any(|item| item.enrolled && item.decision == Decision::Error);
    if failed { Outcome::Failed } else { Outcome::Done }
}

/// Signals that ask to end.
struct Ends {
    terminate: Signal,
    interrupt: Signal,
}

impl Ends {
    fn listen() -> Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen to signals");
        Ok(Self { terminate: listen(SignalKind::terminate())?, interrupt: listen(SignalKind::interrupt())? })
    }

    async fn asked(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
