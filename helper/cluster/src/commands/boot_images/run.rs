//! `ostler-cluster bootimages run`: passes, until somebody ends it.

use std::time::Duration;

use anyhow::Result;
use ostler_cluster_core::boot_images::{Cluster, Decision, Item};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

use super::apply::owned;
use super::pass::Pass;
use crate::cli::ClusterOptions;
use crate::cli::boot_images::RunOptions;
use crate::commands::Outcome;
use crate::output;
use crate::source::Source;

/// What was seen last, to tell what sets off a pass.
#[derive(Default, PartialEq, Eq)]
struct Seen {
    images: String,
    choice: Option<i64>,
    release: String,
}

impl Seen {
    fn of(cluster: &Cluster) -> Self {
        let shipped = cluster.shipped.as_ref().ok().and_then(Option::as_ref);
        let configuration = cluster.configuration.as_ref().ok().and_then(Option::as_ref);
        let version = cluster.version.as_ref().ok().and_then(Option::as_ref);
        Self {
            images: shipped.map(|shipped| shipped.resource_version.clone()).unwrap_or_default(),
            choice: configuration.and_then(|object| object.metadata.generation),
            release: version.map(|version| version.status.desired.version.clone()).unwrap_or_default(),
        }
    }

    /// The reason that conditions give after a change to this.
    fn reason(&self, next: &Self) -> &'static str {
        if self.release != next.release {
            "ClusterVersionStable"
        } else if self.images != next.images {
            "BootImageConfigMapUpdated"
        } else if self.choice != next.choice {
            "BootImageUpdateConfigurationUpdated"
        } else {
            "MAPIMachineSetUpdated"
        }
    }
}

/// Keeps boot images up to date.
pub async fn run(cluster: &ClusterOptions, options: &RunOptions) -> Result<Outcome> {
    let source = Source::open(cluster).await?;
    let live = owned(&source, options.basis.own, options.beside_controller).await?;
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let mut seen = Seen::default();
    let mut reason = "ClusterVersionStable";
    loop {
        let pass = Pass { source: &source, live, basis: &options.basis, only: None, reason };
        tokio::select! {
            passed = pass.go() => match passed {
                Ok((cluster, items)) => {
                    let next = Seen::of(&cluster);
                    reason = seen.reason(&next);
                    seen = next;
                    tell(&items);
                }
                // The next pass may find the cluster again.
                Err(error) => output::error(&error),
            },
            _ = terminate.recv() => return Ok(Outcome::Done),
            _ = interrupt.recv() => return Ok(Outcome::Done),
        }
        tokio::select! {
            () = sleep(Duration::from_secs(options.interval)) => {}
            _ = terminate.recv() => return Ok(Outcome::Done),
            _ = interrupt.recv() => return Ok(Outcome::Done),
        }
    }
}

fn tell(items: &[Item]) {
    let changed = |item: &&Item| item.decision == Decision::Current && item.patch.is_some();
    let errors = |item: &&Item| item.enrolled && item.decision == Decision::Error;
    for item in items.iter().filter(|item| changed(item) || errors(item)) {
        output::note(&format!("{} {}: {}", item.kind, item.name, item.reason));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_set_off_a_pass_is_told_by_what_has_changed() {
        let seen = |images: &str, choice: i64, release: &str| Seen {
            images: images.to_owned(),
            choice: Some(choice),
            release: release.to_owned(),
        };
        let before = seen("1", 1, "4.21.0");
        for (next, reason) in [
            (seen("1", 1, "4.21.0"), "MAPIMachineSetUpdated"),
            (seen("2", 1, "4.21.0"), "BootImageConfigMapUpdated"),
            (seen("1", 2, "4.21.0"), "BootImageUpdateConfigurationUpdated"),
            (seen("2", 2, "4.22.0"), "ClusterVersionStable"),
        ] {
            assert_eq!(before.reason(&next), reason);
        }
    }
}
