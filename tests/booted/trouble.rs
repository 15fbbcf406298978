//! Updates of a node's operating system that meet trouble: whatever happens, files and system stay a pair.

use std::fs;
use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::booted::wait_until;
use crate::node::{Driver, Node, drivers};

#[test]
fn an_image_that_cannot_be_had_is_refused_before_anything_changes() {
    for driver in drivers() {
        let Some(mut node) = Node::boot(driver) else { return };
        let unknown = format!("{}/os@sha256:{}", node.registry.host(), "0".repeat(64));
        let tagged = format!("{}/os:9.6.2", node.registry.host());
        let nobody = format!("localhost:1/os@sha256:{}", "0".repeat(64));
        for (image, code, words) in [
            (unknown.as_str(), 3, "manifest unknown"),
            (&tagged, 3, "not pinned by a digest"),
            (&nobody, 1, "connection refused"),
            ("not an image", 3, "is no name of an OS image"),
        ] {
            node.apply(&node.config_of("new", image, &["new.karg"])).exits(code).says(words);
        }
        // The digest to write instead is told.
        node.apply(&node.config_of("new", &tagged, &[])).says(&node.images[1]);
        node.write("var/lib/kubelet/config.json", &node.registry.auth("wrong").to_string());
        node.apply(&node.new_config()).exits(1).says("authentication required");
        node.registry.stop();
        node.apply(&node.new_config()).exits(1).says(node.registry.host());
        assert_eq!(node.end(), "old", "{driver:?}");
    }
}

#[test]
fn the_signature_policy_is_obeyed_and_never_touched() {
    for driver in drivers() {
        let Some(node) = Node::boot(driver) else { return };
        for policy in [
            json!({"default": [{"type": "reject"}]}),
            json!({"default": [{"type": "insecureAcceptAnything"}],
                   "transports": {"docker": {node.registry.host(): [{"type": "signedBy", "keyType": "GPGKeys",
                                             "keyPath": "/etc/pki/missing"}]}}}),
        ] {
            node.write("etc/containers/policy.json", &policy.to_string());
            node.apply(&node.new_config()).exits(3).says("policy");
            assert_eq!(node.read("etc/containers/policy.json"), policy.to_string());
        }
        assert_eq!(node.end(), "old", "{driver:?}");
    }
}

#[test]
fn a_mirror_serves_what_the_registry_cannot_and_one_that_fails_is_named() {
    let Some(mut node) = Node::boot(Driver::RpmOstree) else { return };
    let Some(mirror) = crate::registry::Registry::start(node.site()) else { return };
    mirror.introduce_to(&node.machine);
    let layout = node.site().path("oci-9.6.2");
    mirror.push(&format!("oci:{}:os", layout.display()), "os:9.6.2");
    let both: Value = json!({"auths": {
        node.registry.host(): node_auth(&node), mirror.host(): mirror.auth(&password(&mirror))["auths"][mirror.host()],
    }});
    node.write("var/lib/kubelet/config.json", &both.to_string());
    let mirrors = format!(
        "[[registry]]\nlocation = \"{}\"\n[[registry.mirror]]\nlocation = \"localhost:1\"\n\
         [[registry.mirror]]\nlocation = \"{}\"\n",
        node.registry.host(),
        mirror.host()
    );
    node.write("etc/containers/registries.conf", &mirrors);
    node.registry.stop();
    assert_eq!(node.apply(&node.new_config()).exits(0).json()["result"], "awaitsReboot");
    node.ostler(&["rollback", "--yes"]).exits(0);
    drop(mirror);
    node.apply(&node.new_config()).exits(1).says("localhost:1").says(node.registry.host());
    assert_eq!(node.end(), "old");
}

fn node_auth(node: &Node) -> Value {
    let text = fs::read_to_string(node.registry.auth_path()).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()["auths"][node.registry.host()].clone()
}

