//! Where desired state comes from and where status goes: a cluster, a hosted cluster and what it mounts, or a directory and
//! a file. One type, so that the loop is the same for all.

use std::pin::Pin;
use std::time::Duration;

use anyhow::Result;
use futures_util::{Stream, StreamExt};
use ostler_core::api::{MachineConfigNode, Time};
use ostler_core::machine_config::{set_built_image, set_hosted_hash};
use ostler_core::node::keys::NOT_YET_SET;
use ostler_core::node::publication::{self, IrreconcilableWrite, StatusChange};
use ostler_core::node::{ConfigRef, Input, NodeView, Notice, Situation};
use ostler_core::protocol::Sealed;
use ostler_core::verdict::ConfigSource;
use serde_json::json;

use super::first_boot::Installation;
use super::known::Known;
use super::mounted::Mounted;
use super::outlook::causes;
use super::standalone::{self, Directory};
use super::status_file::StatusFile;
use crate::cluster::{Change, Cluster, ClusterError};

/// Where desired state comes from and where status goes.
pub enum Outside {
    /// A cluster.
    Cluster {
        /// Its client.
        client: Cluster,
        /// What is heard from it.
        changes: Pin<Box<dyn Stream<Item = Change>>>,
    },
    /// What the installation left, and nobody to tell.
    FirstBoot(Box<Installation>),
    /// A hosted cluster, which names configurations by the hashes of what it mounts.
    Hosted {
        /// Its client.
        client: Cluster,
        /// What is heard from it.
        changes: Pin<Box<dyn Stream<Item = Change>>>,
        /// Where configurations come from.
        mounted: Box<Mounted>,
    },
    /// A directory and a file.
    Standalone {
        /// Desired configurations.
        directory: Box<Directory>,
        /// The status.
        file: StatusFile,
    },
}

/// How long the last words before a restart may take.
const LAST_WORDS: Duration = Duration::from_secs(3);
/// How often others may come in between while the status is written.
const CONFLICTS: u32 = 8;

/// Why a configuration is not at hand.
#[derive(Debug)]
pub struct Unavailable {
    /// Why, with its remedy.
    pub reason: String,
    /// Whether that may pass.
    pub passing: bool,
    /// Whether the cluster has answered that there is no such configuration.
    pub gone: bool,
}

/// What was published, as far as it was not what is known already.
#[derive(Debug, Default)]
pub struct Published {
    /// The node as it is then.
    pub node: Option<NodeView>,
    /// The status object as it is then.
    pub object: Option<MachineConfigNode>,
}

impl Outside {
    /// A cluster, of which only this node's objects are watched.
    pub fn cluster(client: Cluster) -> Self {
        let changes = Box::pin(client.changes());
        Self::Cluster { client, changes }
    }

    /// A hosted cluster, of which only the node is watched.
    pub fn hosted(client: Cluster, mounted: Mounted) -> Self {
        let changes = Box::pin(client.node_changes());
        Self::Hosted { client, changes, mounted: Box::new(mounted) }
    }

    /// The client of a cluster that has certificates and images for its nodes.
    pub fn provider(&self) -> Option<Cluster> {
        match self {
            Self::Cluster { client, .. } => Some(client.clone()),
            Self::Hosted { .. } | Self::FirstBoot(_) | Self::Standalone { .. } => None,
        }
    }

    /// Whether somebody answers requests to drain.
    pub const fn drains(&self) -> bool {
        self.client().is_some()
    }

    /// Where desired configurations come from.
    pub const fn source(&self) -> ConfigSource {
        match self {
            Self::Cluster { .. } => ConfigSource::Cluster,
            Self::FirstBoot(_) => ConfigSource::FirstBoot,
            Self::Hosted { .. } => ConfigSource::Hosted,
            Self::Standalone { .. } => ConfigSource::Directory,
        }
    }

    /// Whether configurations go by hashes.
    pub const fn is_hosted(&self) -> bool {
        matches!(self, Self::Hosted { .. })
    }

