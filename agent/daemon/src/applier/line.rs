//! A way to give up a question from another thread than the one that waits for its answer.
//!
//! The applier ends what it can take up again later, and finishes all else.

use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::sync::{Arc, Mutex, PoisonError};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// What a connection hangs on; clones are the same.
#[derive(Clone, Debug)]
pub struct Line(Arc<Mutex<Option<End>>>);

#[derive(Debug)]
enum End {
    Socket(UnixStream),
    Child(Pid),
}

impl Line {
    pub(super) fn of_socket(socket: &UnixStream) -> io::Result<Self> {
        Ok(Self::new(Some(End::Socket(socket.try_clone()?))))
    }

    pub(super) fn of_child(child: &Child) -> Self {
        Self::new(i32::try_from(child.id()).ok().map(|pid| End::Child(Pid::from_raw(pid))))
    }

    fn new(end: Option<End>) -> Self {
        Self(Arc::new(Mutex::new(end)))
    }

    /// The connection is over: there is nothing to give up any more, and the child's number may become another's.
    pub(super) fn end(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Tells the applier that nobody waits.
    pub fn cut(&self) {
        let end = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // One that is gone already needs not be told.
        match &*end {
            Some(End::Socket(socket)) => drop(socket.shutdown(Shutdown::Both)),
            Some(End::Child(pid)) => drop(kill(*pid, Signal::SIGTERM)),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn the_other_side_notices_and_so_does_whoever_waits() {
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        let line = Line::of_socket(&ours).unwrap();
        line.cut();
        assert_eq!((ours.read(&mut [0]).unwrap(), theirs.read(&mut [0]).unwrap()), (0, 0));
    }

    #[test]
    fn a_connection_that_is_over_is_left_alone() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let line = Line::of_child(&child);
        line.end();
        line.cut();
        assert!(child.try_wait().unwrap().is_none(), "it still runs");
        Line::of_child(&child).cut();
        assert!(!child.wait().unwrap().success());
    }
}
