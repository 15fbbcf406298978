//! What the service manager and people say by signal.

use std::sync::Arc;

use anyhow::{Context, Result};
use futures_util::FutureExt;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

/// What was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// To end.
    End,
    /// To look at everything again.
    Look,
}

/// Signals, heard from the beginning.
#[derive(Debug)]
pub struct Signals {
    end: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    look: tokio::signal::unix::Signal,
    /// The same as SIGHUP, over the agent's socket.
    asked: Arc<Notify>,
    told_to_end: bool,
}

impl Signals {
    /// Begins to listen.
    pub fn listen() -> Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen to signals");
        let (end, interrupt) = (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
        Ok(Self { end, interrupt, look: listen(SignalKind::hangup())?, asked: Arc::default(), told_to_end: false })
    }

    /// Whoever notifies this asks to look at everything again.
    pub fn asked(&self) -> Arc<Notify> {
        Arc::clone(&self.asked)
    }

    /// The next one; cancel safe.
    pub async fn next(&mut self) -> Signal {
        tokio::select! {
            () = either(&mut self.end, &mut self.interrupt) => {
                self.told_to_end = true;
                Signal::End
            }
            _ = self.look.recv() => Signal::Look,
            () = self.asked.notified() => Signal::Look,
        }
    }

    /// Returns when the agent is told to end; cancel safe. SIGHUP stays pending for [`Self::next`] meanwhile.
    pub async fn end(&mut self) {
        either(&mut self.end, &mut self.interrupt).await;
        self.told_to_end = true;
    }

    /// Whether the agent was ever told to end, also by a signal that nobody has waited for yet.
    pub fn told_to_end(&mut self) -> bool {
        self.told_to_end || self.end().now_or_never().is_some()
    }
}

async fn either(one: &mut tokio::signal::unix::Signal, other: &mut tokio::signal::unix::Signal) {
    tokio::select! {
        _ = one.recv() => {}
        _ = other.recv() => {}
    }
}
