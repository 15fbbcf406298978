//! Phases as the numbers that the journal notes, apart for the two directions: turning back must not inherit what was
//! done on the way forward.

use ostler_core::transaction::{Direction, Phase};

use crate::journal::Completed;

const BACK: u32 = 16;

const NUMBERED: &[(Phase, u32)] =
    &[(Phase::Preserve, 0), (Phase::Write, 1), (Phase::Tidy, 2), (Phase::Units, 3), (Phase::Services, 4)];

const fn offset(direction: Direction) -> u32 {
    match direction {
        Direction::Forward => 0,
        Direction::Back => BACK,
    }
}

/// The number of a phase; `None` for one that is not noted.
pub(super) fn number(direction: Direction, phase: Phase) -> Option<u32> {
    NUMBERED.iter().find(|(numbered, _)| *numbered == phase).map(|(_, number)| number + offset(direction))
}

/// The phases of a direction that are done.
pub(super) fn phases(direction: Direction, completed: &Completed) -> Vec<Phase> {
    let done = |(_, number): &&(Phase, u32)| completed.contains(number + offset(direction));
    NUMBERED.iter().filter(done).map(|(phase, _)| *phase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directions_do_not_share_numbers() {
        let numbers: std::collections::BTreeSet<_> = [Direction::Forward, Direction::Back]
            .into_iter()
            .flat_map(|direction| NUMBERED.iter().map(move |(phase, _)| number(direction, *phase)))
            .collect();
        assert_eq!(numbers.len(), 2 * NUMBERED.len());
        assert_eq!(number(Direction::Forward, Phase::Check), None);
    }
}
