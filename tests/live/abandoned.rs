//! A change that can be neither finished nor undone on a running machine, and is abandoned.

use serde_json::json;

use crate::node::{Node, file, ignition};

const UNIT: &str = "[Service]\nType=oneshot\nExecStart=/usr/bin/true\n[Install]\nWantedBy=multi-user.target\n";

/// Cut off while its service starts, which will not end well; and what it wrote cannot be taken back.
fn stuck(node: &Node) {
    let unit = json!({"name": "new.service", "enabled": true, "contents": UNIT});
    let files = [file("/etc/app.conf", "slow%20bad"), file("/etc/plain", "new")];
    let child = node.start_applying(&node.config("stuck", &ignition(&files, &[unit])));
    node.wait_until("the service is being restarted", || node.has("run/app.slow"));
    node.kill_applier(child).exits(5);
    node.run("mount", &["--bind", "/etc/plain", "/etc/plain"]).exits(0);
    node.ostler(&["recover"]).exits(5).says("/etc/plain").says("ostler abandon");
    node.ostler(&["recover"]).exits(5);
}

#[test]
fn what_can_be_put_back_is_put_back_services_run_with_it_and_the_next_change_does_the_rest() {
    let Some(node) = Node::boot() else { return };
    stuck(&node);
    let other = node.config("other", &ignition(&[file("/etc/app.conf", "second")], &[]));
    node.apply(&other).exits(5).says("ostler abandon");
    node.ostler(&["abandon", "--yes"]).exits(0).says("/etc/plain");
    let status = node.status();
    assert_eq!((&status["open"], &status["last"]["ending"]), (&json!(null), &json!("abandoned")), "{status:#}");
    assert_eq!((node.read("etc/app.conf"), node.read("run/app.seen")), ("first".into(), "first".into()));
    assert_eq!(node.systemctl(&["is-active", "app.service"]), "active");
    assert!(!node.has("etc/systemd/system/new.service"));
    assert!(!node.has("etc/systemd/system/multi-user.target.wants/new.service"));
    node.reloaded(&["app.service"]);
    assert_eq!(node.read("etc/plain"), "new");
    node.ostler(&["recover"]).exits(0).says("Nothing to do");
    node.ostler(&["abandon", "--yes"]).exits(0).says("Nothing to do");
    node.run("umount", &["/etc/plain"]).exits(0);
    node.apply(&other).exits(0);
    assert_eq!((node.has("etc/plain"), node.read("run/app.seen")), (false, "second".into()));
    node.settled_in("other");
    node.ostler(&["drift"]).exits(0);
}
