//! The agent killed at random instants of updates in a real cluster: whenever that is, it ends where it is wanted.

use std::env;
use std::fs;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::agent::{Subject, document};
use super::cluster::controller::{Controller, annotation};
use super::cluster::drains::{Drains, is_unschedulable};
use super::cluster::loudly;
use super::cluster::server::Server;
use super::sandbox::{self, Chance, SEED};

/// How many kills there are if nobody says otherwise.
const KILLS: usize = 20;
/// Says otherwise.
const KILLS_WANTED: &str = "OSTLER_KILLS";
/// How often the agent is killed on the way to one configuration.
const KILLS_EACH: usize = 4;
/// Every so many rounds there is a drain and a restart.
const LOUD_EACH: usize = 4;
/// A file whose change takes neither a drain nor a restart.
const QUIET: &str = "/var/lib/kubelet/config.json";
const NODE: &str = "mortal";

/// Two contents: one that changes with every round, and one that takes a restart when it changes.
#[derive(Clone, Copy)]
struct Contents {
    quiet: usize,
    loud: usize,
}

impl Contents {
    fn of(round: usize) -> Self {
        Self { quiet: round, loud: round / LOUD_EACH }
    }

    fn config(self, name: &str) -> Value {
        let loud = (0..40).map(|file| sandbox::file(&format!("/etc/loud/{file}"), self.loud.to_string()));
        let quiet = sandbox::file(QUIET, self.quiet.to_string().repeat(10_000));
        let files: Vec<_> = loud.chain([quiet]).collect();
        let keys = json!([{"name": "core", "sshAuthorizedKeys": [format!("ssh-ed25519 AAAA{} core", self.quiet)]}]);
        document(
            name,
            json!({"ignition": {"version": "3.5.0"}, "storage": {"files": files}, "passwd": {"users": keys}}),
        )
    }

    fn is_on(self, subject: &Subject) -> bool {
        let loud = |file| subject.file(&format!("/etc/loud/{file}")) == Some(self.loud.to_string());
        subject.file(QUIET) == Some(self.quiet.to_string().repeat(10_000)) && (0..40).all(loud)
    }
}

struct Trial {
    chance: Chance,
    tally: Tally,
    /// How long an update takes without a kill.
    update: Duration,
}

#[derive(Debug, Default)]
struct Tally {
    kills: usize,
    /// Kills while an applier was at work, of it or of its agent.
    at_work: usize,
    restarts: usize,
}

impl Tally {
    /// How many kills are missing, with one of every five at work. An instant cannot be hit at will, so there may be more kills than wanted.
    fn missing(&self, wanted: usize) -> usize {
        wanted.saturating_sub(self.kills).max(wanted.div_ceil(5).saturating_sub(self.at_work))
    }
}

/// The processes that a process has started.
fn children(parent: Pid) -> Vec<Pid> {
    let number = |name: &std::ffi::OsStr| name.to_str()?.parse().ok();
    let processes = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| number(&entry.file_name()));
    let is_child = |process: &i32| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let after_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        after_name.split(' ').nth(1).and_then(|field| field.parse().ok()) == Some(parent.as_raw())
    };
    processes.filter(is_child).map(Pid::from_raw).collect()
}

/// Some may have ended by themselves.
fn end(processes: &[Pid]) {
    for process in processes {
        let _ = kill(*process, Signal::SIGKILL);
    }
}

/// Kills the agent, its applier, or both, and starts what is gone.
fn strike(subject: &mut Subject, chance: &mut Chance, tally: &mut Tally) {
    let appliers = children(subject.pid());
    let way = chance.below(3);
    tally.kills += 1;
    tally.at_work += usize::from(!appliers.is_empty());
    if way == 0 && !appliers.is_empty() {
        end(&appliers);
        return;
    }
    subject.kill();
    if way == 1 {
        end(&appliers);
    }
    subject.start();
}

async fn is_about_to_restart(subject: &Subject) -> bool {
    let node = subject.controller.nodes().get(NODE).await.unwrap();
    annotation(&node, "post-config-action") == Some("Rebooting")
}

/// Waits for any instant; half of the time for one at which an applier is at work, if that comes.
async fn any_instant(subject: &Subject, chance: &mut Chance, update: Duration) {
    if chance.below(2) == 0 {
        let start = Instant::now();
        while children(subject.pid()).is_empty() && start.elapsed() < update {
            tokio::time::sleep(Duration::from_micros(500)).await;
        }
        // Machines differ in speed: from one millisecond to 64, each doubling as likely as the next.
        let most = Duration::from_millis(1 << chance.below(7));
        tokio::time::sleep(chance.within(most)).await;
    } else {
        tokio::time::sleep(chance.within(update)).await;
    }
}

/// One update, with so many kills on the way.
async fn round(subject: &mut Subject, number: usize, kills: usize, trial: &mut Trial) {
    let (name, contents) = (format!("rendered-mortal-{number}"), Contents::of(number));
    subject.make(&name, &contents.config(&name)["spec"]["config"]).await;
    subject.want(&name).await;
    let Trial { chance, tally, update } = trial;
    for _ in 0..kills {
        any_instant(subject, chance, *update).await;
        if is_about_to_restart(subject).await {
            tally.restarts += 1;
            subject.restart();
        } else {
            strike(subject, chance, tally);
        }
    }
    let over = |node: &_| annotation(node, "currentConfig") == Some(&name) && annotation(node, "state") == Some("Done");
    let node = subject
        .node_until("an end", |node| over(node) || annotation(node, "post-config-action") == Some("Rebooting"))
        .await;
    if !over(&node) {
        tally.restarts += 1;
        subject.restart();
    }
    let node = subject.done(&name).await;
    assert!(!is_unschedulable(&node), "{node:?}");
    assert!(contents.is_on(subject), "{}", subject.log());
}

#[tokio::test]
async fn an_agent_that_is_killed_at_any_instant_ends_where_it_is_wanted() {
    let Some(server) = Server::shared().await else { return };
    let wanted = env::var(KILLS_WANTED).map_or(KILLS, |kills| kills.parse().expect("a number of kills"));
    let chance = Chance::new();
    loudly(&format!("{SEED}={}", chance.seed()));
    let controller = Controller::new(server.admin().await);
    let config = Contents::of(0).config("rendered-mortal-0");
    let mut subject = Subject::installed(NODE, server.node(NODE), controller, &config).await;
    let _drains = Drains::answer(subject.controller.clone(), NODE);
    subject.start();
    subject.done("rendered-mortal-0").await;
    let mut trial = Trial { chance, tally: Tally::default(), update: Duration::ZERO };
    // The first writes everything, the second is as the most of them are.
    round(&mut subject, LOUD_EACH, 0, &mut trial).await;
    let began = Instant::now();
    round(&mut subject, LOUD_EACH + 1, 0, &mut trial).await;
    trial.update = began.elapsed();
    for number in LOUD_EACH + 2.. {
        let kills = KILLS_EACH.min(trial.tally.missing(wanted));
        if kills == 0 {
            break;
        }
        assert!(number < LOUD_EACH + 2 + 4 * wanted, "too few were hit at work: {:?}", trial.tally);
        round(&mut subject, number, kills, &mut trial).await;
    }
    let Trial { tally, update, .. } = trial;
    loudly(&format!("{} kills in {:?}, an update takes {update:?}: {tally:?}", tally.kills, began.elapsed()));
}