    const fn client(&self) -> Option<&Cluster> {
        match self {
            Self::Cluster { client, .. } | Self::Hosted { client, .. } => Some(client),
            Self::FirstBoot(_) | Self::Standalone { .. } => None,
        }
    }

    /// Lists and watches everything anew, without the pauses that failures have led to.
    pub fn watch_again(&mut self) {
        match self {
            Self::Cluster { client, changes } => *changes = Box::pin(client.changes()),
            Self::Hosted { client, changes, .. } => *changes = Box::pin(client.node_changes()),
            Self::FirstBoot(_) | Self::Standalone { .. } => {}
        }
    }

    /// The next change; may be given up and taken up again.
    pub async fn change(&mut self) -> Change {
        match self {
            Self::Cluster { changes, .. } => next(changes).await,
            Self::Hosted { changes, mounted, .. } => tokio::select! {
                change = next(changes) => change,
                () = mounted.replaced() => Change::Mounted,
            },
            Self::Standalone { directory, .. } => directory.change().await,
            // Nothing changes at a first boot.
            Self::FirstBoot(_) => std::future::pending().await,
        }
    }

    /// A configuration by name.
    pub async fn config(&self, wanted: &ConfigRef) -> Result<Sealed, Unavailable> {
        let mut document = self.document(wanted).await?.open();
        set_built_image(&mut document, wanted.image.as_deref());
        set_hosted_hash(&mut document, self.is_hosted().then_some(&wanted.config));
        Ok(Sealed::new(document))
    }

    async fn document(&self, wanted: &ConfigRef) -> Result<Sealed, Unavailable> {
        match self {
            Self::Cluster { client, .. } => client.machine_config(&wanted.config).await.map_err(|error| Unavailable {
                // A configuration that is not there yet may come: the controller names it before every cache has it.
                passing: error.is_transient() || matches!(error, ClusterError::NotFound { .. }),
                gone: matches!(error, ClusterError::NotFound { .. }),
                reason: causes(&error),
            }),
            Self::FirstBoot(installation) => Ok(installation.config()),
            Self::Hosted { mounted, .. } => mounted.config(&wanted.config),
            Self::Standalone { directory, .. } => directory.config().map_err(|error| Unavailable {
                reason: format!("{error:#}"),
                passing: false,
                gone: false,
            }),
        }
    }

    /// What of it is of no use, although it is enough.
    pub fn complaint(&self) -> Option<String> {
        let Self::FirstBoot(installation) = self else { return None };
        installation.complaint().map(|complaint| format!("{complaint}; the other file of the installation is used"))
    }

    /// Whether this is the machine's first boot.
    pub const fn is_first_boot(&self) -> bool {
        matches!(self, Self::FirstBoot(_))
    }

    /// Says where the node stands: the status object first, because the annotations make others act.
    pub async fn publish(&mut self, situation: &Situation, known: &Known, now: Time) -> Result<Published> {
        let Some(node) = &known.node else { return Ok(Published::default()) };
        let annotations = publication::annotations(situation, node);
        let mut published = Published::default();
        match self {
            Self::Cluster { client, .. } => {
                // Others act on the annotations alone, so a status that cannot be had does not keep them back.
                let refused = match report(client, situation, known, &now).await {
                    Ok(object) => {
                        published.object = object;
                        None
                    }
                    Err(error) if error.is_transient() => return Err(error.into()),
                    Err(error) => Some(error),
                };
                if !annotations.is_empty() {
                    published.node = Some(client.annotate(&annotations).await?);
                }
                refused.map_or(Ok(published), |error| Err(error.into()))
            }
            Self::FirstBoot(_) => Ok(published),
            // There is no status object; the annotations are all that others look at.
            Self::Hosted { client, .. } => {
                if !annotations.is_empty() {
                    published.node = Some(client.annotate(&annotations).await?);
                }
                Ok(published)
            }
            Self::Standalone { directory, file } => {
                let object = known.object.clone();
                let object = object.unwrap_or_else(|| standalone::object(&situation.node, desired(situation)));
                let change = publication::status(situation, &object, known.gates, &now);
                if !change.is_empty() {
                    published.object = Some(file.publish(object, &change, desired(situation))?);
                }
                if !annotations.is_empty() {
                    published.node = Some(directory.annotate(&annotations)?);
                }
                Ok(published)
            }
        }
    }

