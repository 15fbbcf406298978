//! Taking a node over from another agent: what the loop knows of it goes to the root half, and what was found is told.

use ostler_core::node::{ConfigRef, NodeView, Notice, keys};
use ostler_core::protocol::{Failure, Reply, Request, Sealed, TakeOver};

use super::acting::unexpected;
use super::worker::Worker;

impl Worker {
    /// Takes the machine over, or ends its introduction to the cluster.
    pub(super) async fn take_over(&mut self, introduced: bool) -> Result<String, Failure> {
        let unreadable = self.machine.inherited.as_ref().is_some_and(|inherited| inherited.unreadable.is_some());
        let config = if unreadable { self.likely_config().await } else { None };
        let announced = |node: &NodeView| node.annotation(keys::POST_CONFIG_ACTION) == Some(keys::REBOOTING);
        let restart = self.known.node.as_ref().is_some_and(announced);
        match self.put(Request::TakeOver(TakeOver { config, restart, introduced })).await? {
            Reply::TakenOver(handed) => {
                let words = if handed.done.is_empty() { "all is in order".to_owned() } else { handed.done.join("; ") };
                self.tell(&Notice::TakenOver { config: handed.config, words });
                Ok("the machine was taken over".to_owned())
            }
            other => Err(unexpected(&other)),
        }
    }

    /// The configuration that a machine without a record of its own should be in: what it was last said to be in, else
    /// what it is to reach.
    async fn likely_config(&self) -> Option<Sealed> {
        let node = self.known.node.as_ref();
        let first = self.machine.bootstrap.as_ref().and_then(|bootstrap| bootstrap.current());
        let likely: [Option<ConfigRef>; 3] =
            [node.and_then(NodeView::current), first, node.and_then(NodeView::desired)];
        for config in likely.into_iter().flatten() {
            if let Ok(config) = self.outside.config(&config).await {
                return Some(config);
            }
        }
        None
    }
}
