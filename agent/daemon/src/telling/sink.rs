//! Where lines end up: the journal, or a stream of lines.
//!
//! Both are held all the time and one of them is written to, so that changing the target needs no new subscriber.

use std::fmt::{self, Write as _};
use std::io::Write;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level as Severity, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::level::{Level, Target};
use crate::show::printable;

/// What begins the module paths of this workspace.
const OWN: &str = "ostler";
/// What begins those of the cluster's client.
const CLIENT: &str = "kube_client";

/// Lets pass what the level says.
///
/// Spans never pass: we use none, and those of libraries would end up as fields of our lines.
pub struct Gate(pub Level);

impl Gate {
    fn lets_pass(&self, metadata: &Metadata<'_>) -> bool {
        let target = metadata.target();
        let limit = match self.0 {
            level if is_own(target) => level.own(),
            // It calls every failed request an error, and quotes answers that it cannot read, secrets included. That the
            // cluster is away, and back, is told once by ourselves.
            _ if target.starts_with(CLIENT) => LevelFilter::OFF,
            level => level.foreign(),
        };
        metadata.is_event() && *metadata.level() <= limit
    }
}

impl<S: Subscriber> Layer<S> for Gate {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        self.lets_pass(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.0.own().max(self.0.foreign()))
    }
}

fn is_own(target: &str) -> bool {
    target.strip_prefix(OWN).is_some_and(|rest| rest.is_empty() || rest.starts_with("::") || rest.starts_with('_'))
}

/// The target in force, shared with whoever may change it.
#[derive(Clone, Debug)]
pub struct Pointer(Arc<AtomicU8>);

impl Pointer {
    /// To this one.
    pub fn new(target: Target) -> Self {
        Self(Arc::new(AtomicU8::new(target as u8)))
    }

    /// Where lines go.
    pub fn get(&self) -> Target {
        match self.0.load(Ordering::Relaxed) {
            value if value == Target::Journal as u8 => Target::Journal,
            value if value == Target::Null as u8 => Target::Null,
            _ => Target::Console,
        }
    }

    /// Where lines go from now on.
    pub fn set(&self, target: Target) {
        self.0.store(target as u8, Ordering::Relaxed);
    }
}

/// Both ends.
pub struct Sink {
    /// The journal, where there is one.
    pub journal: Option<tracing_journald::Layer>,
    /// A stream of lines.
    pub lines: Lines,
    /// Which of them.
    pub target: Pointer,
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Sink {
    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        match (self.target.get(), &self.journal) {
            (Target::Null, _) => {}
            (Target::Journal, Some(journal)) => journal.on_event(event, context),
            (Target::Journal | Target::Console, _) => self.lines.write(event),
        }
    }
}

/// A stream of lines.
pub struct Lines {
    to: Mutex<Box<dyn Write + Send>>,
    /// Whether it is read by journald, which understands a priority at the beginning of a line.
    prioritised: bool,
}

impl Lines {
    /// To this stream.
    pub fn new(to: Box<dyn Write + Send>, prioritised: bool) -> Self {
        Self { to: Mutex::new(to), prioritised }
    }

    fn write(&self, event: &Event<'_>) {
        let line = line(event, self.prioritised);
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        // Nowhere is left to complain to.
        let _ = to.write_all(line.as_bytes()).and_then(|()| to.flush());
    }
}

/// An event as one line: its priority, its message and its fields. Those of notices are for programs and repeat what the
/// message says.
fn line(event: &Event<'_>, prioritised: bool) -> String {
    let (priority, word) = match *event.metadata().level() {
        Severity::ERROR => (3, "error"),
        Severity::WARN => (4, "warning"),
        Severity::INFO => (6, "info"),
        _ => (7, "debug"),
    };
    let mut line = if prioritised { format!("<{priority}>") } else { format!("{word}: ") };
    if !is_own(event.metadata().target()) {
        let _ = write!(line, "{}: ", printable(event.metadata().target()));
    }
    let mut parts = Parts::default();
    event.record(&mut parts);
    line.push_str(&printable(&parts.message));
    line.push_str(&parts.fields);
    line.push('\n');
    line
}

/// The message of an event and its fields.
#[derive(Default)]
struct Parts {
    message: String,
    fields: String,
}

impl Visit for Parts {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => value.clone_into(&mut self.message),
            "MESSAGE_ID" | "OSTLER_NODE" | "OSTLER_EVENT" | "OSTLER_CONFIG" => {}
            name => {
                let _ = write!(self.fields, " {name}={}", printable(value));
            }
        }
    }
}
