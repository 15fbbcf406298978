//! Transactions that change the operating system too, on a machine in memory whose deployments have an `/etc` each.

mod fake;
mod first_boot;
mod handover;
mod lasting;
mod nics;
mod proof;
mod soft;
mod stage;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};

use ostler_core::kargs;
use ostler_core::os::boot_mark::BootMark;
use ostler_core::os::goal::Goal;
use ostler_core::os::order::Order;
use ostler_core::os::preflight::Severity;
use ostler_core::os::state::{Installed, OsState};
use ostler_core::protocol::Class;
use ostler_core::transaction::{Ending, Finished};
use serde_json::json;

use super::super::stage::LOCK;
use super::*;
use crate::disk::memory::{self, every_crash};
use crate::disk::{Attributes, Disk};
use crate::os::Sysroot;

use fake::{Deployments, Loader, finding, made, path};

const PLAIN: Attributes = Attributes { mode: 0o644, uid: 0, gid: 0 };
const STATE: &str = "/sysroot/state";
const STAGED: &str = "/run/staged";
const OLD: &str = "registry.example/os@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const NEW: &str = "registry.example/os@sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

/// A machine in memory through all its boots.
struct Host {
    disk: MemoryDisk,
    boot: BootMark,
    /// The `/etc` of each deployment that was shut down.
    etcs: BTreeMap<String, BTreeMap<String, Node>>,
    broken: Vec<&'static str>,
}

/// How a machine restarts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Restart {
    /// Everything in order: what is staged is finished and booted.
    Clean,
    /// What is staged is lost.
    Cut,
    /// A person chooses the deployment that ran before in the boot menu.
    OldFromMenu,
    /// User space alone: what is staged is finished, and is the next root.
    Soft,
    /// User space alone, with nothing prepared: what is staged is finished, but the root stays.
    SoftSameRoot,
}

impl Host {
    fn new() -> Self {
        let disk = fresh();
        for directory in ["/sysroot", "/run"] {
            disk.put_directory(&path(directory), Attributes { mode: 0o755, ..PLAIN }).unwrap();
        }
        let order = Order { image: Some(OLD.to_owned()), kargs: Some(kargs::split("root=x ro")), ..Order::default() };
        let booted = made(&order, &Installed::default());
        let loader = Loader { deployments: vec![booted.clone()], booted };
        disk.put(&path(STATE), &serde_json::to_vec(&loader).unwrap(), PLAIN).unwrap();
        Self { disk, boot: "boot+0".to_owned().into(), etcs: BTreeMap::new(), broken: Vec::new() }
    }

    /// The same machine with the disk of one that was cut off.
    fn with(&self, disk: MemoryDisk) -> Self {
        Self { disk, boot: self.boot.clone(), etcs: self.etcs.clone(), broken: Vec::new() }
    }

    fn on<'d>(disk: &'d MemoryDisk, boot: &BootMark, broken: &[&'static str]) -> Machine<'d, MemoryDisk> {
        let os = Deployments { broken: RefCell::new(broken.to_vec()), ..Deployments::of(disk) };
        let surroundings = Surroundings { live: true, os: Some(Box::new(os)), boot: boot.clone(), ..surroundings() };
        Machine::open(disk, surroundings).unwrap()
    }

    fn machine(&self) -> Machine<'_, MemoryDisk> {
        Self::on(&self.disk, &self.boot, &self.broken)
    }

    fn apply(&self, target: &Recorded) -> Result<Finished, Trouble> {
        apply_to(&self.machine(), target)
    }

    fn recover(&self) -> Result<Option<Finished>, Trouble> {
        transaction::recover(&self.machine(), &mut |_| {})
    }

    fn state(&self) -> OsState {
        Deployments::of(&self.disk).read().unwrap()
    }