/// What its own file of credentials has as the password.
fn password(registry: &crate::registry::Registry) -> String {
    use base64::Engine;
    let text = fs::read_to_string(registry.auth_path()).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    let encoded = value["auths"][registry.host()]["auth"].as_str().unwrap().to_owned();
    let plain = base64::engine::general_purpose::STANDARD.decode(encoded).unwrap();
    String::from_utf8(plain).unwrap().split_once(':').unwrap().1.to_owned()
}

#[test]
fn a_full_boot_partition_is_found_before_anything_begins() {
    let Some(node) = Node::boot(Driver::RpmOstree) else { return };
    let filler = node.machine.path("boot/filler");
    let mut free = 64_usize << 20;
    while free > 0 && fs::write(&filler, vec![0; free]).is_err() {
        free -= 1 << 20;
    }
    // tmpfs counts pages: what is left now is less than a kernel.
    let _ = fs::write(node.machine.path("boot/rest"), vec![0; 2 << 20]);
    node.apply(&node.new_config()).exits(1).says("/boot");
    fs::remove_file(filler).unwrap();
    let _ = fs::remove_file(node.machine.path("boot/rest"));
    assert_eq!(node.end(), "old");
}

#[test]
fn a_daemon_that_dies_at_any_message_leaves_a_pair() {
    let mut applied = false;
    for message in 1..40 {
        let Some(mut node) = Node::boot_with_stand_ins(Driver::RpmOstree) else { return };
        node.fault(&json!({"rpm-ostreed": {"die_at": message, "once": true}}));
        let answer = node.apply(&node.new_config());
        let struck = !node.machine.path("run/standins/faults.json").exists();
        match answer.json()["result"].as_str() {
            Some("awaitsReboot") => {
                node.restart();
                node.ostler(&["recover"]).exits(0);
                assert_eq!(node.end(), "new", "message {message}");
            }
            Some("undone") => assert_eq!(node.end(), "old", "message {message}"),
            other => panic!("message {message}: {other:?} {answer:#?}"),
        }
        if !struck {
            println!("the daemon died at each of {} messages", message - 1);
            applied = true;
            break;
        }
    }
    assert!(applied, "the daemon always died");
}

#[test]
fn a_system_that_was_left_for_the_old_one_is_given_up_and_not_tried_again_by_itself() {
    let Some(mut node) = Node::boot(Driver::Bootc) else { return };
    node.apply(&node.new_config()).exits(0);
    node.restart();
    // As a person does at the console when the new system does not do what it should.
    node.machine.run("bootc", &["rollback"]);
    node.machine.reboot();
    let answer = node.ostler(&["recover", "-o", "json"]).exits(1).json();
    assert_eq!(answer["result"], "undone", "{answer:#}");
    assert_eq!(node.end(), "old");
    node.apply(&node.new_config()).exits(3).says("it failed here for new");
    node.machine.reboot();
    assert_eq!(node.end(), "old", "the old one is what is booted by itself");
    node.write("run/machine-config-daemon-force", "");
    assert_eq!(node.apply(&node.new_config()).exits(0).json()["result"], "awaitsReboot");
    node.restart();
    node.ostler(&["recover"]).exits(0);
    assert_eq!(node.end(), "new");
}

#[test]
fn a_deployment_that_cannot_be_finished_is_undone() {
    let Some(mut node) = Node::boot(Driver::RpmOstree) else { return };
    node.apply(&node.new_config()).exits(0);
    node.machine.wait_until_armed();
    // Nothing can be written to /boot any more when the machine goes down.
    let filler = node.machine.path("boot/filler");
    let mut room = 64_usize << 20;
    while room > 0 && fs::write(&filler, vec![0; room]).is_err() {
        room -= 256 << 10;
    }
    let _ = fs::write(node.machine.path("boot/rest"), vec![0; 1 << 20]);
    node.restart();
    let answer = node.ostler(&["recover", "-o", "json"]).exits(1).json();
    assert_eq!(answer["result"], "undone", "{answer:#}");
    let reason = answer["finished"]["reason"].as_str().unwrap();
    assert!(reason.contains("No space left on device"), "the machine's last words are told: {reason}");
    for name in ["boot/filler", "boot/rest"] {
        let _ = fs::remove_file(node.machine.path(name));
    }
    assert_eq!(node.end(), "old");
}

