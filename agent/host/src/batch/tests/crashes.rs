//! Power cuts and kills: each file is old or new, and applying again finishes the work.

use super::*;
use crate::disk::memory::{Ending, Point, every_crash};

#[test]
fn a_batch_is_applied_and_counted() {
    let (disk, batch) = mixed();
    let ends = Ends::of(&disk, &batch);
    assert_eq!(apply(&disk, &batch, TAG).unwrap(), Counts { written: 14, unchanged: 2, removed: 3 });
    assert_eq!(disk.tree(), ends.new);
    ends.assert_converges(&disk, &batch, &"again");
}

#[test]
fn after_a_crash_each_file_is_old_or_new_and_applying_again_converges() {
    for (name, scenario) in SCENARIOS {
        let (disk, batch) = scenario();
        let ends = Ends::of(&disk, &batch);
        let points = every_crash(
            || scenario().0,
            |disk| run(disk, &batch),
            40,
            |disk, point| {
                ends.assert_between(&disk.tree(), &point);
                ends.assert_converges(&disk, &batch, &point);
            },
        );
        println!("batch {name}: {} crash points", points.unwrap());
    }
}

#[test]
fn after_a_crash_of_the_repair_too_applying_again_converges() {
    let (disk, batch) = mixed();
    let ends = Ends::of(&disk, &batch);
    let total = std::cell::Cell::new(0);
    let repair = |disk: MemoryDisk, first| {
        if !matches!(first, Point { ending: Ending::Kill | Ending::PowerCut(4), .. }) {
            return;
        }
        let check = |disk: MemoryDisk, second| {
            ends.assert_between(&disk.tree(), &(first, second));
            ends.assert_converges(&disk, &batch, &(first, second));
        };
        let points = every_crash(|| disk.kill(), |disk| run(disk, &batch), 1, check).unwrap();
        total.set(total.get() + points);
    };
    every_crash(|| mixed().0, |disk| run(disk, &batch), 5, repair).unwrap();
    println!("batch: {} crash points in repairs", total.get());
}
