//! How long the parts of a change took: the root half says when each begins.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use ostler_core::transaction::{Direction, Phase, Progress};

use crate::show;

/// The parts, in the order in which each was first begun. There are no more of them than phases in two directions.
#[derive(Debug, Default)]
pub struct Stopwatch {
    parts: Vec<Part>,
    running: Option<Instant>,
}

#[derive(Debug)]
struct Part {
    phase: Phase,
    direction: Direction,
    took: Duration,
}

impl Stopwatch {
    /// Something of a part begins now, and whatever was before it ends.
    pub fn enter(&mut self, step: &Progress, now: Instant) {
        self.end(now);
        let (phase, direction) = (step.phase, step.direction);
        let found = self.parts.iter().position(|part| part.phase == phase && part.direction == direction);
        // The one that runs is the last.
        let part = match found {
            Some(at) => self.parts.remove(at),
            None => Part { phase, direction, took: Duration::ZERO },
        };
        self.parts.push(part);
        self.running = Some(now);
    }

    /// Nothing runs any more.
    pub fn end(&mut self, now: Instant) {
        if let (Some(since), Some(part)) = (self.running.take(), self.parts.last_mut()) {
            part.took += now.saturating_duration_since(since);
        }
    }

    /// What came after it, of another question.
    pub fn add(&mut self, later: Self) {
        for part in later.parts {
            match self.parts.iter_mut().find(|own| own.phase == part.phase && own.direction == part.direction) {
                Some(own) => own.took += part.took,
                None => self.parts.push(part),
            }
        }
    }

    /// All of them, for a person; nothing where nothing was begun.
    pub fn words(&self) -> Option<String> {
        let mut text = String::new();
        for Part { phase, direction, took } in &self.parts {
            let comma = if text.is_empty() { "" } else { ", " };
            let back = if *direction == Direction::Back { " back" } else { "" };
            let _ = write!(text, "{comma}{}{back} {:.1} s", show::phase(*phase), took.as_secs_f64());
        }
        (!text.is_empty()).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(phase: Phase, direction: Direction) -> Progress {
        Progress { direction, phase, subject: None }
    }

    #[test]
    fn what_runs_counts_for_the_part_that_began_last() {
        let start = Instant::now();
        let after = |tenths: u64| start + Duration::from_millis(100 * tenths);
        let mut first = Stopwatch::default();
        assert_eq!(first.words(), None);
        first.enter(&step(Phase::Check, Direction::Forward), after(0));
        first.enter(&step(Phase::Check, Direction::Forward), after(3));
        first.end(after(4));
        let mut second = Stopwatch::default();
        for (phase, direction, at) in [
            (Phase::Check, Direction::Forward, 10),
            (Phase::Stage, Direction::Forward, 12),
            (Phase::Stage, Direction::Back, 362),
            (Phase::Stage, Direction::Forward, 363),
        ] {
            second.enter(&step(phase, direction), after(at));
        }
        second.end(after(373));
        second.end(after(900));
        first.add(second);
        assert_eq!(first.words().unwrap(), "check 0.6 s, stage back 0.1 s, stage 36.0 s");
    }

    #[test]
    fn a_clock_that_goes_back_takes_no_time() {
        let (late, early) = (Instant::now() + Duration::from_secs(9), Instant::now());
        let mut watch = Stopwatch::default();
        watch.enter(&step(Phase::Commit, Direction::Forward), late);
        watch.end(early);
        assert_eq!(watch.words().unwrap(), "commit 0.0 s");
    }
}
