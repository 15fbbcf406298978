//! Changes that succeed: forth, again, and back.

use serde_json::{Value, json};

use crate::node::{Node, file, ignition};

const INSTALL: &str = "[Install]\nWantedBy=multi-user.target\n";
const ONESHOT: &str = "[Service]\nType=oneshot\nExecStart=/usr/bin/true\n";

/// Units that are there before any configuration: two enabled ones, one that a preset disables, a template.
fn furnish(node: &Node) {
    for name in ["old.service", "left.service", "many@.service"] {
        node.unit(name, &format!("{ONESHOT}{INSTALL}"));
    }
    node.unit("../system-preset/00-test.preset", "enable left.service\ndisable *\n");
    node.systemctl(&["daemon-reload"]);
    node.systemctl(&["enable", "old.service"]);
}

fn first() -> Value {
    ignition(
        &[file("/etc/app.conf", "second"), file("/etc/plain", "one")],
        &[
            json!({"name": "new.service", "enabled": true, "contents": format!("{ONESHOT}{INSTALL}")}),
            json!({"name": "app.service", "dropins": [{"name": "10-env.conf", "contents": "[Service]\nEnvironment=A=1\n"}]}),
            json!({"name": "old.service", "enabled": false}),
            json!({"name": "many@a.service", "enabled": true}),
            json!({"name": "hidden.service", "mask": true}),
            json!({"name": "left.service"}),
            json!({"name": "absent.service", "enabled": true}),
        ],
    )
}

fn second() -> Value {
    let text = format!("{ONESHOT}{INSTALL}");
    ignition(
        &[file("/etc/app.conf", "second"), file("/etc/app.reload", "again")],
        &[json!({"name": "hidden.service", "contents": text, "enabled": true}), json!({"name": "left.service"})],
    )
}

/// What systemd knows of a machine in the first configuration.
fn is_in_first(node: &Node) {
    node.settled_in("first");
    for (unit, state) in [
        ("new.service", "enabled"),
        ("old.service", "disabled"),
        ("many@a.service", "enabled"),
        ("hidden.service", "masked"),
    ] {
        assert_eq!(node.enabled(unit), state, "{unit}");
    }
    assert_eq!(node.show("app.service", "Environment"), "A=1");
    assert_eq!(node.read("etc/plain"), "one");
    node.reloaded(&["new.service", "app.service", "old.service", "hidden.service", "many@a.service"]);
}

/// What it knows of one in the second.
fn is_in_second(node: &Node) {
    node.settled_in("second");
    for gone in ["new.service", "multi-user.target.wants/new.service", "app.service.d/10-env.conf"] {
        assert!(!node.has(&format!("etc/systemd/system/{gone}")), "{gone}");
    }
    assert!(!node.has("etc/plain"));
    assert_eq!(node.show("new.service", "LoadState"), "not-found");
    assert_eq!(node.enabled("hidden.service"), "enabled");
    assert_eq!(node.show("app.service", "Environment"), "");
    node.reloaded(&["app.service", "hidden.service", "left.service"]);
}

#[test]
fn units_files_and_services_follow_the_configuration_and_come_back() {
    let Some(node) = Node::boot() else { return };
    furnish(&node);
    let (first, second) = (node.config("first", &first()), node.config("second", &second()));
    node.apply(&first).exits(0);
    is_in_first(&node);
    assert_eq!(node.show("hidden.service", "LoadState"), "masked");
    assert_eq!((node.read("run/app.seen"), node.log()), ("second".into(), "start start".into()));
    node.apply(&first).exits(0).says("Nothing was changed");
    assert_eq!(node.log(), "start start");

    node.apply(&second).exits(0);
    is_in_second(&node);
    assert_eq!((node.read("run/app.reloaded"), node.log()), ("again".into(), "start start reload".into()));

    node.ostler(&["rollback", "--policy=/var/tmp/policy.yaml", "--yes"]).exits(0);
    is_in_first(&node);
    assert_eq!((node.read("run/app.reloaded"), node.log()), ("first".into(), "start start reload reload".into()));
    node.ostler(&["drift"]).exits(0);
}

#[test]
fn a_preset_decides_where_the_configuration_says_nothing() {
    let Some(node) = Node::boot() else { return };
    furnish(&node);
    let with = |enabled: bool| ignition(&[], &[json!({"name": "left.service", "enabled": enabled})]);
    node.apply(&node.config("off", &with(false))).exits(0);
    assert_eq!(node.enabled("left.service"), "disabled");
    node.apply(&node.config("silent", &ignition(&[], &[json!({"name": "left.service"})]))).exits(0);
    assert_eq!(node.enabled("left.service"), "enabled");
    node.ostler(&["rollback", "--policy=/var/tmp/policy.yaml", "--yes"]).exits(0);
    assert_eq!(node.enabled("left.service"), "disabled");
}

#[test]
fn the_first_configuration_can_be_rolled_back_to_none() {
    let Some(node) = Node::boot() else { return };
    let text = format!("{ONESHOT}{INSTALL}Alias=left.service\n");
    let unit = json!({"name": "new.service", "enabled": true, "contents": text});
    node.apply(&node.config("first", &ignition(&[file("/etc/app.conf", "second")], &[unit]))).exits(0);
    assert!(node.has("etc/systemd/system/left.service"));
    node.ostler(&["rollback", "--policy=/var/tmp/policy.yaml", "--yes"]).exits(0);
    for gone in ["new.service", "left.service", "multi-user.target.wants/new.service"] {
        assert!(!node.has(&format!("etc/systemd/system/{gone}")), "{gone}");
    }
    assert_eq!((node.read("run/app.seen"), node.log()), ("first".into(), "start start start".into()));
    assert_eq!(node.show("new.service", "LoadState"), "not-found");
    assert_eq!(node.status()["config"], json!(null));
}

#[test]
fn a_change_that_needs_a_restart_says_so_and_does_not_restart() {
    let Some(node) = Node::boot() else { return };
    let config = node.config("reboots", &ignition(&[file("/etc/unruled", "text")], &[]));
    node.apply(&config).exits(0).says("ostler reboot");
    assert_eq!(node.read("etc/unruled"), "text");
    let status = node.ostler(&["status", "-o", "json"]).exits(4).json();
    assert_eq!((&status["awaitsReboot"], &status["settled"]), (&json!(true), &json!(false)), "{status:#}");
    assert_eq!(node.systemctl(&["is-system-running"]), "running");
    assert_eq!(node.systemctl(&["list-jobs", "--no-legend"]), "");
    assert_eq!(node.log(), "start");
}
