//! The root half, asked without holding up the loop: each question has a thread of its own until it is answered.

use std::path::PathBuf;

use anyhow::{Result, anyhow};
use ostler_core::protocol::{Reply, Request};
use ostler_core::transaction::Progress;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinHandle};

use crate::applier::Connection;

/// Where the root half is found.
#[derive(Clone, Debug)]
pub struct RootHalf {
    root: Option<PathBuf>,
}

/// A question that was put.
pub struct Asking {
    /// The answer, once it is there.
    pub answer: JoinHandle<Result<Reply>>,
    /// How far it is, as last heard.
    pub progress: watch::Receiver<Option<Progress>>,
}

impl RootHalf {
    /// The root half of this machine, or of a root directory.
    pub const fn new(root: Option<PathBuf>) -> Self {
        Self { root }
    }

    /// Puts a question.
    pub fn ask(&self, request: Request) -> Asking {
        let root = self.root.clone();
        let (tell, progress) = watch::channel(None);
        let answer = tokio::task::spawn_blocking(move || {
            let mut connection = Connection::open(root.as_deref())?;
            connection.ask(&request, &mut |step| {
                // The loop may have lost its interest.
                let _ = tell.send(Some(step.clone()));
            })
        });
        Asking { answer, progress }
    }
}

/// The answer of a question whose thread has ended.
pub fn joined(ended: Result<Result<Reply>, JoinError>) -> Result<Reply> {
    ended.unwrap_or_else(|_| Err(anyhow!("the thread that asked the applier ended")))
}
