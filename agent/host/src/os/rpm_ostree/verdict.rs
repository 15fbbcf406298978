//! What a failed transaction is told as: core judges its words, because the daemon has no codes for what happens in one.

use ostler_core::os::backend::Backend;
use ostler_core::os::complaint::{Complaint, without_secrets};

use crate::os::OsError;

/// The end says what went wrong; what leads to it can be long.
const MOST: usize = 4096;

/// The error that a failure with these words is.
pub(super) fn of(action: &'static str, text: &str) -> OsError {
    let (backend, message) = (Backend::RpmOstree, without_secrets(&last_part(text)));
    if Complaint::of(&message) == Complaint::Lasting {
        OsError::Refused { backend, action, message }
    } else {
        OsError::Failed { backend, action, message }
    }
}

/// The last part of a text, of bounded length and without what could disturb a terminal.
pub(super) fn last_part(text: &str) -> String {
    let text = text.trim();
    let over = text.len().saturating_sub(MOST);
    let start = text.char_indices().map(|(at, _)| at).find(|at| *at >= over).unwrap_or(text.len());
    let plain = |character: char| if character.is_control() && character != '\n' { ' ' } else { character };
    text.get(start..).unwrap_or_default().chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_try_cannot_change_is_refused() {
        for text in [
            "Creating importer: Failed to invoke skopeo proxy method OpenImage: remote error: reading manifest \
             sha256:00 in registry.example/os: manifest unknown",
            "remote error: Source image rejected: A signature was required, but no signature exists",
            "remote error: Running image docker://registry.example/os is rejected by policy.",
            "remote error: cryptographic signature verification failed: invalid signature when validating ASN.1",
            "Preparing import: Fetching manifest: containers-policy.json specifies a default of \
             `insecureAcceptAnything`; refusing usage",
            "remote error: invalid reference format",
            "Packages not found: kata-containers, usbguard",
            "Package \"kernel-modules-core\" not found",
            "No overrides for package 'kernel'",
        ] {
            assert!(matches!(of("stage", text), OsError::Refused { .. }), "{text}");
        }
    }

    #[test]
    fn what_may_pass_is_a_failure() {
        for text in [
            "",
            "Writing content object: min-free-space-percent '3%' would be exceeded",
            "remote error: pinging container registry registry.example: dial tcp: i/o timeout",
            "remote error: (Mirrors also failed: [mirror.example/os: manifest unknown]): registry.example/os: \
             dial tcp: connect: connection refused",
            "remote error: reading manifest in registry.example/os: unauthorized: authentication required",
        ] {
            assert!(matches!(of("stage", text), OsError::Failed { .. }), "{text}");
        }
    }

    #[test]
    fn credentials_in_addresses_are_not_passed_on() {
        let error = of("stage", "Get \"https://me:hunter2@cdn.example/b?sig=hunter2\": EOF").to_string();
        assert!(error.contains("https://cdn.example/b") && !error.contains("hunter2"), "{error}");
    }

    #[test]
    fn the_end_of_a_long_text_is_kept() {
        let long = format!("{}\u{e9}manifest unknown\u{1b}[0m", "\u{20ac}".repeat(5000));
        let part = last_part(&long);
        assert!(part.len() <= MOST && part.ends_with("\u{e9}manifest unknown [0m"), "{}", part.len());
        assert_eq!(last_part(" a\nb "), "a\nb");
    }
}
