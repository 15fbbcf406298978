//! Names of network interfaces that are to stay across releases: what is asked of nmstate, and what its kernel arguments
//! mean for the line.
//!
//! Owns which release is asked for what, and that arguments are neither added twice nor wanted for ever: once they are on
//! the booted line, they are kept like everything that is not the configuration's.

use serde::{Deserialize, Serialize};

use super::boot_mark::BootMark;
use crate::kargs::{self, Change};
use crate::os_release::OsRelease;

/// More than all interfaces of a machine take.
const MOST: usize = 256;
const LONGEST: usize = 512;

/// What is asked of nmstate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// To note names before a release that would choose others.
    Persist,
    /// To give up notes that are not needed any more; nothing depends on it.
    Cleanup,
}

/// What was asked for in which boot, and what of it is yet to be booted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NicRecord {
    /// The boot.
    pub boot: BootMark,
    /// Kernel arguments that the booted line has yet to gain or lose.
    pub pending: Change,
}

/// Why what nmstate wrote is of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nmstatectl wrote something other than a few kernel arguments")]
pub struct Unusable;

impl Manner {
    /// What this release is asked for; other releases are left alone.
    pub fn of(release: &OsRelease) -> Option<Self> {
        match release.major().filter(|_| release.is_el()) {
            Some(9) => Some(Self::Persist),
            Some(10) => Some(Self::Cleanup),
            _ => None,
        }
    }

    /// Arguments of the command.
    pub fn arguments<'a>(self, root: &'a str, out: &'a str) -> Vec<&'a str> {
        let mut arguments = vec!["persist-nic-names", "--root", root, "--kargs-out", out];
        arguments.extend((self == Self::Cleanup).then_some("--cleanup"));
        arguments
    }

    /// What the command's arguments ask of the line.
    pub fn change(self, written: &[u8]) -> Result<Change, Unusable> {
        let text = std::str::from_utf8(written).map_err(|_| Unusable)?;
        let arguments = kargs::split(text);
        let fits = |argument: &String| argument.len() <= LONGEST && !argument.chars().any(char::is_control);
        if arguments.len() > MOST || !arguments.iter().all(fits) {
            return Err(Unusable);
        }
        Ok(match self {
            Self::Persist => Change { append: arguments, ..Change::default() },
            Self::Cleanup => Change { remove: arguments, ..Change::default() },
        })
    }
}

/// Two changes, of which the later one has the last word.
pub fn together(earlier: &Change, later: &Change) -> Change {
    let merged = |old: &[String], new: &[String], over: &[String]| {
        let mut all: Vec<String> = old.iter().filter(|argument| !over.contains(argument)).cloned().collect();
        let added: Vec<String> = new.iter().filter(|argument| !all.contains(argument)).cloned().collect();
        all.extend(added);
        all
    };
    Change {
        remove: merged(&earlier.remove, &later.remove, &later.append),
        append: merged(&earlier.append, &later.append, &later.remove),
    }
}

/// What of a change a line does not have yet.
pub fn missing(change: &Change, line: &[String]) -> Change {
    let there = |argument: &&String| line.contains(argument);
    Change {
        remove: change.remove.iter().filter(there).cloned().collect(),
        append: change.append.iter().filter(|argument| !there(argument)).cloned().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        kargs::split(text)
    }

    fn change(remove: &str, append: &str) -> Change {
        Change { remove: words(remove), append: words(append) }
    }

    #[test]
    fn only_releases_that_name_interfaces_differently_are_asked() {
        for (text, expected) in [
            ("ID=rhel\nVARIANT_ID=coreos\nVERSION_ID=9.6\n", Some(Manner::Persist)),
            ("ID=centos\nVARIANT_ID=coreos\nVERSION_ID=10\n", Some(Manner::Cleanup)),
            ("ID=rhel\nVARIANT_ID=coreos\nVERSION_ID=8.6\n", None),
            ("ID=fedora\nVARIANT_ID=coreos\nVERSION_ID=43\n", None),
            ("", None),
        ] {
            assert_eq!(Manner::of(&OsRelease::parse(text)), expected, "{text}");
        }
        assert_eq!(Manner::Persist.arguments("/", "/out"), ["persist-nic-names", "--root", "/", "--kargs-out", "/out"]);
        assert_eq!(Manner::Cleanup.arguments("/", "/out").last(), Some(&"--cleanup"));
    }

    #[test]
    fn arguments_are_added_or_taken_off_and_nonsense_is_neither() {
        for (text, expected) in [
            ("", Ok(change("", ""))),
            ("ifname=eth0:52:54:00:de:a8:2f\n", Ok(change("", "ifname=eth0:52:54:00:de:a8:2f"))),
            ("a=1 b=2", Ok(change("", "a=1 b=2"))),
            ("a=\u{1}", Err(Unusable)),
            (&"x ".repeat(MOST + 1), Err(Unusable)),
            (&"x".repeat(LONGEST + 1), Err(Unusable)),
        ] {
            assert_eq!(Manner::Persist.change(text.as_bytes()), expected, "{text}");
        }
        assert_eq!(Manner::Persist.change(&[0xff]), Err(Unusable));
        assert_eq!(Manner::Cleanup.change(b"a=1"), Ok(change("a=1", "")));
    }

    #[test]
    fn what_a_line_has_is_not_missing() {
        for (wanted, line, expected) in [
            (change("", "a=1 b=2"), "ro", change("", "a=1 b=2")),
            (change("", "a=1 b=2"), "ro b=2", change("", "a=1")),
            (change("", "a=1"), "a=1", change("", "")),
            (change("a=1 c", ""), "ro a=1", change("a=1", "")),
            (change("a=1", ""), "ro", change("", "")),
        ] {
            assert_eq!(missing(&wanted, &words(line)), expected, "{line}");
        }
    }

    #[test]
    fn the_later_word_counts() {
        for (earlier, later, expected) in [
            (change("", "a"), change("", "a b"), change("", "a b")),
            (change("", "a b"), change("a", ""), change("a", "b")),
            (change("a", ""), change("", "a"), change("", "a")),
            (change("", ""), change("", ""), change("", "")),
        ] {
            assert_eq!(together(&earlier, &later), expected);
        }
    }
}
