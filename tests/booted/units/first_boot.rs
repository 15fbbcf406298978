//! The first boot as its unit makes it: what it holds up and for how long, what the console says, and what becomes of one
//! that is killed or given up.

use std::process::{Child, Stdio};

use nix::sys::signal::Signal;
use serde_json::json;

use super::kills::{is_at_work, kill};
use super::order::{KUBELET, seen, surround};
use super::{AGENT, Packaged};
use crate::booted::os_root;
use crate::first_boot::{ENCAPSULATED, SERVED, furnish, is_over, record};
use crate::node::Driver;

const UNIT: &str = "ostler-firstboot.service";
/// Where a terminal that stands for the console writes what it is told.
const CONSOLE: &str = "run/console.log";

/// Gives the machine a console, which containers have none of.
fn console(packaged: &Packaged) -> Child {
    let terminal = "ln -sf \"$(tty)\" /dev/console && exec sleep infinity";
    let mut script = packaged.node.machine.enter("script");
    script.args(["--quiet", "--flush", "--command", terminal]).arg(format!("/{CONSOLE}"));
    let process = script.stdout(Stdio::null()).spawn().unwrap();
    packaged.wait_until("there is a console", || packaged.node.machine.path("dev/console").is_symlink());
    process
}

fn starts_nothing(packaged: &Packaged) {
    for unit in [KUBELET, AGENT] {
        assert_eq!(packaged.show(unit, "ActiveState"), "inactive", "{unit}");
    }
    assert_eq!(seen(packaged), [""; 0]);
}

/// Furnishes a machine for the new configuration and boots it, without waiting for more than systemd.
fn begin(packaged: &mut Packaged) {
    furnish(&packaged.node, &packaged.node.new_config());
    surround(packaged);
    packaged.node.machine.power_cut();
    packaged.node.machine.launch_again();
    packaged.wait_until("systemd runs", || {
        ["run/ostree-booted", "run/systemd/private"].iter().all(|path| packaged.node.machine.path(path).exists())
    });
}

fn ends_well(packaged: &mut Packaged) {
    packaged.node.machine.reboot_and_wait();
    packaged.wait_until("the kubelet runs", || packaged.show(KUBELET, "ActiveState") == "active");
    assert_eq!((is_over(&packaged.node), packaged.node.end()), (true, "new"));
    assert_eq!(seen(packaged), ["9.6.2"]);
}

#[test]
fn what_is_in_the_way_is_told_on_the_console_and_nothing_starts_until_it_is_gone() {
    let Some(mut packaged) = Packaged::with(Driver::RpmOstree) else { return };
    packaged.node.registry.stop();
    begin(&mut packaged);
    let mut terminal = console(&packaged);
    let announced = "tried 3 times, again in ";
    packaged.wait_until("a third try is announced", || packaged.node.read(CONSOLE).contains(announced));
    let journal = packaged.node.machine.journal(&["--boot", &format!("--unit={UNIT}")]);
    for told in [packaged.node.read(CONSOLE), journal] {
        assert!(told.contains(packaged.node.registry.host()) && told.contains(announced), "{told}");
    }
    starts_nothing(&packaged);
    // A shutdown would talk to it as well, and it is gone too early for that.
    packaged.node.machine.run("rm", &["/dev/console"]);
    packaged.node.machine.signal("script", Signal::SIGTERM);
    terminal.wait().unwrap();
    packaged.node.registry.resume();
    ends_well(&mut packaged);
    let before = packaged.node.machine.journal(&["--boot=-1", &format!("--unit={UNIT}")]);
    let took = before.lines().find(|line| line.contains("how long it took to change this machine to new: check "));
    assert!(took.is_some_and(|line| line.contains(", stage ") && line.contains(", write ")), "{before}");
}

#[test]
fn a_first_boot_that_is_killed_goes_on_and_nothing_starts_in_between() {
    let Some(()) = os_root::or_stand_ins() else { return };
    let Some(mut packaged) = Packaged::install() else { return };
    packaged.write(&format!("etc/systemd/system/{UNIT}.d/test.conf"), "[Service]\nRestartSec=3s\n");
    packaged.node.fault_at_boot(Some(&json!({"bootc": {"slow_until": "/run/go", "method": "switch"}})));
    begin(&mut packaged);
    packaged.wait_until("bootc is at work", || is_at_work(&packaged));
    kill(&packaged, UNIT);
    packaged.wait_until("it is about to be started again", || packaged.show(UNIT, "SubState") == "auto-restart");
    starts_nothing(&packaged);
    packaged.wait_until("it is started again", || packaged.show(UNIT, "NRestarts") == "1");
    starts_nothing(&packaged);
    packaged.node.fault_at_boot(None);
    packaged.write("run/go", "");
    ends_well(&mut packaged);
}

#[test]
fn a_first_boot_that_cannot_be_starts_nothing_until_somebody_has_helped() {
    let Some(mut packaged) = Packaged::install() else { return };
    let config = packaged.node.config("old", 0, &["old.karg"]);
    furnish(&packaged.node, &config);
    surround(&packaged);
    let good = packaged.node.read(SERVED);
    for file in [SERVED, ENCAPSULATED] {
        packaged.write(file, "{");
    }
    packaged.node.machine.reboot();
    packaged.wait_until("it is given up", || packaged.show(UNIT, "ActiveState") == "failed");
    assert_eq!((packaged.show(UNIT, "ExecMainStatus"), packaged.show(UNIT, "NRestarts")), ("2".into(), "0".into()));
    starts_nothing(&packaged);
    assert_eq!(packaged.show(AGENT, "ConditionResult"), "no");

    packaged.write(SERVED, &good);
    packaged.systemctl(&["start", UNIT]);
    for unit in [KUBELET, AGENT] {
        packaged.wait_until("what was turned away is started", || packaged.show(unit, "ActiveState") == "active");
    }
    assert!(is_over(&packaged.node));
    assert_eq!(record(&packaged.node)["spec"]["config"], config["spec"]["config"]);
}
