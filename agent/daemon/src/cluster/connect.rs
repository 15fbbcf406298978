//! A node's access to its cluster. Owns who we are there; what is said and heard is next door.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use kube::Client;
use tokio::sync::watch;

use super::access::{Access, Credentials, Files};
use super::error::ClusterError;
use super::events::Events;
use super::health::Health;

/// A node's access to its cluster; clones share it.
#[derive(Clone)]
pub struct Cluster {
    pub(super) client: Client,
    pub(super) node: String,
    pub(super) health: Arc<Health>,
    pub(super) answered: Answered,
    pub(super) events: Arc<Events>,
}

/// Versions of our objects in the last answers to what we wrote: an event from before them is no news.
#[derive(Clone, Debug, Default)]
pub struct Answered {
    /// Of the node.
    pub node: Arc<AtomicU64>,
    /// Of its `MachineConfigNode`.
    pub machine_config_node: Arc<AtomicU64>,
}

impl Cluster {
    /// Reads the credentials; whether the cluster is there shows with the first request.
    pub async fn connect(kubeconfig: &Path, node: &str) -> Result<Self, ClusterError> {
        Self::open(Box::new(Files::new(kubeconfig)), node).await
    }

    /// Whether the server is not trusted, as it changes.
    pub fn distrust(&self) -> watch::Receiver<bool> {
        self.health.distrust()
    }

    /// The same with credentials from anywhere. Has to be called within a runtime: events are sent by a task.
    pub(super) async fn open(credentials: Box<dyn Credentials>, node: &str) -> Result<Self, ClusterError> {
        let health = Arc::new(Health::new());
        let client = Access::open(credentials, Arc::clone(&health)).await?.client();
        let events = Arc::new(Events::start(client.clone(), node));
        Ok(Self { client, node: node.to_owned(), health, answered: Answered::default(), events })
    }
}
