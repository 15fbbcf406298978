//! Time and chance, from one place.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use ostler_core::api::Time;

/// Time as the loop needs it.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    started: Instant,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self { started: Instant::now() }
    }

    /// Seconds since 1970.
    pub fn seconds(self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
    }

    /// Now, as objects have it: in whole seconds.
    pub fn time(self) -> Time {
        let seconds = i64::try_from(self.seconds()).unwrap_or_default();
        Time(Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH))
    }

    /// How long the agent has run. Clocks that are set do not change it.
    pub fn running(self) -> Duration {
        self.started.elapsed()
    }

    /// Any number.
    pub fn chance(self) -> u32 {
        let number = RandomState::new().build_hasher().finish();
        u32::try_from(number >> 32).unwrap_or_default()
    }
}
