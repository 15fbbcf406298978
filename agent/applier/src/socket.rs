//! The sockets that systemd holds for us: who may connect, a few peers at a time, and the end when nobody does.

use std::collections::VecDeque;
use std::fmt::Display;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;
use std::time::Duration;

use listenfd::ListenFd;
use nix::poll::{PollFd, PollFlags};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::unistd::{Uid, User};
use ostler_core::protocol::{Class, encode};

use crate::peer::{Deadline, Limits, Peer};
use crate::session::{Ending, converse};
use crate::stop::Stop;
use crate::{Work, failed};

/// More sockets than any unit of ours has.
const MOST_SOCKETS: usize = 8;

/// Peers that are served at the same time; more of them wait.
const AT_ONCE: usize = 4;
/// Of those, peers that are not root. One place is root's: an administrator gets an answer, however many connections the
/// agent, or what has taken it over, holds open.
const OTHERS_AT_ONCE: usize = AT_ONCE - 1;
/// Accepted peers that wait for a place.
const MOST_WAITING: usize = 16;

/// Reasons to turn a peer away, each with its remedy.
const PERMISSION: &str = "run the command as root, or name the user with --allow-user in ostler-applier.service";
const BUSY: (&str, &str) = ("the applier serves too many connections", "try again; connections that end make room");
const STOPPING: (&str, &str) =
    ("the applier is stopping", "try again; the applier starts by itself when it is asked for something");

/// Why there is no socket to serve.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Passed {
    /// systemd did not start this process for a socket.
    #[error("no socket was passed; start ostler-applier.socket and let systemd start this, or use --stdio")]
    Nothing,
    /// What was passed was meant for another process.
    #[error(
        "the sockets in LISTEN_FDS are meant for process {found}; let systemd start this directly, without a wrapper"
    )]
    Elsewhere {
        /// `LISTEN_PID`.
        found: String,
    },
    /// The number of sockets is no number, or too large.
    #[error("LISTEN_FDS must be a number from 1 to {MOST_SOCKETS}")]
    Number,
    /// What was passed cannot be used.
    #[error("socket {index} that was passed cannot be used; ostler-applier.socket must have ListenStream= with a path")]
    Unusable {
        /// Which one.
        index: usize,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// The sockets systemd passed to this process.
pub fn from_systemd() -> Result<Vec<UnixListener>, Passed> {
    let variable = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
    let count = variable("LISTEN_FDS").ok_or(Passed::Nothing)?;
    // listenfd takes sockets without a process to be for; systemd always names one.
    let found = variable("LISTEN_PID").ok_or(Passed::Nothing)?;
    if found.parse() != Ok(std::process::id()) {
        return Err(Passed::Elsewhere { found });
    }
    let count = count.parse().ok().filter(|count| (1..=MOST_SOCKETS).contains(count)).ok_or(Passed::Number)?;
    let mut passed = ListenFd::from_env();
    let listener = |index| {
        let unusable = |source| Passed::Unusable { index, source };
        passed.take_unix_listener(index).map_err(unusable)?.ok_or(Passed::Nothing)
    };
    (0..count).map(listener).collect()
}

/// Who may connect: root and a few users by name.
#[derive(Clone, Debug)]
pub struct Allowed(Vec<Uid>);

impl Allowed {
    /// Root and those of these users whom this machine knows. The others are returned.
    pub fn users(names: &[String]) -> io::Result<(Self, Vec<String>)> {
        let (mut allowed, mut unknown) = (vec![Uid::from_raw(0)], Vec::new());
        for name in names {
            match User::from_name(name)? {
                Some(user) => allowed.push(user.uid),
                None => unknown.push(name.clone()),
            }
        }
        Ok((Self(allowed), unknown))
    }

    /// Root and these users.
    pub fn uids(uids: &[u32]) -> Self {
        Self(std::iter::once(0).chain(uids.iter().copied()).map(Uid::from_raw).collect())
    }

    /// The rank of a peer by the user that the kernel names; or the reason why it may not connect.
    fn admit(&self, socket: &UnixStream) -> Result<Rank, String> {
        match getsockopt(socket, PeerCredentials).map(|peer| Uid::from_raw(peer.uid())) {
            Ok(uid) if uid.is_root() => Ok(Rank::Root),
            Ok(uid) if self.0.contains(&uid) => Ok(Rank::Other),
            Ok(uid) => Err(format!("user {uid} may not use the applier")),
            Err(error) => Err(format!("cannot tell who is connecting: {error}")),
        }
    }
}

/// Peers by the places they may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rank {
    Root,
    Other,
}

/// The peers of this moment. Only those that are not root wait here.
#[derive(Default)]
struct Peers {
    root: usize,
    others: usize,
    waiting: VecDeque<UnixStream>,
}

impl Peers {
    const fn serving(&self) -> usize {
        self.root + self.others
    }

    /// Takes a place, if there is one.
    fn enter(&mut self, rank: Rank) -> bool {
        let room = self.serving() < AT_ONCE && (rank == Rank::Root || self.others < OTHERS_AT_ONCE);
        match rank {
            Rank::Root => self.root += usize::from(room),
            Rank::Other => self.others += usize::from(room),
        }
        room
    }

    /// The next of those that wait, in the place it now has.
    fn next_waiting(&mut self) -> Option<UnixStream> {
        if self.waiting.is_empty() || !self.enter(Rank::Other) { None } else { self.waiting.pop_front() }
    }

