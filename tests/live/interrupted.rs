//! Changes that are cut off: the applier is killed, or the bus goes away under it.

use serde_json::json;

use crate::answer::Answer;
use crate::node::{Node, file, ignition};

const TEXT: &str = "[Service]\nType=oneshot\nExecStart=/usr/bin/true\n[Install]\nWantedBy=multi-user.target\n";
const MANY: usize = 150;

/// A change whose service takes its time.
fn slow(node: &Node) -> String {
    let unit = json!({"name": "new.service", "enabled": true, "contents": TEXT});
    node.config("slow", &ignition(&[file("/etc/app.conf", "slow"), file("/etc/plain", "new")], &[unit]))
}

fn recovers_once(node: &Node) -> Answer {
    let answer = node.ostler(&["recover"]);
    assert!(matches!(answer.code, Some(0 | 1)), "{answer:#?}");
    node.ostler(&["recover"]).exits(0).says("Nothing to do");
    answer
}

/// Fails unless the machine is wholly in the configuration `slow`, or wholly as it was.
fn is_whole(node: &Node, new: bool) {
    let (text, config) = if new { ("slow", json!("slow")) } else { ("first", json!(null)) };
    assert_eq!(node.status()["config"], config);
    assert_eq!((node.read("etc/app.conf"), node.read("run/app.seen")), (text.into(), text.into()));
    assert_eq!(node.systemctl(&["is-active", "app.service"]), "active");
    assert_eq!(node.has("etc/systemd/system/multi-user.target.wants/new.service"), new);
    assert_eq!((node.has("etc/systemd/system/new.service"), node.has("etc/plain")), (new, new));
    node.reloaded(&["app.service"]);
}

#[test]
fn an_applier_killed_while_a_service_restarts_is_recovered_from() {
    let Some(node) = Node::boot() else { return };
    let child = node.start_applying(&slow(&node));
    node.wait_until("the service is being restarted", || node.has("run/app.slow"));
    node.kill_applier(child).exits(5).says("ostler recover");
    let status = node.ostler(&["status", "-o", "json"]).exits(4).json();
    assert_eq!(status["open"]["direction"], "forward", "{status:#}");
    node.apply(&slow(&node)).says("ostler recover");
    assert_eq!(recovers_once(&node).code, Some(0));
    is_whole(&node, true);
    node.settled_in("slow");
}

/// Kills the applier when it has enabled some units of many, and gives where the links of all are to be.
fn cut_off_among_units(node: &Node) -> Vec<String> {
    node.unit("many@.service", TEXT);
    let units: Vec<_> = (0..MANY).map(|n| json!({"name": format!("many@{n}.service"), "enabled": true})).collect();
    let config = node.config("many", &ignition(&[], &units));
    let child = node.start(&["apply", "--to", &config, "--yes"]);
    let link = |n: usize| format!("etc/systemd/system/multi-user.target.wants/many@{n}.service");
    let links: Vec<String> = (0..MANY).map(link).collect();
    node.wait_until("some units are enabled", || links.iter().any(|link| node.has(link)));
    node.kill_applier(child).exits(5);
    let open = node.status()["open"].clone();
    let done = |phase: &str| open["done"].as_array().unwrap().contains(&json!(phase));
    assert!(done("write") && !done("units"), "{open:#}");
    links
}

#[test]
fn an_applier_killed_while_units_are_enabled_is_recovered_from() {
    let Some(node) = Node::boot() else { return };
    let links = cut_off_among_units(&node);
    assert_eq!(recovers_once(&node).code, Some(0));
    assert!(links.iter().all(|link| node.has(link)));
    assert_eq!(node.status()["config"], "many");
}

#[test]
fn units_are_enabled_without_a_bus_where_their_enabling_was_interrupted() {
    let Some(node) = Node::boot() else { return };
    let links = cut_off_among_units(&node);
    node.systemctl(&["stop", "dbus.socket", "dbus.service"]);
    assert_eq!(recovers_once(&node).code, Some(0));
    assert!(links.iter().all(|link| node.has(link)));
    assert_eq!(node.status()["config"], "many");
}

#[test]
fn a_bus_that_goes_away_does_not_keep_a_change_from_being_undone() {
    let Some(node) = Node::boot() else { return };
    let child = node.start_applying(&slow(&node));
    node.wait_until("the service is being restarted", || node.has("run/app.slow"));
    node.systemctl(&["stop", "dbus.socket", "dbus.service"]);
    let answer = Answer::from(child.wait_with_output().unwrap()).exits(1);
    answer.says("Undone").says("Service failure: cannot restart app.service");
    let status = node.status();
    assert_eq!((&status["open"], &status["last"]["ending"]), (&json!(null), &json!("undone")), "{status:#}");
    let failures = status["last"]["serviceFailures"].as_array().unwrap();
    let failed: Vec<_> = failures.iter().map(|one| (&one["action"], &one["unit"])).collect();
    let (reload, restart) = ((&json!("daemon-reload"), &json!("systemd")), (&json!("restart"), &json!("app.service")));
    assert_eq!(failed, [reload, restart], "{status:#}");
    assert_eq!((node.read("etc/app.conf"), node.has("etc/plain")), ("first".into(), false));
    assert!(!node.has("etc/systemd/system/multi-user.target.wants/new.service"));
    node.ostler(&["recover"]).exits(0).says("Nothing to do");
    node.apply(&slow(&node)).exits(1).says("systemctl status dbus");
    node.systemctl(&["start", "dbus.socket", "dbus.service"]);
    node.apply(&slow(&node)).exits(0);
    is_whole(&node, true);
}

#[test]
fn a_bus_that_comes_back_at_once_is_used_for_the_way_back() {
    let Some(node) = Node::boot() else { return };
    let child = node.start_applying(&slow(&node));
    node.wait_until("the service is being restarted", || node.has("run/app.slow"));
    node.systemctl(&["kill", "--signal=KILL", "dbus.service"]);
    let answer = Answer::from(child.wait_with_output().unwrap()).exits(1);
    answer.says("systemctl status dbus");
    is_whole(&node, false);
    node.ostler(&["recover"]).exits(0).says("Nothing to do");
}

#[test]
fn what_services_could_not_be_told_is_said() {
    let Some(node) = Node::boot() else { return };
    let child = node.start_applying(&slow(&node));
    node.wait_until("the service is being restarted", || node.has("run/app.slow"));
    node.kill_applier(child).exits(5);
    node.systemctl(&["stop", "dbus.socket", "dbus.service"]);
    node.ostler(&["recover"]).exits(0).says("systemd could not be asked").says("ostler reboot");
    assert_eq!(node.status()["config"], "slow");
    assert!(node.has("etc/systemd/system/multi-user.target.wants/new.service"));
}
