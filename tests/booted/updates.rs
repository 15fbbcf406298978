//! Updates of a node's operating system from its registry, through restarts.

use std::fs;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::node::{Driver, Node, drivers};
use crate::registry::oci_layout;

const NEW_LINE: [&str; 6] = ["root=UUID=0000", "rw", "console=tty0", "console=ttyS0", "new.karg", "console=ttyS0"];

fn digests(node: &Node) -> [Value; 2] {
    [0, 1].map(|at| json!(node.images[at].split_once('@').unwrap().1))
}

fn is_staged(node: &Node, driver: Driver) {
    let (status, [old, new]) = (node.status(), digests(node));
    let os = &status["os"];
    assert_eq!((&os["booted"]["digest"], &os["staged"]["digest"]), (&old, &new), "{status:#}");
    assert_eq!(os["backend"], if driver == Driver::Bootc { "bootc" } else { "rpm-ostree" });
    assert_eq!(os["booted"]["ownKargs"], json!(["console=ttyS0", "old.karg"]), "{driver:?}");
    assert_eq!(os["staged"]["kargs"], json!(NEW_LINE), "{driver:?}");
    assert_eq!(status["awaitsReboot"], true);
}

fn is_booted(node: &Node, driver: Driver) {
    let (status, [old, _]) = (node.status(), digests(node));
    let os = &status["os"];
    assert_eq!(os["booted"]["kargs"], json!(NEW_LINE), "{driver:?}");
    assert_eq!(os["booted"]["ownKargs"], json!(["new.karg", "console=ttyS0"]));
    assert_eq!((&os["rollback"]["digest"], &status["config"]), (&old, &json!("new")));
    assert_eq!(os["booted"]["version"], "9.6.2");
}

/// Why an update to another kernel is no soft reboot: a systemd before 256 rules out every one.
fn not_soft(node: &Node) -> &'static str {
    let count = node.machine.run("systemctl", &["show", "--property=SoftRebootsCount"]);
    if count.is_empty() { "does not count restarts of user space" } else { "another kernel or initial ramdisk" }
}

#[test]
fn an_update_is_staged_restarted_into_and_then_applied() {
    for driver in drivers() {
        let Some(mut node) = Node::boot(driver) else { return };
        let before = node.machine.boot_id();
        let answer = node.apply(&node.new_config()).exits(0).json();
        assert_eq!((&answer["result"], &answer["finished"]["reboot"]), (&json!("awaitsReboot"), &json!(true)));
        is_staged(&node, driver);
        assert!(!node.machine.path("var/lib/rpm").exists(), "a question to rpm made a database");
        node.ostler(&["status"]).exits(4).says("Waiting for a restart");
        node.apply(&node.new_config()).exits(1).says("waits for the machine to restart");

        let plan = node.ostler(&["reboot", "--soft", "--dry-run", "-o", "json"]).exits(0).json();
        assert_eq!((&plan["soft"], &plan["staged"], &plan["begun"]), (&json!(false), &json!(true), &json!(false)));
        assert!(plan["notSoft"].as_str().unwrap().contains(not_soft(&node)), "{plan}");
        node.order_restart(&["reboot", "--soft", "--yes"]).says("Not user space alone");
        node.machine.reboot_and_wait();
        assert_ne!(node.machine.boot_id(), before);
        let layers = node.machine.run("ostree", &["refs", "--list", "ostree/container/blob"]);
        assert!(layers.lines().all(|name| name.starts_with("ostree/container/blob/sha256_3A_")), "{layers}");
        assert!(layers.lines().count() > 1, "{layers}");
        assert_eq!(node.ostler(&["recover", "-o", "json"]).exits(0).json()["result"], "applied");
        assert_eq!(node.end(), "new");
        is_booted(&node, driver);
        assert_eq!(node.ostler(&["recover", "-o", "json"]).exits(0).json()["result"], "nothing");
    }
}

#[test]
fn a_rollback_needs_no_registry() {
    for driver in drivers() {
        let Some(mut node) = Node::boot(driver) else { return };
        node.apply(&node.new_config()).exits(0);
        node.restart();
        node.ostler(&["recover"]).exits(0);
        node.write("etc/written-since", "kept");
        node.registry.stop();
        let answer = node.ostler(&["rollback", "--yes", "-o", "json"]).exits(0).json();
        assert_eq!(answer["result"], "awaitsReboot", "{answer:#}");
        node.restart();
        assert_eq!(node.ostler(&["recover", "-o", "json"]).exits(0).json()["result"], "applied");
        assert_eq!(node.end(), "old");
        assert_eq!(node.read("etc/written-since"), "kept", "what others wrote since is not lost");
    }
}

