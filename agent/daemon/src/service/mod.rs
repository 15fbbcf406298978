//! `ostler daemon`: the agent at work, put together.
//!
//! Owns which parts there are on this machine. Each part is in the file of its name; the loop is the worker's.

mod acting;
pub(crate) mod clock;
mod ending;
mod first_boot;
mod handover;
mod health;
mod known;
mod looking;
mod minding;
mod mounted;
mod nics;
pub(crate) mod outlook;
mod outside;
mod report;
pub(crate) mod root_half;
mod saying;
mod signals;
mod standalone;
mod status_file;
mod stopwatch;
mod teller;
mod worker;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use ostler_core::credentials::KUBECONFIG;
use ostler_core::node::{Notice, Phase, RebootPolicy};
use ostler_core::os_release::OsRelease;
use ostler_core::protocol::Rules;

use crate::account::server::Server;
use crate::account::{self, Account};
use crate::cli::{DaemonOptions, FirstBootOptions, KUBELET, LogLevel, Reboot};
use crate::cluster::{Cluster, Keeper};
use crate::commands::Outcome;
use crate::duty::{self, Duties};
use crate::telling::level::{Level, Target};
use crate::telling::listener::Listener;
use crate::telling::manager::Manager;
use crate::telling::metrics::Metrics;
use crate::telling::{control, journal};
use clock::Clock;
use first_boot::Installation;
pub use health::{Endpoint, Health};
use known::Known;
use mounted::Mounted;
use outside::Outside;
use root_half::RootHalf;
use signals::Signals;
use standalone::Directory;
use status_file::StatusFile;
#[cfg(test)]
pub use teller::Seen;
pub use teller::Teller;
use worker::{Manner, Parts, Worker};

/// Completes the first boot of this machine.
pub fn first_boot(options: &FirstBootOptions) -> Result<Outcome> {
    daemon(&DaemonOptions {
        standalone: None,
        hosted: None,
        root: options.root.clone(),
        once: true,
        node_name: None,
        kubeconfig: PathBuf::new(),
        kubelet_healthz: "none".to_owned(),
        // Whoever comes after proves the boot.
        prove_within: 1440,
        stage_after_drain: false,
        metrics: "none".to_owned(),
        log_level: options.log_level,
        first_boot: true,
        reboot: None,
        reboot_window: None,
    })
}

/// Looks after the node until it is told to end.
pub fn daemon(options: &DaemonOptions) -> Result<Outcome> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start")?;
    let ending = runtime.block_on(run(options));
    // A question to the root half that nobody waits for any more must not keep the process.
    runtime.shutdown_background();
    ending
}

async fn run(options: &DaemonOptions) -> Result<Outcome> {
    let log = journal::start(log_target(options), level(options.log_level))?;
    let signals = Signals::listen()?;
    let node = node_name(options)?;
    let root = options.root.as_deref().map(root_directory).transpose()?;
    let live = root.is_none();
    let below = root.clone().unwrap_or_else(|| PathBuf::from("/"));
    // Whoever holds the socket is the one agent of this machine.
    let server = Server::listen(&account::socket(root.as_deref()))?;
    let (account, told) = tokio::sync::watch::channel(blank_account(&node));
    tokio::spawn(server.serve(told, signals.asked()));
    let metrics = Arc::new(Metrics::default());
    if let Some((os, version)) = os_release(&below) {
        metrics.set_os(&os, &version);
    }
    let mut teller = Teller::new(&node, Manager::from_environment(), Arc::clone(&metrics), account);
    teller.tell(&Notice::Started { version: env!("CARGO_PKG_VERSION").to_owned() });
    let mut listener = metrics_listener(options, metrics)?;
    if let Some(listener) = &mut listener {
        listener.ensure().await.iter().for_each(|notice| teller.tell(notice));
    }
    let control = if live { Some(control::offer(log).await) } else { None };
    if let Some(Err(notice)) = &control {
        teller.tell(notice);
    }
    let root = RootHalf::new(root);
    let (outside, known) = outside(options, &node, &root, &mut teller).await?;
    if let Some(reason) = outside.complaint() {
        teller.tell(&Notice::DutyRefused { duty: "first boot".to_owned(), reason });
    }
    let kubelet = kubelet(options)?;
    let mut duties = duties(options, &root, outside.provider(), kubelet.clone());
    if !options.once {
        duties.begin(|post| duty::drift::run(post, root.clone(), below.clone()));
    }
    let parts = Parts {
        outside,
        known,
        teller,
        signals,
        health: Health { kubelet, systemd: live },
        duties,
        root: root.kept(),
        manner: manner(options, live),
    };
    Ok(Worker::new(parts).work().await.into())
}

