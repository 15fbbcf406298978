//! Changes that a running machine cannot take, refused before the first write.

use serde_json::json;

use crate::node::{Node, file, ignition};

#[test]
fn a_boot_loader_without_bootupd_is_not_tried_again() {
    let Some(node) = Node::boot() else { return };
    let answer = node.ostler(&["bootloader", "status"]).exits(3);
    answer.says("bootupd is not installed on this machine").says("by the means of this distribution");
    answer.says("Trying again will not help.");
}

#[test]
fn the_operating_system_is_not_changed_and_nothing_else_is_either() {
    let Some(node) = Node::boot() else { return };
    let image = json!({"osImageURL": "registry.example/os@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"});
    for (name, spec) in [("image", image), ("arguments", json!({"kernelArguments": ["quiet"]}))] {
        let config = node.config_with(name, &ignition(&[file("/etc/app.conf", "second")], &[]), &spec);
        let answer = node.apply(&config).exits(3);
        answer.says("osImageURL, kernelArguments");
        assert_eq!((node.read("etc/app.conf"), node.log()), ("first".into(), "start".into()));
        let status = node.status();
        assert_eq!((&status["config"], &status["open"]), (&json!(null), &json!(null)), "{status:#}");
    }
}
