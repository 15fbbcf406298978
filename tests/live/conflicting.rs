//! Processes that are called machine-config-daemon, on a running machine: anybody's, and root's own.

use crate::node::{Node, file, ignition};

/// A service that runs for as long as it is let.
fn service(user: &str, command: &str) -> String {
    format!("[Service]\nType=exec\nUser={user}\nExecStart={command}\n")
}

#[test]
fn only_roots_own_daemon_stops_a_change_and_nobodys_process_of_its_name_does_not() {
    let Some(node) = Node::boot() else { return };
    let named = "/bin/bash -c 'exec -a machine-config-daemon sleep 600'";
    node.unit("nobodys.service", &service("nobody", named));
    node.unit("roots.service", &service("root", named));
    node.unit("real.service", &service("root", "/run/bin/machine-config-daemon 600"));
    node.run("mkdir", &["-p", "/run/bin"]).exits(0);
    node.run("cp", &["/bin/sleep", "/run/bin/machine-config-daemon"]).exits(0);
    node.systemctl(&["daemon-reload"]);
    for (number, unit) in ["nobodys.service", "roots.service"].into_iter().enumerate() {
        node.systemctl(&["start", unit]);
        assert_eq!(node.systemctl(&["is-active", unit]), "active");
        let name = format!("beside-{number}");
        node.apply(&node.config(&name, &ignition(&[file("/etc/plain", &name)], &[]))).exits(0);
        assert_eq!(node.read("etc/plain"), name, "{unit}");
        node.settled_in(&name);
    }
    node.systemctl(&["start", "real.service"]);
    assert_eq!(node.systemctl(&["is-active", "real.service"]), "active");
    let config = node.config("refused", &ignition(&[file("/etc/plain", "refused")], &[]));
    let answer = node.apply(&config);
    assert_ne!(answer.code, Some(0), "{answer}");
    answer.says("machine-config-daemon runs on this node as process");
    assert_eq!(node.read("etc/plain"), "beside-1");
    node.systemctl(&["stop", "real.service"]);
    node.apply(&config).exits(0);
}
