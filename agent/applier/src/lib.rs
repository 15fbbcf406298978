//! The root half of the Ostler node agent: who may talk to it, how, and what happens when either side goes wrong.
//!
//! Owns connections, frames, time limits, signals and panics. What a request does is a [`Work`]'s business; what may
//! be asked for is `ostler_core::protocol`'s.
#![forbid(unsafe_code)]

mod audit;
mod bootloader;
mod certificates;
mod credentials;
mod incoming;
pub mod machine;
mod nics;
pub mod os;
pub mod panics;
mod peer;
mod pin;
mod restart;
mod rival;
mod session;
mod socket;
mod soft;
mod stop;
pub mod sysroot;
mod tickets;
mod turn;
mod update;

use std::io::Write as _;
use std::path::Path;

use ostler_core::protocol::audit::ConfigId;
use ostler_core::protocol::{Class, Failure, Reply, Request};
use ostler_core::transaction::Progress;

pub use peer::{Limits, Peer, WireError};
pub use session::{Ending, converse};
pub use socket::{Allowed, Passed, Service, from_systemd};
pub use stop::{Stop, outlive_the_terminal};
pub use tickets::Tickets;

/// What carries out requests. One is made for every connection, so that nothing broken outlives it.
pub trait Work {
    /// Carries out one request to its end and answers it. Progress is told while it lasts, and may reach nobody. What can
    /// be taken up again later may end when the answer is not `wanted` any more: the peer has left, or it is time to stop.
    fn handle(&mut self, request: Request, progress: &mut dyn FnMut(Progress), wanted: &dyn Fn() -> bool) -> Reply;

    /// The socket of the journal that changes are written to; none for work that is not about this machine.
    fn journal(&self) -> Option<&Path> {
        None
    }

    /// The configuration that a request is about, for the journal.
    fn config(&self, _request: &Request) -> Option<ConfigId> {
        None
    }
}

/// What begins each line of the log.
const LOG_PREFIX: &str = "ostler-applier: ";

/// Writes a line to standard error, which systemd keeps. A log that is gone is no reason to stop.
pub fn log(line: &dyn std::fmt::Display) {
    let _ = writeln!(std::io::stderr(), "{LOG_PREFIX}{line}");
}

/// An answer that the machine had no part in.
fn failed(class: Class, reason: String, remedy: &str) -> Reply {
    Reply::Failed(Failure { class, reasons: vec![reason], remedy: Some(remedy.to_owned()), unchanged: true })
}
