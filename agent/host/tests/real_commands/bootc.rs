//! The bootc backend with a script that stages names instead of images.

use std::cell::RefCell;
use std::fs;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use ostler_core::kargs;
use ostler_core::os::order::Order;
use ostler_core::os::state::{Installed, OsState};
use ostler_core::protocol::Class;
use ostler_host::disk::RootDisk;
use ostler_host::os::bootc::{Bootc, SWITCH_UNIT, Settings};
use ostler_host::os::lock::SysrootLock;
use ostler_host::os::{OsBackend, OsError, Sysroot};

use super::container::Container;
use super::{LIMITS, address, connect, disk, eventually};

/// What is asked of it is noted; what a name says is what happens.
pub const SCRIPT: &str = r#"#!/bin/sh
state=/run/bootc
mkdir -p $state
[ "$1" = status ] || echo "$*" >> $state/calls
[ -n "$NO_COLOR" ] || { echo "coloured" >&2; exit 1; }
for last; do :; done
entry() {
    [ -e $state/$1 ] || { echo null; return; }
    echo "{\"image\":{\"image\":{\"image\":\"x\",\"transport\":\"registry\"},\"imageDigest\":\"$(cat $state/$1)\"},\"softRebootCapable\":$([ -e $state/capable ] && echo true || echo false)}"
}
case $1 in
switch)
    echo "layers needed: 3"
    case $last in
    */unknown@*) echo "error: Switching: reading manifest: manifest unknown" >&2; exit 1 ;;
    */unsigned@*) echo "error: Source image rejected: A signature was required, but no signature exists" >&2; exit 1 ;;
    */offline@*) echo "error: pinging container registry: dial tcp: connection refused" >&2; exit 1 ;;
    */locked@*) echo "error: Transaction in progress" >&2; exit 1 ;;
    */forgotten@*) exit 0 ;;
    */swapped@*) echo sha256:other > $state/staged; exit 0 ;;
    */slow@*) until [ -e $state/go ]; do sleep 0.05; done ;;
    esac
    echo "${last#*@}" > $state/staged
    ;;
status)
    while [ -e $state/hangs ]; do sleep 0.05; done
    [ -e $state/noisy ] && echo "Waiting for sysroot lock..."
    echo "{\"apiVersion\":\"org.containers.bootc/v1\",\"kind\":\"BootcHost\",\"status\":{\"booted\":$(entry booted),\"staged\":$(entry staged),\"rollback\":$(entry rollback)}}"
    ;;
esac
"#;

/// The script's idea of deployments, and what is done to them besides.
#[derive(Clone)]
struct Deployments {
    state: PathBuf,
    staged_kargs: String,
    restaged: Rc<RefCell<Vec<String>>>,
}

impl Sysroot for Deployments {
    fn read(&self) -> Result<OsState, OsError> {
        let of = |kargs: &str| Installed { kargs: kargs::split(kargs), ..Installed::default() };
        let digest = fs::read_to_string(self.state.join("staged")).ok().map(|text| text.trim().to_owned());
        let staged = digest.is_some().then(|| Installed { digest, ..of(&self.staged_kargs) });
        Ok(OsState { booted: Some(of("root=x old")), staged, ..OsState::default() })
    }

    fn restage(&self, kargs: &[String]) -> Result<(), OsError> {
        self.restaged.borrow_mut().push(kargs.join(" "));
        Ok(())
    }

    fn stage_again(&self, _deployment: &Installed) -> Result<(), OsError> {
        Err(OsError::Sysroot { action: "stage", source: "not asked of bootc".into() })
    }

    fn stay(&self) -> Result<(), OsError> {
        Err(OsError::Sysroot { action: "change", source: "not asked of bootc".into() })
    }

    fn discard(&self) -> Result<(), OsError> {
        let _ = fs::remove_file(self.state.join("staged"));
        Ok(())
    }

    fn forget(&self) -> Result<(), OsError> {
        Ok(())
    }
}

