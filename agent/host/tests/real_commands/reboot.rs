//! Restarts, by a systemctl that only notes what it is told, and once by the real one.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use ostler_core::protocol::Class;
use ostler_host::os::next_root::NextRoot;
use ostler_host::reboot::{FINALIZE_UNIT, Kind, Reboot, RebootError, UNIT, boot_mark, reboot, reboot_by};
use ostler_host::systemd::transient::Runner;

use super::container::Container;
use super::{connect, disk, eventually, systemctl};

/// Notes the unit it runs in.
pub const SCRIPT: &str = r#"#!/bin/sh
[ -e /run/refuse-reboot ] && exit 1
echo "told $*" > /run/reboot.note
systemctl show machine-config-daemon-reboot.service >> /run/reboot.note
"#;

/// Prepares the first deployment and no other.
pub const OSTREE: &str = r#"#!/bin/sh
[ "$1 $2" = "admin prepare-soft-reboot" ] || exit 9
case $3 in
0) echo queued > /run/next-root ;;
--reset) rm -f /run/next-root ;;
*) echo "error: Out of range deployment index $3" >&2; exit 1 ;;
esac
"#;

const PROGRAM: &str = "/opt/ostler/systemctl";

const fn wanted(staged: bool, soft: bool) -> Reboot<'static> {
    Reboot { rationale: "Node will reboot into config rendered-1 50% $HOME", staged, soft }
}

fn note(machine: &Container) -> String {
    let path = machine.path("run/reboot.note");
    let text = fs::read_to_string(&path).unwrap_or_default();
    let _ = fs::remove_file(path);
    text
}

fn assert_has(note: &str, lines: &[&str]) {
    for line in lines {
        assert!(note.lines().any(|has| has == *line), "{line}: {note}");
    }
}

/// Whether this systemd counts restarts of user space, as 256 and later do.
fn counts_soft_reboots(machine: &Container) -> bool {
    !systemctl(machine, &["show", "--property=SoftRebootsCount"]).trim().is_empty()
}

pub fn unit(machine: &Container) {
    let bus = connect(machine);
    let counted = counts_soft_reboots(machine);
    for soft in [false, true] {
        // Only where it is counted is it restarted alone.
        let (kind, told) = if soft && counted { (Kind::Soft, "told soft-reboot") } else { (Kind::Full, "told reboot") };
        assert_eq!(reboot_by(&bus, &wanted(false, soft), PROGRAM).unwrap(), kind);
        let note = note(machine);
        let description = "Description=machine-config-daemon: Node will reboot into config rendered-1 50% $HOME";
        assert_has(&note, &[told, description, "CollectMode=inactive-or-failed", "Type=oneshot"]);
        assert_has(&note, &["Environment=SYSTEMCTL_SKIP_AUTO_SOFT_REBOOT=1"]);
        assert!(!note.contains(FINALIZE_UNIT));
    }
}

pub fn again(machine: &Container) {
    let bus = connect(machine);
    let run = ["--unit=machine-config-daemon-reboot", "--", "/usr/bin/false"];
    assert!(machine.enter("systemd-run").args(run).stderr(Stdio::null()).status().unwrap().success());
    eventually("it has failed", || systemctl(machine, &["is-failed", UNIT]).trim() == "failed");
    reboot_by(&bus, &wanted(false, false), PROGRAM).unwrap();
    assert_has(&note(machine), &["told reboot"]);
    // One of ours that fails says so, and is gone.
    fs::write(machine.path("run/refuse-reboot"), "").unwrap();
    let error = reboot_by(&bus, &wanted(false, false), PROGRAM).unwrap_err();
    assert!(matches!(&error, RebootError::Failed(_)) && error.class() == Class::Transient, "{error:?}");
    fs::remove_file(machine.path("run/refuse-reboot")).unwrap();
    reboot_by(&bus, &wanted(false, false), PROGRAM).unwrap();
    assert_has(&note(machine), &["told reboot"]);
    let run = ["--unit=machine-config-daemon-reboot", "--", "/usr/bin/sleep", "1000"];
    assert!(machine.enter("systemd-run").args(run).stderr(Stdio::null()).status().unwrap().success());
    assert!(matches!(reboot_by(&bus, &wanted(false, false), PROGRAM), Err(RebootError::Underway)));
    systemctl(machine, &["stop", UNIT]);
    // That others name it, before there is one, is no obstacle either.
    machine.unit("namer.service", &format!("[Unit]\nAfter={UNIT}\n[Service]\nExecStart=/usr/bin/sleep 1000\n"));
    bus.daemon_reload().unwrap();
    bus.start_unit("namer.service").unwrap();
    reboot_by(&bus, &wanted(false, false), PROGRAM).unwrap();
    assert_has(&note(machine), &["told reboot"]);
    bus.stop_unit("namer.service").unwrap();
}