#[test]
fn work_that_fails_in_the_middle_is_undone() {
    for (name, driver) in [("rpm-ostreed", Driver::RpmOstree), ("bootc", Driver::Bootc)] {
        let Some(node) = Node::boot_with_stand_ins(driver) else { return };
        node.fault(&json!({name: {"fail_at": 2, "fail_text": "No space left on device", "once": true}}));
        let answer = node.apply(&node.new_config()).exits(1);
        answer.says("No space left on device");
        assert_eq!(answer.json()["result"], "undone");
        assert_eq!(node.end(), "old", "{driver:?}");
    }
}

#[test]
fn an_agent_that_is_killed_while_rpm_ostree_works_cancels_what_it_left_and_begins_anew() {
    let Some(mut node) = Node::boot_with_stand_ins(Driver::RpmOstree) else { return };
    node.fault(&json!({"rpm-ostreed": {"hang_at": 3, "method": "UpdateDeployment", "once": true}}));
    node.write("var/target.json", &node.new_config().to_string());
    let mut running = node.start(&["apply", "--to", "/var/target.json", "--yes"]);
    wait_until("the daemon hangs", || !node.machine.path("run/standins/faults.json").exists());
    node.machine.signal("ostler", Signal::SIGKILL);
    running.wait().unwrap();
    let answer = node.ostler(&["recover", "-o", "json"]).exits(5).json();
    assert_eq!(answer["result"], "awaitsReboot", "{answer:#}");
    node.restart();
    node.ostler(&["recover"]).exits(0);
    assert_eq!(node.end(), "new");
}

#[test]
fn an_agent_that_is_killed_while_bootc_works_finds_its_work_again() {
    let Some(mut node) = Node::boot_with_stand_ins(Driver::Bootc) else { return };
    node.fault(&json!({"bootc": {"slow_until": "/run/go", "method": "switch"}}));
    node.write("var/target.json", &node.new_config().to_string());
    let mut running = node.start(&["apply", "--to", "/var/target.json", "--yes"]);
    let is_active = |node: &Node| {
        let said = node.machine.enter("systemctl").args(["is-active", "ostler-bootc-switch.service"]).output().unwrap();
        matches!(said.stdout.trim_ascii(), b"active" | b"activating")
    };
    wait_until("bootc is at work", || is_active(&node));
    let began = Instant::now();
    node.machine.signal("ostler", Signal::SIGKILL);
    running.wait().unwrap();
    assert!(is_active(&node), "bootc has gone with its agent");
    // One that had ended already would be dropped with what it staged, and begun anew.
    let mut recovery = node.start(&["recover", "-o", "json"]);
    let mut lines = BufReader::new(recovery.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("bootc is fetching")), "it does not wait for bootc");
    node.write("run/go", "");
    lines.for_each(drop);
    let recovered = recovery.wait_with_output().unwrap();
    let answer: Value = serde_json::from_slice(&recovered.stdout).unwrap();
    assert_eq!((recovered.status.code(), &answer["result"]), (Some(5), &json!("awaitsReboot")), "{answer:#}");
    assert!(began.elapsed() < Duration::from_secs(180));
    let journal = node.machine.journal(&["--unit=ostler-bootc-switch.service"]);
    let starts = journal.lines().filter(|line| line.contains(": Starting ostler-bootc-switch")).count();
    assert_eq!(starts, 1, "bootc was started again:\n{journal}");
    node.restart();
    node.ostler(&["recover"]).exits(0);
    assert_eq!(node.end(), "new");
}