    fn restart(&mut self, how: Restart) {
        let mut state = self.state();
        let booted = state.booted.take().unwrap();
        let etc =
            |tree: BTreeMap<String, Node>| tree.into_iter().filter(|(path, _)| path.starts_with("/etc/")).collect();
        let here: BTreeMap<String, Node> = etc(self.disk.tree());
        self.etcs.insert(key(&booted), here.clone());
        let mut finished: Vec<Installed> = state.deployments.clone();
        if let Some(staged) = state.staged.take() {
            finished.remove(0);
            let locked = self.disk.stat(&path(LOCK)).unwrap().is_some();
            if how != Restart::Cut && !locked {
                self.etcs.insert(key(&staged), here);
                finished.retain(|other| *other == booted);
                finished.insert(0, staged);
            }
        }
        let stays = matches!(how, Restart::OldFromMenu | Restart::SoftSameRoot);
        let next = if stays { booted } else { finished[0].clone() };
        let loader = Loader { deployments: finished, booted: next.clone() };
        self.disk = with_etc(&self.disk, &self.etcs[&key(&next)]);
        self.disk.put(&path(STATE), &serde_json::to_vec(&loader).unwrap(), PLAIN).unwrap();
        self.boot = match how {
            Restart::Soft | Restart::SoftSameRoot => {
                BootMark { soft_reboots: self.boot.soft_reboots.map(|count| count + 1), ..self.boot.clone() }
            }
            _ => BootMark { boot_id: format!("{}'", self.boot.boot_id), soft_reboots: Some(0) },
        };
    }

    /// Goes on as a node does, boot by boot, until nothing is open.
    fn settle(&mut self, how: Restart) -> Option<Finished> {
        let mut how = how;
        for _ in 0..4 {
            match self.recover().unwrap_or_else(|trouble| panic!("{}", trouble.reason())) {
                Some(Finished { ending: Ending::AwaitsReboot { .. }, .. }) => {
                    self.restart(how);
                    how = Restart::Clean;
                }
                ended => return ended,
            }
        }
        panic!("never settled");
    }
}

fn key(installed: &Installed) -> String {
    format!("{}.{}", installed.checksum, installed.serial)
}

/// The disk with another `/etc`, after a shutdown that made everything else durable.
fn with_etc(disk: &MemoryDisk, etc: &BTreeMap<String, Node>) -> MemoryDisk {
    let mut tree = disk.tree();
    tree.retain(|path, _| !path.starts_with("/etc/") && !path.starts_with("/run/"));
    tree.extend(etc.iter().map(|(path, node)| (path.clone(), node.clone())));
    let fresh = MemoryDisk::new();
    for (at, node) in &tree {
        match node {
            Node::Directory { attributes, .. } => fresh.put_directory(&path(at), *attributes).unwrap(),
            Node::File { contents, attributes, .. } => fresh.put(&path(at), contents, *attributes).unwrap(),
            Node::Link { target } => fresh.put_link(&path(at), target).unwrap(),
        }
    }
    fresh
}

fn apply_to(machine: &Machine<'_, MemoryDisk>, target: &Recorded) -> Result<Finished, Trouble> {
    let proposal = transaction::propose(machine, target.clone(), &Rules::default())?.unwrap();
    transaction::run(machine, &proposal, &mut |_| {})
}

fn target(name: &str, image: &str, kargs: &[&str], motd: &str) -> Recorded {
    let config = json!({
        "ignition": {"version": "3.4.0"},
        "storage": {"files": [
            {"path": "/etc/motd", "overwrite": true, "contents": {"source": format!("data:,{motd}")}},
            {"path": format!("/etc/{name}.conf"), "contents": {"source": format!("data:,{motd}")}},
        ]},
    });
    let spec = json!({"config": config, "osImageURL": image, "kernelArguments": kargs});
    Recorded::from_document(json!({"metadata": {"name": name}, "spec": spec})).unwrap()
}

/// A machine that is in the old configuration.
fn settled_node() -> Host {
    let mut node = Host::new();
    node.apply(&target("old", OLD, &["quiet"], "old")).unwrap();
    node.restart(Restart::Clean);
    assert_eq!(node.settle(Restart::Clean).unwrap().ending, Ending::Applied);
    node
}

