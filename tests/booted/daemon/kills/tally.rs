//! What became of the kills, and the account of it that is kept.

use std::fmt::{Debug, Write as _};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::node::{DRIVERS, Driver};

/// The kills of one driver.
#[derive(Clone)]
pub struct Tally {
    pub kills: u64,
    pub old: u64,
    pub new: u64,
    pub failures: Vec<String>,
}

impl Tally {
    pub fn new() -> Self {
        Self { kills: 0, old: 0, new: 0, failures: Vec::new() }
    }

    pub fn kill(&mut self) {
        self.kills += 1;
    }

    /// Where the first service after a kill has found the machine.
    pub fn came_to(&mut self, old: bool) {
        *(if old { &mut self.old } else { &mut self.new }) += 1;
    }

    /// Keeps what happened beside the build, and a line of it here.
    pub fn fail(&mut self, reason: String, account: String) {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kills");
        let at =
            directory.join(format!("{}.txt", reason.split(':').next().unwrap_or_default().replace([',', ' '], "-")));
        let written = fs::create_dir_all(&directory).and_then(|()| fs::write(&at, format!("{reason}\n\n{account}")));
        written.unwrap();
        eprintln!("FAILED {reason}\nsee {}", at.display());
        self.failures.push(reason);
    }
}

/// What a run was asked for, and what has become of it.
pub struct Run {
    kills: u64,
    seed: u64,
    began: Instant,
    report: Option<PathBuf>,
    tallies: Mutex<[Tally; 2]>,
}

impl Run {
    pub fn new(kills: u64, seed: u64, report: Option<PathBuf>) -> Self {
        let tallies = Mutex::new([Tally::new(), Tally::new()]);
        Self { kills, seed, began: Instant::now(), report, tallies }
    }

    /// Takes in how a driver stands. A run that somebody ends has an account of what was done.
    pub fn note(&self, driver: Driver, tally: &Tally) {
        let mut tallies = self.tallies.lock().unwrap();
        tallies[driver as usize] = tally.clone();
        if let Some(path) = &self.report {
            fs::write(path, self.account(&tallies[..])).unwrap();
        }
    }

    fn account(&self, tallies: &[Tally]) -> String {
        let mut text = account(&DRIVERS, tallies, self.seed, self.began.elapsed());
        if tallies.iter().map(|tally| tally.kills).sum::<u64>() < self.kills {
            let _ = writeln!(text, "\nThe run was ended before the {} kills that it was asked for.", self.kills);
        }
        text
    }

    /// The account, and whether nothing failed.
    pub fn end(self) -> (String, bool) {
        let tallies = self.tallies.lock().unwrap();
        (self.account(&tallies[..]), tallies.iter().all(|tally| tally.failures.is_empty()))
    }
}

/// What the numbers are of.
const EXPLAINED: &str = "A kill takes all processes of a node in a container at once, at any instant of an update, of the \
    shutdown or of the boot that follow; one of four is followed by another in the boot after it. Old and new are what the first \
    service after the last kill of an update has found. What is not counted as failed came to the desired configuration by itself, \
    showed no service a mixture, and has a whole repository.";

/// The report: a summary line, and what it is made of.
fn account(drivers: &[impl Debug], tallies: &[Tally], seed: u64, took: Duration) -> String {
    let sum = |of: fn(&Tally) -> u64| tallies.iter().map(of).sum::<u64>();
    let failed = sum(|tally| tally.failures.len() as u64);
    let (tried, old, new) = (sum(|tally| tally.kills), sum(|tally| tally.old), sum(|tally| tally.new));
    let mut text = format!(
        "kills: {tried} tried in {} updates, {old} came back to old, {new} to new, {failed} failed (seed {seed}, {:.0} s)\n\n\
         {EXPLAINED}\n\n",
        old + new + failed,
        took.as_secs_f64()
    );
    text.push_str("| driver | kills | old | new | failed |\n|---|---|---|---|---|\n");
    for (driver, tally) in drivers.iter().zip(tallies) {
        let Tally { kills, old, new, failures } = tally;
        let _ = writeln!(text, "| {driver:?} | {kills} | {old} | {new} | {} |", failures.len());
    }
    for failure in tallies.iter().flat_map(|tally| &tally.failures) {
        let _ = writeln!(text, "\n- {failure}");
    }
    text
}
