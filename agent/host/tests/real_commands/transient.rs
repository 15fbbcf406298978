//! Transient services as such.

use std::fs;
use std::process::{Command as Process, Stdio};
use std::time::Duration;

use ostler_host::disk::RootDisk;
use ostler_host::systemd::bus::Bus;
use ostler_host::systemd::transient::{Command, Ended, Exit, Runner, Shutdown, TransientError};

use super::container::Container;
use super::{LIMITS, connect, disk, eventually, systemctl, words};

const ADDRESS: &str = "OSTLER_TEST_BUS";
const ROOT: &str = "OSTLER_TEST_ROOT";
/// With what systemd 252 reads back with backslashes after it has read its units again.
const SLOW: &str =
    "echo working; echo a word of warning >&2; until [ -e $NO/run/go ]; do sleep 0.05; done; echo \"done\"";

fn shell(text: &str) -> Vec<String> {
    words(&["/bin/sh", "-c", text])
}

fn run(bus: &Bus, disk: &RootDisk, unit: &str, argv: &[String]) -> Result<Ended, TransientError> {
    let runner = Runner { bus, disk, patience: Duration::from_secs(180) };
    let environment = &words(&["A=a $b %n"]);
    runner.run(&Command { unit, description: "a test", argv, environment, shutdown: Shutdown::Ends })
}

/// Whether nothing is left of a unit and its output.
fn assert_released(machine: &Container, bus: &Bus, unit: &str) {
    assert_eq!(bus.service(unit).unwrap(), None, "{unit}");
    let left: Vec<_> =
        fs::read_dir(machine.path("run/ostler")).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
}

pub fn runs(machine: &Container) {
    let (bus, disk) = (connect(machine), disk(machine));
    fs::create_dir_all(machine.path("etc/mco")).unwrap();
    fs::write(machine.path("etc/mco/proxy.env"), "HTTPS_PROXY=http://proxy.example\n").unwrap();
    // The same name again and again: each time it has to be free.
    for _ in 0..10 {
        let argv = shell("echo $HTTPS_PROXY $A; echo note >&2");
        let ended = run(&bus, &disk, "ostler-test-a.service", &argv).unwrap();
        assert!(ended.succeeded(), "{ended:?}");
        assert_eq!(ended.stdout.as_deref(), Some(&b"http://proxy.example a $b %n\n"[..]));
        assert_eq!(ended.stderr, "note\n");
        assert_released(machine, &bus, "ostler-test-a.service");
    }
}

pub fn failing(machine: &Container) {
    let (bus, disk) = (connect(machine), disk(machine));
    let unit = "ostler-test-b.service";
    for (argv, exit, last) in [
        (shell("seq 100000 >&2; echo the last word >&2; exit 7"), Exit::Status(7), "the last word\n"),
        (shell("echo dying >&2; kill -9 $$"), Exit::Signal(9), "dying\n"),
        (words(&["/nonexistent/program"]), Exit::Status(203), ""),
    ] {
        let ended = run(&bus, &disk, unit, &argv).unwrap();
        assert!(!ended.succeeded() && ended.exit == exit, "{ended:?}");
        assert!(ended.stderr.ends_with(last) && ended.stderr.len() <= 4096, "{ended:?}");
        assert_released(machine, &bus, unit);
    }
    let flood = run(&bus, &disk, unit, &shell("head -c 5000000 /dev/zero")).unwrap();
    assert!(flood.succeeded() && flood.stdout.is_none());
    assert_released(machine, &bus, unit);
}

pub fn literal(machine: &Container) {
    let (bus, disk) = (connect(machine), disk(machine));
    let argv = words(&["/bin/echo", "$PATH", "${PATH}", "%n", "a b", "\"q\"", "\\x41", ";", "é"]);
    let ended = run(&bus, &disk, "ostler-test-c.service", &argv).unwrap();
    let said = String::from_utf8(ended.stdout.unwrap()).unwrap();
    assert_eq!(said, "$PATH ${PATH} %n a b \"q\" \\x41 ; é\n");
}

/// An agent that starts a slow command and is killed while it waits.
fn killed_agent(machine: &Container, unit: &str) {
    let mut agent = Process::new(std::env::current_exe().unwrap())
        .args(["--exact", "transient::an_agent", "--nocapture"])
        .env(ADDRESS, super::address(machine))
        .env(ROOT, machine.path(""))
        .env("OSTLER_TEST_UNIT", unit)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let bus = connect(machine);
    eventually("the command runs", || bus.service(unit).unwrap().is_some_and(|service| service.sub == "running"));
    agent.kill().unwrap();
    agent.wait().unwrap();
}

/// Not a test by itself: what [`killed_agent`] starts.
#[test]
fn an_agent() {
    let Ok(address) = std::env::var(ADDRESS) else { return };
    let bus = Bus::connect(Some(&address), LIMITS).unwrap();
    let disk = RootDisk::open(std::env::var(ROOT).unwrap().as_ref()).unwrap();
    let unit = std::env::var("OSTLER_TEST_UNIT").unwrap();
    run(&bus, &disk, &unit, &shell(SLOW)).unwrap();
}

fn assert_collected(ended: &Ended) {
    assert!(ended.succeeded(), "{ended:?}");
    assert_eq!(ended.stdout.as_deref(), Some(&b"working\ndone\n"[..]));
    assert_eq!(ended.stderr, "a word of warning\n");
}

