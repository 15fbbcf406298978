//! The bus half of `systemd` against a real one, booted for this test alone and shared by its sections.
#![cfg(test)]

#[path = "../../../../tests/container/mod.rs"]
mod container;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use container::Container;
use ostler_core::protocol::Rules;
use ostler_core::recorded::Recorded;
use ostler_core::transaction::Ending;
use ostler_host::disk::RootDisk;
use ostler_host::machine::{Machine, Surroundings, Systemd};
use ostler_host::systemd::bus::{Bus, BusError, JobResult, Limits};
use ostler_host::systemd::offline::{Change, DiskTexts, EnabledState, Wish, is_enabled, links};
use ostler_host::transaction::{self, World};
use serde_json::json;

const SLEEPER: &str = "[Service]\nExecStart=/usr/bin/sleep 1000\nExecReload=/usr/bin/touch /run/reloaded\n";

type Section = fn(&Container);

/// Each on its own units; the last one ends the bus.
const SECTIONS: &[(&str, Section)] = &[
    ("daemon-reload makes a new text count", daemon_reload),
    ("units are enabled, disabled, preset and masked", enablement),
    ("reload and restart wait for their end", reload_and_restart),
    ("a unit that fails says how", failing),
    ("a unit that never gets ready is not waited for", never_ready),
    ("a unit that never gets ready does not keep an update from being undone", undone),
    ("a unit that vanished loses its links", vanished),
    ("offline and bus make the same links", cross_check),
    ("a bus that dies is a transient error", bus_dies),
];

