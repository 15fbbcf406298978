//! What a transaction says, for people: short lines, and not too many of them.

use std::time::Duration;

use tokio::time::Instant;

use crate::os::Told;

const LONGEST_LINE: usize = 240;
const LINES_A_WINDOW: u32 = 20;
const WINDOW: Duration = Duration::from_secs(1);
const PERCENT_STEP: u32 = 10;

/// Passes on what is new, within bounds.
pub(super) struct Telling<'t> {
    told: Told<'t>,
    last: String,
    percent: Option<(String, u32)>,
    window: Instant,
    lines: u32,
    left_out: u32,
}

impl<'t> Telling<'t> {
    pub fn new(told: Told<'t>) -> Self {
        Self { told, last: String::new(), percent: None, window: Instant::now(), lines: 0, left_out: 0 }
    }

    /// Whatever there is to say, line by line.
    pub fn say(&mut self, text: &str) {
        for line in text.lines() {
            let line: String = line.trim().chars().filter(|one| !one.is_control()).take(LONGEST_LINE).collect();
            if !line.is_empty() && line != self.last {
                self.pass(line);
            }
        }
    }

    /// How far something is; told once in every ten percent.
    pub fn percent(&mut self, label: &str, percent: u32) {
        let label = without_count(label.trim());
        let step = percent.min(100) / PERCENT_STEP;
        if self.percent.as_ref().is_some_and(|(of, told)| of == label && step <= *told) {
            return;
        }
        self.percent = Some((label.to_owned(), step));
        self.say(&format!("{label}: {} %", step * PERCENT_STEP));
    }

    /// Says how much was not told.
    pub fn end(&mut self) {
        self.percent = None;
        let left_out = std::mem::take(&mut self.left_out);
        if left_out > 0 {
            (self.told)(&format!("({left_out} more lines)"));
        }
    }

    fn pass(&mut self, line: String) {
        if self.window.elapsed() >= WINDOW {
            (self.window, self.lines) = (Instant::now(), 0);
        }
        if self.lines >= LINES_A_WINDOW {
            self.left_out = self.left_out.saturating_add(1);
            return;
        }
        self.lines += 1;
        (self.told)(&line);
        self.last = line;
    }
}

/// Progress by items comes with its count in the label, as in `Importing (3/10)`.
fn without_count(label: &str) -> &str {
    match label.rsplit_once(" (") {
        Some((before, count)) if count.ends_with(')') && count.contains('/') => before,
        _ => label,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(of: impl FnOnce(&mut Telling<'_>)) -> Vec<String> {
        let mut lines = Vec::new();
        let mut told = |line: &str| lines.push(line.to_owned());
        let mut telling = Telling::new(&mut told);
        of(&mut telling);
        telling.end();
        lines
    }

    #[test]
    fn percents_are_told_ten_at_a_time() {
        let told = lines(|telling| {
            for percent in 0..=100 {
                telling.percent(&format!("Importing ({percent}/100)"), percent);
                telling.percent(&format!("Importing ({percent}/100)"), percent);
            }
        });
        assert_eq!(told.len(), 11);
        assert_eq!((told[0].as_str(), told[10].as_str()), ("Importing: 0 %", "Importing: 100 %"));
    }

    #[test]
    fn a_flood_is_counted_and_not_told() {
        let told = lines(|telling| (0..1000).for_each(|number| telling.say(&format!("line {number}"))));
        assert_eq!(told.len(), 21);
        assert_eq!(told[20], "(980 more lines)");
    }

    #[test]
    fn lines_are_short_plain_and_new() {
        let told = lines(|telling| {
            telling.say(&"x".repeat(1000));
            telling.say("\u{1b}a\n\na\n");
            telling.say("a");
        });
        assert_eq!(told, ["x".repeat(LONGEST_LINE), "a".to_owned()]);
    }
}
