//! How long to wait before trying again.

use std::time::Duration;

/// Waits that double from the first to the longest, each shortened by chance so that many nodes do not come at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The first wait.
    pub first: Duration,
    /// The longest wait.
    pub longest: Duration,
}

impl Backoff {
    /// The wait after a number of failures, of which there is at least one. `chance` is any random number.
    pub fn wait(self, failures: u32, chance: u32) -> Duration {
        let doubled = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
        let whole = self.first.saturating_mul(doubled).min(self.longest);
        let half = whole / 2;
        half + half.mul_f64(f64::from(chance) / f64::from(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_are_never_shorter_than_half() {
        let backoff = Backoff { first: Duration::from_secs(1), longest: Duration::from_secs(60) };
        for (failures, whole) in [(0, 1), (1, 1), (2, 2), (4, 8), (7, 60), (40, 60), (u32::MAX, 60)] {
            let whole = Duration::from_secs(whole);
            assert_eq!(backoff.wait(failures, 0), whole / 2, "{failures}");
            assert_eq!(backoff.wait(failures, u32::MAX), whole, "{failures}");
        }
    }
}