fn new_target() -> Recorded {
    target("new", NEW, &["nosmt", "quiet"], "new")
}

/// Which of the two configurations the machine is in, files and operating system alike.
fn end(node: &Host) -> &'static str {
    let state = node.state();
    assert!(state.staged.is_none(), "{state:?}");
    let booted = state.booted.unwrap();
    let line = booted.kargs.join(" ");
    let files = |path: &str| text(&node.disk, path);
    let found =
        (booted.image.as_deref(), line.as_str(), files("/etc/motd"), files("/etc/old.conf"), files("/etc/new.conf"));
    let word = |text: &str| Some(text.to_owned());
    if found == (Some(OLD), "root=x ro quiet", word("old"), word("old"), None) {
        return "old";
    }
    assert_eq!(found, (Some(NEW), "root=x ro nosmt quiet", word("new"), None, word("new")));
    "new"
}

#[test]
fn an_update_waits_for_the_restart_and_is_applied_by_it() {
    let mut node = settled_node();
    let waits = node.apply(&new_target()).unwrap();
    assert_eq!((waits.ending, waits.reboot), (Ending::AwaitsReboot { reason: None }, true));
    assert_eq!(node.state().staged.unwrap().image.as_deref(), Some(NEW));
    assert!(matches!(node.apply(&new_target()), Err(Trouble::AwaitsReboot { .. })));
    assert_eq!(node.recover().unwrap().unwrap().ending, Ending::AwaitsReboot { reason: None }, "still the same boot");
    node.restart(Restart::Clean);
    let finished = node.recover().unwrap().unwrap();
    assert_eq!((finished.ending, finished.reboot), (Ending::Applied, false));
    assert_eq!(end(&node), "new");
}

#[test]
fn what_was_staged_and_lost_in_the_same_boot_is_staged_again() {
    let mut node = settled_node();
    node.apply(&new_target()).unwrap();
    Sysroot::discard(&Deployments::of(&node.disk)).unwrap();
    assert_eq!(node.settle(Restart::Clean).unwrap().ending, Ending::Applied);
    assert_eq!(end(&node), "new");
}

#[test]
fn a_restart_into_the_old_system_undoes_the_configuration_too() {
    for how in [Restart::Cut, Restart::OldFromMenu] {
        let mut node = settled_node();
        node.apply(&new_target()).unwrap();
        let Some(Ending::Undone { reason }) = node.settle(how).map(|finished| finished.ending) else { panic!() };
        assert!(reason.contains("restarted into another operating system"), "{reason}");
        assert_eq!(node.settle(Restart::Clean), None);
        if how == Restart::Cut {
            assert_eq!(end(&node), "old");
        } else {
            // The new one is still what the boot loader would start by itself.
            assert_eq!(node.state().next().unwrap().image.as_deref(), Some(OLD));
        }
    }
}

#[test]
fn a_system_that_did_not_boot_is_not_tried_again_unless_a_person_says_so() {
    let mut node = settled_node();
    node.apply(&new_target()).unwrap();
    assert!(matches!(node.settle(Restart::OldFromMenu).unwrap().ending, Ending::Undone { .. }));
    let trouble = node.apply(&new_target()).unwrap_err();
    assert!(trouble.reason().contains("restarted into another operating system"), "{}", trouble.reason());
    node.disk.put(&path(ostler_core::reconcile::FORCE_FILE), b"", PLAIN).unwrap();
    let machine = node.machine();
    let proposal = transaction::propose(&machine, new_target(), &Rules::default()).unwrap().unwrap();
    transaction::run(&machine, &proposal, &mut |_| {}).unwrap();
    drop(machine);
    assert_eq!(node.settle(Restart::Clean).unwrap().ending, Ending::Applied);
    assert_eq!(end(&node), "new");
}