pub fn armed(machine: &Container) {
    let bus = connect(machine);
    let conditional = "[Unit]\nConditionPathExists=/nonexistent\n[Service]\nType=oneshot\nExecStart=/bin/true\n";
    for (text, has_source) in [(conditional, false), ("[Service]\nType=oneshot\nExecStart=/bin/false\n", true)] {
        machine.unit(FINALIZE_UNIT, text);
        bus.daemon_reload().unwrap();
        let error = reboot_by(&bus, &wanted(true, false), PROGRAM).unwrap_err();
        assert!(matches!(&error, RebootError::NotArmed { source } if source.is_some() == has_source), "{error:?}");
        assert!(error.to_string().contains(FINALIZE_UNIT) && note(machine).is_empty(), "{error}");
    }
    machine
        .unit(FINALIZE_UNIT, "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\nExecStop=/bin/true\n");
    bus.daemon_reload().unwrap();
    reboot_by(&bus, &wanted(true, false), PROGRAM).unwrap();
    let note = note(machine);
    assert_eq!(bus.active_state(FINALIZE_UNIT).unwrap().active, "active");
    for name in ["Requires=", "After="] {
        assert!(note.lines().any(|line| line.starts_with(name) && line.contains(FINALIZE_UNIT)), "{name} {note}");
    }
}

pub fn inhibited(machine: &Container) {
    let bus = connect(machine);
    assert_eq!(bus.inhibitors().unwrap(), []);
    fs::remove_file(machine.path("etc/systemd/system/systemd-logind.service")).ok();
    machine.unit("systemd-logind.service.d/plain.conf", LOGIND);
    bus.daemon_reload().unwrap();
    bus.start_unit("systemd-logind.service").unwrap();
    let holding = "until [ -e /run/release ]; do sleep 0.05; done";
    for (mode, blocks) in [("delay", false), ("block", true)] {
        let mut holder = machine
            .enter("systemd-inhibit")
            .args(["--what=shutdown", "--who=backup", "--why=a backup runs", &format!("--mode={mode}")])
            .args(["sh", "-c", holding])
            .spawn()
            .unwrap();
        eventually("the inhibitor is there", || bus.inhibitors().unwrap().iter().any(|one| one.mode == mode));
        let done = reboot_by(&bus, &wanted(false, false), PROGRAM);
        fs::write(machine.path("run/release"), "").unwrap();
        assert!(holder.wait().unwrap().success());
        fs::remove_file(machine.path("run/release")).unwrap();
        match done {
            Err(RebootError::Inhibited { who, why }) => {
                assert!(blocks && who == "backup" && why == "a backup runs" && note(machine).is_empty())
            }
            Ok(Kind::Full) => assert!(!blocks && note(machine).starts_with("told reboot")),
            other => panic!("{other:?}"),
        }
        eventually("the inhibitor is gone", || bus.inhibitors().unwrap().is_empty());
    }
}

/// As little as a machine without devices needs.
const LOGIND: &str = "[Unit]\nWants=\nAfter=\n[Service]\nType=simple\nWatchdogSec=0\nExecStart=\nExecStart=/usr/lib/systemd/systemd-logind\n";

pub fn marks(machine: &Container) {
    let (bus, disk) = (connect(machine), disk(machine));
    let mark = boot_mark(&bus, &disk).unwrap();
    assert_eq!(mark.boot_id.len(), 36);
    assert_eq!(mark.soft_reboots, counts_soft_reboots(machine).then_some(0));
    assert!(mark.lasts(&boot_mark(&bus, &disk).unwrap()));
}

pub fn next_root(machine: &Container) {
    let (bus, disk) = (connect(machine), disk(machine));
    let runner = || Runner { bus: &bus, disk: &disk, patience: Duration::from_secs(180) };
    let next = NextRoot { runner: runner(), program: "/opt/ostler/ostree" };
    for _ in 0..2 {
        next.prepare(0).unwrap();
        assert!(machine.path("run/next-root").exists());
    }
    for _ in 0..2 {
        next.reset().unwrap();
        assert!(!machine.path("run/next-root").exists());
    }
    assert!(next.prepare(7).unwrap_err().ends_with("error: Out of range deployment index 7"));
    // The real one of this release does not know the command, and must not be taken for one that has done it.
    let old = NextRoot { runner: runner(), program: "/usr/bin/ostree" };
    assert!(old.prepare(0).unwrap_err().contains("does not make"));
}

/// Restarts it for good: it has process numbers of its own, so nothing else ends.
pub fn real(machine: &Container) {
    let bus = connect(machine);
    assert_eq!(reboot(&bus, &wanted(true, false)).unwrap(), Kind::Full);
    eventually("the machine has ended", || !machine.path("run").exists());
}