#[test]
fn the_bus_drives_a_real_systemd() {
    let Some(container) = Container::if_possible(None) else { return };
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

fn address(machine: &Container) -> String {
    format!("unix:path={}", machine.path("run/dbus/system_bus_socket").display())
}

/// A connection to its system bus; jobs get so many seconds.
fn connect(machine: &Container, job: u64) -> Bus {
    Bus::connect(Some(&address(machine)), Limits { call: Duration::from_secs(120), job: Duration::from_secs(job) })
        .unwrap()
}

/// Makes a link in `/etc/systemd/system`.
fn link(machine: &Container, name: &str, target: &str) {
    symlink(target, machine.path("etc/systemd/system").join(name)).unwrap();
}

fn daemon_reload(machine: &Container) {
    let bus = connect(machine, 180);
    machine.unit("turn.service", "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/usr/bin/true\n");
    bus.restart_unit("turn.service").unwrap();
    machine.unit("turn.service", "[Service]\nType=oneshot\nExecStart=/usr/bin/false\n");
    bus.restart_unit("turn.service").unwrap();
    bus.daemon_reload().unwrap();
    assert!(bus.restart_unit("turn.service").is_err());
    assert!(bus.boot_finished().unwrap());
}

fn enablement(machine: &Container) {
    let bus = connect(machine, 180);
    let state = |unit: &str| bus.unit_file_state(unit).unwrap();
    machine.unit("one.service", &format!("{SLEEPER}[Install]\nWantedBy=multi-user.target\n"));
    machine.unit("many@.service", &format!("{SLEEPER}[Install]\nWantedBy=multi-user.target\n"));
    machine.unit("static.service", SLEEPER);
    link(machine, "masked.service", "/dev/null");
    machine.unit("../system-preset/00-test.preset", "disable one.service\nenable many@.service a\n");
    bus.daemon_reload().unwrap();
    assert_eq!(state("one.service").as_deref(), Some("disabled"));
    bus.reenable(&["one.service", "many@x.service", "static.service"]).unwrap();
    assert_eq!(state("one.service").as_deref(), Some("enabled"));
    assert_eq!(state("many@x.service").as_deref(), Some("enabled"));
    assert_eq!(state("static.service").as_deref(), Some("static"));
    assert_eq!(state("masked.service").as_deref(), Some("masked"));
    assert_eq!(state("nowhere.service"), None);
    bus.disable(&["many@x.service"]).unwrap();
    bus.preset(&["one.service", "many@a.service"]).unwrap();
    assert_eq!(state("one.service").as_deref(), Some("disabled"));
    assert_eq!(state("many@x.service").as_deref(), Some("disabled"));
    assert_eq!(state("many@a.service").as_deref(), Some("enabled"));
}

fn reload_and_restart(machine: &Container) {
    let bus = connect(machine, 180);
    machine.unit("sleeper.service", SLEEPER);
    bus.restart_unit("sleeper.service").unwrap();
    let state = bus.active_state("sleeper.service").unwrap();
    assert_eq!((state.active.as_str(), state.sub.as_str()), ("active", "running"));
    assert!(!machine.path("run/reloaded").exists());
    bus.reload_unit("sleeper.service").unwrap();
    assert!(machine.path("run/reloaded").exists());
}

fn failing(machine: &Container) {
    let bus = connect(machine, 180);
    machine.unit("broken.service", "[Service]\nType=oneshot\nExecStart=/usr/bin/false\n");
    machine.unit("leaning.service", &format!("[Unit]\nRequires=broken.service\nAfter=broken.service\n{SLEEPER}"));
    let error = bus.restart_unit("broken.service").unwrap_err();
    let text = error.to_string();
    assert!(text.contains("exit-code") && text.contains("journalctl -u broken.service"), "{text}");
    assert!(!error.is_transient());
    match error {
        BusError::JobFailed { result, state, .. } => {
            assert_eq!((result, state.active.as_str()), (JobResult::Failed, "failed"))
        }
        other => panic!("{other:?}"),
    }
    match bus.restart_unit("leaning.service").unwrap_err() {
        BusError::JobFailed { result, .. } => assert_eq!(result, JobResult::Dependency),
        other => panic!("{other:?}"),
    }
}

fn never_ready(machine: &Container) {
    let bus = connect(machine, 1);
    machine.unit("mute.service", "[Service]\nType=notify\nTimeoutStartSec=infinity\nExecStart=/usr/bin/sleep 1000\n");
    let start = Instant::now();
    let error = bus.restart_unit("mute.service").unwrap_err();
    assert!(start.elapsed() < Duration::from_secs(120));
    assert!(error.is_transient());
    match error {
        BusError::JobTimeout { state, .. } => assert_eq!(state.active, "activating"),
        other => panic!("{other:?}"),
    }
}

/// The service hangs on the way forward and on the way back.
fn undone(machine: &Container) {
    machine.unit("hangs.service", "[Service]\nType=notify\nTimeoutStartSec=infinity\nExecStart=/usr/bin/sleep 1000\n");
    let disk = RootDisk::open(&machine.path("")).unwrap();
    let limits = Limits { call: Duration::from_secs(120), job: Duration::from_secs(1) };
    let systemd = Systemd::connect(Some(&address(machine)), limits).unwrap();
    let node = Machine::open(
        &disk,
        Surroundings {
            manager: Some(Box::new(systemd)),
            os: None,
            root: Some(machine.path("")),
            live: true,
            root_user: true,
            boot: "boot".to_owned().into(),
            now: Box::new(|| 0),
        },
    )
    .unwrap();
    let target = Recorded::from_document(json!({"metadata": {"name": "hangs"}, "spec": {"config": {
        "ignition": {"version": "3.4.0"}, "storage": {"files": [{"path": "/etc/hangs.conf"}]},
    }}}));
    let restart = json!({"type": "Restart", "restart": {"serviceName": "hangs.service"}});
    let policy = json!({"files": [{"path": "/etc/hangs.conf", "actions": [restart]}]});
    let (target, rules) = (target.unwrap(), Rules { policy: Some(policy), ..Rules::default() });
    let proposal = transaction::propose(&node, target, &rules).unwrap().unwrap();
    let finished = transaction::run(&node, &proposal, &mut |_| {}).unwrap();
    let Ending::Undone { reason } = &finished.ending else { panic!("{finished:?}") };
    assert!(reason.contains("restart of hangs.service did not end within 1 s"), "{reason}");
    let [failure] = &finished.service_failures[..] else { panic!("{finished:?}") };
    assert_eq!(failure.unit, "hangs.service");
    assert!(failure.cause.contains("did not end within 1 s (now activating"), "{failure:?}");
    assert!(!machine.path("etc/hangs.conf").exists());
    assert!(node.observe().unwrap().interrupted.is_none());
}

fn vanished(machine: &Container) {
    let bus = connect(machine, 180);
    for (unit, preset) in [("gone.service", false), ("gone-preset.service", true)] {
        machine.unit(unit, &format!("{SLEEPER}[Install]\nWantedBy=multi-user.target\n"));
        bus.reenable(&[unit]).unwrap();
        let link = machine.path("etc/systemd/system/multi-user.target.wants").join(unit);
        assert!(link.is_symlink());
        fs::remove_file(machine.path("etc/systemd/system").join(unit)).unwrap();
        bus.daemon_reload().unwrap();
        if preset {
            bus.preset(&[unit]).unwrap()
        } else {
            bus.disable(&[unit]).unwrap()
        }
        assert!(!link.is_symlink(), "{unit}");
        assert!(matches!(bus.restart_unit(unit), Err(BusError::NoSuchUnit { .. })));
        assert_eq!(bus.unit_file_state(unit).unwrap(), None);
    }
}

fn cross_check(machine: &Container) {
    let bus = connect(machine, 180);
    for (file, install, unit) in [
        ("s1.service", "WantedBy=a.target b.target", "s1.service"),
        ("s2.service", "RequiredBy=a.target\nAlias=s2-other.service", "s2.service"),
        ("s3.service", "WantedBy=a.target\nAlso=s1.service", "s3.service"),
        ("s4@.service", "WantedBy=a-%i.target\nDefaultInstance=d", "s4@.service"),
        ("s5@.service", "WantedBy=a.target\nAlias=s5-other@.service", "s5@one.service"),
        ("s6.service", "", "s6.service"),
    ] {
        machine.unit(file, &format!("{SLEEPER}[Install]\n{install}\n"));
        bus.daemon_reload().unwrap();
        let before = standing(machine);
        let disk = RootDisk::open(&machine.path("")).unwrap();
        let texts = DiskTexts { disk: &disk, overlay: BTreeMap::new() };
        let change = [Change { unit, wish: Wish::Enable }];
        let offline = links(&disk, &texts, &change).unwrap();
        bus.reenable(&[unit]).unwrap();
        let added: BTreeSet<_> = standing(machine).difference(&before).cloned().collect();
        let expected: BTreeSet<_> =
            offline.add.iter().map(|(path, target)| (path.to_string(), target.clone())).collect();
        assert_eq!(added, expected, "{unit}");
        assert_eq!(links(&disk, &texts, &change).unwrap().add, [], "{unit}");
        let state = format!("{:?}", is_enabled(&disk, &texts, unit).unwrap()).to_lowercase();
        assert_eq!(bus.unit_file_state(unit).unwrap(), Some(state), "{unit}");
    }
    let disk = RootDisk::open(&machine.path("")).unwrap();
    let texts = DiskTexts { disk: &disk, overlay: BTreeMap::new() };
    assert_eq!(is_enabled(&disk, &texts, "s2-other.service").unwrap(), EnabledState::Alias);
}

/// All links of `/etc/systemd/system` with their targets.
fn standing(machine: &Container) -> BTreeSet<(String, String)> {
    let mut open = vec!["etc/systemd/system".to_owned()];
    let mut found = BTreeSet::new();
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(machine.path(&directory)).unwrap().flatten() {
            let below = format!("{directory}/{}", entry.file_name().to_string_lossy());
            match fs::read_link(entry.path()) {
                Ok(target) => drop(found.insert((format!("/{below}"), target.to_string_lossy().into_owned()))),
                Err(_) if entry.path().is_dir() => open.push(below),
                Err(_) => {}
            }
        }
    }
    found
}

fn bus_dies(machine: &Container) {
    let bus = connect(machine, 600);
    machine.unit("slow.service", "[Service]\nType=notify\nTimeoutStartSec=infinity\nExecStart=/usr/bin/sleep 1000\n");
    let start = Instant::now();
    let error = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(500));
            let mut kill = machine.enter("systemctl");
            assert!(kill.args(["kill", "--signal=KILL", "dbus.service"]).status().unwrap().success());
        });
        bus.restart_unit("slow.service").unwrap_err()
    });
    assert!(matches!(error, BusError::Gone { .. }) && error.is_transient(), "{error:?}");
    assert!(start.elapsed() < Duration::from_secs(300));
    let error = bus.daemon_reload().unwrap_err();
    assert!(error.is_transient(), "{error:?}");
}
