//! The rpm-ostree driver on a real message bus, against a daemon that fails in every way a test can think of.
#![cfg(test)]

mod bus;
mod daemon;
mod dying;
mod libostree;
mod transaction;

use std::time::{Duration, Instant};

use bus::Bus;
use daemon::{Daemon, Deployed, Wrong};
use libostree::Libostree;
use ostler_core::kargs;
use ostler_core::os::order::{Order, Packages};
use ostler_host::os::lock::SysrootLock;
use ostler_host::os::rpm_ostree::{Limits, RpmOstree, Trust};
use ostler_host::os::{OsBackend, OsError, Sysroot};
use transaction::{Act, Transaction};

const DONE: [Act; 2] = [Act::Apply, Act::Finish(Ok(()))];
const LINE: &str = "root=x ostree=/boot.0";
const OPTIONS: &str = "allow-downgrade,allow-inactive,idempotent-layering,initiating-command-line";
const OPTIONS_SAME_BASE: &str = "allow-inactive,idempotent-layering,initiating-command-line,no-pull-base";

fn digest(character: char) -> String {
    format!("sha256:{}", character.to_string().repeat(64))
}

fn image() -> String {
    format!("registry.example/os@{}", digest('b'))
}

fn to_image() -> Order {
    Order { image: Some(image()), ..Order::default() }
}

fn to_kargs(line: &str) -> Order {
    Order { kargs: Some(kargs::split(line)), ..Order::default() }
}

fn limits() -> Limits {
    Limits {
        start: Duration::from_secs(120),
        call: Duration::from_secs(30),
        transaction: Duration::from_secs(120),
        others: Duration::from_secs(60),
    }
}

fn driver(daemon: &Daemon, limits: Limits) -> RpmOstree {
    let lock = SysrootLock::at(daemon.bus.directory.path());
    let deployments = (Box::new(Libostree(daemon.shared.clone())) as Box<dyn Sysroot>, lock);
    RpmOstree::new(Some(&daemon.bus.address), limits, Trust::Policy, deployments).unwrap()
}

/// Stages, and says what was told.
fn stage(driver: &RpmOstree, order: &Order) -> (Result<(), OsError>, Vec<String>) {
    let mut lines = Vec::new();
    let done = driver.stage(order, &mut |line| lines.push(line.to_owned()));
    (done, lines)
}

fn update(options: &str) -> String {
    format!("UpdateDeployment ostree-unverified-registry:{} +[] -[] remove[] reset[] {options}", image())
}

fn staged(daemon: &Daemon) -> Option<Deployed> {
    daemon.shared.with(|state| state.deployments.iter().find(|one| one.staged).cloned())
}

fn add(daemon: &Daemon, place: usize, one: Deployed) {
    daemon.shared.with(|state| state.deployments.insert(place, one));
}

/// A transaction that another client, or nobody any more, has started. One that is to be joined is not shown, and is
/// what the next request is answered with.
fn under_way(daemon: &Daemon, sender: &str, id: &str, script: &[Act]) {
    begin(daemon, [sender, id], script, false);
}

fn begin(daemon: &Daemon, [sender, id]: [&str; 2], script: &[Act], joined: bool) {
    let client = format!("client(id:{id} dbus{sender} unit:session-9.scope uid:0)");
    let (shared, script) = (daemon.shared.clone(), script.to_vec());
    let who = [sender.to_owned(), client];
    let (started, is_started) = std::sync::mpsc::channel();
    daemon.handle.spawn(async move {
        let one = Transaction::listen(&shared, "UpdateDeployment", who, (script, None));
        if joined {
            shared.with(|state| (state.joined, state.active) = (state.active.take(), None));
        }
        one.start();
        started.send(()).unwrap();
    });
    is_started.recv().unwrap();
}