#[test]
fn a_power_cut_before_the_restart_undoes_files_and_system_as_a_pair() {
    for driver in drivers() {
        let Some(mut node) = Node::boot(driver) else { return };
        node.apply(&node.new_config()).exits(0);
        node.machine.power_cut();
        node.machine.power_on();
        assert_eq!(node.read("etc/motd"), "new");
        let answer = node.ostler(&["recover", "-o", "json"]).exits(1).json();
        assert_eq!(answer["result"], "undone", "{answer:#}");
        assert_eq!(node.end(), "old");
        assert_eq!(
            node.apply(&node.new_config()).exits(0).json()["result"],
            "awaitsReboot",
            "it is not held against it"
        );
    }
}

#[test]
fn a_change_is_taken_back_before_its_restart() {
    for driver in drivers() {
        let Some(node) = Node::boot(driver) else { return };
        node.apply(&node.new_config()).exits(0);
        node.ostler(&["rollback", "--yes"]).exits(0).says("Taking it back");
        assert_eq!(node.end(), "old");
    }
}

#[test]
fn kernel_arguments_alone_are_a_deployment_too() {
    for driver in drivers() {
        let Some(mut node) = Node::boot(driver) else { return };
        node.registry.stop();
        let quoted = ["dyndbg=\"file a.c +p\"", "console=tty0", "console=tty0"];
        let answer = node.apply(&node.config("kargs", 0, &quoted)).exits(0).json();
        assert_eq!(answer["result"], "awaitsReboot", "{answer:#}");
        node.restart();
        node.ostler(&["recover"]).exits(0);
        let line = [&["root=UUID=0000", "rw", "console=tty0", "console=ttyS0"][..], &quoted].concat();
        assert_eq!(node.status()["os"]["booted"]["kargs"], json!(line), "{driver:?}");
    }
}

#[test]
fn kernels_and_extensions_are_layered_from_their_image_and_nothing_else_is_left() {
    let Some(mut node) = Node::boot_with_stand_ins(Driver::RpmOstree) else { return };
    let tree = node.site().path("extensions-tree");
    let packages = tree.join("usr/share/rpm-ostree/extensions");
    fs::create_dir_all(&packages).unwrap();
    let kernel = ["kernel-rt-core", "kernel-rt-modules", "kernel-rt-modules-extra"];
    for name in kernel.iter().chain(&["usbguard"]) {
        fs::write(packages.join(format!("{name}-1.0.rpm")), "an rpm").unwrap();
    }
    let layout = node.site().path("extensions-oci");
    oci_layout(&layout, &tree, &json!({})).unwrap();
    let digest = node.registry.push(&format!("oci:{}", layout.display()), "extensions:1");
    let mut config = node.new_config();
    config["spec"]["extensions"] = json!(["usbguard"]);
    config["spec"]["kernelType"] = json!("realtime");
    config["spec"]["baseOSExtensionsContainerImage"] = json!(format!("{}/extensions@{digest}", node.registry.host()));
    let answer = node.apply(&config).exits(0);
    assert_eq!(answer.json()["result"], "awaitsReboot");
    assert_eq!(answer.stderr.matches("Assembling the packages").count(), 1, "{}", answer.stderr);
    let staged = node.status()["os"]["staged"].clone();
    assert_eq!(staged["packages"], json!([&kernel[..], &["usbguard"]].concat()), "{staged:#}");
    assert!(staged["removals"].as_array().unwrap().contains(&json!("kernel-core")), "{staged:#}");
    for left in ["etc/yum.repos.d/coreos-extensions.repo", "run/ostler/extensions"] {
        assert!(!node.machine.path(left).exists(), "{left}");
    }
    node.restart();
    node.ostler(&["recover"]).exits(0);
    assert_eq!(node.end(), "new");

    // Other kernel arguments need neither a registry nor the packages.
    node.registry.stop();
    config["metadata"]["name"] = json!("kargs");
    config["spec"]["kernelArguments"] = json!(["new.karg", "console=ttyS0", "more"]);
    let answer = node.apply(&config).exits(0);
    assert_eq!(answer.json()["result"], "awaitsReboot");
    assert!(!answer.stderr.contains("Assembling the packages"), "{}", answer.stderr);
    node.restart();
    node.ostler(&["recover"]).exits(0);
    let booted = node.status()["os"]["booted"].clone();
    assert!(booted["kargs"].as_array().unwrap().contains(&json!("more")), "{booted:#}");
    assert_eq!(booted["packages"], staged["packages"]);

    let Some(node) = Node::boot_with_stand_ins(Driver::Bootc) else { return };
    let mut config = node.new_config();
    config["spec"]["extensions"] = json!(["usbguard"]);
    node.apply(&config).exits(3).says("bootc cannot layer or remove packages");
    assert_eq!(node.end(), "old");
}

