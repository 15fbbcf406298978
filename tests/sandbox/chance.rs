//! Chance that can be had again.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Repeats a run.
pub const SEED: &str = "OSTLER_KILL_SEED";

/// Numbers that look random and can be had again (SplitMix64).
pub struct Chance(u64);

impl Chance {
    /// Begins with the seed of the environment, or with any.
    pub fn new() -> Self {
        let now = || u64::from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().subsec_nanos());
        Self::from_seed(std::env::var(SEED).map_or_else(|_| now(), |seed| seed.parse().expect("the seed is a number")))
    }

    /// Begins with a seed.
    pub fn from_seed(seed: u64) -> Self {
        Self(seed)
    }

    /// What repeats all that comes.
    pub fn seed(&self) -> u64 {
        self.0
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below another.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// An instant of a time.
    pub fn within(&mut self, most: Duration) -> Duration {
        Duration::from_micros(self.below(u64::try_from(most.as_micros()).unwrap().max(1)))
    }
}
