//! Services that a policy names and that do not do their part: none of them leaves a transaction open.

use serde_json::{Value, json};

use crate::node::{Node, file, ignition};

const TEXT: &str = "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/usr/bin/true\n";

/// A machine whose policy for `/etc/plain` is one action on a service, and whose `new.service` is restarted when it changes.
fn node(kind: &str, service: &str) -> Option<Node> {
    let node = Node::boot()?;
    policy(&node, kind, service);
    Some(node)
}

fn policy(node: &Node, kind: &str, service: &str) {
    let action = |kind: &str, service: &str| json!([{"type": kind, kind.to_lowercase(): {"serviceName": service}}]);
    let policy = json!({
        "files": [{"path": "/etc/plain", "actions": action(kind, service)}],
        "units": [
            {"name": "new.service", "actions": action("Restart", "new.service")},
            {"name": "real.service", "actions": [{"type": "None"}]},
        ],
    });
    node.write("var/tmp/policy.yaml", &policy.to_string());
}

fn unit(text: &str) -> Value {
    json!({"name": "new.service", "contents": text})
}

fn plain(node: &Node, name: &str) -> String {
    node.config(name, &ignition(&[file("/etc/plain", name)], &[]))
}

fn is_closed(node: &Node) -> Value {
    let status = node.status();
    assert_eq!(status["open"], json!(null), "{status:#}");
    status
}

#[test]
fn a_service_that_there_is_not_is_refused_before_anything_is_begun_and_its_policy_is_named() {
    let Some(node) = node("Restart", "nosuch.service") else { return };
    let answer = node.apply(&plain(&node, "typo")).exits(3);
    answer.says("nosuch.service").says("the policy for /etc/plain");
    assert!(!node.has("etc/plain"));
    assert_eq!(is_closed(&node)["last"], json!(null));
}

#[test]
fn instances_aliases_generated_and_transient_units_are_there_to_be_restarted() {
    let Some(node) = node("Restart", "many@7.service") else { return };
    node.unit("many@.service", TEXT);
    node.apply(&plain(&node, "instance")).exits(0);
    node.run("systemd-run", &["--unit=passing.service", "--remain-after-exit", "/usr/bin/true"]);
    let text = format!("{TEXT}[Install]\nAlias=other.service\n");
    let alias = json!({"name": "real.service", "enabled": true, "contents": text});
    for (name, service, units) in
        [("alias", "other.service", &[alias][..]), ("transient", "passing.service", &[]), ("generated", "-.mount", &[])]
    {
        policy(&node, "Restart", service);
        let config = node.config(name, &ignition(&[file("/etc/plain", name)], units));
        node.ostler(&["apply", "--dry-run", "--to", &config, "--policy=/var/tmp/policy.yaml"]).exits(0);
    }
}

#[test]
fn a_new_unit_that_fails_is_undone_and_a_corrected_one_is_taken_at_once() {
    let Some(node) = node("Restart", "app.service") else { return };
    let bad = node.config("bad", &ignition(&[], &[unit(&TEXT.replace("true", "false"))]));
    node.apply(&bad).exits(1).says("new.service").says("Undone");
    assert!(!node.has("etc/systemd/system/new.service"));
    assert_eq!(is_closed(&node)["last"]["ending"], "undone");
    node.apply(&node.config("good", &ignition(&[], &[unit(TEXT)]))).exits(0);
    assert_eq!(node.systemctl(&["is-active", "new.service"]), "active");
    is_closed(&node);
}

#[test]
fn there_is_nothing_to_reload_in_a_service_that_is_not_active() {
    let Some(node) = node("Reload", "app.service") else { return };
    node.systemctl(&["stop", "app.service"]);
    node.apply(&plain(&node, "first")).exits(0).says("app.service is passed over: it is not active");
    assert_eq!(node.systemctl(&["is-active", "app.service"]), "inactive");
    assert_eq!(is_closed(&node)["config"], "first");
    node.systemctl(&["start", "app.service"]);
    node.apply(&plain(&node, "second")).exits(0);
    assert!(node.log().ends_with("reload"), "{}", node.log());
}

#[test]
fn a_restart_that_hangs_is_bounded_undone_and_recorded() {
    let Some(node) = node("Restart", "hangs.service") else { return };
    node.unit("hangs.service", "[Service]\nType=notify\nTimeoutStartSec=2\nExecStart=/usr/bin/sleep infinity\n");
    node.systemctl(&["daemon-reload"]);
    let answer = node.apply(&plain(&node, "slow")).exits(1);
    answer.says("Undone").says("Service failure: cannot restart hangs.service");
    assert!(!node.has("etc/plain"));
    let status = is_closed(&node);
    assert_eq!(status["last"]["serviceFailures"][0]["unit"], "hangs.service", "{status:#}");
    node.ostler(&["status"]).says("cannot restart hangs.service");
    // What it does not need is none of another configuration's business.
    node.apply(&node.config("other", &ignition(&[], &[unit(TEXT)]))).exits(0);
}

#[test]
fn a_unit_with_a_restart_policy_can_be_masked_unmasked_and_removed() {
    let Some(node) = node("Restart", "app.service") else { return };
    node.apply(&node.config("there", &ignition(&[], &[unit(TEXT)]))).exits(0);
    let masked = json!({"name": "new.service", "mask": true});
    node.apply(&node.config("masked", &ignition(&[], &[masked]))).exits(0).says("this change masks it");
    assert_eq!(node.enabled("new.service"), "masked");
    node.apply(&node.config("again", &ignition(&[], &[unit(TEXT)]))).exits(0);
    let answer = node.apply(&node.config("gone", &ignition(&[], &[]))).exits(0);
    answer.says("Not done: the unit will not be there").says("restart new.service: this change removes it");
    assert!(!node.has("etc/systemd/system/new.service"));
    is_closed(&node);
    node.ostler(&["rollback", "--yes"]);
    is_closed(&node);
}
