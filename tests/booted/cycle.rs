//! Boots, reboots, power cuts and what is left after them.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{fs, iter};

use crate::booted::{Booted, Sysroot, os_root, wait_until};

/// A machine in version 1.0 with version 2.0 at hand.
fn machine() -> Option<(Sysroot, Booted)> {
    let sysroot = Sysroot::if_possible()?;
    for version in ["1.0", "2.0"] {
        sysroot.commit(version);
    }
    sysroot.deploy("node/1.0", &["root=UUID=0000", "rw", "console=ttyS0"]);
    let machine = Booted::start(&sysroot)?;
    Some((sysroot, machine))
}

/// The deployments as `ostree admin status` lists them: version and what is said of it.
fn deployments(machine: &Booted) -> Vec<String> {
    let status = machine.run("ostree", &["admin", "status"]);
    let mut lines = status.lines();
    let next = iter::from_fn(|| {
        let deployment = lines.by_ref().find(|line| line.contains(" node "))?;
        let version = lines.by_ref().find_map(|line| line.trim().strip_prefix("Version: "))?;
        let booted = if deployment.starts_with('*') { " (booted)" } else { "" };
        let word = deployment.rsplit_once(" (").map(|(_, word)| format!(" ({word}")).unwrap_or_default();
        Some(format!("{version}{booted}{word}"))
    });
    next.collect()
}

fn stage(machine: &Booted, arguments: &[&str]) {
    machine.run("ostree", &[&["admin", "deploy", "--stage"], arguments, &["node/2.0"]].concat());
    assert_eq!(deployments(machine), ["2.0 (staged)", "1.0 (booted)"]);
    machine.wait_until_armed();
}

#[test]
fn a_machine_runs_the_deployment_of_its_sysroot() {
    let Some((_, mut machine)) = machine() else { return };
    assert!(machine.is_on());
    assert_eq!(deployments(&machine), ["1.0 (booted)"]);
    assert_eq!(machine.run("systemctl", &["is-system-running"]), "running\n");
    let arguments = machine.kernel_arguments();
    assert!(arguments.starts_with("root=UUID=0000 rw console=ttyS0 ostree=/ostree/boot."), "{arguments}");
    assert!(machine.run("cat", &["/etc/os-release"]).contains("OSTREE_VERSION='1.0'"));
    assert_eq!(machine.run("ls", &["/usr/lib/modules"]), "6.1.0-1.0\n");
    assert!(machine.run("/opt/ostler/ostler", &["--version"]).starts_with("ostler "));
    for path in ["/usr/bin/new", "/sysroot/new", "/proc/sys/kernel/panic"] {
        assert!(!machine.enter("touch").arg(path).stderr(Stdio::null()).status().unwrap().success(), "{path}");
    }
    assert!(machine.journal(&["--boot", "--unit=dbus.service"]).contains("Started dbus.service"));
}

#[test]
fn what_is_staged_is_booted_after_a_reboot_with_its_kernel_arguments() {
    let Some((_, mut machine)) = machine() else { return };
    let (start, before) = (Instant::now(), machine.boot_id());
    fs::write(machine.path("etc/local"), "kept").unwrap();
    stage(&machine, &["--karg-append=first=1", "--karg-append=first=2"]);
    machine.reboot();
    eprintln!("staged, shut down and booted in {:.2} s", start.elapsed().as_secs_f32());
    assert_eq!(deployments(&machine), ["2.0 (booted)", "1.0 (rollback)"]);
    assert!(machine.kernel_arguments().contains(" first=1 first=2"), "{}", machine.kernel_arguments());
    assert_ne!(machine.boot_id(), before);
    assert_eq!(fs::read_to_string(machine.path("etc/local")).unwrap(), "kept");
    let finalised = machine.journal(&["--boot=-1", "--unit=ostree-finalize-staged.service"]);
    assert!(finalised.contains("Finalizing staged deployment"), "{finalised}");
}

#[test]
fn what_is_staged_is_lost_in_a_power_cut_and_what_is_written_is_not() {
    let Some((_, mut machine)) = machine() else { return };
    let before = machine.boot_id();
    for path in ["run/volatile", "var/lib/kept"] {
        fs::write(machine.path(path), "").unwrap();
    }
    stage(&machine, &["--karg-append=first=1"]);
    machine.power_cut();
    assert!(!machine.is_on());
    machine.power_on();
    assert_eq!(deployments(&machine), ["1.0 (booted)"]);
    assert!(!machine.kernel_arguments().contains("first=1"));
    assert_ne!(machine.boot_id(), before);
    assert_eq!(["run/volatile", "var/lib/kept"].map(|path| machine.path(path).exists()), [false, true]);
}

