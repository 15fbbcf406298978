//! What systemd and its journal are told by the agent, and what they can tell it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Agent;
use crate::booted::os_root;
use crate::node::Driver;

/// An agent that would soon be taken for dead, and soon be killed when told to end.
const IMPATIENT: &str = "WatchdogSec=10\nTimeoutStopSec=10\n";

fn is_at_work(agent: &Agent) -> bool {
    let mut question = agent.node.machine.enter("systemctl");
    let said = question.args(["is-active", "ostler-bootc-switch.service"]).output().unwrap();
    matches!(said.stdout.trim_ascii(), b"active" | b"activating")
}

#[test]
fn an_agent_in_a_long_change_is_alive_and_ends_after_it() {
    let Some(()) = os_root::or_stand_ins() else { return };
    let Some(mut agent) = Agent::start(Driver::Bootc, 20, IMPATIENT) else { return };
    assert_eq!((agent.property("ActiveState"), agent.property("SubState")), ("active".into(), "running".into()));
    agent.wait_until("it says what it does", || agent.property("StatusText").starts_with("Up to date."));
    let process = agent.property("MainPID");
    agent.node.fault(&json!({"bootc": {"slow_until": "/run/go", "method": "switch"}}));
    agent.desire("2-new", &agent.node.new_config());
    agent.wait_until("bootc is at work", || is_at_work(&agent));
    let begun = Instant::now();
    agent.wait_until("the watchdog's time is over twice", || begun.elapsed() > Duration::from_secs(21));
    assert_eq!((agent.property("MainPID"), agent.property("ActiveState")), (process.clone(), "active".into()));

    agent.node.machine.run("systemctl", &["stop", "--no-block", "ostler.service"]);
    agent.wait_until("the end is postponed", || agent.said("asked to end in the middle of a change") == 1);
    let told = Instant::now();
    agent.wait_until("the time to end is over", || told.elapsed() > Duration::from_secs(12));
    assert_eq!((agent.property("MainPID"), agent.property("ActiveState")), (process, "deactivating".into()));
    agent.node.write("run/go", "");
    agent.wait_until("it ends", || agent.property("ActiveState") == "inactive");
    assert_eq!((agent.property("Result"), agent.property("NRestarts")), ("success".into(), "0".into()));
    let status = agent.node.status();
    assert_eq!((&status["stagedFor"], &status["open"]), (&json!("new"), &json!(null)), "{status:#}");

    agent.node.machine.run("systemctl", &["start", "--no-block", "ostler.service"]);
    agent.node.machine.reboot_and_wait();
    agent.comes_to_rest_in("new");
    assert_eq!(agent.node.end(), "new");
}

/// What a turn is told to be for after SIGHUP.
const TURN: &str = "somebody asked to look again";

fn field<'a>(line: &'a Value, name: &str) -> &'a str {
    line[name].as_str().unwrap_or_default()
}

#[test]
fn the_journal_has_fields_and_explanations_and_its_level_can_be_changed() {
    let Some(agent) = Agent::start(Driver::RpmOstree, 20, "") else { return };
    let lines = agent.lines();
    for line in &lines {
        assert_eq!((field(line, "MESSAGE_ID").len(), field(line, "OSTLER_NODE")), (32, "node-1"), "{line:#}");
        assert!(["3", "4", "6"].contains(&field(line, "PRIORITY")), "{line:#}");
    }
    assert_eq!(agent.said("looks after this node"), 1, "{lines:#?}");
    agent.node.machine.run("journalctl", &["--update-catalog"]);
    let explained = agent.node.machine.journal(&["--boot", "--unit=ostler.service", "--catalog"]);
    for words in ["Subject: Ostler looks after this node", "The node agent has started on node-1."] {
        assert!(explained.contains(words), "{explained}");
    }

    let level = |arguments: &[&str]| {
        agent.node.machine.run("systemctl", &[&["service-log-level", "ostler.service"], arguments].concat())
    };
    assert_eq!((level(&[]).trim(), agent.said(TURN)), ("info", 0));
    level(&["debug"]);
    assert_eq!(level(&[]).trim(), "debug");
    agent.node.machine.run("systemctl", &["kill", "--signal=HUP", "--kill-whom=main", "ostler.service"]);
    agent.wait_until("every turn is told", || agent.said(TURN) > 0);
    let turn = agent.lines().into_iter().rfind(|line| field(line, "MESSAGE").contains(TURN)).unwrap();
    assert_eq!(field(&turn, "PRIORITY"), "7");
}