fn manner(options: &DaemonOptions, live: bool) -> Manner {
    Manner {
        once: options.once,
        restarts: live.then(|| reboot_policy(options)),
        prove_within: Duration::from_secs(60 * u64::from(options.prove_within)),
        stages_first: !options.stage_after_drain,
    }
}

/// A cluster's controllers order restarts by what they desire; whoever puts a file into a directory may not mean to.
const fn reboot_policy(options: &DaemonOptions) -> RebootPolicy {
    match (options.reboot, options.reboot_window) {
        (Some(Reboot::Auto), _) => RebootPolicy::Auto,
        (Some(Reboot::Window), Some(window)) => RebootPolicy::Window(window),
        (Some(Reboot::Window | Reboot::Manual), _) => RebootPolicy::Manual,
        (None, _) if options.standalone.is_some() => RebootPolicy::Manual,
        (None, _) => RebootPolicy::Auto,
    }
}

/// Where the kubelet says how it is; nothing where it is not asked.
fn kubelet(options: &DaemonOptions) -> Result<Option<Endpoint>> {
    match options.kubelet_healthz.as_str() {
        "none" => Ok(None),
        _ if options.standalone.is_some() => Ok(None),
        address => Ok(Some(address.parse().context("--kubelet-healthz cannot be used")?)),
    }
}

/// Whoever works once has no time for anything beside.
fn duties(options: &DaemonOptions, root: &RootHalf, cluster: Option<Cluster>, kubelet: Option<Endpoint>) -> Duties {
    let mut duties = Duties::new();
    if options.once {
        return duties;
    }
    // Files alone have no kubelet, unless somebody says where it is.
    let asked = options.root.is_none() || options.kubelet_healthz != KUBELET;
    if let Some(endpoint) = kubelet.filter(|_| asked) {
        duties.begin(|post| duty::kubelet::run(post, endpoint));
    }
    if let Some(cluster) = cluster {
        duties.begin(|post| duty::certificates::run(post, root.clone(), cluster));
        duties.begin(|post| duty::pinned::run(post, root.clone()));
    }
    duties
}

/// A person who works on files alone, or once, reads what is said where it was asked for.
const fn log_target(options: &DaemonOptions) -> Target {
    if options.once || options.root.is_some() { Target::Console } else { Target::Journal }
}

const fn level(level: LogLevel) -> Level {
    match level {
        LogLevel::Error => Level::Error,
        LogLevel::Warning => Level::Warning,
        LogLevel::Info => Level::Info,
        LogLevel::Debug => Level::Debug,
        LogLevel::Trace => Level::Trace,
    }
}

fn metrics_listener(options: &DaemonOptions, metrics: Arc<Metrics>) -> Result<Option<Listener>> {
    if options.metrics == "none" {
        return Ok(None);
    }
    let address = options.metrics.parse().context("--metrics takes an address and a port, as in 127.0.0.1:8797")?;
    Ok(Some(Listener::new(address, metrics)))
}

async fn outside(
    options: &DaemonOptions,
    node: &str,
    root: &RootHalf,
    teller: &mut Teller,
) -> Result<(Outside, Known)> {
    let below = root.directory();
    if options.first_boot {
        let installation = Installation::read(below)?;
        let known = installation.known(node);
        return Ok((Outside::FirstBoot(Box::new(installation)), known));
    }
    if let Some(directory) = &options.hosted {
        let mounted = Mounted::open(directory)?;
        let client = cluster(options, node, root, teller).await?;
        // Nobody there says which disruption is wanted for what.
        let known = Known { rules: Rules { first_boot: true, ..Rules::default() }, ..Known::default() };
        return Ok((Outside::hosted(client, mounted), known));
    }
    let Some(directory) = &options.standalone else {
        let client = cluster(options, node, root, teller).await?;
        return Ok((Outside::cluster(client), Known::of_cluster()));
    };
    let file = StatusFile::below(below);
    let known = Known { object: file.load(), reachable: true, ..Known::default() };
    Ok((Outside::Standalone { directory: Box::new(Directory::open(directory, node)?), file }, known))
}

