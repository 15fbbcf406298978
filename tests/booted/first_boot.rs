//! The first boot of a machine: its files are there, its operating system is not yet the one that was asked for.

use std::fs;

use serde_json::{Value, json};

use crate::booted::{os_root, wait_until};
use crate::node::{Driver, Node, drivers, make_image};

pub const SERVED: &str = "etc/mcs-machine-config-content.json";
pub const ENCAPSULATED: &str = "etc/ignition-machine-config-encapsulated.json";
pub const DONE: &str = "etc/ignition-machine-config-encapsulated.json.bak";
pub const RECORD: &str = "etc/machine-config-daemon/currentconfig";
pub const MARK: &str = "var/lib/ostler/first-boot";
const STATE: &str = "var/lib/ostler";

/// Makes a machine one that Ignition has just furnished for a configuration: nothing is known of earlier ones.
pub fn furnish(node: &Node, config: &Value) {
    let name = config["metadata"]["name"].as_str().unwrap();
    let _ = fs::remove_dir_all(node.machine.path(STATE));
    fs::create_dir_all(node.machine.path(STATE)).unwrap();
    for file in [RECORD, DONE, "etc/only-old", "etc/only-new"] {
        let _ = fs::remove_file(node.machine.path(file));
    }
    node.write("etc/motd", name);
    node.write(&format!("etc/only-{name}"), name);
    node.write(SERVED, &config.to_string());
    node.write(ENCAPSULATED, &encapsulated(config).to_string());
}

fn encapsulated(config: &Value) -> Value {
    let mut encapsulated = config.clone();
    encapsulated["spec"]["config"] = json!({"ignition": {"version": "3.4.0"}});
    encapsulated
}

fn installed(driver: Driver, config: impl FnOnce(&Node) -> Value) -> Option<(Node, Value)> {
    let node = Node::boot(driver)?;
    let config = config(&node);
    furnish(&node, &config);
    Some((node, config))
}

/// Begins the first boot as its unit does; a restart may end it.
fn begin(node: &Node) {
    let unit = ["--unit=first-boot", "--no-block", "--collect", "/opt/ostler/ostler", "firstboot"];
    node.machine.run("systemd-run", &unit);
}

/// Waits until it says something.
fn wait_for_words(node: &Node, words: &str) {
    wait_until(words, || node.machine.journal(&["--boot", "--unit=first-boot.service"]).contains(words));
}

/// The configuration that the machine is said to be in.
pub fn record(node: &Node) -> Value {
    serde_json::from_str(&node.read(RECORD)).unwrap_or_default()
}

pub fn is_over(node: &Node) -> bool {
    let there = |path: &str| node.machine.path(path).exists();
    there(DONE) && !there(ENCAPSULATED) && !there(MARK)
}

#[test]
fn a_machine_gets_its_operating_system_in_one_restart_and_a_record_of_all_of_it() {
    for driver in drivers() {
        let Some((mut node, config)) = installed(driver, Node::new_config) else { return };
        begin(&node);
        node.machine.reboot_and_wait();
        assert!(node.machine.path(DONE).exists(), "others look for it early in this boot");
        assert!(node.machine.path(MARK).exists(), "it is not over before it was seen to be");
        node.ostler(&["firstboot"]).exits(0);
        assert!(is_over(&node), "{driver:?}");
        assert_eq!((node.end(), &record(&node)["spec"]["config"]), ("new", &config["spec"]["config"]), "{driver:?}");
    }
}

#[test]
fn a_machine_that_has_all_of_it_does_not_restart() {
    let Some((node, config)) = installed(Driver::RpmOstree, |node| node.config("old", 0, &["old.karg"])) else {
        return;
    };
    let boot = node.machine.boot_id();
    for _ in 0..2 {
        node.ostler(&["firstboot"]).exits(0);
        assert_eq!((is_over(&node), node.end(), node.machine.boot_id()), (true, "old", boot.clone()));
        assert_eq!(record(&node)["spec"]["config"], config["spec"]["config"]);
    }
}

#[test]
fn a_power_cut_in_the_middle_costs_nothing_but_time() {
    let Some(()) = os_root::or_stand_ins() else { return };
    let Some((mut node, _)) = installed(Driver::Bootc, Node::new_config) else { return };
    node.fault(&json!({"bootc": {"slow_until": "/run/go", "method": "switch"}}));
    begin(&node);
    wait_until("bootc is at work", || {
        let mut question = node.machine.enter("systemctl");
        let said = question.args(["is-active", "ostler-bootc-switch.service"]).output().unwrap();
        matches!(said.stdout.trim_ascii(), b"active" | b"activating")
    });
    node.machine.power_cut();
    node.machine.power_on();
    assert!(node.machine.path(ENCAPSULATED).exists() && node.machine.path(MARK).exists());
    begin(&node);
    node.machine.reboot_and_wait();
    node.ostler(&["firstboot"]).exits(0);
    assert_eq!((is_over(&node), node.end()), (true, "new"));
}

