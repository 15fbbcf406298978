//! The stand-in for rpm-ostreed: `org.projectatomic.rpmostree1` on a bus, with peer-to-peer transactions.
//!
//! Interfaces, error names and the life of a transaction follow rpm-ostree's introspection and behaviour. The work is
//! real, except that no rpm is ever installed: package requests are checked against the repository directories and
//! recorded in the origin, and the tree stays that of its image. It never reboots, knows no polkit, and refuses
//! modifiers and options it does not know, where rpm-ostree would pass over them.

mod clients;
mod daemon;
mod dict;
mod errors;
mod jobs;
mod os_object;
mod request;
mod sysroot_object;
mod transaction;
mod transaction_object;
mod worker;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::faults::Faults;
use daemon::Daemon;
use sysroot_object::SysrootObject;

/// The name of this program in fault switches.
pub const PROGRAM: &str = "rpm-ostreed";

const BUS_NAME: &str = "org.projectatomic.rpmostree1";
const BASE_PATH: &str = "/org/projectatomic/rpmostree1";
const SYSROOT_PATH: &str = "/org/projectatomic/rpmostree1/Sysroot";

/// How the daemon is set up.
#[derive(Debug, Clone)]
pub struct Options {
    /// The address of the bus; the system bus without one.
    pub address: Option<String>,
    /// The sysroot.
    pub sysroot: PathBuf,
    /// The socket of transactions.
    pub socket: PathBuf,
    /// The directory of repository files.
    pub repos_dir: PathBuf,
    /// How long to stay without calls, clients and transactions.
    pub idle: Duration,
}

/// Serves until the daemon has been idle for long enough, or the bus is gone.
pub async fn serve(options: Options) -> Result<()> {
    let faults = Faults::load(PROGRAM)?;
    let idle = faults.idle_exit_ms.map_or(options.idle, Duration::from_millis);
    let builder = match &options.address {
        Some(address) => zbus::connection::Builder::address(address.as_str()),
        None => zbus::connection::Builder::system(),
    };
    refuse_database(&options.sysroot)?;
    let daemon = Arc::new(Daemon::new(options));
    let bus = builder
        .serve_at(SYSROOT_PATH, SysrootObject::new(Arc::clone(&daemon)))
        .build()
        .await
        .context("connecting to the bus")?;
    daemon.attach(&bus);
    daemon.refresh().await.context("reading the sysroot")?;
    // The name comes last: whoever sees it finds every object in place.
    bus.request_name(BUS_NAME).await.context("taking the bus name")?;
    tokio::spawn(clients::watch(Arc::clone(&daemon), bus.clone()));
    tokio::select! {
        () = bus.closed() => Ok(()),
        () = stay(&daemon, idle) => Ok(()),
    }
}

/// The daemon does not start where the place of the package database is not a link into `/usr`.
fn refuse_database(sysroot: &std::path::Path) -> Result<()> {
    match std::fs::symlink_metadata(sysroot.join("var/lib/rpm")) {
        Ok(found) if !found.is_symlink() => bail!("/var/lib/rpm is not a link"),
        _ => Ok(()),
    }
}

async fn stay(daemon: &Daemon, idle: Duration) {
    let pause = (idle / 4).clamp(Duration::from_millis(10), Duration::from_secs(1));
    loop {
        tokio::time::sleep(pause).await;
        if daemon.idle_since().is_some_and(|since| Instant::now().saturating_duration_since(since) >= idle) {
            return;
        }
    }
}
