//! What depends on the release of bootc.

use std::fmt;

use anyhow::{Context, Result};

use super::PROGRAM;
use crate::faults::Faults;

const DEFAULT: &str = "1.13.0";

/// A release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release(u32, u32, u32);

impl Release {
    /// The one that was asked for.
    pub fn current() -> Result<Self> {
        Self::parse(Faults::load(PROGRAM)?.release.as_deref().unwrap_or(DEFAULT))
    }

    fn parse(text: &str) -> Result<Self> {
        let mut parts = text.split('.').map(str::parse::<u32>);
        let mut next = || parts.next().transpose().ok().flatten();
        let release = (|| Some(Self(next()?, next()?, next()?)))();
        release.with_context(|| format!("{text:?} is no release"))
    }

    /// Whether waiting for the lock is told on standard output.
    pub fn tells_of_lock(self) -> bool {
        self < Self(1, 7, 0)
    }

    /// Whether a line is cut at every blank, inside quotes too; libostree aborts on what comes of that.
    pub fn cuts_quoted(self) -> bool {
        self < Self(1, 11, 0)
    }
}

impl fmt::Display for Release {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.0, self.1, self.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_ordered_by_number() {
        assert!(Release::parse("1.6.0").unwrap().tells_of_lock() && !Release::parse("1.7.0").unwrap().tells_of_lock());
        assert!(Release::parse("1.9.9").unwrap().cuts_quoted() && !Release::parse("1.11.0").unwrap().cuts_quoted());
        assert!(Release::parse("1.x").is_err());
        assert_eq!(Release::parse(DEFAULT).unwrap().to_string(), DEFAULT);
    }
}
