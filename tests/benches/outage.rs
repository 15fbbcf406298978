//! How long a node is out of service for an update of its operating system, with the image staged before the drain and
//! after it, for a small image and a large one.
//!
//! The node is standalone, so its drain takes no time: out of service is from the moment at which a drain would have ended to
//! the moment at which the update is committed and workloads would be allowed back. Whatever a drain takes comes on top of
//! both orders alike. Runs only where `OSTLER_OUTAGE_MB` names the size of the large image; else it is skipped, loudly.
#![cfg(test)]

#[path = "../live/answer.rs"]
mod answer;
#[path = "../booted/mod.rs"]
mod booted;
#[path = "../booted/node.rs"]
#[allow(dead_code, reason = "every suite takes what it needs of it")]
mod node;
#[path = "../registry/mod.rs"]
mod registry;

use std::fs::{self, File};
use std::io::{Read, copy};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use booted::{succeed, wait_until};
use node::{Driver, Node};
use serde_json::Value;

const SMALL_MB: u64 = 5;
/// The network between node and registry.
const RATE: &str = "200mbit";
const DESIRED: &str = "var/lib/ostler-desired";
const STATUS: &str = "run/ostler/agent/machineconfignode.json";

/// When the image is pulled and staged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    BeforeDrain,
    AfterDrain,
}

impl Order {
    const fn option(self) -> &'static str {
        match self {
            Self::BeforeDrain => "",
            Self::AfterDrain => "--stage-after-drain",
        }
    }
}

/// What one update took.
struct Measured {
    whole: Duration,
    outage: Duration,
}

fn start_agent(node: &Node, order: Order) {
    let unit = format!(
        "[Unit]\nWants=boot-complete.target\n[Service]\nType=notify\nBusName=dev.ostler.Agent\nKillMode=mixed\n\
         ExecStart=/opt/ostler/ostler daemon --standalone /{DESIRED} --reboot=auto --node-name=node-1 --metrics=none {}\n",
        order.option()
    );
    node.write("etc/systemd/system/ostler.service", &unit);
    let wants = node.machine.path("etc/systemd/system/multi-user.target.wants");
    fs::create_dir_all(&wants).unwrap();
    symlink("../ostler.service", wants.join("ostler.service")).unwrap();
    node.write(&format!("{DESIRED}/1-old.json"), &node.config("old", 0, &["old.karg"]).to_string());
    node.machine.run("systemctl", &["daemon-reload"]);
    node.machine.run("systemctl", &["start", "ostler.service"]);
    wait_until("the node is in the old configuration", || condition(node, "Updated") == "True");
}

fn condition(node: &Node, kind: &str) -> String {
    let object: Value = serde_json::from_str(&node.read(STATUS)).unwrap_or_default();
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    let found = conditions.filter(|condition| condition["type"] == kind).map(|found| found["status"].clone()).next();
    found.and_then(|status| status.as_str().map(str::to_owned)).unwrap_or_default()
}

fn is_in(node: &Node, config: &str) -> bool {
    let object: Value = serde_json::from_str(&node.read(STATUS)).unwrap_or_default();
    condition(node, "Updated") == "True" && object["status"]["configVersion"]["current"] == config
}

/// Fills an image with bytes that cannot be compressed.
fn fill(tree: &Path, megabytes: u64) {
    let mut bytes = File::open("/dev/urandom").unwrap().take(megabytes << 20);
    copy(&mut bytes, &mut File::create(tree.join("usr/lib/payload")).unwrap()).unwrap();
}

/// One update of a new node.
fn update(order: Order, megabytes: u64) -> Option<Measured> {
    let mut node = Node::boot_with(Driver::Bootc, [&|_| {}, &|tree: &Path| fill(tree, megabytes)])?;
    start_agent(&node, order);
    let limit = ["qdisc", "add", "dev", "lo", "root", "tbf", "rate", RATE, "burst", "1mbit", "latency", "100ms"];
    succeed(node.site().command("tc").args(limit));
    let desired = Instant::now();
    node.write(&format!("{DESIRED}/2-new.json"), &node.new_config().to_string());
    // Unknown while files and operating system are applied.
    wait_until("the update is applied", || condition(&node, "UpdateExecuted") == "Unknown");
    let drained = Instant::now();
    node.machine.reboot_and_wait();
    wait_until("the update is committed", || is_in(&node, "new"));
    assert_eq!(node.end(), "new");
    Some(Measured { whole: desired.elapsed(), outage: drained.elapsed() })
}

fn ratio(what: &str, one: Duration, other: Duration, most: f64) {
    let ratio = one.as_secs_f64() / other.as_secs_f64();
    let verdict = if ratio <= most { "met" } else { "MISSED" };
    println!("goal: {what} <= {most}: {ratio:.2}, {verdict}");
}

fn main() {
    let large = std::env::var("OSTLER_OUTAGE_MB").ok().and_then(|size| size.parse().ok());
    let Some(large) = large else {
        eprintln!("SKIPPED: the outage of an update: OSTLER_OUTAGE_MB names no size; run `cargo xtask bench outage`");
        return;
    };
    println!("\n{:<14} {:>8} {:>15} {:>15}   (network {RATE})", "staged", "image", "out of service", "whole update");
    let mut outages = Vec::new();
    for order in [Order::BeforeDrain, Order::AfterDrain] {
        for megabytes in [SMALL_MB, large] {
            let Some(measured) = update(order, megabytes) else { return };
            let [outage, whole] = [measured.outage, measured.whole].map(|time| format!("{:.1} s", time.as_secs_f64()));
            let order = if order == Order::BeforeDrain { "before drain" } else { "after drain" };
            println!("{order:<14} {:>8} {outage:>15} {whole:>15}", format!("{megabytes} MB"));
            outages.push(measured.outage);
        }
    }
    let [before_small, before_large, _, after_large] = outages[..] else { return };
    ratio(&format!("out of service for {large} MB to {SMALL_MB} MB"), before_large, before_small, 1.1);
    ratio("out of service, staged before to after the drain", before_large, after_large, 0.5);
}
