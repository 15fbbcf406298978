//! Times as people and programs read them.

use jiff::Timestamp;

/// Seconds since 1970 as RFC 3339 in UTC; a time beyond the calendar as the number it is.
pub fn utc(seconds: u64) -> String {
    let moment = i64::try_from(seconds).ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    moment.map_or_else(|| format!("{seconds} seconds after 1970"), |moment| moment.to_string())
}

/// How long something took. A clock that went backwards took no time.
pub fn duration(began: u64, ended: u64) -> String {
    match ended.saturating_sub(began) {
        0 => "less than a second".to_owned(),
        1 => "one second".to_owned(),
        seconds if seconds < 120 => format!("{seconds} seconds"),
        seconds => format!("{} minutes", seconds / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_utc_and_nothing_is_beyond_telling() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_791_000_000, "2026-10-03T04:00:00Z"),
            (u64::MAX, "18446744073709551615 seconds after 1970"),
        ] {
            assert_eq!(utc(seconds), expected);
        }
    }

    #[test]
    fn durations_are_said_in_words() {
        for (began, ended, expected) in [
            (5, 5, "less than a second"),
            (5, 6, "one second"),
            (0, 90, "90 seconds"),
            (0, 600, "10 minutes"),
            (9, 1, "less than a second"),
        ] {
            assert_eq!(duration(began, ended), expected);
        }
    }
}
