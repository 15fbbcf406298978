//! The operating system of an update is staged before anything else of it, and boots only with it.

use std::fs;

use serde_json::json;

use super::{Agent, DESIRED};
use crate::node::{Driver, drivers};

/// Whether the image of `new` is staged for it.
fn is_staged(agent: &Agent) -> bool {
    let status = agent.node.status();
    let digest = status["os"]["staged"]["digest"].as_str().unwrap_or_default();
    status["stagedFor"] == "new" && agent.node.images[1].ends_with(digest) && !digest.is_empty()
}

/// Files and operating system are those of `old`.
fn is_old(agent: &Agent) {
    let status = agent.node.status();
    let booted = status["os"]["booted"]["digest"].as_str().unwrap();
    assert!(agent.node.images[0].ends_with(booted), "{status:#}");
    assert_eq!((agent.node.read("etc/motd").as_str(), &status["config"]), ("old", &json!("old")), "{status:#}");
    assert_eq!(status["open"], json!(null), "{status:#}");
}

#[test]
fn an_update_that_is_held_is_staged_and_no_restart_boots_it() {
    for driver in drivers() {
        let Some(mut agent) = Agent::start(driver, 20, "") else { return };
        let hold = format!("{DESIRED}/hold");
        agent.node.write(&hold, "Easter");
        agent.desire("2-new", &agent.node.new_config());
        for restart in ["none", "clean", "cut"] {
            match restart {
                "clean" => agent.node.machine.reboot(),
                "cut" => {
                    agent.node.machine.power_cut();
                    agent.node.machine.power_on();
                }
                _ => {}
            }
            is_old(&agent);
            agent.wait_until("it is staged", || is_staged(&agent));
            agent.wait_until("it is held", || agent.property("StatusText").contains("Easter"));
            is_old(&agent);
        }
        // The registry is not needed any more.
        agent.node.registry.stop();
        fs::remove_file(agent.node.machine.path(&hold)).unwrap();
        agent.node.machine.reboot_and_wait();
        agent.comes_to_rest_in("new");
        assert_eq!(agent.node.end(), "new", "{driver:?}");
    }
}

#[test]
fn what_was_staged_for_an_update_that_is_taken_back_is_dropped() {
    for driver in drivers() {
        let Some(agent) = Agent::start(driver, 20, "") else { return };
        agent.node.write(&format!("{DESIRED}/hold"), "Easter");
        agent.desire("2-new", &agent.node.new_config());
        agent.wait_until("it is staged", || is_staged(&agent));
        fs::remove_file(agent.node.machine.path(&format!("{DESIRED}/2-new.json"))).unwrap();
        agent.wait_until("it is dropped", || agent.node.status()["os"]["staged"] == json!(null));
        agent.comes_to_rest_in("old");
        assert!(!agent.node.machine.path("run/ostree/staged-deployment-locked").exists());
        assert_eq!(agent.node.end(), "old", "{driver:?}");
    }
}

/// Another controller may be in the middle of something of its own.
#[test]
fn what_another_controller_has_staged_is_neither_locked_nor_dropped() {
    let Some(agent) = Agent::start(Driver::Bootc, 20, "") else { return };
    let node = &agent.node;
    node.write("etc/ostler/os-backend", "external");
    node.write("run/ostree/auth.json", &node.read("var/lib/kubelet/config.json"));
    let other = node.derive("other", "usr/lib/other", "x");
    node.machine.run("bootc", &["switch", "--transport", "registry", &other]);
    let staged = node.status()["os"]["staged"]["digest"].clone();
    assert!(other.ends_with(staged.as_str().unwrap()));
    agent.desire("2-new", &node.config("new", 1, &["old.karg"]));
    agent.wait_until("it waits for the controller", || agent.property("StatusText").contains("external"));
    fs::remove_file(node.machine.path(&format!("{DESIRED}/2-new.json"))).unwrap();
    agent.wait_until("it is at rest", || agent.property("StatusText").starts_with("Up to date."));
    assert_eq!(node.status()["os"]["staged"]["digest"], staged);
    assert!(!node.machine.path("run/ostree/staged-deployment-locked").exists());
}
