//! A transaction from its request to its end: the peer socket, the peers, and what they are told.
//!
//! It waits for `Start`; it goes on without its initiator once started; after its end it stays until the last peer has
//! left, or half a minute. The work itself is the worker's.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::net::UnixListener;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use zbus::object_server::SignalEmitter;
use zbus::{Connection, Guid};

use super::jobs::Job;
use super::transaction_object::{TransactionObject, emit};
use crate::narrator::{Heard, Note};

const FORCED_CLOSE: Duration = Duration::from_secs(30);
/// How long an answer takes to leave at most.
pub const ANSWER_TIME: Duration = Duration::from_millis(10);
const MAX_PEERS: usize = 64;

/// Who asked for a transaction, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub method: String,
    pub sender: String,
    pub path: String,
}

/// One transaction.
pub struct Transaction {
    pub call: Call,
    pub job: Job,
    pub title: String,
    pub client: String,
    pub address: String,
    pub start_delay: Duration,
    start: Mutex<Option<oneshot::Sender<()>>>,
    cancel: watch::Sender<bool>,
    finished: Mutex<Option<(bool, String)>>,
    peers: Mutex<BTreeMap<u64, Connection>>,
    peer_left: Notify,
    started: Notify,
}

/// The levers of a worker.
pub struct Levers {
    pub start: oneshot::Sender<()>,
    pub cancel: watch::Sender<bool>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Transaction {
    /// A transaction that has not been started.
    pub fn new(call: Call, job: Job, client: String, socket: &Path, levers: Levers) -> Self {
        Self {
            title: job.title(),
            address: format!("unix:path={}", socket.display()),
            call,
            job,
            client,
            start_delay: Duration::ZERO,
            start: Mutex::new(Some(levers.start)),
            cancel: levers.cancel,
            finished: Mutex::new(None),
            peers: Mutex::new(BTreeMap::new()),
            peer_left: Notify::new(),
            started: Notify::new(),
        }
    }

    /// Whether a request for `job` by `method` may share this transaction.
    pub fn is_compatible(&self, method: &str, job: &Job) -> bool {
        self.call.method == method && self.job == *job
    }

    /// Starts the work a moment later, so that the caller has its answer before the first signal; false when it was
    /// started before.
    pub fn start(&self) -> bool {
        let Some(start) = lock(&self.start).take() else { return false };
        self.started.notify_one();
        tokio::spawn(async move {
            tokio::time::sleep(ANSWER_TIME).await;
            // A worker that has died cannot be started.
            let _ = start.send(());
        });
        true
    }

    /// Resolves once the work was started.
    pub async fn started(&self) {
        self.started.notified().await;
    }

    /// Sends the worker home unless it was started; tells whether it was not.
    pub fn abandon(&self) -> bool {
        lock(&self.start).take().is_some()
    }

    /// Asks the work to stop at its next message.
    pub fn cancel(&self) {
        self.cancel.send_replace(true);
    }

    /// The outcome, once there is one.
    pub fn outcome(&self) -> Option<(bool, String)> {
        lock(&self.finished).clone()
    }

    /// Counts `connection` among the peers; false when there are too many.
    pub fn adopt(&self, number: u64, connection: &Connection) -> bool {
        let mut peers = lock(&self.peers);
        if peers.len() >= MAX_PEERS && !peers.contains_key(&number) {
            return false;
        }
        peers.insert(number, connection.clone());
        true
    }

    /// Lets peers in until it is dropped.
    pub async fn accept(self: Arc<Self>, listener: UnixListener) {
        let guid = Guid::generate();
        for number in 0u64.. {
            let Ok((stream, _)) = listener.accept().await else { return };
            let Ok(stream) = stream.into_std() else { continue };
            let object = TransactionObject { transaction: Arc::clone(&self), number };
            let builder = zbus::connection::Builder::unix_stream(stream).server(guid.clone()).p2p();
            let this = Arc::clone(&self);
            // A peer that is slow to authenticate must not keep the others out.
            tokio::spawn(async move {
                if let Ok(connection) = builder.serve_at("/", object).build().await {
                    this.keep(number, connection).await;
                }
            });
        }
    }

    async fn keep(&self, number: u64, connection: Connection) {
        if self.adopt(number, &connection) {
            connection.closed().await;
            lock(&self.peers).remove(&number);
            self.peer_left.notify_waiters();
        } else {
            let _ = connection.close().await;
        }
    }

    /// Passes on what the worker says, until it has said the last. A worker that dies before it leaves its peers cut off.
    pub async fn narrate(&self, mut heard: mpsc::Receiver<Heard>) {
        while let Some((note, acknowledge)) = heard.recv().await {
            match &note {
                Note::Cut => self.cut().await,
                Note::Finished(success, error) => {
                    *lock(&self.finished) = Some((*success, error.clone()));
                    self.broadcast(&note).await;
                }
                _ => self.broadcast(&note).await,
            }
            // The worker may have died of a panic; then nobody waits.
            let _ = acknowledge.send(());
        }
        if self.outcome().is_none() {
            self.cut().await;
        }
    }

    /// Waits until the last peer has left, at most half a minute, then closes what is left.
    pub async fn disband(&self) {
        let deserted = async {
            loop {
                let left = self.peer_left.notified();
                if lock(&self.peers).is_empty() {
                    return;
                }
                left.await;
            }
        };
        if tokio::time::timeout(FORCED_CLOSE, deserted).await.is_err() {
            self.cut().await;
        }
    }

    async fn broadcast(&self, note: &Note) {
        let peers: Vec<Connection> = lock(&self.peers).values().cloned().collect();
        for connection in peers {
            if let Ok(emitter) = SignalEmitter::new(&connection, "/") {
                // A peer that has left hears nothing.
                let _ = emit(&emitter, note).await;
            }
        }
    }

    async fn cut(&self) {
        let peers = std::mem::take(&mut *lock(&self.peers));
        for connection in peers.into_values() {
            let _ = connection.close().await;
        }
        self.peer_left.notify_waiters();
    }
}

/// Listens on `socket`, in place of a socket an earlier transaction left behind. Everybody may connect, as with
/// rpm-ostree.
pub fn listen(socket: &Path) -> Result<UnixListener> {
    match std::fs::remove_file(socket) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("removing {}", socket.display()));
        }
        _ => {}
    }
    let listener = UnixListener::bind(socket).with_context(|| format!("listening on {}", socket.display()))?;
    std::fs::set_permissions(socket, std::fs::Permissions::from_mode(0o666))?;
    Ok(listener)
}
