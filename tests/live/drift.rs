//! What a person changed by hand on a running machine, found and mended.

use serde_json::{Value, json};

use crate::node::{Node, file, ignition};

const TEXT: &str = "[Service]\nType=oneshot\nExecStart=/usr/bin/true\n[Install]\nWantedBy=multi-user.target\n";

fn found(node: &Node) -> Vec<String> {
    let drift = node.ostler(&["drift", "-o", "json"]).json()["drift"].clone();
    let line = |entry: &Value| {
        let subject = &entry["subject"];
        let of = |key: &str| subject[key].as_str().unwrap_or_default().to_owned();
        format!("{} {}{}{}", entry["difference"].as_str().unwrap(), of("path"), of("unit"), of("dropin"))
    };
    drift.as_array().unwrap().iter().map(line).collect()
}

#[test]
fn what_was_changed_by_hand_is_found_and_mended_without_touching_services() {
    let Some(node) = Node::boot() else { return };
    node.unit("old.service", TEXT);
    let config = ignition(
        &[file("/etc/app.conf", "second")],
        &[
            json!({"name": "new.service", "enabled": true, "contents": TEXT}),
            json!({"name": "app.service", "dropins": [{"name": "a.conf", "contents": "[Service]\nEnvironment=A=1\n"}]}),
            json!({"name": "old.service", "enabled": false}),
            json!({"name": "hidden.service", "mask": true}),
        ],
    );
    node.apply(&node.config("config", &config)).exits(0);
    node.ostler(&["drift"]).exits(0);
    node.systemctl(&["disable", "new.service"]);
    node.systemctl(&["enable", "old.service"]);
    node.systemctl(&["unmask", "hidden.service"]);
    node.unit("app.service.d/a.conf", "[Service]\nEnvironment=A=2\n");
    node.unit("app.service.d/extra.conf", "[Service]\nEnvironment=B=2\n");
    node.write("etc/app.conf", "mine");
    node.systemctl(&["daemon-reload"]);
    assert_eq!(node.show("app.service", "Environment"), "A=2 B=2");
    node.ostler(&["drift"]).exits(4);
    let expected = [
        "contents /etc/app.conf",
        "state hidden.service",
        "state new.service",
        "state old.service",
        "contents app.servicea.conf",
        "extra app.serviceextra.conf",
    ];
    assert_eq!(found(&node), expected);
    let (log, process) = (node.log(), node.show("app.service", "MainPID"));
    node.ostler(&["drift", "--repair", "--yes"]).exits(0);
    assert_eq!(found(&node), Vec::<String>::new());
    assert_eq!(node.enabled("new.service"), "enabled");
    assert_eq!(node.enabled("old.service"), "disabled");
    assert_eq!(node.enabled("hidden.service"), "masked");
    assert_eq!((node.read("etc/app.conf"), node.show("app.service", "Environment")), ("second".into(), "A=1".into()));
    node.reloaded(&["app.service", "new.service", "old.service", "hidden.service"]);
    assert_eq!((node.log(), node.show("app.service", "MainPID")), (log, process));
    node.settled_in("config");
}
