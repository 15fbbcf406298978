//! How long to wait before another attempt. Owns the arithmetic and the dice; refuses to wait.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// Somewhere between half of `full` and all of it, so that the nodes of a cluster do not return as one.
pub fn spread(full: Duration) -> Duration {
    let dice = RandomState::new().hash_one(()) % 1000;
    full / 2 + (full / 2).saturating_mul(u32::try_from(dice).unwrap_or(0)) / 1000
}

/// The wait after the `failures`th failure in a row: doubles from `first` up to `longest`, spread.
pub fn after(failures: u32, first: Duration, longest: Duration) -> Duration {
    let doublings = failures.saturating_sub(1).min(16);
    spread(first.saturating_mul(1 << doublings).min(longest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_stay_within_bounds_and_differ() {
        let (first, longest) = (Duration::from_millis(500), Duration::from_secs(30));
        for (failures, full) in [(0, 500), (1, 500), (2, 1000), (4, 4000), (9, 30_000), (u32::MAX, 30_000)] {
            let full = Duration::from_millis(full);
            let pause = after(failures, first, longest);
            assert!(pause >= full / 2 && pause <= full, "{failures}: {pause:?}");
        }
        let many: std::collections::BTreeSet<_> = (0..50).map(|_| spread(longest)).collect();
        assert!(many.len() > 5, "{many:?}");
    }
}
