//! Drivers that try a piece of work at every point at which it can be cut off or fail.

use std::io;

use nix::errno::Errno;

use super::{Fault, MemoryDisk};

/// Errors that a disk may give at any time.
pub const ERRNOS: [Errno; 5] = [Errno::ENOSPC, Errno::EIO, Errno::EROFS, Errno::EACCES, Errno::EINTR];

/// Where and how work was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Effects of the work that happened before.
    pub effect: u64,
    /// How.
    pub ending: Ending,
}

/// How work was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The process died, the kernel did not.
    Kill,
    /// The machine stopped, with the loss of this seed.
    PowerCut(u64),
}

/// Where and how work met an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Effects of the work that happened before.
    pub effect: u64,
    /// The error, once or from then on.
    pub fault: Fault,
}

/// Cuts work off before each of its effects and after the last, each time by a kill and by power cuts with `losses`
/// seeds, and has each disk that is found then checked; gives the number of disks. Fails if the work, left alone, does.
///
/// The work runs once: a machine that has stopped changes nothing more, so that the disk before an effect is the one that
/// is found after stopping there.
pub fn every_crash(
    setup: impl Fn() -> MemoryDisk,
    work: impl Fn(&MemoryDisk) -> io::Result<()>,
    losses: u64,
    check: impl Fn(MemoryDisk, Point),
) -> io::Result<usize> {
    let disk = setup();
    disk.remember();
    work(&disk)?;
    let mut points = 0;
    for (effect, found) in (0..).zip(disk.history()) {
        check(found.kill(), Point { effect, ending: Ending::Kill });
        for seed in 0..losses {
            check(found.reboot(seed), Point { effect, ending: Ending::PowerCut(seed) });
        }
        points += 1 + usize::try_from(losses).unwrap_or(usize::MAX);
    }
    Ok(points)
}

/// Lets each effect of work fail with each error, once and from then on, and has each disk checked along with what the
/// work said, with the error gone; gives the number of disks. Fails if the work, left alone, does.
pub fn every_error(
    setup: impl Fn() -> MemoryDisk,
    work: impl Fn(&MemoryDisk) -> io::Result<()>,
    errnos: &[Errno],
    check: impl Fn(MemoryDisk, io::Result<()>, Failure),
) -> io::Result<usize> {
    let effects = count(&setup, &work)?;
    let mut points = 0;
    for effect in 0..effects {
        for fault in errnos.iter().flat_map(|errno| [Fault::Error(*errno), Fault::ErrorFrom(*errno)]) {
            let disk = setup();
            disk.fail_at(disk.effects() + effect, fault);
            let outcome = work(&disk);
            disk.heal();
            check(disk, outcome, Failure { effect, fault });
            points += 1;
        }
    }
    Ok(points)
}

fn count(setup: impl Fn() -> MemoryDisk, work: impl Fn(&MemoryDisk) -> io::Result<()>) -> io::Result<u64> {
    let disk = setup();
    let before = disk.effects();
    work(&disk)?;
    Ok(disk.effects() - before)
}
