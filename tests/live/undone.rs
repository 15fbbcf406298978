//! Changes that fail half-way and are undone, services included.

use serde_json::json;

use crate::node::{Node, file, ignition};

const TEXT: &str = "[Service]\nType=oneshot\nExecStart=/usr/bin/true\n[Install]\nWantedBy=multi-user.target\n";

#[test]
fn a_service_that_does_not_take_its_new_configuration_runs_with_the_old_one_again() {
    let Some(node) = Node::boot() else { return };
    node.unit("old.service", TEXT);
    let old = ignition(
        &[file("/etc/app.conf", "second")],
        &[json!({"name": "old.service", "enabled": true}), json!({"name": "hidden.service", "mask": true})],
    );
    node.apply(&node.config("old", &old)).exits(0);
    assert_eq!(node.enabled("old.service"), "enabled");
    let bad = ignition(
        &[file("/etc/app.conf", "bad"), file("/etc/plain", "new")],
        &[
            json!({"name": "old.service", "enabled": false}),
            json!({"name": "new.service", "enabled": true, "contents": TEXT}),
            json!({"name": "app.service", "dropins": [{"name": "a.conf", "contents": "[Service]\nEnvironment=A=1\n"}]}),
        ],
    );
    let answer = node.apply(&node.config("bad", &bad)).exits(1);
    answer.says("app.service").says("journalctl -u app.service");
    assert_eq!((node.read("etc/app.conf"), node.read("run/app.seen")), ("second".into(), "second".into()));
    assert_eq!(node.systemctl(&["is-active", "app.service"]), "active");
    assert_eq!(node.log(), "start start start start");
    assert!(!node.has("etc/plain") && !node.has("etc/systemd/system/new.service"));
    assert!(!node.has("etc/systemd/system/app.service.d"));
    assert!(!node.has("etc/systemd/system/multi-user.target.wants/new.service"));
    assert_eq!(node.enabled("old.service"), "enabled");
    assert_eq!(node.enabled("hidden.service"), "masked");
    assert_eq!(node.show("app.service", "Environment"), "");
    assert_eq!(node.show("new.service", "LoadState"), "not-found");
    node.reloaded(&["app.service", "old.service", "hidden.service"]);
    node.settled_in("old");
    let last = node.status()["last"].clone();
    assert!(last.to_string().contains("app.service"), "{last:#}");
    node.ostler(&["drift"]).exits(0);
}

#[test]
fn a_unit_that_cannot_be_enabled_undoes_the_change_before_any_service_hears_of_it() {
    let Some(node) = Node::boot() else { return };
    let text = TEXT.replace("WantedBy=multi-user.target", "Alias=other.timer");
    let config = ignition(
        &[file("/etc/app.conf", "second")],
        &[
            json!({"name": "left.service", "enabled": true, "contents": TEXT.replace("[Install]", "[Install]\nAlias=right.service")}),
            json!({"name": "new.service", "enabled": true, "contents": text}),
        ],
    );
    let answer = node.apply(&node.config("config", &config)).exits(1);
    answer.says("new.service");
    assert_eq!((node.read("etc/app.conf"), node.log()), ("first".into(), "start".into()));
    for gone in ["left.service", "right.service", "new.service", "other.timer", "multi-user.target.wants/left.service"]
    {
        assert!(!node.has(&format!("etc/systemd/system/{gone}")), "{gone}");
    }
    assert_eq!(node.show("left.service", "LoadState"), "not-found");
    assert_eq!(node.status()["open"], json!(null));
}
