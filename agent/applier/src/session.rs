//! One connection from greeting to end: requests in turn, each answered, whatever happens on the way.
//!
//! A request that has begun is finished, whether or not somebody still listens, unless it is one that can be taken up
//! again.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use ostler_core::protocol::{
    Class, Failure, FrameError, Hello, Reply, Request, VERSION, decode, decode_request, encode,
};
use ostler_core::transaction::Progress;

use crate::audit::Audit;
use crate::peer::{Limits, Peer, Received, WireError};
use crate::stop::Stop;
use crate::{Work, failed, panics};

/// What to do when the two halves do not understand each other.
const RESTART: &str = "restart both halves of the agent: systemctl restart ostler ostler-applier";

/// What to do about a configuration of too many parts.
const FEWER: &str = "put the contents of many small files of the MachineConfig into fewer ones";

/// Why a conversation ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum Ending {
    /// The peer left.
    Left,
    /// The peer said nothing for too long.
    Silent,
    /// It is time to stop.
    Stopped,
    /// The peer speaks another protocol; it was told so.
    Foreign,
    /// The peer may not connect; it was told so.
    Refused(String),
    /// The peer could not be understood, or is no longer there.
    Lost(WireError),
    /// A request ended in a panic; the peer was told so.
    Panicked,
}

impl Ending {
    /// Whether somebody should hear of it.
    pub const fn is_notable(&self) -> bool {
        !matches!(self, Self::Left | Self::Stopped)
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Left => out.write_str("the peer left"),
            Self::Silent => out.write_str("the peer said nothing for too long"),
            Self::Stopped => out.write_str("told to stop"),
            Self::Foreign => out.write_str("the peer speaks another protocol"),
            Self::Refused(reason) => out.write_str(reason),
            Self::Lost(WireError::Broken(error)) => write!(out, "the connection broke: {error}"),
            Self::Lost(error) => error.fmt(out),
            Self::Panicked => out.write_str("a request ended in an internal error"),
        }
    }
}

/// Serves one peer to the end.
pub fn converse(peer: &Peer, work: &mut dyn Work, limits: &Limits, stop: &Stop) -> Ending {
    let mut session = Session { peer, limits, stop };
    match session.greet().and_then(|()| session.serve(work)) {
        Ok(never) => match never {},
        Err(ending) => ending,
    }
}

/// What a conversation that goes on for ever would return.
enum Never {}

struct Session<'a> {
    peer: &'a Peer,
    limits: &'a Limits,
    stop: &'a Stop,
}

impl Session<'_> {
    fn greet(&mut self) -> Result<(), Ending> {
        let hello = Hello { protocol: VERSION, version: env!("CARGO_PKG_VERSION").to_owned() };
        let frame = encode(&hello).map_err(|error| Ending::Lost(error.into()))?;
        self.peer.send(&frame, self.limits.frame).map_err(Ending::Lost)?;
        let body = self.receive(self.limits.greeting)?;
        let reason = match decode::<Hello>(&body) {
            Ok(theirs) if theirs.protocol == VERSION => return Ok(()),
            Ok(theirs) => format!(
                "the applier ({}) speaks protocol {VERSION}, its peer ({}) speaks protocol {}",
                hello.version, theirs.version, theirs.protocol
            ),
            Err(_) => format!("the first message is no greeting of protocol {VERSION}"),
        };
        self.refuse(reason);
        Err(Ending::Foreign)
    }

    fn serve(&mut self, work: &mut dyn Work) -> Result<Never, Ending> {
        loop {
            let body = self.receive(self.limits.pause)?;
            let request = match decode_request(&body) {
                Ok(request) => request,
                Err(error @ FrameError::TooManyValues { .. }) => {
                    self.answer(&failed(Class::Refusal, error.to_string(), FEWER))?;
                    continue;
                }
                Err(error) => return Err(self.reject(error.into())),
            };
            // Not needed any more, and as long as a configuration.
            drop(body);
            if self.stop.is_due() {
                let remedy = "try again; the applier starts by itself when it is asked for something";
                self.answer(&failed(Class::Transient, "the applier is stopping".to_owned(), remedy))?;
                return Err(Ending::Stopped);
            }
            if request.is_for_root() && work.journal().is_some() && self.peer.asker().uid != 0 {
                let reason = format!("cannot answer {}: only root may ask", request.name());
                self.answer(&failed(Class::Refusal, reason, "run the command as root"))?;
                continue;
            }
            self.carry_out(request, work)?;
        }
    }

    fn carry_out(&mut self, request: Request, work: &mut dyn Work) -> Result<(), Ending> {
        let mut lost = None;
        let (peer, stop) = (self.peer, self.stop);
        let wanted = || !stop.is_due() && !peer.is_gone();
        let mut told = |progress| {
            if lost.is_none() {
                lost = self.tell(progress).err();
            }
        };
        let journal = work.journal().map(Path::to_owned);
        let audit = Audit::begin(journal.as_deref(), &request, peer.asker(), || work.config(&request));
        let reply = panics::contain(|| work.handle(request, &mut told, &wanted));
        if let Some(audit) = audit {
            audit.end(reply.as_ref());
        }
        if let Some(error) = lost {
            return Err(Ending::Lost(error));
        }
        match reply {
            None => self.answer(&internal_error()).and(Err(Ending::Panicked)),
            // Progress is no answer: the peer would wait for ever.
            Some(Reply::Progress(_)) => self.answer(&internal_error()),
            Some(reply) => self.answer(&reply),
        }
    }

    fn tell(&self, progress: Progress) -> Result<(), WireError> {
        self.peer.send(&encode(&Reply::Progress(progress))?, self.limits.frame)
    }

    fn answer(&self, reply: &Reply) -> Result<(), Ending> {
        let frame = encode(reply).or_else(|_| encode(&oversized())).map_err(|error| Ending::Lost(error.into()))?;
        self.peer.send(&frame, self.limits.frame).map_err(Ending::Lost)
    }

    fn receive(&self, patience: Duration) -> Result<Vec<u8>, Ending> {
        match self.peer.receive(patience, self.limits.frame, self.stop) {
            Ok(Received::Body(body)) => Ok(body),
            Ok(Received::End) => Err(Ending::Left),
            Ok(Received::Silence) => Err(Ending::Silent),
            Ok(Received::Stop) => Err(Ending::Stopped),
            Err(error) => Err(self.reject(error)),
        }
    }

    /// Tells the peer, if it still listens, why it is not understood.
    fn reject(&self, error: WireError) -> Ending {
        if !matches!(error, WireError::Broken(_)) {
            self.refuse(error.to_string());
        }
        Ending::Lost(error)
    }

    /// The connection is about to be closed, so it makes no difference whether this arrives.
    fn refuse(&self, reason: String) {
        let _ = self.answer(&failed(Class::Inoperable, reason, RESTART));
    }
}

/// Nothing more is said: what was thrown may quote a configuration.
fn internal_error() -> Reply {
    Reply::Failed(Failure {
        class: Class::Inoperable,
        reasons: vec!["internal error in the applier".to_owned()],
        remedy: Some(
            "run \"ostler status\", then \"ostler recover\" if a transaction is open; \
             the log of ostler-applier says where it was"
                .to_owned(),
        ),
        unchanged: false,
    })
}

fn oversized() -> Reply {
    Reply::Failed(Failure {
        class: Class::Inoperable,
        reasons: vec!["the answer is longer than a message may be".to_owned()],
        remedy: Some("run \"ostler status\" to see what the machine is in".to_owned()),
        unchanged: false,
    })
}
