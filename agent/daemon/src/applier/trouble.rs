//! What can go wrong between the two halves, each with what to do about it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use ostler_core::protocol::{Failure, FrameError, Hello};

use super::wire::Lost;

/// Why the applier could not be asked. Holds no `io::Error`, whose remedies are about files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Trouble {
    /// A machine without the socket can only be changed by its root.
    #[error("this machine can only be reached by root, as nothing listens at {}; run as root, or give --root", .socket.display())]
    NotRoot {
        /// Where nothing listens.
        socket: PathBuf,
    },
    /// The socket is not for this user.
    #[error("not allowed to use the applier at {}; run as root, or give --root", .socket.display())]
    NotAllowed {
        /// Which socket.
        socket: PathBuf,
    },
    /// The socket does not work.
    #[error("cannot reach the applier at {}: {cause}; look at \"systemctl status ostler-applier.socket\"", .socket.display())]
    Unreachable {
        /// Which socket.
        socket: PathBuf,
        /// Why.
        cause: String,
    },
    /// Somebody other than root holds the socket.
    #[error("{} is not held by root, so nothing was sent; remove it and run \"systemctl restart ostler-applier.socket\"", .socket.display())]
    Impostor {
        /// Which socket.
        socket: PathBuf,
    },
    /// The program is nowhere.
    #[error("the program ostler-applier is missing: looked for {}; install the package again", Places(.looked))]
    Missing {
        /// Where it was looked for.
        looked: Vec<PathBuf>,
    },
    /// The program does not start.
    #[error("cannot start the applier {}: {cause}; install the package again, or correct OSTLER_APPLIER if it is set", .program.display())]
    Unstartable {
        /// Which program.
        program: PathBuf,
        /// Why.
        cause: String,
    },
    /// The two halves are of different versions.
    #[error(
        "the applier ({}) speaks protocol {}, this command ({}) speaks protocol {}; \
         restart what runs: systemctl restart ostler ostler-applier",
        .theirs.version, .theirs.protocol, .ours.version, .ours.protocol
    )]
    OtherVersion {
        /// This half.
        ours: Box<Hello>,
        /// The other one.
        theirs: Box<Hello>,
    },
    /// The applier would not listen.
    #[error("the applier refused the connection: {0}")]
    Refused(Refused),
    /// What came is no message.
    #[error("cannot understand the applier; check that ostler and ostler-applier are of one package, and restart them")]
    Nonsense(#[source] FrameError),
    /// What was to be asked is no message.
    #[error("the request cannot be sent; make the configuration smaller")]
    Unsendable(#[source] FrameError),
    /// It ended before a word was said.
    #[error("ostler-applier ended before it could be asked anything ({status}); its own message, if any, is above")]
    NeverGreeted {
        /// How it ended.
        status: String,
        /// How that was noticed.
        #[source]
        lost: Lost,
    },
    /// It ended before it answered.
    #[error(
        "ostler-applier ended without an answer ({status}); run \"ostler recover\" to finish or undo what it had begun"
    )]
    Ended {
        /// How it ended.
        status: String,
        /// How that was noticed.
        #[source]
        lost: Lost,
    },
}

impl Trouble {
    /// A socket that is there and cannot be used.
    pub fn unreachable(socket: &Path, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::PermissionDenied => Self::NotAllowed { socket: socket.to_owned() },
            _ => Self::Unreachable { socket: socket.to_owned(), cause: error.to_string() },
        }
    }
}

/// What the applier said when it would not listen.
#[derive(Debug)]
pub struct Refused(Box<Failure>);

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self(Box::new(failure))
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0.reasons.join(": "))?;
        self.0.remedy.as_ref().map_or(Ok(()), |remedy| write!(out, "; {remedy}"))
    }
}

struct Places<'a>(&'a [PathBuf]);

impl fmt::Display for Places<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places: Vec<_> = self.0.iter().map(|place| place.display().to_string()).collect();
        out.write_str(&places.join(", "))
    }
}