pub fn outlives(machine: &Container) {
    let unit = "ostler-test-d.service";
    killed_agent(machine, unit);
    let (bus, disk) = (connect(machine), disk(machine));
    let runner = Runner { bus: &bus, disk: &disk, patience: Duration::from_secs(180) };
    assert!(runner.running(unit).unwrap().unwrap().runs(&shell(SLOW)));
    assert!(runner.attach(unit, &shell("something else")).unwrap().is_none());
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            fs::write(machine.path("run/go"), "").unwrap();
        });
        runner.attach(unit, &shell(SLOW)).unwrap().unwrap()
    });
    fs::remove_file(machine.path("run/go")).unwrap();
    assert_collected(&ended);
    assert_released(machine, &bus, unit);
    assert!(runner.attach(unit, &shell(SLOW)).unwrap().is_none());
}

pub fn outlives_the_bus(machine: &Container) {
    let unit = "ostler-test-j.service";
    killed_agent(machine, unit);
    let (bus, disk) = (connect(machine), disk(machine));
    let error = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(200));
            systemctl(machine, &["kill", "--signal=KILL", "dbus.service"]);
        });
        let runner = Runner { bus: &bus, disk: &disk, patience: Duration::from_secs(180) };
        runner.attach(unit, &shell(SLOW)).unwrap_err()
    });
    assert!(matches!(&error, TransientError::Bus { source, .. } if source.is_transient()), "{error:?}");
    systemctl(machine, &["restart", "dbus.socket"]);
    eventually("the bus is back", || Bus::connect(Some(&super::address(machine)), LIMITS).is_ok());
    fs::write(machine.path("run/go"), "").unwrap();
    let bus = connect(machine);
    let runner = Runner { bus: &bus, disk: &disk, patience: Duration::from_secs(180) };
    assert_collected(&runner.attach(unit, &shell(SLOW)).unwrap().unwrap());
    fs::remove_file(machine.path("run/go")).unwrap();
    assert_released(machine, &bus, unit);
}

pub fn collected_later(machine: &Container) {
    let unit = "ostler-test-e.service";
    killed_agent(machine, unit);
    fs::write(machine.path("run/go"), "").unwrap();
    let bus = connect(machine);
    eventually("it has ended", || bus.service(unit).unwrap().is_some_and(|service| service.has_ended()));
    bus.daemon_reload().unwrap();
    fs::remove_file(machine.path("run/go")).unwrap();
    let disk = disk(machine);
    let runner = Runner { bus: &bus, disk: &disk, patience: Duration::from_secs(180) };
    assert_collected(&runner.attach(unit, &shell(SLOW)).unwrap().unwrap());
    assert_released(machine, &bus, unit);
}

pub fn too_slow(machine: &Container) {
    let (bus, disk, unit) = (connect(machine), disk(machine), "ostler-test-f.service");
    let impatient = Runner { bus: &bus, disk: &disk, patience: Duration::from_secs(5) };
    let argv = shell(SLOW);
    let error = impatient
        .run(&Command { unit, description: "", argv: &argv, environment: &[], shutdown: Shutdown::Ends })
        .unwrap_err();
    assert!(matches!(&error, TransientError::TooSlow { said, .. } if said == "working\n"), "{error:?}");
    assert!(impatient.running(unit).unwrap().is_some());
    fs::write(machine.path("run/go"), "").unwrap();
    // What is running is joined rather than started a second time.
    assert_collected(&run(&bus, &disk, unit, &argv).unwrap());
    fs::remove_file(machine.path("run/go")).unwrap();
}

pub fn another(machine: &Container) {
    let (bus, disk, unit) = (connect(machine), disk(machine), "ostler-test-g.service");
    killed_agent(machine, unit);
    let impatient = Runner { bus: &bus, disk: &disk, patience: Duration::from_millis(200) };
    let argv = shell("echo mine");
    let command = Command { unit, description: "", argv: &argv, environment: &[], shutdown: Shutdown::Ends };
    let error = impatient.run(&command).unwrap_err();
    assert!(matches!(&error, TransientError::Occupied { command, .. } if command.contains("until")), "{error:?}");
    fs::write(machine.path("run/go"), "").unwrap();
    assert_eq!(run(&bus, &disk, unit, &argv).unwrap().stdout.as_deref(), Some(&b"mine\n"[..]));
    fs::remove_file(machine.path("run/go")).unwrap();
    assert_released(machine, &bus, unit);
}

pub fn stopped(machine: &Container) {
    let (bus, disk, unit) = (connect(machine), disk(machine), "ostler-test-h.service");
    killed_agent(machine, unit);
    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            // It has to be attached to by then, which nothing tells.
            std::thread::sleep(Duration::from_secs(3));
            systemctl(machine, &["stop", unit]);
        });
        Runner { bus: &bus, disk: &disk, patience: Duration::from_secs(180) }.attach(unit, &shell(SLOW))
    });
    assert!(matches!(result, Err(TransientError::Vanished { .. })), "{result:?}");
    assert_released(machine, &bus, unit);
}

pub fn patient(machine: &Container) {
    let (bus, disk, unit) = (connect(machine), disk(machine), "ostler-test-i.service");
    let runner = Runner { bus: &bus, disk: &disk, patience: Duration::from_secs(180) };
    // It sees its own settings, and outlives an attempt to stop it.
    let argv = shell(
        "exec >/run/patient; systemctl show ostler-test-i.service; systemctl stop --no-block ostler-test-i.service; \
         sleep 0.5; echo survived",
    );
    let shutdown = Shutdown::Waits(Duration::from_secs(77));
    let result = runner.run(&Command { unit, description: "a test", argv: &argv, environment: &[], shutdown });
    assert!(matches!(result, Err(TransientError::Vanished { .. })), "{result:?}");
    let said = fs::read_to_string(machine.path("run/patient")).unwrap();
    for expected in
        ["KillSignal=18", "TimeoutStopUSec=1min 17s", "RequiresMountsFor=/boot", "MountFlags=slave", "survived"]
    {
        assert!(said.lines().any(|line| line.starts_with(expected)), "{expected}: {said}");
    }
}
