//! The way to the root half: its socket where it serves one, a child where it does not.
//!
//! Owns greeting, frames and what goes wrong between the halves. What is asked and what the answer means is the
//! commands' business.

mod child;
mod line;
mod trouble;
mod wire;

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Child;

use anyhow::Result;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::unistd::Uid;
use ostler_core::protocol::{Hello, Reply, Request, VERSION, decode};
use ostler_core::transaction::Progress;

pub use line::Line;
use trouble::Trouble;
use wire::Lost;

/// Where the applier listens.
const SOCKET: &str = "/run/ostler/applier.sock";

/// How long nothing is said about waiting for the applier to greet.
const QUIET_MILLIS: u16 = 2000;

/// A conversation with the applier.
pub struct Connection {
    input: Box<dyn Read + Send>,
    /// The same end, to look at without reading.
    ear: OwnedFd,
    /// Gone once nothing more is to be said: the child ends when this closes.
    output: Option<Box<dyn Write + Send>>,
    child: Option<Child>,
    line: Line,
    greeted: bool,
}

impl Connection {
    /// The socket `/run/ostler/applier.sock` when root is None and the socket is there; otherwise a child
    /// `ostler-applier [--root DIR] --stdio`.
    pub fn open(root: Option<&Path>) -> Result<Self> {
        let connection = match root {
            None => Self::to_this_machine(Path::new(SOCKET), Uid::effective())?,
            Some(_) => None,
        };
        Ok(connection.map_or_else(|| Self::of_child(&child::program()?, root), Ok)?)
    }

    /// Asks, hears of the progress, returns the answer.
    pub fn ask(&mut self, request: &Request, progress: &mut dyn FnMut(&Progress)) -> Result<Reply> {
        self.say(request)?;
        loop {
            match decode(&self.hear()?).map_err(Trouble::Nonsense)? {
                Reply::Progress(step) => progress(&step),
                answer => return Ok(answer),
            }
        }
    }

    /// Whether the applier is still there. Between two requests it says nothing but that it leaves.
    pub fn is_open(&self) -> bool {
        let mut watched = [PollFd::new(self.ear.as_fd(), PollFlags::POLLIN)];
        poll(&mut watched, PollTimeout::ZERO) == Ok(0)
    }

    /// What lets another thread give up what is asked here.
    pub fn line(&self) -> Line {
        self.line.clone()
    }

    /// The applier of this machine where it listens; nothing where only root is left, and a child will do.
    fn to_this_machine(socket: &Path, user: Uid) -> Result<Option<Self>, Trouble> {
        match Self::at(socket)? {
            None if !user.is_root() => Err(Trouble::NotRoot { socket: socket.to_owned() }),
            connection => Ok(connection),
        }
    }

    /// The applier at a socket, if there is one.
    fn at(path: &Path) -> Result<Option<Self>, Trouble> {
        let socket = match UnixStream::connect(path) {
            Ok(socket) => socket,
            // A socket file outlives the socket unit that made it.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
                return Ok(None);
            }
            Err(error) => return Err(Trouble::unreachable(path, &error)),
        };
        if !is_trusted(&socket) {
            return Err(Trouble::Impostor { socket: path.to_owned() });
        }
        await_turn(&socket);
        let line = Line::of_socket(&socket).map_err(|error| Trouble::unreachable(path, &error))?;
        let output = socket.try_clone().map_err(|error| Trouble::unreachable(path, &error))?;
        let ear = socket.try_clone().map_err(|error| Trouble::unreachable(path, &error))?.into();
        let mut connection = Self::new(socket, ear, output, None, line);
        connection.greet()?;
        Ok(Some(connection))
    }

    fn new(
        input: impl Read + Send + 'static,
        ear: OwnedFd,
        output: impl Write + Send + 'static,
        child: Option<Child>,
        line: Line,
    ) -> Self {
        Self { input: Box::new(input), ear, output: Some(Box::new(output)), child, line, greeted: false }
    }

    fn of_child(program: &Path, root: Option<&Path>) -> Result<Self, Trouble> {
        let (child, input, output) = child::start(program, root)?;
        let line = Line::of_child(&child);
        let ear =
            input.as_fd().try_clone_to_owned().map_err(|error| child::unstartable(program, &error.to_string()))?;
        let mut connection = Self::new(input, ear, output, Some(child), line);
        connection.greet()?;
        Ok(connection)
    }

    fn greet(&mut self) -> Result<(), Trouble> {
        let ours = Hello { protocol: VERSION, version: env!("CARGO_PKG_VERSION").to_owned() };
        // One that closes the connection at once has said why before, so listening comes first.
        let said = wire::send(self.output.as_mut(), &ours);
        let body = self.hear()?;
        let theirs = decode::<Hello>(&body).map_err(|error| match decode(&body) {
            Ok(Reply::Failed(failure)) => Trouble::Refused(failure.into()),
            _ => Trouble::Nonsense(error),
        })?;
        if theirs.protocol != VERSION {
            return Err(Trouble::OtherVersion { ours: Box::new(ours), theirs: Box::new(theirs) });
        }
        said.map_err(|error| self.ended(error))?;
        self.greeted = true;
        Ok(())
    }

    fn say(&mut self, request: &Request) -> Result<(), Trouble> {
        let Err(error) = wire::send(self.output.as_mut(), request) else { return Ok(()) };
        match error {
            Lost::Unsendable(error) => Err(Trouble::Unsendable(error)),
            // It may have said why it no longer listens.
            error => Err(match self.hear().ok().and_then(|body| decode(&body).ok()) {
                Some(Reply::Failed(failure)) => Trouble::Refused(failure.into()),
                _ => self.ended(error),
            }),
        }
    }

    fn hear(&mut self) -> Result<Vec<u8>, Trouble> {
        wire::receive(&mut self.input).map_err(|error| self.ended(error))
    }

    /// Says nothing more and listens no more: a child that is still at work must not wait for us to read.
    fn close(&mut self) -> Option<Child> {
        self.output = None;
        self.input = Box::new(io::empty());
        self.line.end();
        self.child.take()
    }

    /// What became of an applier that no longer answers.
    fn ended(&mut self, lost: Lost) -> Trouble {
        let status = self.close().map(|mut child| child.wait());
        let status = match status {
            Some(Ok(status)) => status.to_string(),
            Some(Err(error)) => format!("its exit status is not known: {error}"),
            None => "the connection is gone".to_owned(),
        };
        if self.greeted { Trouble::Ended { status, lost } } else { Trouble::NeverGreeted { status, lost } }
    }
}

impl Drop for Connection {
    /// A child that still works on something is waited for: its end is the end of what was asked.
    fn drop(&mut self) {
        if let Some(mut child) = self.close() {
            // Nothing is left to do about a child that cannot be waited for.
            let _ = child.wait();
        }
    }
}

/// Whoever holds the socket is given configurations, secrets included.
fn is_trusted(socket: &UnixStream) -> bool {
    let trusted = |uid: Uid| uid.is_root() || uid == Uid::effective();
    getsockopt(socket, PeerCredentials).is_ok_and(|holder| trusted(Uid::from_raw(holder.uid())))
}

/// The applier greets whom it serves, and serves a few at a time; somebody who waits at a terminal should know.
fn await_turn(socket: &UnixStream) {
    let mut watched = [PollFd::new(socket.as_fd(), PollFlags::POLLIN)];
    if poll(&mut watched, PollTimeout::from(QUIET_MILLIS)) == Ok(0) {
        // Nowhere is left to complain to.
        let _ = writeln!(io::stderr(), "the applier is busy with another request; waiting for it");
    }
}

#[cfg(test)]
mod tests;
