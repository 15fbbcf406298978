//! What the end of a command means, in the classes of [`OsError`].

use std::error::Error;

use ostler_core::os::backend::Backend;
use ostler_core::os::complaint::{Complaint, without_secrets};

use super::OsError;
use crate::systemd::transient::{Ended, TransientError};

const BACKEND: Backend = Backend::Bootc;
const LOCK_HOLDER: &str = "another process that holds the lock on the deployments";

pub(super) fn failed(action: &'static str, message: String) -> OsError {
    OsError::Failed { backend: BACKEND, action, message }
}

pub(super) fn refused(action: &'static str, message: String) -> OsError {
    OsError::Refused { backend: BACKEND, action, message }
}

/// Of a command that ended badly, while a process may have held the lock.
pub(super) fn of_end(ended: &Ended, action: &'static str, holder: Option<String>) -> OsError {
    let story = without_secrets(&ended.story());
    match Complaint::of(&ended.stderr) {
        Complaint::Lasting => refused(action, story),
        Complaint::Busy => OsError::Busy { occupant: named(holder), seconds: 0 },
        Complaint::Passing => failed(action, story),
    }
}

/// Of a command whose end was not seen, while a process may hold the lock.
pub(super) fn of_running(error: TransientError, action: &'static str, holder: Option<String>) -> OsError {
    match error {
        TransientError::Occupied { unit, command, seconds } => {
            OsError::Busy { occupant: format!("{unit} ({command})"), seconds }
        }
        TransientError::TooSlow { seconds, said, .. }
            if holder.is_some() || Complaint::of(&said) == Complaint::Busy =>
        {
            OsError::Busy { occupant: named(holder), seconds }
        }
        TransientError::GivenUp { .. } => OsError::GivenUp { backend: BACKEND, action },
        TransientError::TooSlow { seconds, .. } => OsError::TooSlow { backend: BACKEND, action, seconds },
        TransientError::Vanished { .. } => {
            OsError::Vanished { backend: BACKEND, action, source: Some(Box::new(error)) }
        }
        error => OsError::Unreachable { backend: BACKEND, action, source: Box::new(error) },
    }
}

fn named(holder: Option<String>) -> String {
    holder.unwrap_or_else(|| LOCK_HOLDER.to_owned())
}

/// An error and what it came from, in one line.
pub(super) fn chain(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        words = format!("{words}: {cause}");
        source = cause.source();
    }
    words
}

#[cfg(test)]
mod tests {
    use ostler_core::protocol::Class;

    use super::*;
    use crate::systemd::transient::Exit;

    #[test]
    fn what_was_said_decides_whether_it_is_tried_again() {
        for (said, expected) in [
            ("manifest unknown", "refuses to"),
            ("A signature was required, but no signature exists", "refuses to"),
            ("dial tcp: connection refused", "could not"),
            ("error: Transaction in progress", "holds the lock"),
        ] {
            let stderr = said.to_owned();
            let ended = Ended { exit: Exit::Status(1), result: "exit-code".to_owned(), stdout: None, stderr };
            let error = of_end(&ended, "stage the image", None);
            assert!(error.to_string().contains(expected), "{error}");
            assert_eq!(error.class() == Class::Refusal, expected == "refuses to", "{error}");
        }
    }

    #[test]
    fn what_was_not_seen_to_end_is_tried_again() {
        let unit = || "a.service".to_owned();
        let slow = |said: &str| TransientError::TooSlow { unit: unit(), seconds: 7, said: said.to_owned() };
        for (error, expected) in [
            (slow("Fetching"), "did not stage the image within 7 seconds"),
            (slow("Waiting for sysroot lock...\n"), "holds the lock"),
            (TransientError::Vanished { unit: unit() }, "went away"),
            (TransientError::Occupied { unit: unit(), command: "x y".to_owned(), seconds: 7 }, "a.service (x y)"),
            (TransientError::Name { unit: unit() }, "cannot be asked"),
        ] {
            let error = of_running(error, "stage the image", None);
            assert!(error.to_string().contains(expected) && error.class() == Class::Transient, "{error}");
        }
        let held = of_running(slow("Fetching"), "stage the image", Some("bootc, process 7".to_owned()));
        assert!(held.to_string().starts_with("bootc, process 7 is changing the operating system"), "{held}");
    }
}
