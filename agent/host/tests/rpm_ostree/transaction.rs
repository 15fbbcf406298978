//! A transaction of the daemon that does what its script says.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::net::UnixListener;
use tokio::sync::Notify;
use zbus::{Connection, Guid};

use crate::daemon::{Effect, Shared, hang_up};

const INTERFACE: &str = "org.projectatomic.rpmostree1.Transaction";

/// What a transaction does next.
#[derive(Clone, Debug)]
pub enum Act {
    /// As the first one: dies instead of answering the request.
    DieUnanswered,
    /// As the first one: dies before anybody can start it.
    DieUnstarted,
    Say(&'static str),
    /// A signal with this name and a text.
    Task(&'static str, &'static str),
    Percent(&'static str, u32),
    Download(u32, u32),
    Sleep(u64),
    /// Changes the deployments.
    Apply,
    /// Goes on once it was cancelled.
    WaitForCancel,
    Finish(Result<(), &'static str>),
    /// Closes the socket and lives on.
    Close,
    /// Dies, and is started again.
    Die,
}

/// A transaction.
pub struct Transaction {
    pub method: String,
    pub sender: String,
    client: String,
    socket: PathBuf,
    shared: Arc<Shared>,
    work: Mutex<Option<(Vec<Act>, Option<Effect>)>>,
    finished: Mutex<Option<(bool, String)>>,
    peers: Mutex<Vec<Connection>>,
    cancelled: Notify,
}

impl Transaction {
    /// Waits at a socket until it is started. `who` is the caller's bus name and its description.
    pub fn listen(shared: &Arc<Shared>, method: &str, who: [String; 2], work: (Vec<Act>, Option<Effect>)) -> Arc<Self> {
        let [sender, client] = who;
        let socket = shared.socket();
        let listener = UnixListener::bind(&socket).unwrap();
        let one = Arc::new(Self {
            method: method.to_owned(),
            sender,
            client,
            socket,
            shared: shared.clone(),
            work: Mutex::new(Some(work)),
            finished: Mutex::default(),
            peers: Mutex::default(),
            cancelled: Notify::new(),
        });
        shared.with(|state| state.active = Some(one.clone()));
        tokio::spawn(one.clone().accept(listener));
        one
    }

    /// Starts it for a client that is not there.
    pub fn start(self: &Arc<Self>) -> bool {
        let Some((script, effect)) = self.work.lock().unwrap().take() else { return false };
        tokio::spawn(self.clone().run(script, effect));
        true
    }

    pub fn address(&self) -> String {
        format!("unix:path={}", self.socket.display())
    }

    pub async fn close(&self) {
        let _ = std::fs::remove_file(&self.socket);
        let peers = std::mem::take(&mut *self.peers.lock().unwrap());
        for peer in peers {
            hang_up(peer).await;
        }
    }

    async fn accept(self: Arc<Self>, listener: UnixListener) {
        while self.socket.exists() {
            let accepted = tokio::time::timeout(Duration::from_millis(200), listener.accept()).await;
            let Ok(Ok((stream, _))) = accepted else { continue };
            let peer = zbus::connection::Builder::unix_stream(stream.into_std().unwrap())
                .server(Guid::generate())
                .p2p()
                .serve_at("/", Service(self.clone()))
                .build()
                .await;
            let Ok(peer) = peer else { continue };
            if !self.socket.exists() {
                // It was closed during the handshake.
                return hang_up(peer).await;
            }
            self.peers.lock().unwrap().push(peer.clone());
            tokio::spawn(self.clone().watch(peer));
        }
    }

    /// Nobody's transaction any more once it has ended and nobody listens.
    async fn watch(self: Arc<Self>, peer: Connection) {
        peer.closed().await;
        self.peers.lock().unwrap().retain(|one| !one.is_closed());
        self.leave();
    }

    fn leave(&self) {
        let joined = self.shared.with(|state| state.joined.as_ref().is_some_and(|one| one.socket == self.socket));
        if !joined && self.finished.lock().unwrap().is_some() && self.peers.lock().unwrap().is_empty() {
            let _ = std::fs::remove_file(&self.socket);
            self.shared.with(|state| {
                if state.active.as_ref().is_some_and(|active| active.socket == self.socket) {
                    state.active = None;
                }
            });
        }
    }

    async fn run(self: Arc<Self>, script: Vec<Act>, mut effect: Option<Effect>) {
        for act in script {
            match act {
                Act::Say(text) => self.emit("Message", &text).await,
                Act::Task(name, text) => self.emit(name, &text).await,
                Act::Percent(label, percent) => self.emit("PercentProgress", &(label, percent)).await,
                Act::Download(fetched, requested) => {
                    let zero = ((0u64, 0u64), (0u32, 0u32), (0u32, 0u32, 0u32), (0u32, 0u32, 0u32, 0u64));
                    let body = (zero.0, zero.1, zero.2, zero.3, (fetched, requested), (0u64, 0u64));
                    self.emit("DownloadProgress", &body).await;
                }
                Act::Sleep(milliseconds) => tokio::time::sleep(Duration::from_millis(milliseconds)).await,
                Act::Apply => {
                    let effect = effect.take().unwrap();
                    self.shared.with(|state| effect(&mut state.deployments));
                }
                Act::WaitForCancel => self.cancelled.notified().await,
                Act::Finish(end) => self.finish(end).await,
                Act::Close => {
                    self.shared.with(|state| state.active = None);
                    return self.close().await;
                }
                Act::Die | Act::DieUnanswered | Act::DieUnstarted => return self.shared.death.notify_one(),
            }
        }
    }

    async fn finish(&self, end: Result<(), &'static str>) {
        let end = (end.is_ok(), end.err().unwrap_or_default().to_owned());
        *self.finished.lock().unwrap() = Some(end.clone());
        self.emit("Finished", &end).await;
        self.leave();
    }

    async fn emit<B: serde::Serialize + zbus::Type>(&self, name: &'static str, body: &B) {
        let peers = self.peers.lock().unwrap().clone();
        for peer in peers {
            let _ = peer.emit_signal(None::<&str>, "/", INTERFACE, name, body).await;
        }
    }
}

struct Service(Arc<Transaction>);

#[zbus::interface(name = "org.projectatomic.rpmostree1.Transaction")]
impl Service {
    async fn start(&self, #[zbus(connection)] peer: &Connection) -> bool {
        for _ in 0..self.0.shared.with(|state| state.ahead) {
            self.0.emit("Message", &"ahead").await;
        }
        let started = self.0.start();
        let finished = self.0.finished.lock().unwrap().clone();
        if let Some(end) = finished {
            peer.emit_signal(None::<&str>, "/", INTERFACE, "Finished", &end).await.unwrap();
        }
        started
    }

    fn cancel(&self) {
        self.0.shared.log("Cancel");
        self.0.cancelled.notify_one();
    }

    #[zbus(property)]
    fn title(&self) -> String {
        "a title".to_owned()
    }

    #[zbus(property)]
    fn initiating_client_description(&self) -> String {
        self.0.client.clone()
    }
}
