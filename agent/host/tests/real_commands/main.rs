//! Commands that outlive the agent, bootc, bootupd and restarts, with a real systemd and scripts for programs.
#![cfg(test)]

mod bootc;
mod bootloader;
#[path = "../../../../tests/container/mod.rs"]
mod container;
mod reboot;
mod transient;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use container::Container;
use ostler_host::disk::RootDisk;
use ostler_host::systemd::bus::{Bus, Limits};

const LIMITS: Limits = Limits { call: Duration::from_secs(120), job: Duration::from_secs(180) };

type Section = fn(&Container);

/// Each on its own units and files; the last one ends the machine.
const SECTIONS: &[(&str, Section)] = &[
    ("a command is run, collected and released", transient::runs),
    ("a command that fails keeps its last words", transient::failing),
    ("nothing on a command line is expanded", transient::literal),
    ("a command outlives the agent that started it", transient::outlives),
    ("an end that nobody has seen is collected later", transient::collected_later),
    ("a command that takes too long goes on", transient::too_slow),
    ("another command under the name is waited for", transient::another),
    ("a command that somebody stops is no success", transient::stopped),
    ("a shutdown is to wait for what must not be interrupted", transient::patient),
    ("a command outlives the bus", transient::outlives_the_bus),
    ("bootc stages an image and kernel arguments", bootc::stages),
    ("bootc's failures are told apart", bootc::failures),
    ("what bootc staged wrongly is dropped", bootc::mismatch),
    ("a bootc of an agent before this one is waited for", bootc::reattaches),
    ("a bootc that nobody waits for any more is stopped", bootc::given_up),
    ("whoever keeps bootc waiting for the lock is named", bootc::names_lock_holder),
    ("others are named", bootc::occupied),
    ("a boot loader is written once its risk is accepted", bootloader::written),
    ("a restart has the unit people know", reboot::unit),
    ("a restart that failed before is no obstacle", reboot::again),
    ("a staged deployment is armed first", reboot::armed),
    ("those who block a shutdown are respected", reboot::inhibited),
    ("a boot is told from others", reboot::marks),
    ("the next root is prepared and taken back", reboot::next_root),
    ("a real restart ends the machine", reboot::real),
];

#[test]
fn commands_run_as_services_of_a_real_systemd() {
    let programs = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("bootc", bootc::SCRIPT),
        ("bootupctl", bootloader::SCRIPT),
        ("systemctl", reboot::SCRIPT),
        ("ostree", reboot::OSTREE),
    ] {
        script(programs.path(), name, text);
    }
    let Some(container) = Container::if_possible(Some(programs.path())) else { return };
    let mut failed: Vec<&str> = Vec::new();
    for (name, section) in SECTIONS {
        let start = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| section(&container)));
        let word = if result.is_ok() { "ok" } else { "FAILED" };
        eprintln!("{word}: {name} ({:.2} s)", start.elapsed().as_secs_f32());
        failed.extend(result.is_err().then_some(*name));
    }
    assert!(failed.is_empty(), "failed: {failed:?}");
}

fn script(directory: &Path, name: &str, text: &str) {
    let path = directory.join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn address(machine: &Container) -> String {
    format!("unix:path={}", machine.path("run/dbus/system_bus_socket").display())
}

fn connect(machine: &Container) -> Bus {
    Bus::connect(Some(&address(machine)), LIMITS).unwrap()
}

fn disk(machine: &Container) -> RootDisk {
    RootDisk::open(&machine.path("")).unwrap()
}

fn words(argv: &[&str]) -> Vec<String> {
    argv.iter().map(|&word| word.to_owned()).collect()
}

/// What the real systemctl says in there.
fn systemctl(machine: &Container, arguments: &[&str]) -> String {
    let said = machine.enter("systemctl").args(arguments).output().unwrap();
    String::from_utf8_lossy(&said.stdout).into_owned()
}

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(180), "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
