//! The state behind the objects on the bus: deployments as last read, clients, and the one transaction there may be.
//!
//! Deployments are read at the start, by `Reload`, and around transactions. There is no watch on the disk, so a client
//! that does not ask for a reload sees old deployments; with rpm-ostree it might.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result};
use tokio::sync::{mpsc, oneshot, watch};
use zbus::Connection;

use super::errors::BusError;
use super::jobs::Job;
use super::os_object::OsObject;
use super::sysroot_object::SysrootObject;
use super::transaction::{Call, Levers, Transaction, listen};
use super::worker::{self, Lines, Work};
use super::{BASE_PATH, Options, PROGRAM, clients};
use crate::faults::Faults;
use crate::sysroot::facts::{self, DeploymentFacts};
use crate::sysroot::open;

/// The deployments as last read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    /// In boot order.
    pub deployments: Vec<DeploymentFacts>,
}

impl View {
    /// The booted deployment.
    pub fn booted(&self) -> Option<&DeploymentFacts> {
        self.deployments.iter().find(|deployment| deployment.booted)
    }

    /// The deployments of one OS.
    pub fn of_os<'a>(&'a self, osname: &'a str) -> impl Iterator<Item = &'a DeploymentFacts> {
        self.deployments.iter().filter(move |deployment| deployment.osname == osname)
    }
}

struct State {
    view: View,
    clients: BTreeMap<String, String>,
    transaction: Option<Arc<Transaction>>,
    published: Vec<String>,
    last_call: Instant,
}

/// The daemon.
pub struct Daemon {
    pub options: Options,
    bus: OnceLock<Connection>,
    state: Mutex<State>,
    admission: tokio::sync::Mutex<()>,
}

impl Daemon {
    /// A daemon that is on no bus yet.
    pub fn new(options: Options) -> Self {
        let state = State {
            view: View::default(),
            clients: BTreeMap::new(),
            transaction: None,
            published: Vec::new(),
            last_call: Instant::now(),
        };
        Self { options, bus: OnceLock::new(), state: Mutex::new(state), admission: tokio::sync::Mutex::new(()) }
    }

    /// Takes the bus it is on.
    pub fn attach(&self, bus: &Connection) {
        // Attached once, by the function that serves.
        let _ = self.bus.set(bus.clone());
    }

    /// The deployments as last read.
    pub fn view(&self) -> View {
        self.state().view.clone()
    }

    /// The transaction under way.
    pub fn transaction(&self) -> Option<Arc<Transaction>> {
        self.state().transaction.clone()
    }

    /// Since when nobody needed the daemon; none while somebody does.
    pub fn idle_since(&self) -> Option<Instant> {
        let state = self.state();
        (state.clients.is_empty() && state.transaction.is_none()).then_some(state.last_call)
    }

    /// Notes that somebody called.
    pub fn touch(&self) {
        self.state().last_call = Instant::now();
    }

    /// Registers a client under its description.
    pub fn add_client(&self, sender: &str, description: String) {
        self.state().clients.insert(sender.to_owned(), description);
    }

    /// Forgets a client.
    pub fn forget_client(&self, sender: &str) {
        let mut state = self.state();
        if state.clients.remove(sender).is_some() {
            state.last_call = Instant::now();
        }
    }

    /// Reads the deployments again, publishes OSes that are new, and tells the bus what changed.
    pub async fn refresh(self: &Arc<Self>) -> Result<()> {
        let path = self.options.sysroot.clone();
        let deployments = tokio::task::spawn_blocking(move || facts::read_all(&open(&path)?)).await??;
        let new = {
            let mut state = self.state();
            let view = View { deployments };
            let changed = state.view != view;
            state.view = view;
            changed
        };
        self.publish().await?;
        if new {
            self.tell_deployments().await?;
        }
        Ok(())
    }

