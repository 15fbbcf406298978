//! The power goes at each step of a first boot: it comes to its end all the same, with nobody's help, and the kubelet starts
//! on nothing but that.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Packaged;
use super::order::{SEEN, seen, surround};
use crate::booted::os_root;
use crate::first_boot::{DONE, MARK, RECORD, furnish, is_over, record};

const PLAN: &str = "var/lib/ostler/journal/plan";
/// How long a machine may take to get to a step, or to the end.
const PATIENCE: Duration = Duration::from_secs(180);
const NAP: Duration = Duration::from_millis(1);

/// What a machine is installed for: not what it runs.
struct Target {
    config: Value,
    version: &'static str,
}

/// Something of a first boot that can be seen from outside, as soon as it is there.
struct Step {
    name: &'static str,
    reached: fn(&Packaged, &Target) -> bool,
}

/// In their order.
const STEPS: [Step; 9] = [
    Step { name: "it has begun", reached: |packaged, _| there(packaged, MARK) },
    Step { name: "the change is written down", reached: |packaged, _| there(packaged, PLAN) },
    Step { name: "the deployment is staged", reached: |packaged, _| there(packaged, "run/ostree/staged-deployment") },
    Step { name: "the configuration is recorded", reached: |packaged, _| there(packaged, RECORD) },
    Step { name: "the file of Ignition is set aside", reached: |packaged, _| there(packaged, DONE) },
    Step { name: "the restart is ordered", reached: |packaged, _| there(packaged, "var/lib/ostler/journal/restart") },
    Step { name: "the machine has restarted", reached: runs },
    Step {
        name: "the change is at its end",
        reached: |packaged, target| runs(packaged, target) && !there(packaged, PLAN),
    },
    Step { name: "it is over", reached: |packaged, _| there(packaged, DONE) && !there(packaged, MARK) },
];

fn there(packaged: &Packaged, path: &str) -> bool {
    packaged.node.machine.path(path).exists()
}

fn runs(packaged: &Packaged, target: &Target) -> bool {
    packaged.node.read("usr/lib/os-release").contains(&format!("VERSION=\"{}\"", target.version))
}

/// Follows a machine through its restarts until something is so. Before it has mounted its files they are this machine's.
fn follow(packaged: &mut Packaged, what: &str, so: impl Fn(&Packaged) -> bool) {
    let start = Instant::now();
    loop {
        if !packaged.node.machine.is_on() {
            packaged.node.machine.reboot_and_watch();
        }
        if there(packaged, "run/ostree-booted") && so(packaged) {
            return;
        }
        assert!(start.elapsed() < PATIENCE, "{what}: {}", packaged.node.machine.journal(&["--boot", "--lines=100"]));
        sleep(NAP);
    }
}

fn cut(packaged: &mut Packaged) {
    packaged.node.machine.power_cut();
    packaged.node.machine.launch_again();
}

#[test]
fn a_power_cut_at_any_step_of_a_first_boot_costs_nothing_but_time() {
    let Some(()) = os_root::or_left_out("rpm-ostree") else { return };
    let Some(mut packaged) = Packaged::install() else { return };
    surround(&packaged);
    let config = |name, image| packaged.node.config(name, image, &["a.karg"]);
    let targets =
        [Target { config: config("new", 1), version: "9.6.2" }, Target { config: config("old", 0), version: "9.6.1" }];
    // Each is furnished for what the one before does not run, and every other one changes it in the other way.
    for (number, step) in STEPS.iter().enumerate() {
        let (target, backend) = (&targets[number % 2], ["bootc\n", "rpm-ostree\n"][number / 2 % 2]);
        packaged.write("etc/ostler/os-backend", backend);
        furnish(&packaged.node, &target.config);
        let _ = fs::remove_file(packaged.node.machine.path(SEEN));
        assert!(!runs(&packaged, target), "{}", step.name);
        cut(&mut packaged);
        follow(&mut packaged, step.name, |packaged| (step.reached)(packaged, target));
        cut(&mut packaged);
        follow(&mut packaged, "it is over", |packaged| is_over(&packaged.node) && !seen(packaged).is_empty());
        assert!(
            seen(&packaged).iter().all(|version| version == target.version),
            "{}: {:?}",
            step.name,
            seen(&packaged)
        );
        assert_eq!(record(&packaged.node)["spec"]["config"], target.config["spec"]["config"], "{}", step.name);
        assert!(runs(&packaged, target), "{}", step.name);
        eprintln!("cut when {}: in its configuration", step.name);
    }
}
