//! One peer as a pair of descriptors: whole frames in, whole frames out, each within a time.
//!
//! Waits with `poll` only, so that pipes and sockets behave alike and a signal is never missed. Knows nothing of what
//! is in a frame.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::unistd::{getppid, getuid};
use ostler_core::protocol::FrameError;
use ostler_core::protocol::audit::Asker;

use crate::audit;
use crate::incoming::Incoming;
use crate::stop::Stop;

/// How long a peer may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Until it has said who it is.
    pub greeting: Duration,
    /// Between two requests: somebody may sit in front of a question.
    pub pause: Duration,
    /// From the first byte of a frame to its last, in either direction.
    pub frame: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let frame = Duration::from_secs(30);
        Self { greeting: frame, pause: Duration::from_secs(600), frame }
    }
}

/// Why a peer is not understood.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The connection broke.
    #[error("the connection broke")]
    Broken(#[from] io::Error),
    /// It ended within a frame.
    #[error("the connection ended within a message, after {received} bytes")]
    Truncated {
        /// Bytes of the frame that had come, its header included.
        received: usize,
    },
    /// A frame took too long.
    #[error("a message was not complete after {} seconds", .within.as_secs())]
    Slow {
        /// How long it may take.
        within: Duration,
    },
    /// The frame is none.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

/// What came from a peer.
#[derive(Debug)]
pub(crate) enum Received {
    /// What followed a header.
    Body(Vec<u8>),
    /// The peer closed its side between frames.
    End,
    /// No frame began in time.
    Silence,
    /// It is time to stop, and no frame has begun.
    Stop,
}

/// The other side of one connection.
#[derive(Debug)]
pub struct Peer {
    input: OwnedFd,
    output: OwnedFd,
    asker: Asker,
}

/// What a pipe takes without blocking once it says that it is writable.
const WRITE_BYTES: usize = 4096;
/// What is read at once.
const READ_BYTES: usize = 64 * 1024;

impl Peer {
    /// A peer at the other end of a socket.
    pub fn of_socket(socket: UnixStream) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let peer = getsockopt(&socket, PeerCredentials)?;
        let asker = audit::asker(peer.pid(), peer.uid());
        Ok(Self { input: socket.try_clone()?.into(), output: socket.into(), asker })
    }

    /// The peer at standard input and output, which from then on are nothing and the log: whatever else this process
    /// or its children print must not end up between frames.
    pub fn of_standard_streams() -> io::Result<Self> {
        let input = io::stdin().as_fd().try_clone_to_owned()?;
        let output = io::stdout().as_fd().try_clone_to_owned()?;
        nix::unistd::dup2_stdin(std::fs::File::open("/dev/null")?)?;
        nix::unistd::dup2_stdout(io::stderr())?;
        // The command that started us.
        let asker = audit::asker(getppid().as_raw(), getuid().as_raw());
        Ok(Self { input, output, asker })
    }

    /// The process at the other side.
    pub(crate) const fn asker(&self) -> &Asker {
        &self.asker
    }

    /// Waits for a frame to begin, then takes all of it.
    pub(crate) fn receive(&self, begin: Duration, within: Duration, stop: &Stop) -> Result<Received, WireError> {
        let mut watched = [self.input.as_fd(), stop.descriptor()].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        Deadline::after(begin).poll(&mut watched)?;
        // A request that is already here deserves an answer, if only that it comes too late.
        match watched.map(|descriptor| descriptor.any() != Some(false)) {
            [true, _] => self.receive_begun(within),
            [false, true] => Ok(Received::Stop),
            [false, false] => Ok(Received::Silence),
        }
    }

    fn receive_begun(&self, within: Duration) -> Result<Received, WireError> {
        let deadline = Deadline::after(within);
        let mut frame = Incoming::default();
        let mut buffer = vec![0; READ_BYTES];
        while let Some(wanted) = frame.wanted()? {
            let part = buffer.get_mut(..wanted.min(READ_BYTES)).unwrap_or_default();
            match self.read(part, deadline)? {
                None => return Err(WireError::Slow { within }),
                Some(0) if frame.received() == 0 => return Ok(Received::End),
                Some(0) => return Err(WireError::Truncated { received: frame.received() }),
                Some(count) => frame.take(part.get(..count).unwrap_or_default()),
            }
        }
        Ok(Received::Body(frame.into_body()))
    }

    /// Some bytes, none of them at the end of input; nothing when they do not come in time.
    fn read(&self, part: &mut [u8], deadline: Deadline) -> io::Result<Option<usize>> {
        while deadline.poll(&mut [PollFd::new(self.input.as_fd(), PollFlags::POLLIN)])? {
            match nix::unistd::read(&self.input, part) {
                Err(Errno::EAGAIN | Errno::EINTR) => {}
                result => return Ok(Some(result?)),
            }
        }
        Ok(None)
    }

    /// Whether nothing more can come from it, and nothing sent to it is read.
    pub(crate) fn is_gone(&self) -> bool {
        // A hang-up is told without being asked for.
        let mut watched = [PollFd::new(self.input.as_fd(), PollFlags::empty())];
        poll(&mut watched, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
    }

    /// Hands over a whole frame. After a failure part of it may have gone, and the connection is of no more use.
    pub(crate) fn send(&self, frame: &[u8], within: Duration) -> Result<(), WireError> {
        let deadline = Deadline::after(within);
        let mut rest = frame;
        while !rest.is_empty() {
            if !deadline.poll(&mut [PollFd::new(self.output.as_fd(), PollFlags::POLLOUT)])? {
                return Err(WireError::Slow { within });
            }
            match nix::unistd::write(&self.output, rest.get(..WRITE_BYTES).unwrap_or(rest)) {
                Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                Err(Errno::EAGAIN | Errno::EINTR) => {}
                Err(error) => return Err(WireError::Broken(error.into())),
            }
        }
        Ok(())
    }
}

/// A moment, or none where it is too far away to count.
#[derive(Clone, Copy)]
pub(crate) struct Deadline(Option<Instant>);

impl Deadline {
    pub(crate) fn after(time: Duration) -> Self {
        Self(Instant::now().checked_add(time))
    }

    /// Waits until something is ready, or not longer than until the deadline: then false.
    pub(crate) fn poll(self, watched: &mut [PollFd<'_>]) -> io::Result<bool> {
        loop {
            let left = self.0.map(|moment| moment.saturating_duration_since(Instant::now()));
            // Rounded up: waking a fraction of a millisecond early would only be another turn.
            let millis = left.map_or(u128::MAX, |left| left.as_nanos().div_ceil(1_000_000));
            match poll(watched, PollTimeout::try_from(millis).unwrap_or(PollTimeout::MAX)) {
                Ok(0) if left.is_none_or(|left| !left.is_zero()) => {}
                Ok(ready) => return Ok(ready > 0),
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
