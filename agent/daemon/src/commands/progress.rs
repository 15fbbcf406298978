//! Progress on standard error: one line redrawn in place for a person, one line each for a log.

use std::fmt::Write as _;
use std::io::Write;

use ostler_core::transaction::{Direction, Phase, Progress};
use serde::Serialize;

use crate::show;

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// One line, redrawn.
    Redrawn,
    /// A line of text for each.
    Lines,
    /// A JSON object on a line for each.
    Json,
}

/// The phases in their order.
const PHASES: [Phase; 9] = [
    Phase::Check,
    Phase::Begin,
    Phase::Stage,
    Phase::Preserve,
    Phase::Write,
    Phase::Tidy,
    Phase::Units,
    Phase::Services,
    Phase::Commit,
];
/// Longer lines would wrap, and a wrapped line cannot be redrawn.
const MAX_WIDTH: usize = 78;
const ERASE: &str = "\r\u{1b}[2K";

/// What a line of the log is made of.
#[derive(Serialize)]
struct Entry<'a> {
    progress: &'a Progress,
}

/// Shows how far a transaction is.
pub struct Meter<'a> {
    to: &'a mut dyn Write,
    manner: Manner,
    drawn: bool,
}

impl<'a> Meter<'a> {
    /// A meter that shows nothing yet.
    pub fn new(to: &'a mut dyn Write, manner: Manner) -> Self {
        Self { to, manner, drawn: false }
    }

    /// Shows what begins now.
    pub fn show(&mut self, progress: &Progress) {
        let text = match self.manner {
            Manner::Redrawn => format!("{ERASE}{}", bar(progress)),
            Manner::Lines => line(progress),
            Manner::Json => match serde_json::to_string(&Entry { progress }) {
                Ok(object) => format!("{object}\n"),
                Err(_) => return,
            },
        };
        self.drawn = true;
        self.write(&text);
    }

    /// Takes the redrawn line away, so that the answer stands alone.
    pub fn clear(&mut self) {
        if self.drawn && self.manner == Manner::Redrawn {
            self.write(ERASE);
        }
    }

    /// A change is not given up because nobody can watch it.
    fn write(&mut self, text: &str) {
        let _ = self.to.write_all(text.as_bytes()).and_then(|()| self.to.flush());
    }
}

fn bar(progress: &Progress) -> String {
    let done = PHASES.iter().take_while(|phase| **phase < progress.phase).count();
    let bar = format!("{}{}", "=".repeat(done), "-".repeat(PHASES.len() - done));
    let mut text = format!("[{bar}] {}/{} {}", done + 1, PHASES.len(), heading(progress));
    if let Some(subject) = &progress.subject {
        let _ = write!(text, ": {}", show::printable(subject));
    }
    text.chars().take(MAX_WIDTH).collect()
}

fn line(progress: &Progress) -> String {
    let subject = progress.subject.as_deref().map(|subject| format!(": {}", show::printable(subject)));
    format!("{}{}\n", heading(progress), subject.unwrap_or_default())
}

fn heading(progress: &Progress) -> String {
    let phase = show::phase(progress.phase);
    match progress.direction {
        Direction::Forward => phase.to_owned(),
        Direction::Back => format!("undo, {phase}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(manner: Manner, all: &[Progress]) -> String {
        let mut bytes = Vec::new();
        let mut meter = Meter::new(&mut bytes, manner);
        all.iter().for_each(|progress| meter.show(progress));
        meter.clear();
        String::from_utf8(bytes).unwrap()
    }

    fn progress(direction: Direction, phase: Phase, subject: Option<&str>) -> Progress {
        Progress { direction, phase, subject: subject.map(str::to_owned) }
    }

    #[test]
    fn a_log_gets_a_line_for_each_and_no_control_characters() {
        let all = [
            progress(Direction::Forward, Phase::Check, None),
            progress(Direction::Forward, Phase::Write, Some("/etc/a\u{1b}[2J")),
            progress(Direction::Back, Phase::Units, Some("a.service")),
        ];
        assert_eq!(shown(Manner::Lines, &all), "check\nwrite: /etc/a\\u{1b}[2J\nundo, units: a.service\n");
        assert_eq!(
            shown(Manner::Json, &all),
            "{\"progress\":{\"direction\":\"forward\",\"phase\":\"check\"}}\n\
             {\"progress\":{\"direction\":\"forward\",\"phase\":\"write\",\"subject\":\"/etc/a\\u001b[2J\"}}\n\
             {\"progress\":{\"direction\":\"back\",\"phase\":\"units\",\"subject\":\"a.service\"}}\n"
        );
    }

    #[test]
    fn a_person_gets_one_line_that_goes_when_it_is_over() {
        let text = shown(Manner::Redrawn, &[progress(Direction::Forward, Phase::Write, Some("/etc/a"))]);
        assert_eq!(text, format!("{ERASE}[====-----] 5/9 write: /etc/a{ERASE}"));
        assert_eq!(shown(Manner::Redrawn, &[]), "");
        let long = shown(Manner::Redrawn, &[progress(Direction::Back, Phase::Commit, Some(&"x".repeat(500)))]);
        let line = long.trim_start_matches(ERASE).trim_end_matches(ERASE);
        assert_eq!(line.chars().count(), MAX_WIDTH);
        assert!(line.starts_with("[========-] 9/9 undo, commit: xxx"), "{line}");
    }
}