#[test]
fn a_power_cut_is_not_held_against_the_new_system() {
    let mut node = settled_node();
    node.apply(&new_target()).unwrap();
    assert!(matches!(node.settle(Restart::Cut).unwrap().ending, Ending::Undone { .. }));
    node.apply(&new_target()).unwrap();
    assert_eq!(node.settle(Restart::Clean).unwrap().ending, Ending::Applied);
}

/// The deployment that is still there from before the rollback is not the one that was staged and lost.
#[test]
fn a_power_cut_is_not_held_against_a_system_that_was_kept_from_before() {
    let mut node = settled_node();
    node.apply(&new_target()).unwrap();
    assert_eq!(node.settle(Restart::Clean).unwrap().ending, Ending::Applied);
    let machine = node.machine();
    let proposal = transaction::propose_rollback(&machine, &Rules::default()).unwrap().unwrap();
    transaction::run(&machine, &proposal, &mut |_| {}).unwrap();
    drop(machine);
    assert_eq!(node.settle(Restart::Clean).unwrap().ending, Ending::Applied);
    assert_eq!(end(&node), "old");
    node.apply(&new_target()).unwrap();
    assert!(matches!(node.settle(Restart::Cut).unwrap().ending, Ending::Undone { .. }));
    node.apply(&new_target()).unwrap();
    assert_eq!(node.settle(Restart::Clean).unwrap().ending, Ending::Applied);
    assert_eq!(end(&node), "new");
}

#[test]
fn a_failure_to_stage_changes_nothing() {
    let mut node = settled_node();
    // Where the lock of a staged deployment was may stay.
    node.disk.put_directory(&path("/run/ostree"), Attributes { mode: 0o755, ..PLAIN }).unwrap();
    let before = tree(&node.disk);
    node.broken = vec!["no space"];
    let finished = node.apply(&new_target()).unwrap();
    let Ending::Undone { reason } = finished.ending else { panic!("{finished:?}") };
    assert!(reason.contains("no space"), "{reason}");
    assert_eq!(tree(&node.disk), before);
}

#[test]
fn a_change_that_awaits_its_restart_can_be_withdrawn() {
    let node = settled_node();
    node.apply(&new_target()).unwrap();
    let undone = transaction::withdraw(&node.machine(), "a newer one came", &mut |_| {}).unwrap().unwrap();
    assert_eq!(undone.ending, Ending::Undone { reason: "a newer one came".to_owned() });
    assert_eq!(end(&node), "old");
    assert_eq!(transaction::withdraw(&node.machine(), "again", &mut |_| {}).unwrap(), None);
}

#[test]
fn a_rollback_stages_the_deployment_that_is_still_there() {
    let mut node = settled_node();
    node.apply(&new_target()).unwrap();
    assert_eq!(node.settle(Restart::Clean).unwrap().ending, Ending::Applied);
    node.broken = vec!["the registry is not to be asked"];
    let machine = node.machine();
    let proposal = transaction::propose_rollback(&machine, &Rules::default()).unwrap().unwrap();
    let waits = transaction::run(&machine, &proposal, &mut |_| {}).unwrap();
    drop(machine);
    assert_eq!(waits.ending, Ending::AwaitsReboot { reason: None });
    assert_eq!(node.settle(Restart::Clean).unwrap().ending, Ending::Applied);
    assert_eq!(end(&node), "old");
}

#[test]
fn what_is_found_beforehand_stops_a_change_before_it_begins() {
    let node = settled_node();
    for (severity, begins, class) in [
        (Severity::Note, true, None),
        (Severity::Transient, false, Some(Class::Transient)),
        (Severity::Refusal, false, Some(Class::Refusal)),
    ] {
        let disk = node.disk.kill();
        let os = Deployments { findings: vec![finding(severity, "full")], ..Deployments::of(&disk) };
        let all = Surroundings { live: true, os: Some(Box::new(os)), boot: node.boot.clone(), ..surroundings() };
        let result = apply_to(&Machine::open(&disk, all).unwrap(), &new_target());
        assert_eq!(result.is_ok(), begins, "{severity:?}");
        assert_eq!(result.err().map(|trouble| trouble.class()), class);
    }
}

