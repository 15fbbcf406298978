//! What became of the cuts, and the account of it that is kept.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::Result;

use super::{Cycle, Order};

/// Where the details of failures go, below the directory of the run.
pub const DETAILS: &str = "target/vm-cuts";

/// A machine that has come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Came {
    /// How often it lost its power.
    pub cuts: u64,
    /// Whether the first service after that has found the old configuration.
    pub old: bool,
    /// The record of the agent's journal that it was cut off at.
    pub record: Option<u64>,
}

/// All of them.
pub struct Tally {
    /// What the updates are measured by.
    pub cycle: Cycle,
    /// How often a machine has lost its power.
    pub cuts: u64,
    began: Instant,
    old: u64,
    new: u64,
    records: BTreeSet<u64>,
    /// What failed.
    pub failures: Vec<String>,
}

impl Tally {
    /// Begins with none.
    pub fn new(cycle: Cycle) -> Self {
        let (began, records, failures) = (Instant::now(), BTreeSet::new(), Vec::new());
        Self { cycle, cuts: 0, began, old: 0, new: 0, records, failures }
    }

    /// Takes one in.
    pub fn add(&mut self, what: &str, came: Result<Came>, told: &str) {
        match came {
            Ok(came) => {
                self.cuts += came.cuts;
                *(if came.old { &mut self.old } else { &mut self.new }) += 1;
                self.records.extend(came.record);
            }
            Err(_) => {
                self.cuts += 1;
                self.failures.push(what.to_owned());
                let at = Path::new(DETAILS).join(format!("failure-{}.txt", self.failures.len()));
                let kept = fs::create_dir_all(DETAILS).and_then(|()| fs::write(&at, format!("{what}\n\n{told}")));
                println!("vm: see {} ({kept:?})", at.display());
            }
        }
    }

    /// The report: a summary line, and how it came about.
    pub fn account(&self, order: &Order<'_>) -> String {
        let Self { cycle, cuts, old, new, failures, records, began } = self;
        let updates = self.old + self.new + failures.len() as u64;
        let mut text = format!(
            "cuts: {cuts} tried in {updates} updates, {old} came back to old, {new} to new, {} failed (seed {}, {:.0} s)\n\n",
            failures.len(),
            order.seed,
            began.elapsed().as_secs_f64()
        );
        if *cuts < order.cuts {
            let _ = writeln!(text, "The run was ended before the {} cuts that it was asked for.\n", order.cuts);
        }
        let _ = writeln!(
            text,
            "All cuts are hard: QEMU is killed, and what its disks had not flushed is lost, torn or written. Every other update is \
             cut at a record of the agent's journal, the rest at any instant of the {:.0} s that one takes; {} of its {} records \
             were cut at. One update of four loses its power once more while the machine boots. Old and new are what the first \
             service after the last cut has found. What is not counted as failed booted, came to the new configuration by \
             itself, showed no service a mixture, and has a whole repository.",
            cycle.took.as_secs_f64(),
            records.len(),
            cycle.records
        );
        for failure in failures {
            let _ = writeln!(text, "\n- failed: {failure}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_account_says_how_much_was_asked_for_and_what_failed() {
        let mut tally = Tally::new(Cycle { took: Duration::from_secs(90), records: 16 });
        tally.add("cut 1", Ok(Came { cuts: 2, old: true, record: None }), "");
        tally.add("cut 2", Ok(Came { cuts: 1, old: false, record: Some(3) }), "");
        let order = Order { cuts: 3, seed: 7, first: 1, jobs: 1, report: None };
        let account = tally.account(&order);
        assert!(account.starts_with("cuts: 3 tried in 2 updates, 1 came back to old, 1 to new, 0 failed (seed 7, "));
        assert!(account.contains("1 of its 16 records") && !account.contains("ended before"), "{account}");
        tally.failures.push("cut 3".to_owned());
        let account = tally.account(&Order { cuts: 100, ..order });
        assert!(account.contains("1 failed") && account.contains("- failed: cut 3"), "{account}");
        assert!(account.contains("before the 100 cuts"), "{account}");
    }
}
