//! How a command ended, and what it had to say.

use std::fmt;

use crate::systemd::bus::Service;

/// How much of standard error is kept, from its end.
const TAIL: usize = 4096;
/// With what systemd's own half of a new process ends when there is no such program.
const NOT_EXECUTED: i32 = 203;
const BY_ITSELF: i32 = 1;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this status.
    Status(i32),
    /// By this signal.
    Signal(i32),
    /// It was never started, or nobody knows any more.
    Unknown,
}

impl fmt::Display for Exit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(NOT_EXECUTED) => formatter.write_str("it could not be executed"),
            Self::Status(status) => write!(formatter, "it ended with status {status}"),
            Self::Signal(signal) => write!(formatter, "signal {signal} ended it"),
            Self::Unknown => formatter.write_str("it was not started, or its end was not kept"),
        }
    }
}

/// A command that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// How.
    pub exit: Exit,
    /// systemd's word for it, such as `success`, `exit-code` or `oom-kill`.
    pub result: String,
    /// All of its standard output; none when it was too much.
    pub stdout: Option<Vec<u8>>,
    /// The end of its standard error.
    pub stderr: String,
}

impl Ended {
    pub(super) fn of(service: &Service, stdout: Option<Vec<u8>>, stderr: Option<&[u8]>) -> Self {
        let exit = match service.code {
            // Whoever asks for a unit that has just been cleared away gets a blank one, whose result is a success.
            ..BY_ITSELF => Exit::Unknown,
            BY_ITSELF => Exit::Status(service.status),
            _ => Exit::Signal(service.status),
        };
        let stderr = stderr.map_or_else(|| "(it wrote too much to be kept)".to_owned(), tail);
        Self { exit, result: service.result.clone(), stdout, stderr }
    }

    /// Whether it did what it was started for.
    pub fn succeeded(&self) -> bool {
        self.result == "success" && self.exit == Exit::Status(0)
    }

    /// Its end in words: how, and the last it said.
    pub fn story(&self) -> String {
        let said = self.stderr.trim();
        let how = match self.result.as_str() {
            "exit-code" | "signal" | "success" => self.exit.to_string(),
            other => format!("{} ({other})", self.exit),
        };
        if said.is_empty() { how } else { format!("{how}: {said}") }
    }
}

/// The last bytes as text, beginning with a whole character and, where something was cut off, a whole line.
pub(super) fn tail(bytes: &[u8]) -> String {
    let cut = bytes.len().saturating_sub(TAIL);
    let kept = String::from_utf8_lossy(bytes.get(cut..).unwrap_or_default()).into_owned();
    match kept.split_once('\n') {
        Some((_, whole)) if cut > 0 && !whole.trim().is_empty() => whole.to_owned(),
        _ => kept,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(code: i32, status: i32, result: &str, stderr: &str) -> Ended {
        let service = Service { code, status, result: result.to_owned(), ..Service::default() };
        Ended::of(&service, Some(Vec::new()), Some(stderr.as_bytes()))
    }

    #[test]
    fn an_end_is_told_in_words() {
        for (end, succeeded, story) in [
            (ended(1, 0, "success", "note\n"), true, "it ended with status 0: note"),
            (ended(1, 1, "exit-code", " bad image\n"), false, "it ended with status 1: bad image"),
            (ended(1, 203, "exit-code", ""), false, "it could not be executed"),
            (ended(2, 9, "signal", ""), false, "signal 9 ended it"),
            (ended(2, 9, "oom-kill", ""), false, "signal 9 ended it (oom-kill)"),
            (ended(0, 0, "resources", ""), false, "it was not started, or its end was not kept (resources)"),
            (ended(0, 0, "success", ""), false, "it was not started, or its end was not kept"),
        ] {
            assert_eq!((end.succeeded(), end.story().as_str()), (succeeded, story));
        }
    }

    #[test]
    fn the_tail_is_bounded_and_whole() {
        assert_eq!(tail(b"short\n"), "short\n");
        let long = format!("{}\nlast line\n", "é".repeat(4000));
        assert_eq!(tail(long.as_bytes()), "last line\n");
        let one_line = "é".repeat(4000);
        assert!(tail(one_line.as_bytes()).len() <= TAIL + 4 && tail(one_line.as_bytes()).ends_with('é'));
        assert_eq!(tail(b"\xff\xfe"), "\u{fffd}\u{fffd}");
    }
}
