//! When a machine may restart by itself: at once, in a weekly window, or only when it is told to.

use std::str::FromStr;

const MINUTE: u64 = 60;
const DAY: u64 = 24 * 60;
const WEEK: u64 = 7 * DAY;
/// Minutes from a Monday's midnight to 1970-01-01, a Thursday.
const EPOCH: u64 = 3 * DAY;
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// When a machine restarts for a configuration that takes effect with a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RebootPolicy {
    /// As soon as the configuration is in place.
    Auto,
    /// While this window is open.
    Window(RebootWindow),
    /// When somebody asks for it.
    Manual,
}

impl RebootPolicy {
    /// Whether the machine may restart now; else when it may, in seconds since 1970, where that is known.
    pub fn check(self, now: u64) -> Result<(), Option<u64>> {
        match self {
            Self::Auto => Ok(()),
            Self::Manual => Err(None),
            Self::Window(window) => window.check(now).map_err(Some),
        }
    }
}

/// A time of the week, in UTC, as in `Sat,Sun 02:00 3h`: days (all where none are named), start, and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RebootWindow {
    days: [bool; 7],
    /// Minutes from midnight.
    start: u64,
    /// In minutes, at most a day.
    length: u64,
}

/// A window that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "cannot read the window {text:?}: {problem}; write it as in \"Sat,Sun 02:00 3h\" or \"Mon..Fri 22:30 90m\", in UTC"
)]
pub struct WindowError {
    text: String,
    problem: &'static str,
}

impl RebootWindow {
    /// Whether it is open; else when it opens, in seconds since 1970.
    fn check(self, now: u64) -> Result<(), u64> {
        let minute = (now / MINUTE + EPOCH) % WEEK;
        let starts = (0..).zip(self.days).filter(|(_, named)| *named).map(|(day, _)| day * DAY + self.start);
        let (mut open, mut wait) = (false, WEEK);
        for start in starts {
            open |= (minute + WEEK - start) % WEEK < self.length;
            wait = wait.min((start + WEEK - minute) % WEEK);
        }
        if open { Ok(()) } else { Err((now / MINUTE + wait) * MINUTE) }
    }
}

impl FromStr for RebootWindow {
    type Err = WindowError;

    fn from_str(text: &str) -> Result<Self, WindowError> {
        let wrong = |problem| WindowError { text: text.to_owned(), problem };
        let words: Vec<&str> = text.split_whitespace().collect();
        let (days, start, length) = match words.as_slice() {
            [days, start, length] => (parse_days(days).ok_or_else(|| wrong("the days are not known"))?, start, length),
            [start, length] => ([true; 7], start, length),
            _ => return Err(wrong("it needs a start and a length")),
        };
        let start = parse_start(start).ok_or_else(|| wrong("the start must be a time of the day"))?;
        let length = parse_length(length).filter(|length| (1..=DAY).contains(length));
        Ok(Self { days, start, length: length.ok_or_else(|| wrong("the length must be from 1m to 24h"))? })
    }
}

/// Names and ranges of days, as systemd writes them.
fn parse_days(text: &str) -> Option<[bool; 7]> {
    let index = |name: &str| DAYS.iter().position(|day| day.eq_ignore_ascii_case(name));
    let mut days = [false; 7];
    for part in text.split(',') {
        let (first, last) = part.split_once("..").unwrap_or((part, part));
        let (first, last) = (index(first)?, index(last)?);
        let within = |day: usize| if first <= last { first <= day && day <= last } else { day >= first || day <= last };
        (0..).zip(&mut days).for_each(|(day, named)| *named |= within(day));
    }
    Some(days)
}

fn parse_start(text: &str) -> Option<u64> {
    let (hour, minute) = text.split_once(':')?;
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<u64>().ok())?;
    let (hour, minute) = (number(hour)?, number(minute)?);
    (hour < 24 && minute < 60).then_some(hour * 60 + minute)
}

fn parse_length(text: &str) -> Option<u64> {
    let minutes = |unit: &str, factor: u64| text.strip_suffix(unit)?.parse::<u64>().ok()?.checked_mul(factor);
    minutes("h", 60).or_else(|| minutes("min", 1)).or_else(|| minutes("m", 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-16, a Monday, at midnight.
    const MONDAY: u64 = 1_794_787_200;

    fn at(day: u64, hour: u64, minute: u64) -> u64 {
        MONDAY + ((day * 24 + hour) * 60 + minute) * 60
    }

    #[test]
    fn a_window_is_open_from_its_start_to_its_end_and_over_midnight_and_the_week() {
        for (text, now, expected) in [
            ("Sat,Sun 02:00 3h", at(5, 2, 0), Ok(())),
            ("Sat,Sun 02:00 3h", at(6, 4, 59), Ok(())),
            ("Sat,Sun 02:00 3h", at(6, 5, 0), Err(at(12, 2, 0))),
            ("Sat,Sun 02:00 3h", at(0, 0, 0), Err(at(5, 2, 0))),
            ("Sat,Sun 02:00 3h", at(5, 1, 59) + 59, Err(at(5, 2, 0))),
            ("Sun 23:00 2h", at(7, 0, 30), Ok(())),
            ("Sun 23:00 2h", at(7, 1, 0), Err(at(13, 23, 0))),
            ("mon..FRI 22:30 90m", at(4, 23, 59), Ok(())),
            ("mon..FRI 22:30 90m", at(5, 0, 1), Err(at(7, 22, 30))),
            ("Sat..Mon 00:00 1min", at(0, 0, 0), Ok(())),
            ("Sat..Mon 00:00 1min", at(1, 0, 0), Err(at(5, 0, 0))),
            ("12:00 24h", at(3, 11, 59), Ok(())),
            ("12:00 1m", at(3, 12, 1), Err(at(4, 12, 0))),
        ] {
            let window: RebootWindow = text.parse().unwrap();
            assert_eq!(window.check(now), expected, "{text} at {now}");
        }
    }

    #[test]
    fn what_is_no_window_is_refused_with_an_example() {
        for text in [
            "",
            "02:00",
            "Sat 02:00",
            "Sat 24:00 1h",
            "Sat 02:60 1h",
            "Sat 2 1h",
            "Sat +2:00 1h",
            "Samstag 02:00 1h",
            "Sat, 02:00 1h",
            "Sat.. 02:00 1h",
            "Sat 02:00 0h",
            "Sat 02:00 25h",
            "Sat 02:00 1441m",
            "Sat 02:00 1d",
            "Sat 02:00 18446744073709551615h",
            "Sat 02:00 1h UTC",
        ] {
            let error = text.parse::<RebootWindow>().unwrap_err().to_string();
            assert!(error.contains("Sat,Sun 02:00 3h"), "{text}: {error}");
        }
    }

    #[test]
    fn only_auto_restarts_at_any_time() {
        assert_eq!(RebootPolicy::Auto.check(MONDAY), Ok(()));
        assert_eq!(RebootPolicy::Manual.check(MONDAY), Err(None));
        let window = RebootPolicy::Window("Tue 00:00 1h".parse().unwrap());
        assert_eq!(window.check(MONDAY), Err(Some(at(1, 0, 0))));
        assert_eq!(window.check(at(1, 0, 59)), Ok(()));
    }
}
