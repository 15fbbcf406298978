//! Answers whoever connects with the latest account, and closes.
//!
//! Owns the socket file, and with it the claim to be the only daemon of its root.

use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixStream as Probe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use nix::unistd::Uid;
use thiserror::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Notify, Semaphore, watch};

use super::{Account, LOOK, MAX_DOCUMENT};

/// The owner and the group may ask.
const MODE: u32 = 0o660;
/// How many are answered at once; others wait in the kernel.
const MAX_CONNECTIONS: usize = 8;
/// How long somebody may take to read the answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often the claim is tried: one that was killed while it started its root half is outlived by it for a moment.
const CLAIMS: u32 = 20;
/// How long between two tries.
const CLAIM_PAUSE: Duration = Duration::from_millis(50);
/// How long nothing is accepted after the kernel could not give a connection, which mostly is want of descriptors.
const PAUSE: Duration = Duration::from_secs(1);

/// Why nobody can ask.
#[derive(Debug, Error)]
pub enum ServeError {
    /// There is a daemon already.
    #[error("another daemon looks after this root and answers at {}; see \"ostler status\"", .0.display())]
    AlreadyRunning(PathBuf),
    /// Something else is where the socket should be.
    #[error("{} is in the way and is no socket; remove it", .0.display())]
    InTheWay(PathBuf),
    /// The socket cannot be had.
    #[error("cannot listen at {}", .0.display())]
    Socket(PathBuf, #[source] io::Error),
}

/// A socket that nobody else serves.
#[derive(Debug)]
pub struct Server {
    listener: UnixListener,
    path: PathBuf,
    /// Held for as long as the socket is ours; the kernel lets go of it however we end.
    _claim: File,
}

impl Server {
    /// Listens at this path. What a daemon has left that is gone is replaced; one that is there is left in peace.
    pub fn listen(path: &Path) -> Result<Self, ServeError> {
        let failed = |error| ServeError::Socket(path.to_owned(), error);
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory).map_err(failed)?;
        }
        let claim = claim(path)?;
        if let Ok(found) = std::fs::symlink_metadata(path) {
            if !found.file_type().is_socket() {
                return Err(ServeError::InTheWay(path.to_owned()));
            }
            // Whoever answers without the claim is not one of us, and still not to be cut off.
            let (_open, address) = super::address(path).map_err(failed)?;
            if Probe::connect(address).is_ok() {
                return Err(ServeError::AlreadyRunning(path.to_owned()));
            }
        }
        // Under another name first: nobody sees a socket with the wrong mode, or none where one was.
        let fresh = beside(path, "new");
        match std::fs::remove_file(&fresh) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let (_open, address) = super::address(&fresh).map_err(failed)?;
        let listener = UnixListener::bind(address).map_err(failed)?;
        std::fs::set_permissions(&fresh, Permissions::from_mode(MODE)).map_err(failed)?;
        std::fs::rename(&fresh, path).map_err(failed)?;
        Ok(Self { listener, path: path.to_owned(), _claim: claim })
    }

    /// Answers until it is dropped, and tells when root asks the agent to look again.
    pub async fn serve(self, accounts: watch::Receiver<Account>, look: Arc<Notify>) {
        let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        // It is never closed, so that a place is always to be had in the end.
        while let Ok(place) = Arc::clone(&places).acquire_owned().await {
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let account = accounts.borrow().clone();
                    let look = Arc::clone(&look);
                    tokio::spawn(async move {
                        // Somebody who asks and does not read has only themselves to blame.
                        let answered = tokio::time::timeout(PATIENCE, answer(stream, account)).await;
                        drop(place);
                        if let Ok(Ok(stream)) = answered
                            && let Ok(Ok(true)) = tokio::time::timeout(PATIENCE, asks_to_look(stream)).await
                        {
                            look.notify_one();
                        }
                    });
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that stays is replaced by the next daemon.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn claim(path: &Path) -> Result<File, ServeError> {
    let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(beside(path, "lock"));
    let file = file.map_err(|error| ServeError::Socket(path.to_owned(), error))?;
    for _ in 0..CLAIMS {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(std::fs::TryLockError::WouldBlock) => std::thread::sleep(CLAIM_PAUSE),
            Err(std::fs::TryLockError::Error(error)) => return Err(ServeError::Socket(path.to_owned(), error)),
        }
    }
    Err(ServeError::AlreadyRunning(path.to_owned()))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    PathBuf::from(name)
}

async fn answer(mut stream: UnixStream, account: Account) -> io::Result<UnixStream> {
    let document = serde_json::to_vec(&account.bounded())?;
    if document.len() > MAX_DOCUMENT {
        return Err(io::ErrorKind::InvalidData.into());
    }
    stream.write_all(&document).await?;
    stream.shutdown().await?;
    Ok(stream)
}

/// Only root, and the agent's own user, are waited for: they could signal the agent as well.
async fn asks_to_look(stream: UnixStream) -> io::Result<bool> {
    let peer = stream.peer_cred()?.uid();
    if peer != 0 && peer != Uid::effective().as_raw() {
        return Ok(false);
    }
    let mut request = Vec::new();
    stream.take(LOOK.len() as u64 + 1).read_to_end(&mut request).await?;
    Ok(request == LOOK)
}
