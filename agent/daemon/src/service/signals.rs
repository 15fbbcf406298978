//! What the service manager and people say by signal.

use anyhow::{Context, Result};
use tokio::signal::unix::{SignalKind, signal};

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
    told_to_end: bool,
}

impl Signals {
    /// Begins to listen.
    pub fn listen() -> Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen to signals");
        let (end, interrupt) = (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
        Ok(Self { end, interrupt, look: listen(SignalKind::hangup())?, told_to_end: false })
    }

    /// The next one; may be given up and taken up again.
    pub async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.end.recv() => self.ending(),
            _ = self.interrupt.recv() => self.ending(),
            _ = self.look.recv() => Signal::Look,
        }
    }

    const fn ending(&mut self) -> Signal {
        self.told_to_end = true;
        Signal::End
    }

    /// Whether it was ever said to end.
    pub const fn told_to_end(&self) -> bool {
        self.told_to_end
    }
}
