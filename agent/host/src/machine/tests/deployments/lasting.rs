//! Faults that last, at every effect of every way: no machine stays stuck.
//!
//! A transaction ends, or says what is missing. When the fault ends, or another configuration is desired that does not need
//! the faulty thing, the machine gets there without a person.

mod abandoned;
mod faulty;

use std::collections::{BTreeMap, HashSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use faulty::{Fault, Faults, FaultyDisk, Services};
use nix::errno::Errno;

const BOOT: &str = "boot+0";

/// Paths of the change that meet faults: one replaced, one new, one removed, a unit, a record.
const PATHS: [&str; 5] = [
    "/etc/app.conf",
    "/etc/deep/new.conf",
    "/etc/gone.conf",
    "/etc/systemd/system/app.service",
    "/etc/machine-config-daemon/currentconfig",
];

/// What is read besides: accounts, and the journal's records and texts.
const READ: [&str; 7] = [
    "/etc/passwd",
    "/var/lib/ostler/journal/plan",
    "/var/lib/ostler/journal/origin",
    "/var/lib/ostler/journal/next",
    "/var/lib/ostler/journal/progress",
    "/var/lib/ostler/journal/last",
    "/var/lib/ostler/journal/text-",
];

/// Directories whose names are made durable.
const SYNCED: [&str; 3] = ["/etc", "/etc/deep", "/etc/systemd/system"];

fn all_faults() -> Vec<Fault> {
    let mut faults = vec![
        Fault::Calls(&["restart app.service"]),
        Fault::Calls(&["reload web.service"]),
        Fault::Calls(&["Enable app.service", "Preset app.service", "Disable app.service"]),
        Fault::Calls(&["daemon-reload"]),
        Fault::Hangs(&["restart app.service"]),
        Fault::Missing("app.service"),
        Fault::Missing("web.service"),
        Fault::Bus,
        Fault::Everything(Errno::EIO),
        Fault::Everything(Errno::EROFS),
        Fault::Space(Errno::ENOSPC),
        Fault::Space(Errno::EDQUOT),
        Fault::Below(Errno::EROFS, "/etc/deep"),
        Fault::Below(Errno::EPERM, "/etc/deep"),
        Fault::Libostree,
        Fault::Reads(Errno::EIO),
        Fault::Syncs(Errno::EIO),
    ];
    faults.extend(PATHS.map(|path| Fault::Path(Errno::EPERM, path)));
    faults.extend([Errno::EIO, Errno::EROFS, Errno::EINVAL].map(|errno| Fault::Path(errno, PATHS[0])));
    faults.extend(PATHS.iter().chain(&READ).map(|path| Fault::Read(Errno::EIO, path)));
    faults.extend(SYNCED.map(|directory| Fault::Sync(Errno::EIO, directory)));
    faults
}

fn text(text: &str) -> Value {
    json!({"source": format!("data:,{text}")})
}

const UNIT: &str = "[Service]\nExecStart=/bin/app\n[Install]\nWantedBy=multi-user.target\n";

fn old() -> Recorded {
    let files = json!([
        {"path": "/etc/app.conf", "contents": text("old")},
        {"path": "/etc/gone.conf", "contents": text("old")},
        {"path": "/etc/web.conf", "contents": text("old")},
    ]);
    config("old", json!({"storage": {"files": files}}))
}

/// Replaces, makes and removes files, brings a unit, restarts one service and reloads another.
fn new() -> Recorded {
    let files = json!([
        {"path": "/etc/app.conf", "contents": text("new")},
        {"path": "/etc/deep/new.conf", "contents": text("new")},
        {"path": "/etc/web.conf", "contents": text("new")},
    ]);
    let units = json!([{"name": "app.service", "enabled": true, "contents": UNIT}]);
    config("new", json!({"storage": {"files": files}, "systemd": {"units": units}}))
}

/// Differs from the old one in a file that no fault is about.
fn other() -> Recorded {
    let files = json!([
        {"path": "/etc/app.conf", "contents": text("old")},
        {"path": "/etc/gone.conf", "contents": text("old")},
        {"path": "/etc/web.conf", "contents": text("old")},
        {"path": "/etc/other.conf", "contents": text("other")},
    ]);
    config("other", json!({"storage": {"files": files}}))
}

fn rules() -> Rules {
    let service = |kind: &str, name: &str| json!({"type": kind, kind.to_lowercase(): {"serviceName": name}});
    let file = |path: &str, action: Value| json!({"path": path, "actions": [action]});
    let policy = json!({
        "files": [
            file("/etc/app.conf", service("Restart", "app.service")),
            file("/etc/web.conf", service("Reload", "web.service")),
            file("/etc/deep", json!({"type": "None"})),
            file("/etc/gone.conf", json!({"type": "None"})),
            file("/etc/other.conf", json!({"type": "None"})),
        ],
        "units": [{"name": "app.service", "actions": [{"type": "DaemonReload"}]}],
    });
    Rules { policy: Some(policy), ..Rules::default() }
}

/// A machine in memory with faults.
struct Node<'d> {
    disk: &'d FaultyDisk,
    faults: &'d Faults,
}

