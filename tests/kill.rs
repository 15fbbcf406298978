//! The real commands killed at random instants on a real kernel: what is recovered is the old configuration or the new
//! one, and the machine says which.
#![cfg(test)]

#[path = "sandbox/mod.rs"]
mod sandbox;

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use sandbox::{Chance, JOURNAL, Running, SEED, Sandbox, Tree, differences, file};

const ROUNDS: usize = 300;
/// Every so many rounds the machine is as new, without the directories that earlier rounds have left empty.
const FRESH: usize = 5;

fn unit(name: &str, text: &str) -> Value {
    let contents = format!("[Unit]\nDescription={text}\n[Install]\nWantedBy=multi-user.target\n");
    json!({"name": name, "enabled": true, "contents": contents})
}

/// A hundred and fifty files in fifteen directories, a third of which only one of the two has.
fn config(own: &str, other_has: u64) -> Value {
    let mut files: Vec<Value> = Vec::new();
    for number in (0..150u64).filter(|number| number % 6 != other_has) {
        let path = format!("/etc/proof/{}/file-{number}.conf", number % 15);
        let lines = usize::try_from(number % 40 + 1).unwrap();
        files.push(file(&path, format!("{number} of {own}\n").repeat(lines)));
    }
    files.push(file(&format!("/etc/only-{own}/deep/er/file"), own));
    json!({
        "storage": {"files": files},
        "systemd": {"units": [
            unit("both.service", own),
            unit(&format!("only-{own}.service"), own),
            {"name": "kubelet.service", "dropins": [{"name": format!("10-{own}.conf"), "contents": format!("# {own}\n")}]},
            {"name": "masked.service", "mask": own == "b"},
        ]},
        "passwd": {"users": [{
            "name": "core",
            "passwordHash": format!("$6$salt${own}{}", own.repeat(84)),
            "sshAuthorizedKeys": [format!("ssh-ed25519 AAAA{own} core@{own}")],
        }]},
    })
}

fn place() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if sandbox::is_root() && memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() }
}

/// The machine, its two configurations, and how it looks in each.
struct Proof {
    sandbox: Sandbox,
    configs: [String; 2],
    ends: [Tree; 2],
    fresh: Tree,
    template: PathBuf,
    timing: Timing,
}

/// How long things take when nobody is killed.
#[derive(Clone, Copy, Debug)]
struct Timing {
    update: Duration,
    /// The part of it that changes the machine.
    transaction: Duration,
    recovery: Duration,
}

const NAMES: [&str; 2] = ["config-a", "config-b"];

impl Proof {
    fn new() -> Self {
        let sandbox = Sandbox::within(&place());
        let configs = [sandbox.config(NAMES[0], &config("a", 5)), sandbox.config(NAMES[1], &config("b", 4))];
        clean(&sandbox, &configs[0]);
        let template = sandbox.root().with_file_name("template");
        let fresh = sandbox.tree();
        copy(sandbox.root(), &template);
        let (update, transaction) = timed(&sandbox, &configs[1]);
        let second = sandbox.tree();
        clean(&sandbox, &configs[0]);
        let first = sandbox.tree();
        clean(&sandbox, &configs[1]);
        let again = sandbox.tree();
        assert_eq!(differences(&second, &again), Vec::<String>::new(), "an update does not always end the same");
        assert!(differences(&first, &second).len() > 150, "there is too little to do");
        let began = Instant::now();
        assert_eq!(sandbox.ostler(&["recover"]).code, Some(0));
        let timing = Timing { update, transaction, recovery: began.elapsed() + transaction };
        Self { sandbox, configs, ends: [first, second], fresh, template, timing }
    }

    fn renew(&self) {
        fs::remove_dir_all(self.sandbox.root()).unwrap();
        copy(&self.template, self.sandbox.root());
    }

    fn recover(&self, kills: u64, chance: &mut Chance, tally: &mut Tally) {
        for _ in 0..kills {
            let mut recovery = self.sandbox.start(&["recover"]);
            recovery.wait(chance.within(self.timing.recovery));
            tally.recoveries_killed += usize::from(recovery.kill() && is_open(&self.sandbox));
        }
        let answer = self.sandbox.ostler(&["recover"]);
        assert!(matches!(answer.code, Some(0 | 1)), "recovery fails: {answer}");
    }
}