    /// Waits a little for what was told to arrive: it would be lost with a restart.
    pub async fn flush(&self) {
        if let Some(client) = self.client() {
            client.flush_events(LAST_WORDS).await;
        }
    }

    /// Tells the cluster what is worth an event.
    pub fn event(&self, notice: &Notice, node: Option<&NodeView>) {
        let (Some(client), Some((kind, reason)), Some(node)) = (self.client(), notice.event(), node) else {
            return;
        };
        client.event(kind, reason, &notice.message(), &node.uid);
    }
}

async fn next(changes: &mut Pin<Box<dyn Stream<Item = Change>>>) -> Change {
    match changes.next().await {
        Some(change) => change,
        None => std::future::pending().await,
    }
}

/// Writes the status, until the object says all of it: others may come in between.
async fn report(
    client: &Cluster,
    situation: &Situation,
    known: &Known,
    now: &Time,
) -> Result<Option<MachineConfigNode>, ClusterError> {
    if known.unread.contains(&Input::FeatureGate) {
        // The gates decide which conditions there are.
        return Ok(None);
    }
    let mut object = match (&known.object, &known.node) {
        (Some(object), _) => object.clone(),
        (None, Some(node)) => client.ensure_machine_config_node(node, desired(situation)).await?,
        (None, None) => return Ok(None),
    };
    object = client.name_pool(object, desired(situation)).await?;
    for attempt in 1.. {
        let change = publication::status(situation, &object, known.gates, now);
        if change.is_empty() {
            break;
        }
        match write(client, &object, change).await {
            Err(ClusterError::Conflict { .. }) if attempt < CONFLICTS => object = client.report().await?,
            Ok(written) if attempt < CONFLICTS => object = written,
            written => return written.map(Some),
        }
    }
    Ok(Some(object))
}

fn desired(situation: &Situation) -> &str {
    situation.desired.as_ref().map_or(NOT_YET_SET, |desired| &desired.config)
}

/// What only a new installation could bring is told before the node is called done. The conditions that the controller
/// writes too go before ours. All of it is written only as long as nobody else has written since `read`.
async fn write(
    client: &Cluster,
    read: &MachineConfigNode,
    change: StatusChange,
) -> Result<MachineConfigNode, ClusterError> {
    let mut object = read.clone();
    if let Some(conditions) = change.handover {
        let status = json!({ "conditions": conditions });
        object = client.apply_status(&object, publication::HANDOVER_MANAGER, &status).await?;
    }
    match change.irreconcilable {
        IrreconcilableWrite::Keep => {}
        IrreconcilableWrite::Set(changes) => {
            let status = json!({ "irreconcilableChanges": changes });
            object = client.apply_status(&object, publication::IRRECONCILABLE_MANAGER, &status).await?;
        }
        IrreconcilableWrite::Clear => object = client.clear_irreconcilable(&object).await?,
    }
    if let Some(own) = change.own {
        let status = serde_json::to_value(own).unwrap_or_default();
        object = client.apply_status(&object, publication::MANAGER, &status).await?;
    }
    if let Some(conditions) = change.pinned.conditions {
        let status = json!({ "conditions": conditions });
        object = client.apply_status(&object, publication::PINNED_MANAGER, &status).await?;
    }
    if let Some(sets) = change.pinned.sets {
        object = client.replace_pinned_sets(&object, publication::PINNED_MANAGER, &sets).await?;
    }
    Ok(object)
}

#[cfg(test)]
mod tests;
