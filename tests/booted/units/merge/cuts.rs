//! Power cuts in a restart: aimed at a phase of the shutdown by what is seen of the machine, and counted by what was hit.

use std::fmt;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::chance::Chance;
use crate::node::Node;

const FINALISATION: &str = "ostree-finalize-staged.service";
/// How long a phase takes on an idle machine, the first one with the command. The cut comes after a random part of it.
const PHASES: [Duration; 3] = [Duration::from_millis(250), Duration::from_millis(100), Duration::from_millis(800)];
/// The same of a boot.
const BOOT: Duration = Duration::from_millis(1000);
const PATIENCE: Duration = Duration::from_secs(180);
const NAP: Duration = Duration::from_micros(200);

/// A phase of a shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The restart is being ordered, or services stop; ostree has not looked at the staged deployment.
    Before,
    /// ostree merges `/etc` into it and writes the boot loader entry.
    Finalisation,
    /// The next boot starts it. Its `/etc` is written to, the machine goes down.
    After,
}

/// How many power cuts hit which phase.
#[derive(Debug, Default)]
pub struct Cuts {
    hits: [usize; 3],
    in_boot: usize,
    /// Updates that a cut has undone.
    pub lost: usize,
}

impl Cuts {
    pub fn in_every_phase(&self) -> bool {
        self.hits.iter().all(|hits| *hits > 0)
    }

    /// One phase after the other, whatever was hit: on a slow machine one of them may be missed for long.
    fn aim(&self) -> Phase {
        [Phase::Before, Phase::Finalisation, Phase::After][self.hits.iter().sum::<usize>() % 3]
    }
}

impl fmt::Display for Cuts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { hits: [before, during, after], in_boot, lost } = self;
        write!(
            f,
            "power cuts: {before} before finalisation, {during} during it, {after} after it, {in_boot} in the boot \
             after that; {lost} updates lost and made again"
        )
    }
}

/// Orders the restart of a machine, cuts its power in the shutdown and perhaps once more in the boot after that, and waits until
/// it has come up.
pub fn cut_in_restart(node: &mut Node, chance: &mut Chance, cuts: &mut Cuts) {
    let aim = cuts.aim();
    let mut watch = Watch { old: node.machine.next_deployment().unwrap(), phase: Phase::Before };
    // The shutdown begins before the command has ended.
    let mut order = node.start(&["reboot", "--yes"]);
    watch.follow_to(node, aim);
    let end = Instant::now() + chance.within(PHASES[aim as usize]);
    while Instant::now() < end && watch.look(node) == aim {
        sleep(NAP);
    }
    watch.look(node);
    node.machine.power_cut();
    order.wait().unwrap();
    // The entry of the boot loader stays, and says more than the last look at the processes.
    cuts.hits[watch.look(node) as usize] += 1;
    node.machine.launch_again();
    if chance.below(2) == 0 {
        sleep(chance.within(BOOT));
        node.machine.power_cut();
        cuts.in_boot += 1;
        node.machine.launch_again();
    }
    node.machine.wait_for_boot();
}

/// What was seen of a shutdown.
struct Watch {
    /// The deployment that would have been booted before it.
    old: PathBuf,
    phase: Phase,
}

impl Watch {
    fn look(&mut self, node: &Node) -> Phase {
        if node.machine.next_deployment().is_some_and(|next| next != self.old) {
            self.phase = Phase::After;
        } else if node.machine.has_processes_in(FINALISATION) {
            self.phase = Phase::Finalisation;
        }
        self.phase
    }

    fn follow_to(&mut self, node: &Node, aim: Phase) {
        let start = Instant::now();
        while (self.look(node) as usize) < aim as usize {
            assert!(start.elapsed() < PATIENCE, "the shutdown does not come to {aim:?}");
            sleep(NAP);
        }
    }
}