#[test]
fn a_tag_is_refused_before_anything_is_begun() {
    let node = settled_node();
    let before = node.disk.fingerprint();
    let trouble = node.apply(&target("new", "registry.example/os:latest", &[], "new")).unwrap_err();
    assert_eq!((trouble.class(), trouble.unchanged()), (Class::Refusal, true));
    assert!(trouble.reason().contains("not pinned by a digest"), "{}", trouble.reason());
    assert!(trouble.remedy().unwrap().contains("registry.example/os@sha256:bbbb"), "{:?}", trouble.remedy());
    assert_eq!(node.disk.fingerprint(), before);
}

#[test]
fn the_goal_of_the_way_back_is_what_was_booted() {
    let node = settled_node();
    node.apply(&new_target()).unwrap();
    let open = node.machine().observe().unwrap().interrupted.unwrap().open;
    let change = open.os.unwrap();
    assert_eq!(Goal::keeping(&change.before).image.as_deref(), Some(OLD));
    assert_eq!(change.goal.image.as_deref(), Some(NEW));
}

/// Cuts work off everywhere, by kills and power cuts, and lets the machine go on by itself.
fn cut_everywhere(
    before: &Host,
    work: impl Fn(&MemoryDisk) -> Result<(), Trouble>,
    restart: Restart,
) -> (usize, usize) {
    let seen: RefCell<HashSet<(u128, bool)>> = RefCell::default();
    let ends: RefCell<BTreeMap<&str, usize>> = RefCell::default();
    let tried = every_crash(
        || before.disk.kill(),
        |disk| work(disk).map_err(io_error),
        2,
        |disk, point| {
            let cut = matches!(point.ending, memory::Ending::PowerCut(_));
            if !seen.borrow_mut().insert((disk.fingerprint(), cut)) {
                return;
            }
            let mut node = before.with(disk);
            if cut {
                node.restart(Restart::Cut);
            }
            node.settle(restart);
            *ends.borrow_mut().entry(end(&node)).or_default() += 1;
            assert!(node.machine().observe().unwrap().interrupted.is_none(), "{point:?}");
        },
    );
    let ends = ends.into_inner();
    assert!(ends.keys().copied().eq(["new", "old"]) || restart == Restart::Cut, "{ends:?}");
    (tried.unwrap(), seen.into_inner().len())
}

#[test]
fn every_crash_of_an_update_ends_with_system_and_files_as_a_pair() {
    let node = settled_node();
    for restart in [Restart::Clean, Restart::Cut, Restart::Soft] {
        let boot = node.boot.clone();
        let work = |disk: &MemoryDisk| apply_to(&Host::on(disk, &boot, &[]), &new_target()).map(drop);
        let (points, different) = cut_everywhere(&node, work, restart);
        println!("updates of the operating system: {points} points, {different} different machines, each old or new");
    }
}

#[test]
fn every_crash_of_a_commit_and_of_a_withdrawal_ends_as_a_pair() {
    let mut node = settled_node();
    node.apply(&new_target()).unwrap();
    let boot = node.boot.clone();
    let withdrawal =
        |disk: &MemoryDisk| transaction::withdraw(&Host::on(disk, &boot, &[]), "withdrawn", &mut |_| {}).map(drop);
    let (withdrawn, _) = cut_everywhere(&node, withdrawal, Restart::Clean);
    node.restart(Restart::Clean);
    let boot = node.boot.clone();
    let commit = |disk: &MemoryDisk| transaction::recover(&Host::on(disk, &boot, &[]), &mut |_| {}).map(drop);
    let (committed, _) = cut_everywhere(&node, commit, Restart::Cut);
    println!("withdrawals: {withdrawn} points; commits: {committed} points; each old or new");
}
