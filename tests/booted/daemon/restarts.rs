//! An agent without a cluster restarts the machine only when it is told to, and for a rollback as for an update.

use serde_json::json;

use super::{Agent, DESIRED};
use crate::node::Driver;

#[test]
fn an_agent_without_a_cluster_says_that_it_waits_for_the_restart_and_does_not_restart() {
    let told_nothing = format!(
        "ExecStart=\nExecStart=/opt/ostler/ostler daemon --standalone /{DESIRED} --node-name=node-1 --metrics=none\n"
    );
    let Some(mut agent) = Agent::start(Driver::RpmOstree, 20, &told_nothing) else { return };
    // Files alone, for which the default policy is a restart.
    agent.desire("2-files", &agent.node.config("files", 0, &["old.karg"]));
    let waits = "Waiting for a restart, with which files takes effect";
    agent.wait_until("it waits", || agent.property("StatusText").starts_with(waits));
    // One that starts and finds the restart due waits as well.
    agent.node.machine.run("systemctl", &["restart", "ostler.service"]);
    agent.wait_until("it waits again", || agent.property("StatusText").starts_with(waits));
    let status = agent.node.status();
    let owed = &status["owedRestarts"][0];
    assert_eq!((&status["awaitsReboot"], &status["restart"]), (&json!(true), &json!(null)), "{status:#}");
    assert_eq!((&owed["config"], &owed["reasons"][0]), (&json!("files"), &json!("/etc/motd")), "{status:#}");
    agent.node.ostler(&["status"]).exits(4).says("Restart for    files (/etc/motd");
    let rationale = "Node will reboot into config files; restart needed by files (/etc/motd";
    agent.node.ostler(&["reboot", "--dry-run"]).exits(0).says(rationale);
    agent.node.restart();
    agent.comes_to_rest_in("files");
    assert_eq!(agent.node.status()["owedRestarts"], json!([]));
}

#[test]
fn a_rollback_is_restarted_into_before_it_is_held() {
    let Some(mut agent) = Agent::start(Driver::RpmOstree, 20, "") else { return };
    agent.desire("2-files", &agent.node.config("files", 0, &["old.karg"]));
    agent.node.machine.reboot_and_wait();
    agent.comes_to_rest_in("files");
    let before = agent.node.machine.boot_id();
    agent.node.ostler(&["rollback", "--yes"]).exits(0);
    agent.node.machine.reboot_and_wait();
    assert_ne!(agent.node.machine.boot_id(), before);
    let held = "Waiting for the hold on the update to files to be released";
    agent.wait_until("it is held", || agent.property("StatusText").starts_with(held));
    let status = agent.node.status();
    assert_eq!((&status["config"], &status["owedRestarts"]), (&json!("old"), &json!([])), "{status:#}");
}
