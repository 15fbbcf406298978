//! `systemctl reload` of the agent, as its shipped unit has it.

use crate::node::Node;

const SHIPPED: &str = include_str!("../../units/usr/lib/systemd/system/ostler.service");
/// What only the agent itself can be started with.
const OWN: [&str; 8] =
    ["Type", "NotifyAccess", "BusName", "ExecStart", "User", "Group", "WatchdogSec", "RuntimeDirectory"];
/// What takes namespaces that a container cannot make, and what would start it again.
const NAMESPACES: [&str; 4] = ["Protect", "Private", "ProcSubset", "Restart"];
/// Written by the program for each signal.
const MARK: &str = "run/agent-test/reloaded";

/// The sandbox and the reload of the shipped unit around a program that notes the signal.
fn unit() -> String {
    let (_, service) = SHIPPED.split_once("[Service]\n").unwrap();
    let (service, _) = service.split_once("[Install]").unwrap();
    let kept = |line: &&str| !OWN.iter().any(|key| line.split('=').next() == Some(*key));
    let made = |line: &&str| !NAMESPACES.iter().any(|prefix| line.starts_with(prefix));
    let lines: Vec<&str> = service.lines().filter(kept).filter(made).collect();
    let program = format!("/bin/sh -c 'trap \"touch /{MARK}\" HUP; while :; do sleep infinity & wait; done'");
    let own = format!("Type=exec\nUser=nobody\nRuntimeDirectory=agent-test\nExecStart={program}");
    format!("[Service]\n{own}\n{}\n", lines.join("\n"))
}

#[test]
fn a_reload_signals_the_agent_although_its_user_may_signal_nobody() {
    let Some(node) = Node::boot() else { return };
    node.unit("agent.service", &unit());
    node.systemctl(&["daemon-reload"]);
    node.run("systemctl", &["start", "agent.service"]).exits(0);
    // Before its trap is set the signal would end it.
    let others = node.show("app.service", "MainPID");
    node.wait_until("the program waits", || node.processes("sleep").iter().any(|process| *process != others));
    assert!(!node.has(MARK));
    node.run("systemctl", &["reload", "agent.service"]).exits(0);
    node.wait_until("the program notes the signal", || node.has(MARK));
    assert_eq!(node.systemctl(&["is-active", "agent.service"]), "active");
}
