//! Values that must never reach a log, a plan, a status or a panic message.
//!
//! Owns the wrapper and nothing else: it does not encrypt and does not wipe memory, it only makes showing a value
//! something that has to be written down at the place where it happens.

use std::fmt;

/// A value that compares and clones but neither formats nor serialises.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret<T>(T);

impl<T> Secret<T> {
    /// Wraps a value read from a configuration.
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// The value itself. Every call is a place where a secret may leave; keep them few.
    pub const fn expose(&self) -> &T {
        &self.0
    }

    /// Unwraps the value for good.
    pub fn into_exposed(self) -> T {
        self.0
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_never_holds_the_value() {
        let secret = Secret::new("hunter2".to_owned());
        assert_eq!(format!("{secret:?} {:?}", Some(&secret)), "[redacted] Some([redacted])");
    }
}
