//! When to look for drift, and when to repair it: at once after a change, never without end.
//!
//! Owns every interval. Refuses to look at a clock: moments come in as the time since some start, and chance as a number.

use std::time::Duration;

use crate::node::Backoff;

/// Changes come in groups: a look is taken when none has come for this long.
pub const LULL: Duration = Duration::from_millis(500);
/// Changes that never end are looked at all the same.
pub const LONGEST_GATHERING: Duration = Duration::from_secs(5);
/// Some changes cannot be listened for: through another name of a file, under a mount, behind a lost watch.
pub const RARE: Duration = Duration::from_secs(30 * 60);
/// How often to look where listening is not possible.
pub const UNWATCHED: Duration = Duration::from_secs(5 * 60);
/// For how many times as long as it took to look nobody looks again, and for how long at most.
const REST: u32 = 2;
const LONGEST_REST: Duration = Duration::from_secs(10);
/// How soon what failed is tried again.
const RETRY: Backoff = Backoff { first: Duration::from_secs(2), longest: Duration::from_secs(300) };
/// How far apart repairs are that do not last.
const PACE: Backoff = Backoff { first: Duration::from_secs(2), longest: Duration::from_secs(300) };
/// A repair that lasted this long was not undone by a fight.
const LASTED: Duration = Duration::from_secs(15 * 60);
/// Pace in a row after which somebody fights us.
const FIGHT: u32 = 3;

/// When to look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rhythm {
    resting: bool,
    /// Whether changes can be listened for.
    blind: bool,
    /// The first change that was not looked at, and the last.
    changes: Option<(Duration, Duration)>,
    /// No change is a reason to look before this.
    not_before: Duration,
    /// When to look without any change.
    alarm: Option<Duration>,
    failures: u32,
}

impl Rhythm {
    /// The machine comes to rest, or is about to change: only what is at rest is looked at.
    pub fn rest(&mut self, resting: bool, now: Duration) {
        if resting && !self.resting {
            self.alarm = Some(now);
        }
        if !resting {
            *self = Self { blind: self.blind, ..Self::default() };
        }
        self.resting = resting;
    }

    /// What drift is measured by is another now.
    pub fn other_measure(&mut self, now: Duration) {
        self.wake(now);
    }

    /// Something changed on the disk.
    pub fn changed(&mut self, now: Duration) {
        self.changes = Some((self.changes.map_or(now, |(first, _)| first), now));
    }

    /// Changes can, or cannot, be listened for.
    pub fn hearing(&mut self, hears: bool) {
        self.blind = !hears;
    }

    /// A look begins: it covers all changes up to now.
    pub fn begin(&mut self) {
        self.changes = None;
        self.alarm = None;
    }

    /// A look has ended that took this long.
    pub fn looked(&mut self, now: Duration, took: Duration, chance: u32) {
        self.failures = 0;
        self.not_before = now + took.saturating_mul(REST).min(LONGEST_REST);
        let interval = if self.blind { UNWATCHED } else { RARE };
        self.wake(now + Backoff { first: interval, longest: interval }.wait(1, chance) + interval / 2);
    }

    /// A look failed.
    pub fn failed(&mut self, now: Duration, chance: u32) {
        self.failures = self.failures.saturating_add(1);
        self.not_before = now + RETRY.wait(self.failures, chance);
        self.wake(self.not_before);
    }

    /// Look then, if not before.
    pub fn wake(&mut self, at: Duration) {
        self.alarm = Some(self.alarm.map_or(at, |alarm| alarm.min(at)));
    }

    /// How often in a row a look has failed.
    pub const fn failures(&self) -> u32 {
        self.failures
    }

    /// When to look next; never while the machine is not at rest.
    pub fn due(&self) -> Option<Duration> {
        let gathered = self.changes.map(|(first, last)| (last + LULL).min(first + LONGEST_GATHERING));
        let gathered = gathered.map(|at| at.max(self.not_before));
        let due = [gathered, self.alarm].into_iter().flatten().min();
        due.filter(|_| self.resting)
    }
}

/// When to do what somebody may undo at once, such as a repair: at once, then at growing distances while it does not last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    last: Option<Duration>,
    not_before: Duration,
    count: u32,
}

impl Pace {
    /// When it may be done next.
    pub const fn due(&self) -> Duration {
        self.not_before
    }