#[test]
fn an_order_is_one_update_and_one_change_of_the_line() {
    let daemon = Daemon::start();
    daemon.shared.with(|state| {
        state.deployments[0].packages = vec!["htop".to_owned()];
        state.deployments[0].removals = vec!["nano".to_owned()];
    });
    let list = |name: &str| vec![name.to_owned()];
    let packages =
        Packages { install: list("usbguard"), uninstall: list("htop"), remove: list("vim"), reset: list("nano") };
    let order = Order { image: Some(image()), kargs: Some(kargs::split("root=x nosmt")), packages, ..Order::default() };
    let (done, _) = stage(&driver(&daemon, limits()), &order);
    done.unwrap();
    assert_eq!(
        daemon.calls(),
        [
            update(OPTIONS)
                .replace("+[] -[] remove[] reset[]", r#"+["usbguard"] -["htop"] remove["vim"] reset["nano"]"#),
            "restage root=x nosmt".to_owned(),
        ]
    );
    let made = staged(&daemon).unwrap();
    assert_eq!((made.digest, made.kargs.as_str()), (digest('b'), "root=x nosmt ostree=/boot.0"));
    assert_eq!((made.packages, made.removals), (list("usbguard"), list("vim")));
    let all = daemon.shared.with(|state| state.calls.clone());
    let [first, .., unregistered, restaged] = &all[..] else { panic!("{all:?}") };
    assert_eq!([first, unregistered, restaged], ["RegisterClient", "UnregisterClient", "restage root=x nosmt"]);
}

#[test]
fn packages_alone_leave_the_base_and_a_line_alone_is_one_transaction() {
    let daemon = Daemon::start();
    let driver = driver(&daemon, limits());
    let packages = Packages { install: vec!["usbguard".to_owned()], ..Packages::default() };
    stage(&driver, &Order { packages, ..Order::default() }).0.unwrap();
    stage(&driver, &to_kargs("root=x a")).0.unwrap();
    assert_eq!(
        daemon.calls(),
        [
            format!("UpdateDeployment - +[\"usbguard\"] -[] remove[] reset[] {OPTIONS_SAME_BASE}"),
            "Cleanup pending-deploy".to_owned(),
            format!("KernelArgs {LINE} => root=x a ostree=/boot.0"),
        ]
    );
    assert!(staged(&daemon).unwrap().packages.is_empty(), "it was not made from the booted one");
}

#[test]
fn what_an_image_brings_to_the_line_stays_on_it_and_a_line_that_is_there_is_not_set() {
    let daemon = Daemon::start();
    let brought = "root=x fips=1 ostree=/boot.0";
    let booted = daemon.shared.with(|state| state.deployments[0].clone());
    let order = Order { kargs: Some(kargs::split("root=x a")), ..to_image() };
    let shared = daemon.shared.clone();
    let mut told = |line: &str| {
        if line == "now" {
            let new = Deployed {
                staged: true,
                booted: false,
                digest: digest('b'),
                kargs: brought.to_owned(),
                ..booted.clone()
            };
            shared.with(|state| daemon::place(&mut state.deployments, new));
        }
    };
    daemon.script([Act::Say("now"), Act::Sleep(100), Act::Finish(Ok(()))]);
    driver(&daemon, limits()).stage(&order, &mut told).unwrap();
    assert_eq!(staged(&daemon).unwrap().kargs, "root=x a fips=1 ostree=/boot.0");

    stage(&driver(&daemon, limits()), &to_kargs("root=x")).0.unwrap();
    assert_eq!(daemon.calls().last().unwrap(), "Cleanup pending-deploy");
}

#[test]
fn packages_are_assembled_once_and_not_at_all_for_a_line_alone() {
    let daemon = Daemon::start();
    daemon.shared.with(|state| state.deployments[0].packages = vec!["htop".to_owned()]);
    let order = Order { kargs: Some(kargs::split("root=x nosmt")), ..to_image() };
    stage(&driver(&daemon, limits()), &order).0.unwrap();
    let restaged = |line: &str| format!("restage {line}");
    assert_eq!(daemon.calls(), [update(OPTIONS), restaged("root=x nosmt")]);
    assert_eq!(staged(&daemon).unwrap().digest, digest('b'));
    stage(&driver(&daemon, limits()), &to_kargs("root=x a")).0.unwrap();
    assert_eq!(daemon.calls()[2..], ["Cleanup pending-deploy".to_owned(), restaged("root=x a")]);

    // Only the daemon can put files over the initial ramdisk again.
    daemon.shared.with(|state| state.deployments[1].initramfs_etc = vec!["/etc/x".to_owned()]);
    stage(&driver(&daemon, limits()), &to_kargs("root=x b")).0.unwrap();
    assert_eq!(daemon.calls().last().unwrap(), &format!("KernelArgs {LINE} => root=x b ostree=/boot.0"));

    daemon.shared.with(|state| {
        state.deployments.retain(|one| one.booted);
        state.deployments[0].initramfs_etc.clear();
        state.broken = true;
    });
    assert!(matches!(stage(&driver(&daemon, limits()), &order).0, Err(OsError::Sysroot { .. })));
    assert!(staged(&daemon).is_none(), "it is not left without its line");
}

#[test]
fn what_the_daemon_says_is_told_in_order() {
    let daemon = Daemon::start();
    daemon.script([
        Act::Say("Pulling manifest"),
        Act::Task("TaskBegin", "Checking out"),
        Act::Task("TaskEnd", "done"),
        Act::Percent("Importing (1/100)", 1),
        Act::Percent("Importing (9/100)", 9),
        Act::Percent("Importing (55/100)", 55),
        Act::Download(0, 0),
        Act::Download(5, 10),
        Act::Apply,
        Act::Finish(Ok(())),
        Act::Finish(Err("again, and otherwise")),
    ]);
    let (done, lines) = stage(&driver(&daemon, limits()), &to_image());
    done.unwrap();
    assert_eq!(
        lines,
        ["Pulling manifest", "Checking out", "Importing: 0 %", "Importing: 50 %", "Fetching objects: 50 %"]
    );
}

#[test]
fn a_flood_does_not_hold_up_the_end() {
    let daemon = Daemon::start();
    let flood = (0..2000).map(|number| Act::Percent("flood", number % 100)).chain(DONE).collect::<Vec<_>>();
    daemon.script(flood);
    daemon.shared.with(|state| state.ahead = 500);
    let (done, lines) = stage(&driver(&daemon, limits()), &to_image());
    done.unwrap();
    assert_eq!(lines.len(), 11);
}

#[test]
fn failures_say_whether_to_try_again() {
    let daemon = Daemon::start();
    let driver = driver(&daemon, limits());
    let unknown = "remote error: reading manifest sha256:bb in registry.example/os: manifest unknown";
    daemon.script([Act::Say("Pulling"), Act::Finish(Err(unknown))]);
    let error = stage(&driver, &to_image()).0.unwrap_err();
    assert!(matches!(&error, OsError::Refused { message, .. } if message == unknown), "{error:?}");
    daemon.script([Act::Finish(Err("remote error: dial tcp: i/o timeout"))]);
    assert!(matches!(stage(&driver, &to_image()).0, Err(OsError::Failed { .. })));
    daemon.shared.with(|state| state.denials.push_back(Wrong::Failed("Packages not found: x".to_owned())));
    assert!(matches!(stage(&driver, &to_image()).0, Err(OsError::Refused { .. })));
    let tag = Order { image: Some("registry.example/os:tag".to_owned()), ..Order::default() };
    assert!(matches!(stage(&driver, &tag).0, Err(OsError::Refused { .. })));
    assert!(staged(&daemon).is_none());
}

#[test]
fn others_are_waited_for_and_named() {
    let daemon = Daemon::start();
    let driver = driver(&daemon, limits());
    under_way(&daemon, ":1.4711", "cli", &[Act::Sleep(700), Act::Finish(Ok(()))]);
    assert_eq!(driver.occupant().unwrap().as_deref(), Some("cli in session-9.scope (a title)"));
    let start = Instant::now();
    let (done, lines) = stage(&driver, &to_image());
    done.unwrap();
    assert!(start.elapsed() > Duration::from_millis(400));
    assert_eq!(lines, ["waiting for cli in session-9.scope (a title)"]);
    assert_eq!(daemon.calls(), [update(OPTIONS)]);
    assert_eq!(driver.occupant().unwrap(), None);
}

#[test]
fn others_that_do_not_end_are_waited_for_no_longer_than_allowed() {
    let daemon = Daemon::start();
    under_way(&daemon, ":1.4711", "cli", &[Act::WaitForCancel]);
    let driver = driver(&daemon, Limits { others: Duration::from_secs(1), ..limits() });
    let error = stage(&driver, &to_image()).0.unwrap_err();
    assert!(
        matches!(&error, OsError::Busy { occupant, seconds: 1 } if occupant.starts_with("cli in session-9")),
        "{error:?}"
    );
    assert!(daemon.calls().is_empty(), "{:?}", daemon.calls());
}

#[test]
fn what_an_earlier_run_left_is_cancelled_and_a_run_that_lives_is_not() {
    let daemon = Daemon::start();
    let mine = driver(&daemon, limits());
    under_way(&daemon, ":1.4711", "ostler", &[Act::WaitForCancel, Act::Finish(Err("Operation was cancelled"))]);
    assert_eq!(mine.occupant().unwrap(), None);
    let (done, lines) = stage(&mine, &to_image());
    done.unwrap();
    assert_eq!(lines, ["cancelling what an earlier run of ostler left behind"]);
    assert_eq!(daemon.calls(), ["Cancel".to_owned(), update(OPTIONS)]);
    assert_eq!(staged(&daemon).unwrap().digest, digest('b'));

    under_way(&daemon, daemon::SERVICE, "ostler", &[Act::WaitForCancel]);
    let short = driver(&daemon, Limits { others: Duration::from_secs(1), ..limits() });
    assert!(mine.occupant().unwrap().unwrap().starts_with("ostler in session-9.scope, process"));
    assert!(matches!(stage(&short, &to_image()).0, Err(OsError::Busy { .. })));
    assert_eq!(daemon.calls().iter().filter(|call| *call == "Cancel").count(), 1);
}

#[test]
fn somebody_who_was_faster_is_waited_for_too() {
    let daemon = Daemon::start();
    daemon.shared.with(|state| {
        state.denials.push_back(Wrong::UpdateInProgress(String::new()));
        state.denials.push_back(Wrong::Failed("System transaction in progress".to_owned()));
    });
    stage(&driver(&daemon, limits()), &to_image()).0.unwrap();
    assert_eq!(daemon.calls().len(), 3);
    daemon.shared.with(|state| {
        state.denials.extend((0..100).map(|_| Wrong::Failed("System transaction in progress".to_owned())));
    });
    let short = driver(&daemon, Limits { others: Duration::from_secs(1), ..limits() });
    let error = stage(&short, &to_image()).0.unwrap_err();
    assert!(matches!(&error, OsError::Busy { occupant, .. } if occupant.contains("System transaction")), "{error:?}");
}

#[test]
fn who_holds_the_lock_on_the_deployments_is_named() {
    let daemon = Daemon::start();
    let directory = daemon.bus.directory.path().join("ostree");
    std::fs::create_dir(&directory).unwrap();
    let held = std::fs::File::create(directory.join("lock")).unwrap();
    held.lock().unwrap();
    let busy = || Wrong::Failed("System transaction in progress".to_owned());
    daemon.shared.with(|state| state.denials.extend([busy(), busy()]));
    let driver = driver(&daemon, limits());
    let me = format!("process {}", std::process::id());
    assert!(driver.occupant().unwrap().is_some_and(|who| who.ends_with(&me)));
    let (done, lines) = stage(&driver, &to_image());
    done.unwrap();
    assert!(
        matches!(&lines[..], [line] if line.contains(&me) && line.contains("the lock on the deployments")),
        "{lines:?}"
    );
}

#[test]
fn a_transaction_that_nobody_waits_for_any_more_is_cancelled() {
    let daemon = Daemon::start();
    daemon.script([Act::WaitForCancel, Act::Finish(Err("Operation was cancelled"))]);
    let wanted = || daemon.calls().is_empty();
    let error = driver(&daemon, limits()).stage_while(&to_image(), &mut |_| (), &wanted).unwrap_err();
    assert!(matches!(error, OsError::GivenUp { .. }), "{error:?}");
    assert_eq!(daemon.calls(), [update(OPTIONS), "Cancel".to_owned()]);
}

#[test]
fn a_transaction_that_takes_too_long_is_cancelled() {
    let daemon = Daemon::start();
    let driver = driver(&daemon, Limits { transaction: Duration::from_secs(1), ..limits() });
    daemon.script([Act::WaitForCancel, Act::Finish(Err("Operation was cancelled"))]);
    let error = stage(&driver, &to_image()).0.unwrap_err();
    assert!(matches!(error, OsError::TooSlow { seconds: 1, .. }), "{error:?}");
    assert_eq!(daemon.calls(), [update(OPTIONS), "Cancel".to_owned()]);
    daemon.script([Act::WaitForCancel, Act::Apply, Act::Finish(Ok(()))]);
    stage(&driver, &to_image()).0.unwrap();
}

#[test]
fn a_deployment_without_its_line_is_not_left_staged() {
    let daemon = Daemon::start();
    daemon.script(DONE);
    daemon.script([Act::Finish(Err("something passing"))]);
    let order = Order { kargs: Some(kargs::split("root=x a")), ..to_image() };
    assert!(matches!(stage(&driver(&daemon, limits()), &order).0, Err(OsError::Failed { .. })));
    assert_eq!(daemon.calls().last().unwrap(), "Cleanup pending-deploy");
    assert!(staged(&daemon).is_none());
}

#[test]
fn what_a_person_put_first_is_put_behind_again_and_forgetting_can_be_asked_twice() {
    let daemon = Daemon::start();
    let driver = driver(&daemon, limits());
    add(&daemon, 0, Deployed { digest: digest('c'), ..Deployed::default() });
    driver.forget().unwrap();
    assert!(daemon.calls().is_empty());

    // It is not dropped before another one is staged.
    stage(&driver, &to_kargs("root=x a")).0.unwrap();
    driver.discard().unwrap();
    driver.discard().unwrap();
    assert_eq!(daemon.shared.with(|state| state.deployments[1].digest.clone()), digest('c'));
    for _ in 0..2 {
        driver.forget().unwrap();
    }
    assert_eq!(daemon.shared.with(|state| state.deployments.len()), 1);
    add(&daemon, 1, Deployed { pinned: true, ..Deployed::default() });
    driver.forget().unwrap();
    let calls = daemon.calls();
    assert_eq!(calls[0], "Rollback");
    assert_eq!(calls[2..], ["Cleanup pending-deploy", "Cleanup rollback-deploy"]);
}

#[test]
fn a_daemon_that_is_slow_to_start_is_waited_for_longer_than_the_bus_does() {
    let daemon = Daemon::start();
    daemon.shared.with(|state| state.starts = 2);
    driver(&daemon, limits()).discard().unwrap();
    daemon.shared.with(|state| state.starts = usize::MAX);
    let short = driver(&daemon, Limits { start: Duration::from_millis(300), ..limits() });
    let error = short.discard().unwrap_err();
    assert!(matches!(error, OsError::TooSlow { .. }), "{error:?}");
    assert!(
        error.to_string().contains("did not start") && error.remedy().contains("journalctl -u rpm-ostreed"),
        "{error}"
    );
}

#[test]
fn nobody_to_ask_is_an_error_that_may_pass() {
    let bus = Bus::start(false);
    let elsewhere = Daemon::start();
    let deployments = || {
        let sysroot: Box<dyn Sysroot> = Box::new(Libostree(elsewhere.shared.clone()));
        (sysroot, SysrootLock::at(bus.directory.path()))
    };
    let driver = RpmOstree::new(Some(&bus.address), limits(), Trust::Signed, deployments()).unwrap();
    assert_eq!(driver.occupant().unwrap(), None);
    let error = driver.discard().unwrap_err();
    assert!(matches!(error, OsError::Unreachable { .. }), "{error:?}");
    assert!(error.remedy().contains("journalctl -u rpm-ostreed"), "{}", error.remedy());
    let nowhere = RpmOstree::new(Some("unix:path=/nonexistent/bus"), limits(), Trust::Signed, deployments()).unwrap();
    assert!(matches!(nowhere.occupant(), Err(OsError::Unreachable { .. })));
}
