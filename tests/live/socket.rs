//! The applier behind a socket of systemd's.

use crate::node::{Node, file, ignition};

const SOCKET: &str = "[Socket]\nListenStream=/run/ostler/applier.sock\nSocketMode=0660\nDirectoryMode=0755\n";
const SERVICE: &str = "[Service]\nExecStart=/opt/ostler/ostler-applier --socket --idle 1\nKillMode=mixed\n";

#[test]
fn the_command_reaches_an_applier_that_systemd_starts_and_that_ends_when_idle() {
    let Some(node) = Node::boot() else { return };
    node.unit("ostler-applier.socket", SOCKET);
    node.unit("ostler-applier.service", SERVICE);
    node.systemctl(&["daemon-reload"]);
    node.systemctl(&["start", "ostler-applier.socket"]);
    let ostler = |arguments: &[&str]| {
        let mut whole = vec!["OSTLER_APPLIER=/nonexistent", "/opt/ostler/ostler"];
        whole.extend(arguments);
        node.run("env", &whole)
    };
    ostler(&["status"]).exits(6).says("no configuration was ever applied here");
    assert_eq!(node.systemctl(&["is-active", "ostler-applier.service"]), "active");
    let config = node.config("config", &ignition(&[file("/etc/app.conf", "second")], &[]));
    ostler(&["apply", "--to", &config, "--policy=/var/tmp/policy.yaml", "--yes"]).exits(0);
    assert_eq!((node.read("run/app.seen"), node.log()), ("second".into(), "start start".into()));
    node.wait_until("the applier ends", || node.processes("ostler-applier").is_empty());
    assert_eq!(node.show("ostler-applier.service", "Result"), "success");
    ostler(&["status"]).exits(0);
    node.systemctl(&["stop", "ostler-applier.socket", "ostler-applier.service"]);
    ostler(&["status"]).exits(1);
}
