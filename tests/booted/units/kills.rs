//! An update through both halves as services, either of which is stopped or killed in the middle of it.
//!
//! The kernel's own killer of processes is not at hand: the machine has no memory controller. It sends SIGKILL and nothing
//! else, which is what is sent here.

use serde_json::json;

use super::{AGENT, APPLIER, Packaged};

fn is_at_work(packaged: &Packaged) -> bool {
    let mut question = packaged.node.machine.enter("systemctl");
    let said = question.args(["is-active", "ostler-bootc-switch.service"]).output().unwrap();
    matches!(said.stdout.trim_ascii(), b"active" | b"activating")
}

fn kill(packaged: &Packaged, unit: &str) {
    packaged.systemctl(&["kill", "--signal=KILL", "--kill-whom=main", unit]);
}

#[test]
fn an_update_survives_the_end_of_either_half() {
    let Some(mut packaged) = Packaged::install() else { return };
    packaged.standalone();
    packaged.node.machine.reboot();
    packaged.wait_until("the node is in its configuration", || packaged.rests_in("old"));
    packaged.node.fault(&json!({"bootc": {"slow_until": "/run/go", "method": "switch"}}));
    packaged.desire("2-new", &packaged.node.new_config());
    packaged.wait_until("bootc is at work", || is_at_work(&packaged));

    // The root half is told to end: it finishes what it has begun.
    packaged.systemctl(&["stop", "--no-block", APPLIER]);
    packaged.wait_until("it is ending", || packaged.show(APPLIER, "ActiveState") == "deactivating");
    let first = packaged.show(APPLIER, "MainPID");
    // The other one is killed as by want of memory, and waits for the first to be through with it.
    kill(&packaged, AGENT);
    packaged.wait_until("the agent is started again", || packaged.show(AGENT, "NRestarts") != "0");
    assert_eq!((packaged.show(APPLIER, "MainPID"), is_at_work(&packaged)), (first, true));
    // Now the root half is killed too, in the middle of the change.
    kill(&packaged, APPLIER);
    packaged.wait_until("it is gone", || packaged.show(APPLIER, "MainPID") == "0" || packaged.said("tried 1 times") > 0);
    packaged.write("run/go", "");
    packaged.node.machine.reboot_and_wait();
    packaged.wait_until("the node is in the new configuration", || packaged.rests_in("new"));
    assert_eq!(packaged.node.end(), "new");
    let status = packaged.node.status();
    assert_eq!((&status["trial"], &status["open"]), (&json!(null), &json!(null)), "{status:#}");
}