#[test]
fn the_boot_loader_follows_a_new_system_only_where_somebody_wants_it() {
    let Some(mut node) = Node::boot_with_stand_ins(Driver::Bootc) else { return };
    node.ostler(&["bootloader", "status"]).exits(4).says("grub-0").says("grub-9.6.1");
    node.ostler(&["bootloader", "update", "--dry-run"]).exits(0).says("unable to boot");
    node.ostler(&["bootloader", "update", "--yes"]).exits(0);
    node.ostler(&["bootloader", "status"]).exits(0).says("grub-9.6.1");
    node.ostler(&["bootloader", "update", "--yes"]).exits(0);

    node.apply(&node.new_config()).exits(0);
    node.write("etc/ostler/bootloader-update", "");
    node.restart();
    assert_eq!(node.ostler(&["recover", "-o", "json"]).exits(0).json()["finished"]["bootLoader"], "updated");
    assert_eq!(node.read("boot/bootupd-version"), "grub-9.6.2\n");
    assert_eq!(node.end(), "new");

    // Two boot loaders, of which bootupd might write one: left alone, and told.
    let esp = |name: &str| json!({"name": name, "type": "part", "parttype": "C12A7328-F81F-11D2-BA4B-00A0C93EC93B"});
    node.write("boot/bootupd-version", "grub-old");
    node.ostler(&["rollback", "--yes"]).exits(0);
    node.restart();
    node.write("run/lsblk.json", &json!({"blockdevices": [esp("/dev/vda2"), esp("/dev/vdb2")]}).to_string());
    node.ostler(&["recover"]).exits(0).says("Boot loader: left alone: there are 2 EFI system partitions");
    assert_eq!(node.read("boot/bootupd-version"), "grub-old");
    assert_eq!(node.end(), "old");
}

#[test]
fn a_restart_waits_for_whoever_holds_it_up() {
    let Some(mut node) = Node::boot(Driver::RpmOstree) else { return };
    node.apply(&node.new_config()).exits(0);
    let mut holder = node.machine.enter("systemd-inhibit");
    holder.args(["--what=shutdown", "--who=backup", "--why=tape is running", "--mode=block", "sleep", "infinity"]);
    let mut holder = holder.spawn().unwrap();
    crate::booted::wait_until("the inhibitor is there", || {
        node.machine.run("systemd-inhibit", &["--list", "--no-legend"]).contains("backup")
    });
    node.ostler(&["reboot", "--yes"]).exits(1).says("backup").says("tape is running");
    assert!(node.machine.is_on());
    holder.kill().unwrap();
    holder.wait().unwrap();
    node.machine.signal("sleep", Signal::SIGTERM);
    node.restart();
    node.ostler(&["recover"]).exits(0);
    assert_eq!(node.end(), "new");
}

#[test]
fn another_controller_stages_and_ostler_verifies() {
    let Some(mut node) = Node::boot(Driver::Bootc) else { return };
    node.write("etc/ostler/os-backend", "external");
    let target = node.config("new", 1, &["old.karg"]);
    let refused = node.apply(&target).exits(1);
    refused.says("external");
    assert_eq!(node.end(), "old");
    node.write("run/ostree/auth.json", &node.read("var/lib/kubelet/config.json"));
    node.machine.run("bootc", &["switch", "--transport", "registry", &node.images[1]]);
    assert_eq!(node.apply(&target).exits(0).json()["result"], "awaitsReboot");
    node.restart();
    node.ostler(&["recover"]).exits(0);
    assert_eq!(node.read("etc/motd"), "new");
    let digest: &Value = &node.status()["os"]["booted"]["digest"];
    assert!(node.images[1].ends_with(digest.as_str().unwrap()));
}