impl<'d> Node<'d> {
    fn machine(&self) -> Result<Machine<'d, FaultyDisk>, Trouble> {
        let faults = self.faults;
        let os =
            Deployments { readable: Box::new(move || !faults.strikes_os()), ..Deployments::of(self.disk.memory()) };
        let manager = Services(faults.clone());
        let all = Surroundings {
            live: true,
            manager: Some(Box::new(manager)),
            os: Some(Box::new(os)),
            boot: BOOT.to_owned().into(),
            ..surroundings()
        };
        Machine::open(self.disk, all)
    }

    fn apply(&self, target: &Recorded) -> Result<Option<Finished>, Trouble> {
        let machine = self.machine()?;
        let proposal = transaction::propose(&machine, target.clone(), &rules())?;
        proposal.map(|proposal| transaction::run(&machine, &proposal, &mut |_| {})).transpose()
    }

    fn recover(&self) -> Result<Option<Finished>, Trouble> {
        transaction::recover(&self.machine()?, &mut |_| {})
    }

    fn is_open(&self) -> bool {
        super::super::status(self.disk.memory()).open.is_some()
    }

    /// What an agent does until the machine is in the configuration.
    fn pursue(&self, target: &Recorded) -> Result<(), Trouble> {
        self.recover()?;
        match self.apply(target)?.map(|finished| finished.ending) {
            None | Some(Ending::Applied) => Ok(()),
            Some(ending) => panic!("{ending:?}"),
        }
    }
}

/// Healthy machines, for comparison.
struct Expected {
    old: MemoryDisk,
    trees: BTreeMap<&'static str, BTreeMap<String, DiskNode>>,
}

type DiskNode = crate::disk::memory::Node;

/// What the machine is, but for directories that the agent makes for its own records and empty ones of systemd's.
fn shape(disk: &MemoryDisk) -> BTreeMap<String, DiskNode> {
    let mut shape = tree(disk);
    let made = ["/etc/systemd/system/multi-user.target.wants", "/etc/deep"];
    shape.retain(|path, node| {
        let made_for_it = matches!(node, DiskNode::Directory { .. }) && made.contains(&path.as_str());
        !made_for_it && !path.starts_with("/etc/machine-config-daemon/") && path != "/etc/machine-config-daemon"
    });
    shape
}

impl Expected {
    fn new() -> Self {
        let base = Host::new().disk;
        base.put(&path("/etc/systemd/system/web.service"), b"[Service]\n", PLAIN).unwrap();
        let (disk, faults) = (FaultyDisk::new(base, &Faults::default()), Faults::default());
        Node { disk: &disk, faults: &faults }.pursue(&old()).unwrap();
        let old_disk = disk.memory().kill();
        let mut trees = BTreeMap::from([("old", shape(&old_disk))]);
        for (name, target) in [("new", new()), ("other", other())] {
            let faults = Faults::default();
            let disk = FaultyDisk::new(old_disk.kill(), &faults);
            Node { disk: &disk, faults: &faults }.pursue(&target).unwrap();
            trees.insert(name, shape(disk.memory()));
        }
        Self { old: old_disk, trees }
    }
}

/// States that were found. What becomes of a machine depends on its disk and its fault alone, so each pair is tried once.
#[derive(Debug, Default)]
struct Tally {
    states: usize,
    different: usize,
    closed: usize,
    open: usize,
    other_reached: usize,
    abandoned: usize,
    seen: HashSet<u128>,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.states += other.states;
        self.different += other.different;
        self.closed += other.closed;
        self.open += other.open;
        self.other_reached += other.other_reached;
        self.abandoned += other.abandoned;
    }
}

