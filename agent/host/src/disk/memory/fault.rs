//! Faults that are planned for the n-th operation, and the error by which a power cut is known.

use std::io;

use nix::errno::Errno;

/// What happens to an operation instead of the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The machine stops: this and all later operations fail with [`PowerCut`].
    Crash,
    /// This operation fails, later ones do not.
    Error(Errno),
    /// This and all later operations fail. A full disk (`ENOSPC`, `EDQUOT`) refuses only what takes space, so that
    /// removing still works.
    ErrorFrom(Errno),
}

/// The error of every operation on a disk whose machine has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the machine has stopped")]
pub struct PowerCut;

impl PowerCut {
    /// Whether an error is this one and not one that the disk gave.
    pub fn is(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<Self>())
    }
}

/// Whether an operation needs free space on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    Takes,
    Spares,
}

/// Counts operations and says which of them fail.
#[derive(Clone, Debug, Default)]
pub(super) struct Schedule {
    count: u64,
    faults: Vec<(u64, Fault)>,
}

impl Schedule {
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn plan(&mut self, at: u64, fault: Fault) {
        self.faults.push((at, fault));
    }

    pub(super) fn clear(&mut self) {
        self.faults.clear();
    }

    /// Counts one operation; the fault that it meets, if any.
    pub(super) fn next(&mut self, space: Space) -> Option<Fault> {
        let number = self.count;
        self.count += 1;
        let meets = |(at, fault): &&(u64, Fault)| match fault {
            Fault::Crash | Fault::Error(_) => number == *at,
            Fault::ErrorFrom(Errno::ENOSPC | Errno::EDQUOT) => number >= *at && space == Space::Takes,
            Fault::ErrorFrom(_) => number >= *at,
        };
        self.faults.iter().find(meets).map(|(_, fault)| *fault)
    }
}
