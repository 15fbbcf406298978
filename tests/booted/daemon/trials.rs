//! Updates of the operating system that nobody but the agent follows: to their proof, or back.

use std::fs;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::{AFTER_THE_BOOT, Agent};
use crate::node::{Driver, drivers};

#[test]
fn an_update_is_restarted_into_and_committed_once_the_boot_is_complete() {
    for driver in drivers() {
        let Some(mut agent) = Agent::start(driver, 20, "") else { return };
        let before = agent.node.machine.boot_id();
        agent.desire("2-new", &agent.node.new_config());
        agent.node.machine.reboot_and_wait();
        assert_ne!(agent.node.machine.boot_id(), before);
        agent.comes_to_rest_in("new");
        assert_eq!(agent.node.end(), "new", "{driver:?}");
        assert_eq!(agent.node.status()["os"]["rollback"], json!(null), "what is proven has no way back");
        let words = ["restarted into new", "new has proven itself", "Setting node to Done", "interrupted"];
        assert_eq!(words.map(|words| agent.said(words)), [1, 1, 1, 0], "{}", agent.journal());
        assert!(!agent.is("NodeDegraded"), "{:#}", agent.object());
    }
}

/// An update whose boot is complete when a command has succeeded.
fn checked(agent: &Agent, command: &str) -> Value {
    let mut config = agent.node.new_config();
    let unit = format!(
        "[Unit]\nBefore=boot-complete.target\n[Service]\nType=oneshot\nExecStart={command}\n\
         [Install]\nRequiredBy=boot-complete.target\n"
    );
    let units = json!([{"name": "check.service", "enabled": true, "contents": unit}]);
    config["spec"]["config"]["systemd"] = json!({ "units": units });
    config
}

#[test]
fn a_boot_that_takes_its_time_is_waited_for() {
    let Some(mut agent) = Agent::start(Driver::Bootc, 20, "") else { return };
    agent.desire("2-new", &checked(&agent, "/bin/sh -c 'until [ -e /run/go ]; do sleep 0.1; done'"));
    agent.node.machine.reboot_and_watch();
    agent.wait_until("the agent has begun", || agent.object().is_object());
    agent.wait_until("the boot has yet to be verified", || agent.property("StatusText").contains("health checks"));
    // What a start of the agent does not change is when the machine was started.
    agent.node.machine.run("systemctl", &["restart", "ostler.service"]);
    agent.wait_until("it is waited for", || agent.property("StatusText").contains("health checks"));
    assert_eq!(agent.node.status()["trial"]["config"], "new");
    agent.node.write("run/go", "");
    agent.comes_to_rest_in("new");
    assert_eq!(agent.node.end(), "new");
}

#[test]
fn a_system_whose_boot_does_not_complete_is_left_and_not_tried_again() {
    for driver in drivers() {
        let Some(mut agent) = Agent::start(driver, 0, AFTER_THE_BOOT) else { return };
        agent.desire("2-new", &checked(&agent, "/bin/false"));
        agent.node.machine.reboot_and_watch();
        agent.node.machine.reboot_and_wait();
        agent.wait_until("what was given up is told", || agent.is("NodeDegraded"));
        assert_eq!(agent.node.end(), "old", "{driver:?}");
        assert!(!agent.node.machine.path("etc/systemd/system/check.service").exists());
        let trial = agent.node.machine.journal(&["--boot=-1", "--unit=ostler.service"]);
        assert!(trial.contains("new has not proven itself and is left"), "{trial}");
        let (status, degraded) = (agent.node.status(), agent.condition("NodeDegraded"));
        assert_eq!(status["rejected"][0]["config"], "new", "{status:#}");
        for reason in [&status["rejected"][0]["reason"], &degraded["message"]] {
            assert!(reason.as_str().unwrap().contains("boot-complete.target is not reached"), "{reason}");
        }

        // Neither being asked to look nor a start makes it try again.
        let boot = agent.node.machine.boot_id();
        agent.node.machine.run("systemctl", &["kill", "--signal=HUP", "--kill-whom=main", "ostler.service"]);
        agent.node.machine.run("systemctl", &["restart", "ostler.service"]);
        agent.wait_until("it has started again", || {
            agent.said("looks after this node") == 2 && agent.is("NodeDegraded")
        });
        assert_eq!(agent.said("changing this machine"), 0, "{}", agent.journal());
        assert_eq!((agent.node.end(), agent.node.machine.boot_id()), ("old", boot));

        agent.desire("3-other", &agent.node.config("other", 0, &["old.karg"]));
        agent.node.machine.reboot_and_wait();
        agent.comes_to_rest_in("other");
        assert!(!agent.is("NodeDegraded"), "{:#}", agent.object());
        assert_eq!(agent.node.read("etc/motd"), "other");
    }
}

#[test]
fn a_deployment_that_could_not_be_finished_is_given_up_with_the_last_words_of_its_boot() {
    let Some(mut agent) = Agent::start(Driver::RpmOstree, 20, "") else { return };
    let mut holder = agent.node.machine.enter("systemd-inhibit");
    holder.args(["--what=shutdown", "--who=test", "--why=not yet", "--mode=block", "sleep", "infinity"]);
    let mut holder = holder.spawn().unwrap();
    agent.wait_until("the restart is held up", || {
        agent.node.machine.run("systemd-inhibit", &["--list", "--no-legend"]).contains("not yet")
    });
    agent.desire("2-new", &agent.node.new_config());
    agent.wait_until("the agent waits for whoever holds it up", || agent.said(", again in ") > 0);
    agent.node.machine.wait_until_armed();
    let filler = agent.node.machine.path("boot/filler");
    let mut room = 64_usize << 20;
    while room > 0 && fs::write(&filler, vec![0; room]).is_err() {
        room -= 256 << 10;
    }
    let _ = fs::write(agent.node.machine.path("boot/rest"), vec![0; 1 << 20]);
    holder.kill().unwrap();
    holder.wait().unwrap();
    agent.node.machine.signal("sleep", Signal::SIGTERM);
    agent.node.machine.reboot_and_wait();
    agent.wait_until("it is told", || agent.is("NodeDegraded"));
    for name in ["boot/filler", "boot/rest"] {
        let _ = fs::remove_file(agent.node.machine.path(name));
    }
    let message = agent.condition("NodeDegraded")["message"].clone();
    assert!(message.as_str().unwrap().contains("No space left on device"), "{message}");
    assert_eq!(agent.node.end(), "old");
}

#[test]
fn what_ostree_leaves_word_of_is_reported_on_a_node_that_is_up_to_date() {
    let Some(mut agent) = Agent::start(Driver::Bootc, 20, "[Unit]\nAfter=ostree-boot-complete.service\n") else {
        return;
    };
    agent.node.write("boot/ostree/finalize-failure.stamp", "Installing kernel: No space left on device");
    agent.node.machine.reboot();
    agent.wait_until("the agent has looked", || {
        agent.said("not finished: Installing kernel: No space left on device") > 0
    });
    assert!(!agent.node.machine.path("boot/ostree/finalize-failure.stamp").exists(), "ostree has reported it");
    assert_eq!(agent.said("not finished: Installing kernel: No space left on device"), 1, "{}", agent.journal());
    agent.wait_until("the node is up to date", || agent.is("Updated"));
    assert!(!agent.is("NodeDegraded"), "{}", agent.condition("NodeDegraded"));
    let status = agent.node.status();
    assert_eq!(status["os"]["finalizationFailure"], "Installing kernel: No space left on device", "{status:#}");
}