/// Looks at a machine whose work has met a fault that lasts.
fn examine(expected: &Expected, node: &Node<'_>, fault: Fault, at: &str, tally: &mut Tally) {
    tally.states += 1;
    if !tally.seen.insert(node.disk.memory().fingerprint()) {
        return;
    }
    tally.different += 1;
    if node.is_open() {
        // What is missing is said, and trying again changes nothing for the worse.
        if let Err(trouble) = node.recover() {
            assert!(!trouble.reason().is_empty() && trouble.remedy().is_some(), "{fault:?} {at}");
        }
    }
    let open = node.is_open();
    *(if open { &mut tally.open } else { &mut tally.closed }) += 1;
    assert!(!open || may_stay_open(expected, node, fault), "{fault:?} {at}: open");
    if !open && fault.spares("other") {
        let faults = node.faults.clone();
        let copy = FaultyDisk::new(node.disk.memory().kill(), &faults);
        let there = Node { disk: &copy, faults: &faults };
        if let Err(trouble) = there.pursue(&other()) {
            panic!("{fault:?} {at}: other is not reached: {}", trouble.reason());
        }
        tally.other_reached += 1;
    }
    if open {
        tally.abandoned += abandoned::examine(expected, node, fault, at);
    }
    node.faults.end();
    node.pursue(&new()).unwrap_or_else(|trouble| panic!("{fault:?} {at}: new is not reached: {}", trouble.reason()));
    assert_eq!(shape(node.disk.memory()), expected.trees["new"], "{fault:?} {at}");
    assert!(!node.is_open(), "{fault:?} {at}");
}

/// Whether a fault keeps the undo from what it has to do: it is about everything, or about something that was changed.
fn may_stay_open(expected: &Expected, node: &Node<'_>, fault: Fault) -> bool {
    let found = tree(node.disk.memory());
    let before = tree(&expected.old);
    let changed = |below: &str| {
        let paths = found.keys().chain(before.keys()).filter(|path| path.starts_with(below));
        paths.filter(|path| !path.contains(".ostler-")).any(|path| found.get(path) != before.get(path))
    };
    match fault {
        Fault::Everything(_) | Fault::Space(_) | Fault::Reads(_) | Fault::Syncs(_) | Fault::Sync(..) => true,
        Fault::Read(..) => fault.loses_the_origin(),
        Fault::Path(_, path) | Fault::Below(_, path) => changed(path),
        Fault::Calls(_) | Fault::Hangs(_) | Fault::Missing(_) | Fault::Bus | Fault::Libostree => false,
    }
}

#[test]
fn no_lasting_fault_at_any_effect_of_any_way_leaves_a_machine_stuck() {
    let (expected, faults) = (Expected::new(), all_faults());
    let (next, whole) = (AtomicUsize::new(0), Mutex::new(Tally::default()));
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(fault) = faults.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let tally = tried(&expected, *fault);
                    whole.lock().unwrap().add(&tally);
                }
            });
        }
    });
    let tally = whole.into_inner().unwrap();
    println!(
        "lasting faults: {} states, {} different; {} closed, {} open until the fault ends, {} in another configuration \
         meanwhile, {} abandoned while the fault lasts, 0 stuck",
        tally.states, tally.different, tally.closed, tally.open, tally.other_reached, tally.abandoned
    );
    assert!(
        tally.states > 1000 && tally.closed > 0 && tally.open > 0 && tally.other_reached > 0 && tally.abandoned > 0,
        "{tally:?}"
    );
}

/// Lets one fault appear at every effect of the way forward, of the way back and of a recovery.
fn tried(expected: &Expected, fault: Fault) -> Tally {
    let mut tally = Tally::default();
    (0..).find(|from| !forward(expected, fault, *from, &mut tally));
    (0..).find(|from| !back(expected, fault, *from, &mut tally));
    recovery(expected, fault, &mut tally);
    tally
}

