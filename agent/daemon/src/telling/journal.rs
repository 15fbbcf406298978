//! The daemon's own lines: notices with their identifiers, in the journal where there is one.
//!
//! Owns the fields, the priorities and the handle that changes level and target while the daemon runs. Refuses to word
//! anything: a notice brings its words along.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, PoisonError};

use ostler_core::node::{Notice, Weight};
use thiserror::Error;
use tracing::Subscriber;
use tracing_journald::{Priority, PriorityMappings};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Registry, reload};

pub use super::level::{Level, Target};
use super::sink::{Gate, Lines, Pointer, Sink};
use crate::show::printable;

/// By which name the journal knows us.
pub const IDENTIFIER: &str = "ostler";

/// Why the log is not as it was asked to be.
#[derive(Debug, Error)]
pub enum LogError {
    /// Somebody was there first.
    #[error("logging has been set up already in this process")]
    Twice,
    /// The journal is wanted and there is none.
    #[error("there is no journal at /run/systemd/journal/socket; choose \"console\" instead")]
    NoJournal,
    /// The subscriber is gone.
    #[error("the log level cannot be changed")]
    Unchangeable(#[source] reload::Error),
}

/// What changes the log while the daemon runs.
#[derive(Clone)]
pub struct Handle {
    gate: reload::Handle<Gate, Registry>,
    level: Arc<Mutex<Level>>,
    target: Pointer,
    journal: bool,
}

impl Handle {
    /// How much is logged.
    pub fn level(&self) -> Level {
        *self.level.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Logs this much from now on.
    pub fn set_level(&self, level: Level) -> Result<(), LogError> {
        let mut current = self.level.lock().unwrap_or_else(PoisonError::into_inner);
        self.gate.reload(Gate(level)).map_err(LogError::Unchangeable)?;
        *current = level;
        Ok(())
    }

    /// Where lines go.
    pub fn target(&self) -> Target {
        self.target.get()
    }

    /// Sends lines there from now on.
    pub fn set_target(&self, target: Target) -> Result<(), LogError> {
        if target == Target::Journal && !self.journal {
            return Err(LogError::NoJournal);
        }
        self.target.set(target);
        Ok(())
    }
}

/// Starts logging for the whole process. Without a journal, lines go to standard error whatever was asked for.
pub fn start(to: Target, level: Level) -> Result<Handle, LogError> {
    let lines = Lines::new(Box::new(io::stderr()), stderr_is_journal());
    let (subscriber, handle) = build(journal().ok(), lines, to, level);
    tracing::subscriber::set_global_default(subscriber).map_err(|_| LogError::Twice)?;
    Ok(handle)
}

fn build(
    journal: Option<tracing_journald::Layer>,
    lines: Lines,
    to: Target,
    level: Level,
) -> (impl Subscriber + Send + Sync, Handle) {
    let target = Pointer::new(if journal.is_none() && to == Target::Journal { Target::Console } else { to });
    let (gate, gate_handle) = reload::Layer::new(Gate(level));
    let level = Arc::new(Mutex::new(level));
    let handle = Handle { gate: gate_handle, level, target: target.clone(), journal: journal.is_some() };
    (tracing_subscriber::registry().with(gate).with(Sink { journal, lines, target }), handle)
}

fn journal() -> io::Result<tracing_journald::Layer> {
    // The usual mapping shifts everything but errors and warnings by one, as if the usual were notable.
    let priorities = PriorityMappings {
        error: Priority::Error,
        warn: Priority::Warning,
        info: Priority::Informational,
        debug: Priority::Debug,
        trace: Priority::Debug,
    };
    let layer = tracing_journald::layer()?.with_field_prefix(None).with_priority_mappings(priorities);
    Ok(layer.with_syslog_identifier(IDENTIFIER.to_owned()))
}

/// Whether what is written to standard error is read by journald.
fn stderr_is_journal() -> bool {
    let stream = std::env::var("JOURNAL_STREAM").ok();
    let stderr = std::fs::metadata("/proc/self/fd/2").ok().map(|file| (file.dev(), file.ino()));
    stream.zip(stderr).is_some_and(|(stream, stderr)| is_stream(&stream, stderr))
}

/// The variable is inherited by those whose standard error leads elsewhere, so what it names is compared.
fn is_stream(stream: &str, (device, inode): (u64, u64)) -> bool {
    stream.split_once(':').is_some_and(|(left, right)| left.parse() == Ok(device) && right.parse() == Ok(inode))
}

/// A notice with everything that is told of it.
struct Line {
    id: &'static str,
    node: String,
    event: Option<&'static str>,
    config: Option<String>,
    message: String,
}

/// One function per severity, which has to be known when the code is compiled.
macro_rules! emitters {
    ($($name:ident: $severity:ident,)*) => {
        $(fn $name(line: &Line) {
            tracing::event!(
                target: IDENTIFIER,
                tracing::Level::$severity,
                MESSAGE_ID = line.id,
                OSTLER_NODE = line.node.as_str(),
                OSTLER_EVENT = line.event,
                OSTLER_CONFIG = line.config.as_deref(),
                "{}",
                line.message
            );
        })*
    };
}

emitters! {
    error: ERROR,
    warning: WARN,
    info: INFO,
    debug: DEBUG,
}

/// Tells a notice of this node.
pub fn tell(node: &str, notice: &Notice) {
    let line = Line {
        id: notice.id(),
        node: printable(node),
        event: notice.event().map(|(_, reason)| reason),
        config: notice.config().map(printable),
        message: printable(&notice.message()),
    };
    match notice.weight() {
        Weight::Failure => error(&line),
        Weight::Warning => warning(&line),
        Weight::Usual => info(&line),
        Weight::Detail => debug(&line),
    }
}

#[cfg(test)]
pub mod tests;
