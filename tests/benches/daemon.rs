//! What the agent takes of a machine while nothing changes: memory, threads and wake-ups, beside the goals.
//!
//! Measures the program that `OSTLER_MEASURED` names, with a real API server; without one, or without a server, it is
//! skipped, loudly.
#![cfg(test)]

#[path = "../cluster/agent.rs"]
mod agent;
#[path = "../cluster/mod.rs"]
mod cluster;
#[path = "../sandbox/mod.rs"]
mod sandbox;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use agent::{Subject, with_file};
use cluster::controller::Controller;
use cluster::loudly;
use cluster::server::Server;

/// Goal for the memory of an agent at rest, in KiB.
const MEMORY: u64 = 12 * 1024;
/// How long it is left to itself before, and while, it is looked at.
const SETTLING: Duration = Duration::from_secs(10);
const LOOKING: Duration = Duration::from_secs(60);
/// The five watches hear about once a minute, each, that nothing has happened.
const WAKE_UPS: u64 = 10;

/// A process as the kernel sees it.
struct Sight {
    pid: i32,
}

impl Sight {
    fn read(&self, file: &str) -> String {
        fs::read_to_string(format!("/proc/{}/{file}", self.pid)).unwrap()
    }

    /// The sum of a file's numbers whose names end like this.
    fn number(&self, file: &str, name: &str) -> u64 {
        let text = self.read(file);
        let lines = text.lines().filter_map(|line| line.split_once(':')).filter(|(key, _)| key.ends_with(name));
        lines.filter_map(|(_, value)| value.split_whitespace().next()?.parse::<u64>().ok()).sum()
    }

    fn threads(&self) -> Vec<String> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.pid)).unwrap();
        tasks.map(|task| task.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// How often any of its threads has given up or lost the processor.
    fn switches(&self) -> u64 {
        self.threads().iter().map(|task| self.number(&format!("task/{task}/status"), "ctxt_switches")).sum()
    }
}

fn goal(what: &str, measured: u64, most: u64, unit: &str) {
    let verdict = if measured <= most { "met" } else { "MISSED" };
    println!("goal: {what} <= {most}{unit}: {measured}{unit}, {verdict}");
}

async fn measure(program: PathBuf) {
    let Some(server) = Server::start().await else { return };
    let controller = Controller::new(server.admin().await);
    let config = with_file("rendered-idle-1", "/etc/motd", "1");
    let mut subject = Subject::installed("idle", server.node("idle"), controller, &config).await.by(program);
    subject.start();
    subject.done("rendered-idle-1").await;
    tokio::time::sleep(SETTLING).await;
    let sight = Sight { pid: subject.pid().as_raw() };
    let asked = server.requests_by("system:node:idle").len();
    let before = sight.switches();
    tokio::time::sleep(LOOKING).await;
    let switches = sight.switches() - before;
    let asked = server.requests_by("system:node:idle").len() - asked;
    let [resident, peak] = ["VmRSS", "VmHWM"].map(|name| sight.number("status", name));
    let proportional = sight.number("smaps_rollup", "Pss");
    println!("\nostler daemon at rest for {} s:", LOOKING.as_secs());
    println!("  resident {resident} KiB (most {peak} KiB), proportional {proportional} KiB");
    println!("  threads {}, switches {switches}, requests {asked}", sight.threads().len());
    goal("memory at rest", resident, MEMORY, " KiB");
    goal("wake-ups in a minute at rest", switches, WAKE_UPS, "");
}

fn main() {
    let Some(program) = std::env::var_os("OSTLER_MEASURED").map(PathBuf::from) else {
        loudly("SKIPPED: the agent at rest: OSTLER_MEASURED names no program; run `cargo xtask bench daemon`");
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(measure(program));
}
