//! A transaction stopped after every effect, or made to fail at every one, ends as the old configuration or the new.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use ostler_core::protocol::Rules;
use ostler_core::transaction::{Ending, Finished, Trial};

use super::generate::{Dice, random};
use super::{apply, fresh, io_error, open, recover, status, tree};
use crate::disk::memory::{ERRNOS, Loss, MemoryDisk, Node, every_crash, every_error};
use crate::disk::{Attributes, RootPath};
use crate::transaction::{self, Trouble, World};

/// Seeds of the plans that are cut off, whose recovery is cut off, and that meet errors.
const CRASHES: Range<u64> = 0..200;
const RECOVERIES: Range<u64> = 1000..1006;
const ERRORS: Range<u64> = 2000..2012;

/// What is done to a machine as one transaction.
type Work = Box<dyn Fn(&MemoryDisk) -> Result<Option<Finished>, Trouble>>;

/// One generated change, with both of its ends.
struct Case {
    seed: u64,
    before: MemoryDisk,
    old: BTreeMap<String, Node>,
    new: BTreeMap<String, Node>,
    /// What is on trial at either end.
    trials: [Option<Trial>; 2],
    work: Work,
}

impl Case {
    /// From one configuration to another. Every fourth machine has been in two before.
    fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let before = fresh();
        if seed.is_multiple_of(4) {
            apply(&before, &random("rendered-0", &mut dice)).unwrap();
        }
        apply(&before, &random("rendered-1", &mut dice)).unwrap();
        let target = random("rendered-2", &mut dice);
        Self::of(seed, before, Box::new(move |disk| apply(disk, &target)))
    }

    /// From the second configuration back to the first.
    fn rollback(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let before = fresh();
        apply(&before, &random("rendered-1", &mut dice)).unwrap();
        apply(&before, &random("rendered-2", &mut dice)).unwrap();
        Self::of(
            seed,
            before,
            Box::new(|disk| {
                let machine = open(disk)?;
                let proposal = transaction::propose_rollback(&machine, &Rules::default())?;
                proposal.map(|proposal| transaction::run(&machine, &proposal, &mut |_| {})).transpose()
            }),
        )
    }

    /// From a machine that was tampered with to what its configuration says.
    fn repair(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let before = fresh();
        let config = random("rendered-1", &mut dice);
        apply(&before, &config).unwrap();
        let plain = Attributes { mode: 0o666, uid: 3, gid: 3 };
        for (number, file) in config.config.ignition.files.iter().enumerate() {
            let path = RootPath::new(file.path.as_str()).unwrap();
            match number % 3 {
                0 => before.put(&path, b"by hand", plain).unwrap(),
                1 => before.put_link(&path, "/etc/passwd").unwrap(),
                _ => {}
            }
        }
        before.put(&RootPath::new("/etc/systemd/system/a.service.d/99-hand.conf").unwrap(), b"", plain).unwrap();
        Self::of(
            seed,
            before,
            Box::new(|disk| {
                let machine = open(disk)?;
                let proposal = machine.propose_repair(&[])?;
                proposal.map(|proposal| transaction::run(&machine, &proposal, &mut |_| {})).transpose()
            }),
        )
    }

    fn of(seed: u64, before: MemoryDisk, work: Work) -> Self {
        let after = before.kill();
        assert_eq!(work(&after).unwrap().unwrap().ending, Ending::Applied);
        let trials = [status(&before).trial, status(&after).trial];
        Self { seed, old: tree(&before), new: tree(&after), trials, before, work }
    }

    fn work(&self, disk: &MemoryDisk) -> std::io::Result<()> {
        (self.work)(disk).map(drop).map_err(io_error)
    }

    /// Nothing but the two ends will do, and nothing may be left open.
    fn check(&self, disk: &MemoryDisk, at: &dyn std::fmt::Debug) {
        let found = tree(disk);
        if found != self.old && found != self.new {
            let differing: Vec<_> =
                found.iter().filter(|(path, node)| self.new.get(*path) != Some(node)).map(|(path, _)| path).collect();
            let missing: Vec<_> = self.new.keys().filter(|path| !found.contains_key(*path)).collect();
            let from_old: Vec<_> =
                found.iter().filter(|(path, node)| self.old.get(*path) != Some(node)).map(|(path, _)| path).collect();
            panic!(
                "seed {} at {at:?}: neither old nor new\nnot new: {differing:?}\nnot there: {missing:?}\nnot old: {from_old:?}",
                self.seed
            );
        }
        let [old, new] = &self.trials;
        let trial = if found == self.old && found != self.new { old } else { new };
        assert_eq!(status(disk).trial, *trial, "seed {} at {at:?}: trial", self.seed);
        assert_eq!(tree(&disk.crash(&mut Loss::everything())), found, "seed {} at {at:?}: durable", self.seed);
        assert!(open(disk).unwrap().observe().unwrap().interrupted.is_none(), "seed {} at {at:?}: open", self.seed);
    }
}

/// Does something with each seed, on all processors.
fn each(seeds: Range<u64>, work: impl Fn(u64) + Sync) {
    let next = AtomicU64::new(seeds.start);
    let (next, work) = (&next, &work);
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(move || {
                std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed))
                    .take_while(|seed| *seed < seeds.end)
                    .for_each(work);
            });
        }
    });
}