#[test]
fn a_machine_that_switches_itself_off_is_told_from_one_that_reboots() {
    let Some((_, mut machine)) = machine() else { return };
    machine.power_off();
    assert!(!machine.is_on());
    machine.power_on();
    assert_eq!(deployments(&machine), ["1.0 (booted)"]);
}

#[test]
fn an_inhibitor_is_listed_by_login1() {
    let Some((_, machine)) = machine() else { return };
    let login = |method| {
        let object = ["org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager"];
        machine.run("busctl", &[&["call"], &object[..], &[method]].concat())
    };
    assert_eq!(login("CanReboot"), "s \"yes\"\n");
    assert!(!login("ListInhibitors").contains("backup"));
    let mut inhibit = machine.enter("systemd-inhibit");
    inhibit.args(["--what=shutdown", "--mode=block", "--who=backup", "--why=it is not done", "sleep", "60"]);
    let mut inhibitor = inhibit.spawn().unwrap();
    wait_until("it is listed", || {
        login("ListInhibitors").contains("\"shutdown\" \"backup\" \"it is not done\" \"block\" 0")
    });
    let _ = inhibitor.kill();
    let _ = inhibitor.wait();
}

#[test]
fn stand_ins_are_where_the_programs_are_that_they_stand_in_for() {
    let Some(()) = os_root::or_stand_ins() else { return };
    let Some(sysroot) = Sysroot::if_possible() else { return };
    sysroot.commit("1.0");
    sysroot.deploy("node/1.0", &[]);
    let directory = sysroot.site().path("standins");
    fs::create_dir(&directory).unwrap();
    let name = "org.projectatomic.rpmostree1";
    let own = format!("busctl call org.freedesktop.DBus / org.freedesktop.DBus RequestName su {name} 4");
    for (program, text) in [("bootc", "echo not really bootc"), ("rpm-ostreed", own.as_str())] {
        fs::write(directory.join(program), format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(directory.join(program), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let Some(machine) = Booted::start_with(&sysroot, Some(directory)) else { return };
    assert_eq!(machine.run("/usr/bin/bootc", &[]), "not really bootc\n");
    // It ends at once, so there is no answer; but systemd calls it started only when it has got the name.
    let _ = machine.enter("busctl").args(["introspect", name, "/"]).output().unwrap();
    let journal = || machine.journal(&["--boot", "--unit=rpm-ostreed.service"]);
    wait_until("the daemon is started", || journal().contains("Started rpm-ostreed.service"));
}

/// The test below runs itself for a process that it can kill.
const VICTIM: &str = "OSTLER_TEST_VICTIM";

#[test]
fn nothing_is_left_of_a_machine_whose_test_is_killed() {
    if std::env::var_os(VICTIM).is_some() {
        let Some((_, machine)) = machine() else { return };
        println!("{VICTIM} {}", machine.site().cgroup().display());
        sleep(Duration::from_secs(60));
        return;
    }
    let mut victim = victim();
    let Some(cgroup) = said_by(&mut victim) else {
        assert!(victim.wait().unwrap().success(), "it has neither a machine nor an excuse");
        return;
    };
    assert!(fs::read_dir(&cgroup).unwrap().flatten().any(|entry| entry.file_name() == "boot-1"), "{cgroup}");
    victim.kill().unwrap();
    victim.wait().unwrap();
    wait_until("nothing is left", || !fs::exists(&cgroup).unwrap());
}

fn victim() -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "cycle::nothing_is_left_of_a_machine_whose_test_is_killed", "--nocapture"]);
    command.env(VICTIM, "1").stdout(Stdio::piped()).spawn().unwrap()
}

/// Where the victim has its machine, once that runs.
fn said_by(victim: &mut Child) -> Option<String> {
    let lines = BufReader::new(victim.stdout.take().unwrap()).lines();
    lines.map_while(Result::ok).find_map(|line| line.split_once(VICTIM).map(|(_, at)| at.trim().to_owned()))
}
