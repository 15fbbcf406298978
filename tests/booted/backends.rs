//! What rpm-ostree and bootc do in particular releases, which an update has to live with.

use serde_json::{Value, json};

use crate::node::{Driver, Node};

fn booted_line(node: &Node) -> Vec<String> {
    let line: Vec<Value> = node.status()["os"]["booted"]["kargs"].as_array().unwrap().clone();
    line.iter().map(|karg| karg.as_str().unwrap().to_owned()).collect()
}

fn update(node: &mut Node, config: Value) {
    let answer = node.apply(&config).exits(0).json();
    assert_eq!(answer["result"], "awaitsReboot", "{answer:#}");
    node.restart();
    assert_eq!(node.ostler(&["recover", "-o", "json"]).exits(0).json()["result"], "applied");
}

#[test]
fn an_image_brings_and_drops_its_kernel_arguments_and_those_of_the_config_stay() {
    const LISTED: &str = "usr/lib/bootc/kargs.d/10.toml";
    let base = ["root=UUID=0000", "rw", "console=tty0", "console=ttyS0"];
    for release in ["1.1.6", "1.13.0"] {
        let Some(mut node) = Node::boot(Driver::Bootc) else { return };
        node.fault_at_boot(Some(&json!({"bootc": {"release": release}})));
        node.fault(&json!({"bootc": {"release": release}}));
        let brings = node.derive("brings", LISTED, "kargs = [\"of.image\", \"shared\"]");
        let drops = node.derive("drops", LISTED, "kargs = [\"other\"]");
        let config = node.config_of("brings", &brings, &["old.karg", "shared"]);
        update(&mut node, config);
        let line = booted_line(&node);
        for argument in ["of.image", "shared", "old.karg"] {
            assert!(line.iter().any(|karg| karg == argument), "{release}: {line:?}");
        }
        let config = node.config_of("drops", &drops, &["old.karg", "shared"]);
        update(&mut node, config);
        let mut expected = base.to_vec();
        expected.extend(["old.karg", "shared", "other"]);
        let mut line = booted_line(&node);
        line.sort();
        expected.sort_unstable();
        assert_eq!(line, expected, "{release}");
        node.ostler(&["rollback", "--yes"]).exits(0);
        node.restart();
        node.ostler(&["recover"]).exits(0);
        assert!(booted_line(&node).iter().any(|karg| karg == "of.image"), "{release}");
    }
}
