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

/// A node in the middle of an update, which goes on when there is a file `/run/go`.
fn in_the_middle() -> Option<Packaged> {
    let mut packaged = Packaged::install()?;
    packaged.standalone();
    packaged.node.machine.reboot();
    packaged.wait_until("the node is in its configuration", || packaged.rests_in("old"));
    packaged.node.fault(&json!({"bootc": {"slow_until": "/run/go", "method": "switch"}}));
    packaged.desire("2-new", &packaged.node.new_config());
    packaged.wait_until("bootc is at work", || is_at_work(&packaged));
    Some(packaged)
}

fn comes_to_its_end(packaged: &mut Packaged) {
    packaged.node.machine.reboot_and_wait();
    packaged.wait_until("the node is in the new configuration", || packaged.rests_in("new"));
    assert_eq!(packaged.node.end(), "new");
    let status = packaged.node.status();
    assert_eq!((&status["trial"], &status["open"]), (&json!(null), &json!(null)), "{status:#}");
}

#[test]
fn halves_that_are_told_to_end_in_the_middle_finish_what_they_have_begun() {
    let Some(mut packaged) = in_the_middle() else { return };
    packaged.systemctl(&["stop", "--no-block", AGENT, APPLIER]);
    for unit in [AGENT, APPLIER] {
        packaged.wait_until("it is ending", || packaged.show(unit, "ActiveState") == "deactivating");
    }
    packaged.wait_until("the end is postponed", || packaged.said("asked to end in the middle of a change") == 1);
    assert!(is_at_work(&packaged));
    packaged.write("run/go", "");
    packaged.wait_until("the agent has ended", || packaged.show(AGENT, "ActiveState") == "inactive");
    assert_eq!([AGENT, APPLIER].map(|unit| packaged.show(unit, "Result")), ["success", "success"]);
    let status = packaged.node.status();
    assert_eq!((&status["awaitsReboot"], &status["restart"]), (&json!(true), &json!(null)), "{status:#}");
    packaged.systemctl(&["start", "--no-block", AGENT]);
    comes_to_its_end(&mut packaged);
}

#[test]
fn halves_that_are_killed_in_the_middle_are_started_again_and_go_on() {
    let Some(mut packaged) = in_the_middle() else { return };
    let first = packaged.show(APPLIER, "MainPID");
    kill(&packaged, AGENT);
    packaged.wait_until("the agent is started again", || packaged.show(AGENT, "NRestarts") != "0");
    assert_eq!((packaged.show(APPLIER, "MainPID"), is_at_work(&packaged)), (first.clone(), true));
    kill(&packaged, APPLIER);
    packaged.wait_until("there is another root half", || {
        !["0", &first].contains(&packaged.show(APPLIER, "MainPID").as_str())
    });
    packaged.write("run/go", "");
    comes_to_its_end(&mut packaged);
}