    /// Begins a transaction, or finds the one that does the same already, and gives its address.
    pub async fn begin(self: &Arc<Self>, call: Call, osname: &str, job: Job) -> Result<String, BusError> {
        self.touch();
        let _one_at_a_time = self.admission.lock().await;
        if let Some(running) = self.transaction() {
            if running.is_compatible(&call.method, &job) {
                return Ok(running.address.clone());
            }
            return Err(BusError::busy(format!(
                "Transaction in progress: {}\n You can cancel the current transaction with `rpm-ostree cancel`",
                running.title
            )));
        }
        self.refresh().await?;
        let faults = Faults::load(PROGRAM)?.for_method(&call.method);
        let start_delay = faults.start_delay();
        let work = Work {
            sysroot: self.options.sysroot.clone(),
            osname: osname.to_owned(),
            repos_dir: self.options.repos_dir.clone(),
            job: job.clone(),
            faults,
        };
        let (ready, is_ready) = oneshot::channel();
        let (start, is_started) = oneshot::channel();
        let (cancel, cancelled) = watch::channel(false);
        let (listener, heard) = mpsc::channel(1);
        worker::spawn(work, Lines { ready, start: is_started, cancelled, listener })?;
        is_ready.await.map_err(|_| BusError::io("the worker has died"))??;
        let client = self.describe(&call.sender);
        let levers = Levers { start, cancel };
        let mut transaction = Transaction::new(call, job, client, &self.options.socket, levers);
        transaction.start_delay = start_delay;
        let transaction = Arc::new(transaction);
        self.state().transaction = Some(Arc::clone(&transaction));
        let peers = listen(&self.options.socket)?;
        self.tell_transaction().await?;
        let address = transaction.address.clone();
        tokio::spawn(Arc::clone(self).attend(transaction, peers, heard));
        Ok(address)
    }

    /// Sees a transaction through to its end.
    async fn attend(
        self: Arc<Self>,
        transaction: Arc<Transaction>,
        listener: tokio::net::UnixListener,
        heard: mpsc::Receiver<crate::narrator::Heard>,
    ) {
        let accepting = tokio::spawn(Arc::clone(&transaction).accept(listener));
        if self.wait_for_start(&transaction).await {
            transaction.narrate(heard).await;
            if let Err(error) = self.refresh().await {
                eprintln!("rpm-ostreed: reading the sysroot after a transaction: {error:#}");
            }
        } else {
            eprintln!("rpm-ostreed: client disconnected before calling Start");
        }
        transaction.disband().await;
        accepting.abort();
        // A socket that is gone needs no removing.
        let _ = std::fs::remove_file(&self.options.socket);
        {
            let mut state = self.state();
            state.transaction = None;
            state.last_call = Instant::now();
        }
        // A bus that is gone ends the daemon anyway.
        let _ = self.tell_transaction().await;
    }

    /// Waits for `Start`; false when the initiator left the bus before it.
    async fn wait_for_start(&self, transaction: &Transaction) -> bool {
        let Some(bus) = self.bus.get() else { return false };
        tokio::select! {
            biased;
            () = transaction.started() => true,
            _ = clients::vanished(bus, &transaction.call.sender) => !transaction.abandon(),
        }
    }

    fn describe(&self, sender: &str) -> String {
        self.state().clients.get(sender).cloned().unwrap_or_else(|| format!("caller {sender}"))
    }

    async fn publish(self: &Arc<Self>) -> Result<()> {
        let bus = self.bus.get().context("no bus")?;
        let new: Vec<String> = {
            let mut state = self.state();
            let names = state.view.deployments.iter().map(|deployment| deployment.osname.clone());
            let mut new: Vec<String> = names.filter(|name| !state.published.contains(name)).collect();
            new.dedup();
            state.published.extend(new.iter().cloned());
            new
        };
        for osname in new {
            let object = OsObject::new(Arc::clone(self), osname.clone());
            bus.object_server().at(os_path(&osname), object).await?;
        }
        Ok(())
    }

    async fn tell_deployments(self: &Arc<Self>) -> Result<()> {
        let bus = self.bus.get().context("no bus")?;
        SysrootObject::new(Arc::clone(self)).tell_deployments(bus).await?;
        let published = self.state().published.clone();
        for osname in published {
            OsObject::new(Arc::clone(self), osname).tell_deployments(bus).await?;
        }
        Ok(())
    }

    async fn tell_transaction(self: &Arc<Self>) -> Result<()> {
        let bus = self.bus.get().context("no bus")?;
        SysrootObject::new(Arc::clone(self)).tell_transaction(bus).await?;
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The object path of an OS; what a path cannot hold becomes an underscore.
pub fn os_path(osname: &str) -> String {
    let name: String = osname.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect();
    format!("{BASE_PATH}/{name}")
}
