//! A node's access to its cluster. Owns who we are there; what is said and heard is next door.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use kube::Client;
use tokio::sync::{Mutex, watch};

use super::access::Access;
use super::credentials::{Credentials, Files, Keeper};
use super::error::ClusterError;
use super::events::Events;
use super::health::Health;

/// A node's access to its cluster; clones share it.
#[derive(Clone)]
pub struct Cluster {
    pub(super) client: Client,
    pub(super) access: Arc<Access>,
    pub(super) node: String,
    pub(super) health: Arc<Health>,
    pub(super) answered: Answered,
    pub(super) events: Arc<Events>,
    /// The desired configuration for which the node's pool was last looked up.
    pub(super) pool_asked: Arc<Mutex<Option<String>>>,
    /// Why the node's pool is not known, as it was last logged.
    pub(super) pool_problem: Arc<std::sync::Mutex<Option<String>>>,
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
    /// Reads the credentials, of the keeper where they are not for us to read; whether the cluster is there shows with the
    /// first request. Credentials that are not to be had yet are told of, and asked for again when they are needed.
    pub async fn connect(
        kubeconfig: &Path,
        keeper: Option<Box<dyn Keeper>>,
        node: &str,
    ) -> (Self, Option<ClusterError>) {
        Self::open(Box::new(Files::new(kubeconfig, keeper)), node).await
    }

    /// Whether the server is not trusted, as it changes.
    pub fn distrust(&self) -> watch::Receiver<bool> {
        self.health.distrust()
    }

    /// The same with credentials from anywhere. Has to be called within a runtime: events are sent by a task.
    pub(super) async fn open(credentials: Box<dyn Credentials>, node: &str) -> (Self, Option<ClusterError>) {
        let health = Arc::new(Health::new());
        let (access, trouble) = Access::open(credentials, Arc::clone(&health)).await;
        let access = Arc::new(access);
        let client = access.client();
        let events = Arc::new(Events::start(client.clone(), node));
        (
            Self {
                client,
                access,
                node: node.to_owned(),
                health,
                answered: Answered::default(),
                events,
                pool_asked: Arc::default(),
                pool_problem: Arc::default(),
            },
            trouble,
        )
    }
}
