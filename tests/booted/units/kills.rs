//! An update through both halves as services, either of which is stopped, killed or out of memory in the middle of it.

use serde_json::json;

use super::memory::Want;
use super::{AGENT, APPLIER, Packaged};
use crate::booted::os_root;

pub fn is_at_work(packaged: &Packaged) -> bool {
    let mut question = packaged.node.machine.enter("systemctl");
    let said = question.args(["is-active", "ostler-bootc-switch.service"]).output().unwrap();
    matches!(said.stdout.trim_ascii(), b"active" | b"activating")
}

pub fn kill(packaged: &Packaged, unit: &str) {
    packaged.systemctl(&["kill", "--signal=KILL", "--kill-whom=main", unit]);
}

/// A node in the middle of an update, which goes on when there is a file `/run/go`.
pub fn in_the_middle() -> Option<Packaged> {
    os_root::or_stand_ins()?;
    let mut packaged = Packaged::install()?;
    packaged.standalone_with("--stage-after-drain");
    packaged.node.machine.reboot();
    packaged.wait_until("the node is in its configuration", || packaged.rests_in("old"));
    packaged.node.fault(&json!({"bootc": {"slow_until": "/run/go", "method": "switch"}}));
    packaged.desire("2-new", &packaged.node.new_config());
    packaged.wait_until("bootc is at work", || is_at_work(&packaged));
    Some(packaged)
}

pub fn comes_to_its_end(packaged: &mut Packaged) {
    packaged.node.machine.reboot_and_wait();
    packaged.wait_until("the node is in the new configuration", || packaged.rests_in("new"));
    assert_eq!(packaged.node.end(), "new");
    let status = packaged.node.status();
    assert_eq!((&status["trial"], &status["open"]), (&json!(null), &json!(null)), "{status:#}");
}

#[test]
fn halves_that_are_told_to_end_in_the_middle_finish_what_they_have_begun() {
    let Some(mut packaged) = in_the_middle() else { return };
    assert_eq!(packaged.node.status()["busy"], json!(true), "how the machine is can be told at any time");
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

/// Has a service run out of memory until the kernel kills it; false where that cannot be done.
fn starve(packaged: &Packaged, unit: &str) -> bool {
    let first = packaged.show(unit, "MainPID");
    let Some(want) = Want::of(packaged, unit) else { return false };
    packaged.wait_until("there is another one in its place", || {
        // Both are asked, and an answer takes memory. Whoever asked gets none, or gets it of the next.
        let _ = packaged.node.ostler(&["status"]);
        !["0", &first].contains(&packaged.show(unit, "MainPID").as_str())
    });
    assert_eq!(want.killed(), 1, "{unit}");
    true
}

#[test]
fn halves_that_run_out_of_memory_in_the_middle_are_started_again_and_go_on() {
    let Some(mut packaged) = in_the_middle() else { return };
    if !starve(&packaged, AGENT) {
        return;
    }
    assert!(starve(&packaged, APPLIER) && is_at_work(&packaged));
    packaged.write("run/go", "");
    comes_to_its_end(&mut packaged);
}
