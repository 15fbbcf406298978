//! The thread of a transaction: locks the sysroot, waits to be started, does the job, tells the end.
//!
//! libostree's objects live and die on this thread.

use std::path::PathBuf;

use anyhow::Result;
use ostree_ext::ostree;
use tokio::sync::{mpsc, oneshot, watch};

use super::errors::BusError;
use super::jobs::{Bench, Job};
use crate::faults::Faults;
use crate::narrator::{Heard, Narrator};
use crate::sysroot::open;

/// What a worker is given.
pub struct Work {
    pub sysroot: PathBuf,
    pub osname: String,
    pub repos_dir: PathBuf,
    pub job: Job,
    pub faults: Faults,
}

/// How a worker is reached.
pub struct Lines {
    /// Answered when the sysroot is locked, or cannot be.
    pub ready: oneshot::Sender<Result<(), BusError>>,
    /// Starts the job; dropped, it sends the worker home.
    pub start: oneshot::Receiver<()>,
    pub cancelled: watch::Receiver<bool>,
    pub listener: mpsc::Sender<Heard>,
}

/// Starts a worker; the error says why there is no thread for it.
pub fn spawn(work: Work, lines: Lines) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new().name("transaction".to_owned()).spawn(move || runtime.block_on(run(work, lines)))?;
    Ok(())
}

async fn run(work: Work, lines: Lines) {
    let sysroot = match lock(&work) {
        Ok(sysroot) => sysroot,
        Err(error) => {
            // A caller that no longer waits needs no answer.
            let _ = lines.ready.send(Err(error));
            return;
        }
    };
    let wanted = lines.ready.send(Ok(())).is_ok() && lines.start.await.is_ok();
    if wanted {
        let narrator = Narrator::new(lines.listener, lines.cancelled, work.faults.clone());
        let bench = Bench { sysroot: &sysroot, osname: &work.osname, repos_dir: &work.repos_dir, narrator: &narrator };
        let outcome = work.job.run(&bench).await;
        // Unlocked before the end is told: who hears it may begin the next transaction.
        sysroot.unlock();
        let error = outcome.err().map(|error| format!("{error:#}"));
        narrator.finish(error.is_none(), error.unwrap_or_default()).await;
    } else {
        sysroot.unlock();
    }
}

fn lock(work: &Work) -> Result<ostree::Sysroot, BusError> {
    let sysroot = open(&work.sysroot)?;
    match sysroot.try_lock() {
        Ok(true) => {}
        Ok(false) => return Err(BusError::busy("System transaction in progress")),
        Err(error) => return Err(BusError::io(error.to_string())),
    }
    // What was loaded before the lock may be stale.
    sysroot.load(crate::sysroot::NONE).map_err(|error| BusError::io(error.to_string()))?;
    Ok(sysroot)
}