fn clean(sandbox: &Sandbox, config: &str) {
    let answer = sandbox.apply(config);
    assert_eq!(answer.code, Some(0), "{answer}");
}

/// Whether a transaction is open.
fn is_open(sandbox: &Sandbox) -> bool {
    sandbox.path(JOURNAL).join("plan").exists()
}

/// Waits until an update has come to its first record, or to its end.
fn wait_for_begin(sandbox: &Sandbox, update: &mut Running) {
    let record = sandbox.path(JOURNAL).join("origin");
    while !record.exists() && update.wait(Duration::from_micros(50)).is_none() {}
}

/// How long a clean update takes, and how long the transaction in it.
fn timed(sandbox: &Sandbox, config: &str) -> (Duration, Duration) {
    let began = Instant::now();
    let mut update = sandbox.start(&["apply", "--yes", "--to", config]);
    wait_for_begin(sandbox, &mut update);
    let before = began.elapsed();
    let answer = update.end();
    assert_eq!(answer.code, Some(0), "{answer}");
    (began.elapsed(), began.elapsed() - before)
}

fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap().success());
}

#[derive(Debug, Default)]
struct Tally {
    killed: usize,
    left_open: usize,
    recoveries_killed: usize,
    old: usize,
    new: usize,
}

/// One update that is killed, and its recovery; gives which configuration the machine is in.
fn round(proof: &Proof, standing: usize, chance: &mut Chance, tally: &mut Tally) -> usize {
    let target = 1 - standing;
    let before = proof.sandbox.tree();
    let mut update = proof.sandbox.start(&["apply", "--yes", "--to", &proof.configs[target]]);
    // Most of an update's time goes by before it changes anything, and only so many shots should be spent on that.
    let most = if chance.below(4) == 0 {
        proof.timing.update
    } else {
        wait_for_begin(&proof.sandbox, &mut update);
        proof.timing.transaction
    };
    update.wait(chance.within(most * 11 / 10));
    tally.killed += usize::from(update.kill());
    let open = is_open(&proof.sandbox);
    tally.left_open += usize::from(open);
    let kills = if open { chance.below(3) } else { 0 };
    proof.recover(kills, chance, tally);
    let after = proof.sandbox.tree();
    let leftover = after.keys().find(|path| path.to_string_lossy().contains(".ostler-"));
    assert_eq!(leftover, None, "something is left over");
    let now = if after == before { standing } else { target };
    if now == target {
        let wrong = differences(&proof.ends[target], &after);
        assert!(wrong.is_empty(), "neither old nor new; compared with the new: {wrong:#?}");
    }
    assert_eq!(proof.sandbox.settled_in().as_deref(), Some(NAMES[now]), "the machine is in another configuration");
    if now == standing {
        tally.old += 1
    } else {
        tally.new += 1
    }
    now
}

#[test]
fn a_machine_that_is_killed_at_any_instant_is_recovered_to_the_old_or_the_new_configuration() {
    let mut chance = Chance::new();
    let mut say = io::stderr();
    let _ = writeln!(say, "{SEED}={}, below {}", chance.seed(), place().display());
    let proof = Proof::new();
    let mut tally = Tally::default();
    let mut standing = 1;
    let began = Instant::now();
    for number in 0..ROUNDS {
        if number % FRESH == 0 {
            proof.renew();
            assert_eq!(differences(&proof.fresh, &proof.sandbox.tree()), Vec::<String>::new());
            standing = 0;
        }
        standing = round(&proof, standing, &mut chance, &mut tally);
    }
    let _ = writeln!(say, "{ROUNDS} rounds in {:?}, {:?}: {tally:?}", began.elapsed(), proof.timing);
    assert!(tally.killed > ROUNDS / 2, "too few were killed at work");
    assert!(tally.left_open > ROUNDS / 8, "too few were killed in the middle");
    assert!(tally.recoveries_killed > ROUNDS / 40, "too few recoveries were killed");
    assert!(tally.old > 0 && tally.new > 0, "only one end was ever reached");
}
