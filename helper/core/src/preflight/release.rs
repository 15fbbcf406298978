//! Versions of releases, and how far an update goes.

use std::fmt;

/// Longest version.
const MAX_LENGTH: usize = 128;

/// A version `X.Y.Z`, with or without a suffix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseVersion {
    numbers: (u64, u64, u64),
    text: String,
}

/// What is no version of a release.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no version of a release; it looks like 4.21.3 or 5.0.0-rc.1")]
pub struct NotAVersion {
    text: String,
}

/// How far an update goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// To the release that runs.
    None,
    /// Within a minor release.
    Patch,
    /// To the next minor or major release.
    Next,
    /// Over releases in between; how many minor ones, where both are of one major release.
    Skip(Option<u64>),
    /// To an older release.
    Back,
    /// It is not known what runs.
    Unknown,
}

impl ReleaseVersion {
    /// Reads a version.
    pub fn parse(text: &str) -> Result<Self, NotAVersion> {
        let bad = || NotAVersion { text: text.chars().take(MAX_LENGTH).collect() };
        let (numbers, suffix) = match text.find(['-', '+']) {
            Some(at) => text.split_at_checked(at).ok_or_else(bad)?,
            None => (text, ""),
        };
        let plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '.' | '-' | '+');
        if text.len() > MAX_LENGTH || suffix.len() == 1 || !suffix.chars().all(plain) {
            return Err(bad());
        }
        let number = |part: &str| match part.as_bytes() {
            [b'0', _, ..] | [b'+', ..] | [] => None,
            _ => part.parse().ok(),
        };
        let parts: Vec<Option<u64>> = numbers.split('.').map(number).collect();
        match parts.as_slice() {
            [Some(major), Some(minor), Some(patch)] => {
                Ok(Self { numbers: (*major, *minor, *patch), text: text.to_owned() })
            }
            _ => Err(bad()),
        }
    }

    /// The first two numbers.
    pub const fn minor(&self) -> (u64, u64) {
        (self.numbers.0, self.numbers.1)
    }

    /// The first two numbers, as text.
    pub fn minor_text(&self) -> String {
        format!("{}.{}", self.numbers.0, self.numbers.1)
    }

    /// How far it is from here to a target.
    pub fn distance(&self, target: &Self) -> Distance {
        let (from, to) = (self.minor(), target.minor());
        if target.numbers < self.numbers {
            Distance::Back
        } else if from == to {
            if self.text == target.text { Distance::None } else { Distance::Patch }
        } else if from.0 == to.0 {
            let apart = to.1 - from.1;
            if apart == 1 { Distance::Next } else { Distance::Skip(Some(apart)) }
        } else if from.0.checked_add(1) == Some(to.0) && to.1 == 0 {
            Distance::Next
        } else {
            Distance::Skip(None)
        }
    }
}

impl fmt::Display for ReleaseVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
