//! What became of the cuts, and the account of it that is kept.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::Order;

/// Where the details of failures go, below the directory of the run.
const DETAILS: &str = "target/vm-cuts";

/// A machine that has come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Came {
    /// How often it lost its power.
    pub cuts: u64,
    /// Whether the first service after that has found the old configuration.
    pub old: bool,
}

/// All of them.
#[derive(Default)]
pub struct Tally {
    cuts: u64,
    old: u64,
    new: u64,
    /// What failed.
    pub failures: Vec<String>,
}

impl Tally {
    /// Takes one in.
    pub fn add(&mut self, what: &str, came: Result<Came>, told: &str) {
        match came {
            Ok(came) => {
                self.cuts += came.cuts;
                *(if came.old { &mut self.old } else { &mut self.new }) += 1;
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
    pub fn account(&self, order: &Order<'_>, records: u64, took: Duration) -> String {
        let Self { cuts, old, new, failures } = self;
        let mut text = format!(
            "cuts: {cuts} tried, {old} came back to old, {new} to new, {} failed (seed {}, {:.0} s)\n\n",
            failures.len(),
            order.seed,
            took.as_secs_f64()
        );
        let _ = writeln!(
            text,
            "All cuts are hard: QEMU is killed, and what its disks had not flushed is lost, torn or written. Every other update \
             is cut at one of the {records} records of the agent's journal. Old and new are what the first service after the cut \
             found; all machines came to the new configuration by themselves, with a whole repository."
        );
        for failure in failures {
            let _ = writeln!(text, "\n- failed: {failure}");
        }
        text
    }
}
