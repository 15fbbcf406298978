//! The whole machine killed at random instants of updates that nobody but the agent follows: it comes to one of both ends
//! by itself, whatever starts on it finds one configuration and no mixture, and the repository is whole.
//!
//! `OSTLER_KILLS` says how many, `OSTLER_KILL_SEED` repeats a run as far as a scheduler lets it, `OSTLER_KILLS_REPORT` names a
//! file for the account of it. `cargo xtask vm kills` sets all three.

mod probe;
mod tally;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use super::Agent;
use crate::booted::wait_until;
use crate::chance::Chance;
use crate::node::{DRIVERS, Driver};
use tally::{Run, Tally};

const KILLS: &str = "OSTLER_KILLS";
const REPORT: &str = "OSTLER_KILLS_REPORT";
/// Without anybody's word: what a test run has time for.
const FEW: u64 = 24;
/// How long a machine may take to be where it should, restarts included.
const PATIENCE: Duration = Duration::from_secs(180);
/// A machine is as new after so many cycles, so that nothing of it grows without bounds.
const FRESH: u64 = 60;
/// One kill of so many is followed by another in the boot after it.
const AGAIN: u64 = 4;
const NAP: Duration = Duration::from_millis(2);
const NAMES: [&str; 2] = ["old", "new"];
const UNIT: &str = "[Unit]\nWants=ostler-recover.service\nAfter=ostler-recover.service ostree-boot-complete.service\n";

/// A machine that is to be killed.
struct Victim {
    agent: Agent,
    /// Where it is.
    at: usize,
    /// How long it takes to get to the other end, per target.
    usual: [Duration; 2],
    cycles: u64,
}

impl Victim {
    fn new(driver: Driver) -> Option<Self> {
        let agent = Agent::start(driver, 20, UNIT)?;
        agent.desire("2-new", &agent.node.new_config());
        probe::install(&agent.node);
        let mut victim = Self { agent, at: 0, usual: [Duration::ZERO; 2], cycles: 0 };
        for target in [1, 0] {
            let start = Instant::now();
            victim.desire(target);
            victim.follow_to(target);
            victim.usual[target] = start.elapsed();
        }
        eprintln!("{driver:?}: an update takes {:?}", victim.usual);
        Some(victim)
    }

    /// Says where the machine is to be, in one effect.
    fn desire(&self, target: usize) {
        let [new, at] = ["new", "desired"].map(|name| self.agent.node.machine.path(super::DESIRED).join(name));
        fs::write(&new, NAMES[target]).unwrap();
        fs::rename(new, at).unwrap();
    }

    /// Restarts the machine if it has gone down by itself.
    fn keep_on(&mut self) {
        if !self.agent.node.machine.is_on() {
            self.agent.node.machine.reboot_and_watch();
        }
    }

    fn keep_on_for(&mut self, time: Duration) {
        let start = Instant::now();
        while start.elapsed() < time {
            self.keep_on();
            sleep(NAP);
        }
        self.keep_on();
    }

    fn follow_to(&mut self, target: usize) {
        let start = Instant::now();
        loop {
            self.keep_on();
            let object = self.agent.object();
            if object["status"]["configVersion"]["current"] == NAMES[target] && self.agent.is("Updated") {
                break;
            }
            assert!(start.elapsed() < PATIENCE, "it does not come to {}: {object:#}", NAMES[target]);
            sleep(NAP);
        }
        self.at = target;
    }

    /// One update with one kill or two; gives where the first service after the last kill has found the machine.
    fn cycle(&mut self, chance: &mut Chance, tally: &mut Tally) -> Result<(), String> {
        self.cycles += 1;
        let (from, target) = (self.at, 1 - self.at);
        let before = probe::count(&self.agent.node);
        self.desire(target);
        let mut instant = chance.within(self.usual[target]);
        let mut cut;
        loop {
            self.keep_on_for(instant);
            self.agent.node.machine.power_cut();
            tally.kill();
            cut = probe::count(&self.agent.node);
            self.agent.node.machine.launch_again();
            if chance.below(AGAIN) != 0 {
                break;
            }
            instant = chance.within(self.usual[target] / 2);
        }
        self.follow_to(target);
        self.check(from, before, cut, tally)
    }

    fn check(&mut self, from: usize, before: usize, cut: usize, tally: &mut Tally) -> Result<(), String> {
        let node = &self.agent.node;
        // On a busy machine the agent may be at rest before the first service of the boot has started.
        let boot = node.machine.boot_id();
        wait_until("the first service has started", || probe::has_looked_in(node, &boot));
        let seen: Vec<_> = probe::seen(node, before).into_iter().collect::<Result<_, _>>()?;
        let first = *seen.get(cut - before).ok_or("no service has started after the kill")?;
        let last = *seen.last().unwrap_or(&from);
        if last != self.at || node.end() != NAMES[self.at] {
            return Err(format!("it says {}, and is in {}", NAMES[self.at], node.end()));
        }
        node.machine.run("ostree", &["fsck", "--repo=/sysroot/ostree/repo"]);
        tally.came_to(first == from);
        Ok(())
    }

    /// What a person needs to understand a failure.
    fn account(&mut self) -> String {
        self.keep_on();
        let asked = catch_unwind(AssertUnwindSafe(|| {
            format!("{:#}\n{}", self.agent.node.status(), self.agent.node.machine.journal(&["--lines=400"]))
        }));
        asked.unwrap_or_else(|_| "the machine cannot be asked".to_owned())
    }
}

/// Kills machines of one driver; `None` where there is nothing to run them in.
fn kill_all(driver: Driver, kills: u64, seed: u64, run: &Run) -> Option<()> {
    let (mut tally, mut chance) = (Tally::new(), Chance::from_seed(seed));
    let mut victim: Option<Victim> = None;
    while tally.kills < kills {
        let mut current = match victim.take().filter(|victim| victim.cycles < FRESH) {
            Some(victim) => victim,
            None => Victim::new(driver)?,
        };
        let number = tally.kills + 1;
        let ended = catch_unwind(AssertUnwindSafe(|| current.cycle(&mut chance, &mut tally)));
        match ended.unwrap_or_else(|panic| Err(words(&*panic))) {
            Ok(()) => victim = Some(current),
            Err(reason) => {
                tally.fail(format!("{driver:?}, kill {number}: {reason}"), current.account());
            }
        }
        run.note(driver, &tally);
    }
    Some(())
}

fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

#[test]
fn a_machine_that_is_killed_at_any_instant_comes_to_one_of_both_ends_by_itself() {
    let kills = env::var(KILLS).map_or(FEW, |number| number.parse().expect("the number of kills is a number"));
    let seed = Chance::new().seed();
    eprintln!("{kills} kills, seed {seed}");
    let (each, run) = (kills.div_ceil(2), Run::new(kills, seed, env::var_os(REPORT).map(Into::into)));
    let ended = thread::scope(|scope| {
        let workers = DRIVERS.map(|driver| {
            let (own, run) = (seed.wrapping_add(driver as u64), &run);
            scope.spawn(move || kill_all(driver, each, own, run))
        });
        workers.map(|worker| worker.join().unwrap())
    });
    if ended.contains(&None) {
        return;
    }
    let (account, well) = run.end();
    eprintln!("{account}");
    assert!(well, "see above");
}
