//! When to stop. SIGTERM is noticed between requests and never within one; a terminal that goes away is not noticed.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};

/// Whether it is time to stop: a descriptor that becomes readable and stays so, because nobody ever reads from it.
#[derive(Debug)]
pub struct Stop {
    signalled: UnixStream,
}

impl Stop {
    /// On SIGTERM.
    pub fn on_sigterm() -> io::Result<Self> {
        let (signalled, handler) = UnixStream::pair()?;
        signal_hook::low_level::pipe::register(signal_hook::consts::SIGTERM, handler)?;
        Ok(Self::when_readable(signalled))
    }

    /// When there is something to read, or the other end is closed.
    pub const fn when_readable(signalled: UnixStream) -> Self {
        Self { signalled }
    }

    /// Whether it is time.
    pub fn is_due(&self) -> bool {
        let mut watched = [PollFd::new(self.signalled.as_fd(), PollFlags::POLLIN)];
        poll(&mut watched, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
    }

    /// What becomes readable when it is time.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.signalled.as_fd()
    }
}

/// Ctrl-C and a closed terminal are meant for the command that started this process, which then closes our input.
///
/// Blocked rather than handled, since programs that a transaction starts inherit that, and must get to their end too.
/// To be called before there is a second thread.
pub fn outlive_the_terminal() -> io::Result<()> {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGINT);
    signals.add(Signal::SIGHUP);
    signals.thread_block().map_err(io::Error::from)
}
