//! Power cuts in the middle of an update: at random instants and at every boundary of the agent's journal, with the disks' caches
//! lost, torn or written. Whatever happens, the machine comes to the new configuration by itself, nothing that starts on it
//! ever finds a mixture, and the repository is whole.

mod tally;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::chance::Chance;
use crate::disk::{Cache, Stop};
use crate::lab::Lab;
use crate::machine::PATIENCE;
use crate::node::{Node, Target};
pub use tally::DETAILS;
use tally::{Came, Tally};

const NAP: Duration = Duration::from_millis(2);
/// One cut of so many is followed by another in the boot after it.
const AGAIN: u64 = 4;

/// What a run is asked for.
pub struct Order<'p> {
    /// How many cuts, at least.
    pub cuts: u64,
    /// What repeats them.
    pub seed: u64,
    /// The cut to begin with, from 1.
    pub first: u64,
    /// How many machines at a time.
    pub jobs: u64,
    /// Where the account goes.
    pub report: Option<&'p Path>,
}

/// An update that nobody disturbs.
#[derive(Clone, Copy, Debug)]
struct Cycle {
    took: Duration,
    records: u64,
}

/// When the power goes.
#[derive(Clone, Copy, Debug)]
enum Moment {
    After(Duration),
    At(Stop),
}

/// Makes the cuts, and fails if a machine does.
pub fn run(lab: &Lab, order: &Order<'_>) -> Result<()> {
    let cycle = measure(lab)?;
    println!("vm: an update takes {:.0} s and writes {} records", cycle.took.as_secs_f64(), cycle.records);
    let (next, tally) = (AtomicU64::new(order.first.saturating_sub(1)), Mutex::new(Tally::new(cycle)));
    std::thread::scope(|scope| {
        for _ in 0..order.jobs.max(1) {
            scope.spawn(|| work(lab, order, (&next, &tally)));
        }
    });
    let tally = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
    println!("{}", tally.account(order));
    ensure!(tally.failures.is_empty(), "{} cuts failed", tally.failures.len());
    Ok(())
}

fn measure(lab: &Lab) -> Result<Cycle> {
    let mut node = lab.node()?;
    node.machine.root().count(None);
    let start = Instant::now();
    node.desire(&Target::new_os())?;
    node.follow_to(&Target::new_os())?;
    let records = node.machine.root().seen().records;
    ensure!(records > 0, "no record of the journal was seen on the disk");
    Ok(Cycle { took: start.elapsed(), records })
}

/// Takes one cut after the other until there is none left.
fn work(lab: &Lab, order: &Order<'_>, (next, tally): (&AtomicU64, &Mutex<Tally>)) {
    let cycle = tally.lock().unwrap_or_else(PoisonError::into_inner).cycle;
    loop {
        if tally.lock().unwrap_or_else(PoisonError::into_inner).cuts >= order.cuts {
            return;
        }
        let number = next.fetch_add(1, Ordering::Relaxed);
        let mut chance = Chance::from_seed(order.seed.wrapping_add(number.wrapping_mul(0x1_0000_0001)));
        let cache = match chance.below(3) {
            0 => Cache::Lost,
            1 => Cache::Torn,
            _ => Cache::Written,
        };
        // Every other one is at a boundary, so that a long run comes to all of them.
        let moment = if number % 2 == 0 {
            Moment::After(chance.within(cycle.took))
        } else {
            Moment::At(Stop { record: (number / 2) % cycle.records + 1, flushes: chance.below(3) })
        };
        let start = Instant::now();
        let came = attempt(lab, moment, cache, &mut chance);
        let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
        let told = came.as_ref().map_or_else(|error| format!("FAILED {error:#}"), |came| format!("{came:?}"));
        let what = format!("cut {}: {moment:?}, cache {cache:?}", number + 1);
        println!("vm: {what}: {} ({:.0} s)", told.lines().next().unwrap_or_default(), start.elapsed().as_secs_f64());
        tally.add(&what, came, &told);
        // A run that somebody ends has an account of what was done.
        let written = order.report.map_or(Ok(()), |path| fs::write(path, tally.account(order)));
        if let Err(error) = written {
            println!("vm: the report cannot be written: {error}");
        }
    }
}

/// One update with one cut or two; gives where the first service after the last one has found the machine.
fn attempt(lab: &Lab, moment: Moment, cache: Cache, chance: &mut Chance) -> Result<Came> {
    let mut node = lab.node()?;
    let stop = if let Moment::At(stop) = moment { Some(stop) } else { None };
    node.machine.root().count(stop);
    node.desire(&Target::new_os())?;
    wait_for(&mut node, moment)?;
    let record = stop.filter(|_| node.machine.root().is_frozen()).map(|stop| stop.record);
    node.machine.power_cut(cache, chance)?;
    node.machine.power_on()?;
    let mut cuts = 1;
    if chance.below(AGAIN) == 0 {
        wait_for(&mut node, Moment::After(chance.within(Duration::from_secs(60))))?;
        node.machine.power_cut(cache, chance)?;
        node.machine.power_on()?;
        cuts += 1;
    }
    let first = first_boot(&mut node)?;
    judge(&mut node, &first, chance).map(|old| Came { cuts, old, record }).map_err(|error| {
        let account = node.account();
        error.context(account)
    })
}

fn judge(node: &mut Node<'_>, first: &str, chance: &mut Chance) -> Result<bool> {
    node.follow_to(&Target::new_os())?;
    let seen = node.seen()?;
    if let Some(mixture) = seen.iter().find_map(|(_, found)| found.as_ref().err()) {
        bail!("{mixture}");
    }
    // Where a machine restarts before anything starts, the next boot says it.
    let after = seen.iter().find(|(boot, _)| boot == first).or_else(|| seen.last());
    let (_, found) = after.context("no service has started after the cut")?;
    let old = *found == Ok(0);
    node.machine.run("sync")?;
    node.machine.power_cut(Cache::Lost, chance)?;
    node.machine.check_disk()?;
    Ok(old)
}

/// The boot after a cut; one that is over before anybody is there to be asked is followed by another.
fn first_boot(node: &mut Node<'_>) -> Result<String> {
    let mut greeting = node.machine.wait_for_guest(PATIENCE);
    for _ in 0..3 {
        if greeting.is_err() && node.machine.keep_on()? {
            greeting = node.machine.wait_for_guest(PATIENCE);
        }
    }
    greeting
}

/// Keeps the machine on until the moment has come. One that never comes is the end of the update.
fn wait_for(node: &mut Node<'_>, moment: Moment) -> Result<()> {
    let start = Instant::now();
    let limit = if let Moment::After(time) = moment { time } else { PATIENCE };
    let mut asked = Instant::now();
    while start.elapsed() < limit && !node.machine.root().is_frozen() {
        node.machine.keep_on()?;
        sleep(NAP);
        // A boundary of an update that is over by now is not going to come any more.
        if matches!(moment, Moment::At(_)) && asked.elapsed() > Duration::from_secs(90) && node.machine.has_guest() {
            asked = Instant::now();
            if !node.machine.root().is_frozen() && node.is_in("new").unwrap_or_default() {
                return Ok(());
            }
        }
    }
    Ok(())
}