    /// Frees the places of threads that have ended since this was last asked.
    fn leave(&mut self, mut ended: &UnixStream) -> io::Result<()> {
        let mut ranks = [0; AT_ONCE];
        let count = match ended.read(&mut ranks) {
            Err(error) if is_passing(&error) => 0,
            count => count?,
        };
        for rank in ranks.iter().take(count) {
            let places = if *rank == Rank::Root as u8 { &mut self.root } else { &mut self.others };
            *places = places.saturating_sub(1);
        }
        Ok(())
    }
}

/// By which rules sockets are served.
#[derive(Debug)]
pub struct Service {
    /// Who may connect.
    pub allowed: Allowed,
    /// How long to wait for somebody to do so.
    pub idle: Duration,
    /// How long they may take.
    pub limits: Limits,
    /// When to stop.
    pub stop: Stop,
}

impl Service {
    /// Serves a few peers at a time, each with work and a thread of its own, until nobody has been connected for a while
    /// or it is time to stop. Peers that come meanwhile wait in the socket's backlog, and systemd keeps them when this
    /// ends. What a peer has begun is finished first.
    pub fn serve<W: Work>(&self, listeners: &[UnixListener], work: impl Fn() -> W + Sync) -> io::Result<()> {
        listeners.iter().try_for_each(|listener| listener.set_nonblocking(true))?;
        let (ended, ends) = UnixStream::pair()?;
        ended.set_nonblocking(true)?;
        let (work, ends) = (&work, &ends);
        thread::scope(|scope| {
            let mut peers = Peers::default();
            let begin = |socket, rank| {
                scope.spawn(move || {
                    let _end = End(ends, rank);
                    self.attend(socket, work);
                });
            };
            while let Some(called) = self.next_calls(listeners, &ended, peers.serving())? {
                peers.leave(&ended)?;
                while let Some(socket) = peers.next_waiting() {
                    begin(socket, Rank::Other);
                }
                for listener in called {
                    match listener.accept() {
                        Ok((socket, _)) => self.receive(socket, &mut peers, begin),
                        Err(error) if is_passing(&error) => {}
                        Err(error) => return Err(error),
                    }
                }
            }
            peers.waiting.drain(..).for_each(|socket| self.turn_away(socket, Class::Transient, STOPPING));
            Ok(())
        })
    }

    /// Gives a peer a place, lets it wait for one, or turns it away.
    fn receive(&self, socket: UnixStream, peers: &mut Peers, begin: impl Fn(UnixStream, Rank)) {
        match self.allowed.admit(&socket) {
            Ok(rank) if peers.enter(rank) => begin(socket, rank),
            Ok(_) if peers.waiting.len() < MOST_WAITING => peers.waiting.push_back(socket),
            Ok(_) => self.turn_away(socket, Class::Transient, BUSY),
            Err(reason) => self.turn_away(socket, Class::Refusal, (&reason, PERMISSION)),
        }
    }

    /// The sockets at which somebody waits, as far as there is room for them; nothing when it is time to end.
    fn next_calls<'a>(
        &self,
        listeners: &'a [UnixListener],
        ended: &UnixStream,
        serving: usize,
    ) -> io::Result<Option<Vec<&'a UnixListener>>> {
        let open = if serving < AT_ONCE { listeners } else { &[] };
        let descriptors = open.iter().map(AsFd::as_fd).chain([ended.as_fd(), self.stop.descriptor()]);
        let mut watched: Vec<_> = descriptors.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        let idle = if serving == 0 { self.idle } else { Duration::MAX };
        if !Deadline::after(idle).poll(&mut watched)? || self.stop.is_due() {
            return Ok(None);
        }
        let called = open.iter().zip(&watched).filter(|(_, descriptor)| descriptor.any() != Some(false));
        // One of several sockets that are called at once may have to wait for the next round.
        Ok(Some(called.map(|(listener, _)| listener).take(AT_ONCE.saturating_sub(serving)).collect()))
    }

    fn attend<W: Work>(&self, socket: UnixStream, work: &(impl Fn() -> W + Sync)) {
        match Peer::of_socket(socket).map(|peer| converse(&peer, &mut work(), &self.limits, &self.stop)) {
            Ok(ending) if !ending.is_notable() => {}
            Ok(ending) => log(&ending),
            Err(error) => log(&error),
        }
    }

    /// Tells a peer why its connection closes, and what to do. Nothing that it has sent is looked at.
    fn turn_away(&self, socket: UnixStream, class: Class, (reason, remedy): (&str, &str)) {
        let told = encode(&failed(class, reason.to_owned(), remedy));
        // It makes no difference to us whether it still listens.
        let _ = Peer::of_socket(socket).map(|peer| told.map(|frame| peer.send(&frame, self.limits.frame)));
        log(&Ending::Refused(reason.to_owned()));
    }
}

/// Says, however a peer's thread ends, that a place of its rank is free.
struct End<'s>(&'s UnixStream, Rank);

impl Drop for End<'_> {
    fn drop(&mut self) {
        // The other end is there as long as any thread is.
        let _ = { self.0 }.write(&[self.1 as u8]);
    }
}

/// The peer changed its mind before it was accepted, or a signal came.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::ConnectionAborted | ErrorKind::Interrupted)
}

fn log(what: &dyn Display) {
    crate::log(&format!("a connection ended: {what}"));
}