#[test]
fn what_the_installation_left_is_refused_where_it_is_of_no_use() {
    let Some((node, config)) = installed(Driver::RpmOstree, Node::new_config) else { return };
    let mut other = config;
    other["metadata"]["name"] = json!("other");
    node.write(ENCAPSULATED, &other.to_string());
    let told = node.ostler(&["firstboot"]).exits(2).stderr;
    assert!(told.contains("other") && told.contains("install it again"), "{told}");
    node.write(ENCAPSULATED, "{");
    node.write(SERVED, "[]");
    node.ostler(&["firstboot"]).exits(2);
    fs::remove_file(node.machine.path(SERVED)).unwrap();
    let told = node.ostler(&["firstboot"]).exits(2).stderr;
    assert!([SERVED, ENCAPSULATED].iter().all(|file| told.contains(file)), "{told}");
    assert!(node.read(RECORD).is_empty());
}

fn damage(node: &Node, file: &str, text: Option<&str>) {
    match text {
        Some(text) => node.write(file, text),
        None => fs::remove_file(node.machine.path(file)).unwrap(),
    }
}

#[test]
fn the_configuration_that_was_served_is_enough() {
    let Some((node, config)) = installed(Driver::Bootc, |node| node.config("old", 0, &["old.karg"])) else { return };
    for text in [Some("{"), Some("[]"), None] {
        furnish(&node, &config);
        damage(&node, ENCAPSULATED, text);
        let told = node.ostler(&["firstboot"]).exits(0).stderr;
        assert!(told.contains(ENCAPSULATED) && told.contains("the other file of the installation is used"), "{told}");
        assert_eq!(record(&node)["spec"]["config"], config["spec"]["config"]);
        assert_eq!(node.read("etc/motd"), "old");
        assert!(!node.machine.path(MARK).exists() && !node.machine.path(ENCAPSULATED).exists());
    }
}

#[test]
fn a_configuration_without_its_files_brings_the_operating_system_and_is_never_recorded_under_its_name() {
    let Some((mut node, config)) = installed(Driver::Bootc, Node::new_config) else { return };
    damage(&node, SERVED, Some("{"));
    begin(&node);
    node.machine.reboot_and_wait();
    let told = node.machine.journal(&["--boot=-1", "--unit=first-boot.service"]);
    assert!(told.contains(SERVED) && told.contains("the other file of the installation is used"), "{told}");
    node.ostler(&["firstboot"]).exits(0);
    let found = record(&node);
    assert_eq!(
        (&found["metadata"]["name"], &found["spec"]),
        (&json!("new-without-files"), &encapsulated(&config)["spec"])
    );
    assert_eq!((is_over(&node), node.end()), (true, "new"));
}

#[test]
fn a_registry_that_is_away_is_asked_again_and_again() {
    let Some((mut node, _)) = installed(Driver::RpmOstree, Node::new_config) else { return };
    node.registry.stop();
    begin(&node);
    wait_for_words(&node, "tried 3 times, again in ");
    assert_eq!(node.status()["os"]["staged"], Value::Null);
    node.registry.resume();
    node.machine.reboot_and_wait();
    node.ostler(&["firstboot"]).exits(0);
    assert_eq!((is_over(&node), node.end()), (true, "new"));
}

#[test]
fn a_boot_image_of_another_major_version_stops_and_says_what_allows_it() {
    let newer = |node: &Node| {
        let (_, image) = make_image(node.site(), &node.registry, "9.6.20250930-0").unwrap();
        node.config_of("new", &image, &[])
    };
    let Some((mut node, _)) = installed(Driver::RpmOstree, newer) else { return };
    let aleph = json!({"version": "418.84.202501071309-0"});
    let write = format!("mount -o remount,rw /sysroot && echo '{aleph}' > /sysroot/.aleph-version.json");
    node.machine.run("sh", &["-c", &write]);
    begin(&node);
    wait_for_words(&node, "\"allow-major 9\" in /etc/ostler/os-upgrade; tried 2 times, again in ");
    assert_eq!(node.status()["os"]["staged"], Value::Null);
    assert!(node.machine.path(ENCAPSULATED).exists());
    node.write("etc/ostler/os-upgrade", "allow-major 9\n");
    node.machine.reboot_and_wait();
    node.ostler(&["firstboot"]).exits(0);
    assert!(is_over(&node));
    assert_eq!(record(&node)["metadata"]["name"], "new");
}