/// The fault appears on the way forward, and lasts on the way back.
fn forward(expected: &Expected, fault: Fault, from: u64, tally: &mut Tally) -> bool {
    let faults = Faults::default();
    let disk = FaultyDisk::new(expected.old.kill(), &faults);
    let node = Node { disk: &disk, faults: &faults };
    faults.plan(fault, from);
    let result = node.apply(&new());
    if matches!(&result, Ok(Some(finished)) if finished.ending == Ending::Applied) {
        assert_eq!(shape(disk.memory()), expected.trees["new"], "{fault:?} forward from {from}");
        // A fault that is got by here may still strike later.
        return faults.count() > from;
    }
    examine(expected, &node, fault, &format!("forward from {from}"), tally);
    true
}

/// Another fault has turned the change back, and this one appears on that way.
fn back(expected: &Expected, fault: Fault, from: u64, tally: &mut Tally) -> bool {
    let faults = Faults::default();
    let disk = FaultyDisk::new(expected.old.kill(), &faults);
    let node = Node { disk: &disk, faults: &faults };
    faults.refuse_once("reload web.service");
    faults.plan_after_turn(fault, from);
    let _ = node.apply(&new());
    if faults.count_after_turn() <= from {
        return false;
    }
    examine(expected, &node, fault, &format!("back from {from}"), tally);
    true
}

/// The change is cut off after each effect, and its recovery meets the fault from its start.
fn recovery(expected: &Expected, fault: Fault, tally: &mut Tally) {
    let faults = Faults::default();
    let disk = FaultyDisk::new(expected.old.kill(), &faults);
    disk.memory().remember();
    Node { disk: &disk, faults: &faults }.apply(&new()).unwrap();
    for (number, found) in disk.memory().history().into_iter().enumerate() {
        let faults = Faults::default();
        let disk = FaultyDisk::new(found, &faults);
        let node = Node { disk: &disk, faults: &faults };
        if !node.is_open() {
            continue;
        }
        faults.plan(fault, 0);
        let _ = node.recover();
        if super::super::status(disk.memory()).config.as_deref() == Some("new") && !node.is_open() {
            continue;
        }
        examine(expected, &node, fault, &format!("recovery of {number}"), tally);
    }
}

/// One machine whose deployments cannot be read from an effect on, and whose change is of the operating system.
struct Unreadable {
    host: Host,
    faults: Faults,
}

impl Unreadable {
    fn machine(&self) -> Machine<'_, MemoryDisk> {
        let faults = &self.faults;
        let os = Deployments { readable: Box::new(move || !faults.strikes_os()), ..Deployments::of(&self.host.disk) };
        let all = Surroundings { live: true, os: Some(Box::new(os)), boot: self.host.boot.clone(), ..surroundings() };
        Machine::open(&self.host.disk, all).unwrap()
    }
}

#[test]
fn a_libostree_that_fails_from_any_reading_on_leaves_no_machine_stuck() {
    let (mut states, mut open) = (0, 0);
    for from in 0.. {
        let mut node = Unreadable { host: settled_node(), faults: Faults::default() };
        node.faults.plan(Fault::Libostree, from);
        let finished = apply_to(&node.machine(), &new_target());
        if finished.as_ref().is_ok_and(|finished| finished.ending == Ending::AwaitsReboot { reason: None }) {
            assert!(states > 3, "{states}");
            break;
        }
        states += 1;
        let interrupted = super::super::status(&node.host.disk).open.is_some();
        let staged = Deployments::of(&node.host.disk).may_be_staged();
        assert_eq!(interrupted, staged && finished.is_err(), "from {from}: {finished:?}");
        open += usize::from(interrupted);
        if !interrupted {
            // A configuration that leaves the operating system alone does not need it.
            let other = target("other", OLD, &["quiet"], "other");
            let disk = node.host.disk.kill();
            let there = Unreadable { host: node.host.with(disk), faults: node.faults.clone() };
            let ending = apply_to(&there.machine(), &other).map(|finished| finished.ending);
            assert_eq!(ending.map_err(|trouble| trouble.reason()), Ok(Ending::Applied), "from {from}");
        }
        node.faults.end();
        node.host.settle(Restart::Clean);
        node.host.apply(&new_target()).unwrap();
        node.host.restart(Restart::Clean);
        assert_eq!(node.host.settle(Restart::Clean).unwrap().ending, Ending::Applied, "from {from}");
        assert_eq!(end(&node.host), "new", "from {from}");
    }
    println!("a libostree that fails: {states} states, {open} open until it works again, 0 stuck");
}