/// The cluster. Whoever works once has no time to wait for the kubelet's credentials; all others are told of it.
async fn cluster(options: &DaemonOptions, node: &str, root: &RootHalf, teller: &mut Teller) -> Result<Cluster> {
    // The root half reads the kubelet's own file for us, and no other.
    let kubelets = root.directory().join(KUBECONFIG.trim_start_matches('/')) == options.kubeconfig;
    let keeper = kubelets.then(|| Box::new(root.clone()) as Box<dyn Keeper>);
    match Cluster::connect(&options.kubeconfig, keeper, node).await {
        (_, Some(trouble)) if options.once => Err(trouble.into()),
        (client, Some(trouble)) => {
            teller.tell(&Notice::CredentialsAwaited { reason: trouble.to_string() });
            Ok(client)
        }
        (client, None) => Ok(client),
    }
}

/// What the machine runs.
fn os_release(below: &Path) -> Option<(String, String)> {
    let text = std::fs::read_to_string(below.join("etc/os-release"));
    let text = text.or_else(|_| std::fs::read_to_string(below.join("usr/lib/os-release"))).ok()?;
    let release = OsRelease::parse(&text);
    Some((release.id, release.base_version))
}

/// What there is to say before the first turn.
fn blank_account(node: &str) -> Account {
    Account {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        node: node.to_owned(),
        doing: "starting".to_owned(),
        since: Clock::start().seconds(),
        reason: "the agent started".to_owned(),
        next: "look at this machine".to_owned(),
        blocked_by: None,
        report: None,
        phase: Phase::Considering,
        current: None,
        desired: None,
        attempt: 0,
        retry_at: None,
        trouble: None,
        api: None,
        irreconcilable: 0,
        base_kept: false,
        drift_policy: None,
        rules: None,
    }
}

fn node_name(options: &DaemonOptions) -> Result<String> {
    if let Some(name) = &options.node_name {
        return Ok(name.clone());
    }
    let name = nix::unistd::gethostname().context("the host has no name; give --node-name")?;
    Ok(name.to_string_lossy().into_owned())
}

/// None when the directory is this machine's own root after all.
fn root_directory(given: &Path) -> Result<PathBuf> {
    let root = given.canonicalize().with_context(|| format!("--root {} cannot be used", given.display()))?;
    anyhow::ensure!(root != Path::new("/"), "--root / is this machine itself: leave --root out");
    Ok(root)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    fn policy(words: &[&str]) -> Result<RebootPolicy, String> {
        let words = ["ostler", "daemon"].iter().chain(words);
        match Cli::try_parse_from(words).map_err(|error| error.to_string())?.command {
            Command::Daemon(options) => Ok(reboot_policy(&options)),
            _ => Err("another command".to_owned()),
        }
    }

    #[test]
    fn a_machine_without_a_cluster_restarts_only_when_it_is_told_to() {
        let window = "Sat,Sun 02:00 3h";
        let in_window = RebootPolicy::Window(window.parse().unwrap());
        for (words, expected) in [
            (&[][..], RebootPolicy::Auto),
            (&["--hosted", "d"], RebootPolicy::Auto),
            (&["--standalone", "d"], RebootPolicy::Manual),
            (&["--standalone", "d", "--reboot=manual"], RebootPolicy::Manual),
            (&["--standalone", "d", "--reboot=auto"], RebootPolicy::Auto),
            (&["--standalone", "d", "--reboot=window", "--reboot-window", window], in_window),
        ] {
            assert_eq!(policy(words), Ok(expected), "{words:?}");
        }
        for (words, expected) in [
            (&["--reboot=auto"][..], "--standalone"),
            (&["--standalone", "d", "--reboot=window"], "--reboot-window"),
            (&["--standalone", "d", "--reboot-window", window], "--reboot"),
            (&["--standalone", "d", "--reboot=window", "--reboot-window", "never"], "Sat,Sun 02:00 3h"),
        ] {
            let error = policy(words).unwrap_err();
            assert!(error.contains(expected), "{words:?}: {error}");
        }
    }
}
