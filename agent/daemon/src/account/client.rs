//! Asks the daemon of this machine, or of a root directory, what it is doing. Never waits long.

use std::io::ErrorKind::{ConnectionRefused, NotADirectory, NotFound};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket};
use ostler_core::malformed::Malformed;
use thiserror::Error;

use super::{Account, LOOK, MAX_DOCUMENT};

/// How long the whole answer may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Why there is no answer although there may be a daemon.
#[derive(Debug, Error)]
pub enum AskError {
    /// It cannot be asked.
    #[error("the daemon cannot be asked: {0}")]
    Unreachable(io::Error),
    /// It did not say enough in time.
    #[error("the daemon did not answer: {0}")]
    Silent(io::Error),
    /// It said more than it may.
    #[error("the daemon said more than {MAX_DOCUMENT} bytes")]
    Endless,
    /// It said something else.
    #[error("the daemon is of another version than this command: {0}")]
    Nonsense(Malformed),
}

/// What the daemon says; nothing where there is none.
pub fn ask(socket: &Path) -> Result<Option<Account>, AskError> {
    ask_within(socket, PATIENCE, &[])
}

/// The same, and asks it to look at everything again.
pub fn wake(socket: &Path) -> Result<Option<Account>, AskError> {
    ask_within(socket, PATIENCE, LOOK)
}

/// The same with another patience and request.
pub(super) fn ask_within(socket: &Path, patience: Duration, request: &[u8]) -> Result<Option<Account>, AskError> {
    let Some(mut stream) = reach(socket)? else { return Ok(None) };
    stream.write_all(request).map_err(AskError::Unreachable)?;
    let document = read(stream, Instant::now() + patience)?;
    serde_json::from_slice(&document).map(Some).map_err(|error| AskError::Nonsense(error.into()))
}

fn reach(path: &Path) -> Result<Option<UnixStream>, AskError> {
    match try_to_reach(path) {
        Ok(stream) => Ok(Some(stream)),
        // A socket file outlives a daemon that was killed.
        Err(error) if matches!(error.kind(), NotFound | NotADirectory | ConnectionRefused) => Ok(None),
        Err(error) => Err(AskError::Unreachable(error)),
    }
}

/// Connecting waits for as long as a daemon that hangs lets it, so it must not block.
fn try_to_reach(path: &Path) -> io::Result<UnixStream> {
    let (_open, address) = super::address(path)?;
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let socket = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    connect(socket.as_raw_fd(), &UnixAddr::new(&address)?)?;
    Ok(UnixStream::from(socket))
}

fn read(mut stream: UnixStream, deadline: Instant) -> Result<Vec<u8>, AskError> {
    stream.set_nonblocking(false).map_err(AskError::Silent)?;
    let (mut document, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(AskError::Silent(io::ErrorKind::TimedOut.into()));
        }
        stream.set_read_timeout(Some(left)).map_err(AskError::Silent)?;
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(document),
            Ok(length) => document.extend_from_slice(buffer.get(..length).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // What the kernel says then is "try again", which nobody would understand.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(AskError::Silent(io::ErrorKind::TimedOut.into()));
            }
            Err(error) => return Err(AskError::Silent(error)),
        }
        if document.len() > MAX_DOCUMENT {
            return Err(AskError::Endless);
        }
    }
}