    /// How often it was done or tried without having lasted.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// It was done, or tried; whether it has just become clear that somebody fights us.
    pub fn tried(&mut self, now: Duration, chance: u32) -> bool {
        if self.last.is_none_or(|last| now.saturating_sub(last) > LASTED) {
            self.count = 0;
        }
        self.count = self.count.saturating_add(1);
        self.last = Some(now);
        self.not_before = now + PACE.wait(self.count, chance);
        self.count == FIGHT
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// At rest and looked at, with nothing heard since.
    fn quiet() -> Rhythm {
        let mut rhythm = Rhythm::default();
        rhythm.rest(true, ms(0));
        rhythm.begin();
        rhythm.looked(ms(0), ms(10), 0);
        rhythm
    }

    #[test]
    fn a_machine_that_comes_to_rest_is_looked_at_at_once_and_then_rarely() {
        let mut rhythm = Rhythm::default();
        assert_eq!(rhythm.due(), None);
        rhythm.rest(true, ms(7));
        assert_eq!(rhythm.due(), Some(ms(7)));
        rhythm.begin();
        assert_eq!(rhythm.due(), None);
        for (chance, expected) in [(0, RARE), (u32::MAX, RARE + RARE / 2)] {
            rhythm.begin();
            rhythm.looked(ms(0), ms(10), chance);
            assert_eq!(rhythm.due(), Some(expected));
        }
        rhythm.rest(true, ms(9));
        assert!(rhythm.due() > Some(RARE), "it was at rest already");
    }

    #[test]
    fn a_machine_that_changes_is_not_looked_at_until_it_rests_again() {
        let mut rhythm = quiet();
        rhythm.changed(ms(1000));
        rhythm.rest(false, ms(1001));
        rhythm.changed(ms(1002));
        rhythm.other_measure(ms(1003));
        assert_eq!(rhythm.due(), None);
        rhythm.rest(true, ms(9000));
        assert!(rhythm.due() <= Some(ms(9000)));
    }

    #[test]
    fn a_look_waits_for_a_lull_but_not_for_ever() {
        let mut rhythm = quiet();
        rhythm.changed(ms(1000));
        assert_eq!(rhythm.due(), Some(ms(1500)));
        rhythm.changed(ms(1400));
        assert_eq!(rhythm.due(), Some(ms(1900)));
        (1..100).for_each(|step| rhythm.changed(ms(1400 + step * 100)));
        assert_eq!(rhythm.due(), Some(ms(6000)));
    }

    #[test]
    fn looks_that_take_long_are_far_apart() {
        for (took, expected) in [(1, 500), (500, 1000), (2_500, 5_000), (100_000, 10_000)] {
            let mut rhythm = quiet();
            rhythm.begin();
            rhythm.looked(ms(0), ms(took), 0);
            rhythm.changed(ms(0));
            assert_eq!(rhythm.due(), Some(ms(expected)), "{took}");
        }
    }

    #[test]
    fn who_cannot_listen_looks_more_often() {
        let mut rhythm = quiet();
        rhythm.hearing(false);
        rhythm.begin();
        rhythm.looked(ms(0), ms(10), 0);
        assert_eq!(rhythm.due(), Some(UNWATCHED));
    }

    #[test]
    fn what_fails_is_tried_again_later_and_later_whatever_changes() {
        let mut rhythm = quiet();
        let mut now = ms(0);
        let mut waits = Vec::new();
        for _ in 0..10 {
            rhythm.begin();
            rhythm.failed(now, u32::MAX);
            rhythm.changed(now);
            let due = rhythm.due().unwrap();
            waits.push((due - now).as_secs());
            now = due;
        }
        assert_eq!(waits, [2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
    }

    #[test]
    fn repairs_that_do_not_last_are_further_and_further_apart() {
        let mut repairs = Pace::default();
        let mut now = ms(0);
        let mut waits = Vec::new();
        let mut told = Vec::new();
        for _ in 0..10 {
            assert!(repairs.due() <= now);
            told.push(repairs.tried(now, u32::MAX));
            waits.push((repairs.due() - now).as_secs());
            now = repairs.due();
        }
        assert_eq!(waits, [2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        assert_eq!(told.iter().filter(|told| **told).count(), 1);
        now += LASTED + ms(1);
        repairs.tried(now, u32::MAX);
        assert_eq!(repairs.due() - now, Duration::from_secs(2), "the fight is over");
    }

    proptest! {
        /// However somebody writes, there is a bounded number of repairs and of looks.
        #[test]
        fn nobody_can_make_us_busy(gaps in prop::collection::vec(1_u64..3_000, 1..2_000), took in 1_u64..2_000) {
            let (mut rhythm, mut repairs, mut now) = (quiet(), Pace::default(), ms(0));
            let (mut looks, mut made) = (0_u64, 0_u64);
            for gap in &gaps {
                now += ms(*gap);
                while let Some(due) = rhythm.due().filter(|due| *due <= now) {
                    rhythm.begin();
                    looks += 1;
                    if repairs.due() <= due {
                        repairs.tried(due, 0);
                        made += 1;
                    }
                    rhythm.looked(due, ms(took), 0);
                }
                rhythm.changed(now);
            }
            let most = now.as_millis() as u64 / (took * u64::from(REST)).clamp(500, 10_000) + 2;
            prop_assert!(looks <= most, "{} looks in {:?}", looks, now);
            prop_assert!(made <= 10 + now.as_secs() / 150, "{} repairs in {:?}", made, now);
        }
    }
}