/// Disks that were found, and how many of them were unlike all others of their plan. What recovery makes of a disk depends
/// on the disk alone, so each is tried once.
#[derive(Default)]
struct Tally {
    points: AtomicUsize,
    different: AtomicUsize,
}

impl Tally {
    fn add(&self, points: usize, seen: &RefCell<HashSet<u128>>) {
        self.points.fetch_add(points, Ordering::Relaxed);
        self.different.fetch_add(seen.borrow().len(), Ordering::Relaxed);
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} points, {} different disks",
            self.points.load(Ordering::Relaxed),
            self.different.load(Ordering::Relaxed)
        )
    }
}

#[test]
fn the_plans_are_of_both_kinds_that_the_journal_keeps_texts_in() {
    let is_delta = |node: &Node| matches!(node, Node::File { contents, .. } if contents.starts_with(b"ostler-delta "));
    let count = |seed| {
        let case = Case::new(seed);
        let after = case.before.kill();
        case.work(&after).unwrap();
        let deltas = after.tree().values().filter(|node| is_delta(node)).count();
        // The first text is whole, and of those that are alike the others are not.
        let expected = if seed % 4 == 0 { 2 } else { usize::from(seed % 2 == 0) };
        assert_eq!(deltas, expected, "seed {seed}");
    };
    for seeds in [CRASHES, RECOVERIES, ERRORS] {
        each(seeds, count);
    }
}

#[test]
fn every_crash_ends_as_the_old_or_the_new_configuration() {
    const LOSSES: u64 = 1;
    let tally = Tally::default();
    each(CRASHES, |seed| {
        let (case, seen) = (Case::new(seed), RefCell::default());
        let tried = every_crash(
            || case.before.kill(),
            |disk| case.work(disk),
            LOSSES,
            |disk, point| {
                if !is_new(&seen, &disk) {
                    return;
                }
                recover(&disk).unwrap_or_else(|trouble| panic!("seed {seed} at {point:?}: {}", trouble.reason()));
                case.check(&disk, &point);
            },
        );
        tally.add(tried.unwrap(), &seen);
    });
    println!("crashes: {} plans, {tally}, each the old or the new configuration", CRASHES.count());
}

#[test]
fn rollbacks_and_repairs_survive_every_crash_too() {
    const PLANS: u64 = 10;
    let tally = Tally::default();
    each(3000..3000 + PLANS, |seed| {
        for case in [Case::rollback(seed), Case::repair(seed)] {
            let seen = RefCell::default();
            let tried = every_crash(
                || case.before.kill(),
                |disk| case.work(disk),
                1,
                |disk, point| {
                    if is_new(&seen, &disk) {
                        recover(&disk).unwrap_or_else(|trouble| panic!("{seed} at {point:?}: {}", trouble.reason()));
                        case.check(&disk, &point);
                    }
                },
            );
            tally.add(tried.unwrap(), &seen);
        }
    });
    println!("rollbacks and repairs: {PLANS} of each, {tally}, each the old or the new state");
}

#[test]
fn a_crash_during_recovery_is_recovered_from() {
    let tally = Tally::default();
    each(RECOVERIES, |seed| {
        let (case, seen, ends) = (Case::new(seed), RefCell::default(), RefCell::default());
        let points = Cell::new(0);
        let tried = every_crash(
            || case.before.kill(),
            |disk| case.work(disk),
            1,
            |crashed, point| {
                if !is_new(&seen, &crashed) {
                    return;
                }
                let again = every_crash(
                    || crashed.kill(),
                    |disk| recover(disk).map(drop).map_err(io_error),
                    1,
                    |disk, second| {
                        if !is_new(&ends, &disk) {
                            return;
                        }
                        let at = (point, second);
                        recover(&disk).unwrap_or_else(|trouble| panic!("seed {seed} at {at:?}: {}", trouble.reason()));
                        case.check(&disk, &at);
                    },
                );
                points.set(points.get() + again.unwrap());
            },
        );
        tried.unwrap();
        tally.add(points.get(), &ends);
    });
    println!("crashes during recovery: {} plans, {tally}, each the old or the new configuration", RECOVERIES.count());
}

#[test]
fn every_error_ends_completed_or_undone_with_the_journal_intact() {
    let points = AtomicUsize::new(0);
    each(ERRORS, |seed| {
        let case = Case::new(seed);
        let outcome = Cell::new(None);
        let work = |disk: &MemoryDisk| {
            let result = (case.work)(disk);
            outcome.set(Some(result.as_ref().err().is_none_or(Trouble::unchanged)));
            result.map(drop).map_err(io_error)
        };
        let tried = every_error(
            || case.before.kill(),
            work,
            &ERRNOS,
            |disk, _, failure| {
                if outcome.take() != Some(true) {
                    recover(&disk).unwrap_or_else(|trouble| panic!("seed {seed} at {failure:?}: {}", trouble.reason()));
                }
                case.check(&disk, &failure);
            },
        );
        points.fetch_add(tried.unwrap(), Ordering::Relaxed);
    });
    println!("errors: {} plans, {} points, each completed or undone", ERRORS.count(), points.into_inner());
}

fn is_new(seen: &RefCell<HashSet<u128>>, disk: &MemoryDisk) -> bool {
    seen.borrow_mut().insert(disk.fingerprint())
}
