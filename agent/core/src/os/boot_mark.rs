//! What tells one start of a machine from the next, so that a restart that was asked for can be told from one that happened.

use serde::{Deserialize, Serialize};

/// Which start of the machine this is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BootMark {
    /// What the kernel calls this boot.
    pub boot_id: String,
    /// How often user space was restarted since; none from a systemd that does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soft_reboots: Option<u32>,
}

/// Whether the machine has restarted between two marks. What cannot be told has not happened.
pub fn proven(before: &BootMark, now: &BootMark) -> bool {
    if before.boot_id.is_empty() || now.boot_id.is_empty() {
        return false;
    }
    let softly = matches!((before.soft_reboots, now.soft_reboots), (Some(before), Some(now)) if now > before);
    before.boot_id != now.boot_id || softly
}

/// The major version of systemd in what it says of itself, such as `252.39-1~deb12u2`.
pub fn systemd_version(text: &str) -> Option<u32> {
    let text = text.trim().trim_start_matches('v');
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restart_is_proven_by_another_boot_or_another_count() {
        let mark = |boot_id: &str, soft_reboots| BootMark { boot_id: boot_id.to_owned(), soft_reboots };
        for (before, now, expected) in [
            (mark("a", None), mark("b", None), true),
            (mark("a", Some(3)), mark("b", Some(0)), true),
            (mark("a", None), mark("a", None), false),
            (mark("a", Some(1)), mark("a", Some(1)), false),
            (mark("a", Some(1)), mark("a", Some(2)), true),
            (mark("a", None), mark("a", Some(1)), false),
            (mark("a", Some(1)), mark("a", None), false),
            (mark("", None), mark("a", None), false),
            (mark("a", None), mark("", None), false),
        ] {
            assert_eq!(proven(&before, &now), expected, "{before:?} {now:?}");
        }
    }

    #[test]
    fn systemd_tells_its_version_in_many_ways() {
        for (text, expected) in
            [("252.39-1~deb12u2", Some(252)), ("257-13.el10", Some(257)), ("v254", Some(254)), ("", None), ("x", None)]
        {
            assert_eq!(systemd_version(text), expected, "{text}");
        }
    }
}
