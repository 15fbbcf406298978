//! Names of network interfaces that are to stay, looked at once when the agent starts.

use ostler_core::kargs::Change;
use ostler_core::node::Notice;
use ostler_core::protocol::{Reply, Request};

use super::outlook::words;
use super::worker::Worker;

impl Worker {
    /// Has the root half look after them as soon as nothing else is under way on the machine. Nothing waits for it, and
    /// what fails is tried again when the agent starts next.
    pub(super) async fn persist_nics(&mut self) {
        if !self.nics || self.machine.busy || self.machine.open.is_some() {
            return;
        }
        self.nics = false;
        match self.put(Request::PersistNics).await {
            Ok(Reply::NicsPersisted { change }) => {
                let arguments = change.append.len().saturating_add(change.remove.len());
                self.tell(&Notice::NicNamesKept { arguments });
                staged(&change);
            }
            Ok(Reply::Failed(failure)) | Err(failure) => failed(&words(&failure)),
            Ok(_) => idle(),
        }
    }
}

fn staged(change: &Change) {
    let (added, gone) = (change.append.join(" "), change.remove.join(" "));
    tracing::debug!(added, gone, "kernel arguments for the names of network interfaces come with the next restart");
}

fn failed(reason: &str) {
    tracing::warn!("{reason}");
}

fn idle() {
    tracing::debug!("there is nothing to do for the names of network interfaces");
}