fn backend(machine: &Container, enforce_signatures: bool) -> (Bootc<RootDisk>, Deployments) {
    let state = machine.path("run/bootc");
    let _ = fs::remove_dir_all(&state);
    fs::create_dir_all(&state).unwrap();
    let deployments = Deployments { state, staged_kargs: "root=x old from.image".to_owned(), restaged: Rc::default() };
    let settings = Settings { enforce_signatures, ..settings(machine) };
    (Bootc::new(settings, disk(machine), Box::new(deployments.clone()), lock(machine)), deployments)
}

fn settings(machine: &Container) -> Settings {
    Settings {
        program: "/opt/ostler/bootc".to_owned(),
        address: Some(address(machine)),
        limits: LIMITS,
        patience: Duration::from_secs(180),
        others: Duration::from_secs(180),
        enforce_signatures: false,
    }
}

fn lock(machine: &Container) -> SysrootLock {
    SysrootLock::at(&machine.path(""))
}

fn digest() -> String {
    format!("sha256:{}", "a".repeat(64))
}

fn order(repository: &str, kargs: Option<&str>) -> Order {
    let image = Some(format!("quay.example/{repository}:tag@{}", digest()));
    Order { image, kargs: kargs.map(kargs::split), ..Order::default() }
}

fn calls(deployments: &Deployments) -> Vec<String> {
    let text = fs::read_to_string(deployments.state.join("calls")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

pub fn stages(machine: &Container) {
    for (enforce, flag) in [(false, ""), (true, "--enforce-container-sigpolicy ")] {
        let (bootc, deployments) = backend(machine, enforce);
        let mut lines = Vec::new();
        bootc.stage(&order("os", Some("root=x new")), &mut |line| lines.push(line.to_owned())).unwrap();
        let name = format!("quay.example/os@{}", digest());
        assert_eq!(calls(&deployments), [format!("switch --transport registry {flag}{name}")]);
        assert_eq!(*deployments.restaged.borrow(), ["root=x new from.image"]);
        assert!(lines.iter().any(|line| line.contains(&name)), "{lines:?}");
        assert_eq!(bootc.status().unwrap().staged.unwrap().digest, Some(digest()));
        fs::write(deployments.state.join("noisy"), "").unwrap();
        for capable in [false, true] {
            assert_eq!(bootc.status().unwrap().staged.unwrap().soft_reboot_capable, capable);
            fs::write(deployments.state.join("capable"), "").unwrap();
        }
    }
    let (bootc, deployments) = backend(machine, false);
    fs::write(deployments.state.join("staged"), "sha256:leftover").unwrap();
    let kargs = Order { kargs: Some(kargs::split("root=x new")), ..Order::default() };
    bootc.stage(&kargs, &mut |_| {}).unwrap();
    assert!(calls(&deployments).is_empty() && !deployments.state.join("staged").exists());
    assert_eq!(*deployments.restaged.borrow(), ["root=x new"]);
    let mut packages = order("os", None);
    packages.packages.install = vec!["usbguard".to_owned()];
    assert!(matches!(bootc.stage(&packages, &mut |_| {}), Err(OsError::Unable { .. })));
}

pub fn failures(machine: &Container) {
    for (repository, class, words) in [
        (
            "unknown",
            Class::Refusal,
            "bootc refuses to stage the image: it ended with status 1: error: Switching: reading",
        ),
        ("unsigned", Class::Refusal, "A signature was required"),
        ("offline", Class::Transient, "connection refused"),
        ("locked", Class::Transient, "holds the lock"),
        ("forgotten", Class::Transient, "nothing is staged"),
    ] {
        let (bootc, _) = backend(machine, false);
        let error = bootc.stage(&order(repository, None), &mut |_| {}).unwrap_err();
        assert!(error.class() == class && error.to_string().contains(words), "{repository}: {error}");
    }
    let (bootc, _) = backend(machine, false);
    let unpinned = Order { image: Some("quay.example/os:1".to_owned()), ..Order::default() };
    let error = bootc.stage(&unpinned, &mut |_| {}).unwrap_err();
    assert!(error.class() == Class::Refusal && error.to_string().contains("not pinned"), "{error}");
}

pub fn mismatch(machine: &Container) {
    let (bootc, deployments) = backend(machine, false);
    let error = bootc.stage(&order("swapped", Some("x")), &mut |_| {}).unwrap_err();
    let text = error.to_string();
    assert!(
        matches!(error, OsError::Refused { .. }) && text.contains("sha256:other") && text.contains(&digest()),
        "{text}"
    );
    assert!(!deployments.state.join("staged").exists() && deployments.restaged.borrow().is_empty());
}

pub fn reattaches(machine: &Container) {
    let (bootc, deployments) = backend(machine, false);
    let impatient = Settings { patience: Duration::from_millis(200), ..settings(machine) };
    let first = Bootc::new(impatient, disk(machine), Box::new(deployments.clone()), lock(machine));
    let error = first.stage(&order("slow", None), &mut |_| {}).unwrap_err();
    assert!(matches!(error, OsError::TooSlow { .. }), "{error:?}");
    let bus = connect(machine);
    assert!(bus.service(SWITCH_UNIT).unwrap().is_some_and(|service| !service.has_ended()));
    fs::write(deployments.state.join("go"), "").unwrap();
    eventually("it has ended", || bus.service(SWITCH_UNIT).unwrap().is_some_and(|service| service.has_ended()));
    // The second agent takes the first one's success, and stages kernel arguments on it.
    bootc.stage(&order("slow", Some("root=x new")), &mut |_| {}).unwrap();
    assert_eq!((calls(&deployments).len(), deployments.restaged.borrow().len()), (1, 1));
    assert_eq!(bus.service(SWITCH_UNIT).unwrap(), None);
}

pub fn given_up(machine: &Container) {
    let (bootc, deployments) = backend(machine, false);
    let error = bootc.stage_while(&order("slow", None), &mut |_| {}, &|| calls(&deployments).is_empty()).unwrap_err();
    assert!(matches!(error, OsError::GivenUp { .. }), "{error:?}");
    assert_eq!(connect(machine).service(SWITCH_UNIT).unwrap(), None, "it was stopped");
    assert!(!deployments.state.join("staged").exists());
}

pub fn names_lock_holder(machine: &Container) {
    let (bootc, deployments) = backend(machine, false);
    fs::create_dir_all(machine.path("ostree")).unwrap();
    let file = fs::File::create(machine.path("ostree/lock")).unwrap();
    let mut lines = Vec::new();
    let staged = bootc.stage(&order("slow", None), &mut |line| {
        // Nobody held it when the agent looked.
        if line.starts_with("bootc fetches and stages") {
            file.lock().unwrap();
        }
        if line.ends_with("which holds the lock on the deployments") {
            file.unlock().unwrap();
            fs::write(deployments.state.join("go"), "").unwrap();
        }
        lines.push(line.to_owned());
    });
    staged.unwrap();
    let me = format!("process {},", std::process::id());
    assert!(lines.iter().filter(|line| line.contains(&me)).count() == 1, "{lines:?}");

    // One that never lets go of it is named where time is up.
    file.lock().unwrap();
    let impatient = Settings { others: Duration::from_millis(200), ..settings(machine) };
    let status = Bootc::new(impatient, disk(machine), Box::new(deployments.clone()), lock(machine));
    fs::write(deployments.state.join("hangs"), "").unwrap();
    let error = status.status().unwrap_err();
    assert!(
        matches!(&error, OsError::Busy { occupant, .. } if occupant.contains(me.trim_end_matches(','))),
        "{error:?}"
    );
    fs::remove_file(deployments.state.join("hangs")).unwrap();
    file.unlock().unwrap();
    bootc.status().unwrap();
}

pub fn occupied(machine: &Container) {
    let (bootc, _) = backend(machine, false);
    assert_eq!(bootc.occupant().unwrap(), None);
    let unit = "bootc-fetch-apply-updates.service";
    machine.unit(unit, "[Service]\nType=oneshot\nExecStart=/usr/bin/sleep 1000\n");
    let bus = connect(machine);
    bus.daemon_reload().unwrap();
    super::systemctl(machine, &["start", "--no-block", unit]);
    eventually("it is named", || {
        bootc.occupant().unwrap().is_some_and(|who| who.contains(unit) && who.contains("sleep 1000"))
    });
    super::systemctl(machine, &["stop", unit]);
    assert_eq!(bootc.occupant().unwrap(), None);
}
