//! Counts and spans of time as a person reads them.

/// A count with its noun, in agreement: the plural adds an "s".
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// How long something lasts, in short. A clock that went backwards shows no time.
pub fn span(since: u64, now: u64) -> String {
    match now.saturating_sub(since) {
        seconds if seconds < 120 => format!("{seconds} s"),
        seconds if seconds < 120 * 60 => format!("{} min", seconds / 60),
        seconds if seconds < 48 * 3600 => format!("{} h", seconds / 3600),
        seconds => format!("{} days", seconds / 86400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_agree_in_number() {
        for (number, expected) in [(0, "0 differences"), (1, "1 difference"), (2, "2 differences")] {
            assert_eq!(count(number, "difference"), expected);
        }
    }

    #[test]
    fn spans_are_said_in_short() {
        for (seconds, expected) in [
            (0, "0 s"),
            (119, "119 s"),
            (120, "2 min"),
            (299, "4 min"),
            (7199, "119 min"),
            (7200, "2 h"),
            (172_799, "47 h"),
            (172_800, "2 days"),
        ] {
            assert_eq!(span(1000, 1000 + seconds), expected);
        }
        assert_eq!(span(9, 1), "0 s");
    }
}
