//! A transaction that a lasting fault keeps open is abandoned: it closes, and every configuration can be applied whole.

use super::*;

impl Node<'_> {
    fn abandon(&self) -> Result<Option<Finished>, Trouble> {
        self.machine()?.abandon(&mut |_| {})
    }
}

/// Abandons what is open on a copy of a machine; whether that closes it.
pub(super) fn examine(expected: &Expected, node: &Node<'_>, fault: Fault, at: &str) -> usize {
    let at = &format!("{fault:?} {at}");
    let faults = node.faults.clone();
    let disk = FaultyDisk::new(node.disk.memory().kill(), &faults);
    let copy = Node { disk: &disk, faults: &faults };
    disk.memory().remember();
    let ended = copy.abandon();
    if copy.is_open() {
        assert!(fault.keeps_the_journal_from_being_used(), "{at}: {ended:?}");
        return 0;
    }
    let finished = ended.unwrap().unwrap();
    let Ending::Abandoned { reason, differs } = &finished.ending else { return 0 };
    assert!(!reason.is_empty() && !differs.is_empty(), "{at}");
    // Every configuration has to write or remove what the old one has.
    let of_old = |path: &str| ["/etc/app.conf", "/etc/gone.conf"].contains(&path);
    if fault.spares("other") && !matches!(fault, Fault::Path(_, path) | Fault::Read(_, path) if of_old(path)) {
        reach(None, disk.memory(), &faults, &["other"], at);
    } else {
        let again = FaultyDisk::new(disk.memory().kill(), &faults);
        let again = Node { disk: &again, faults: &faults };
        let _ = again.apply(&other());
        // Whether anything is as it was cannot be known of a directory that is never durable.
        assert!(!again.is_open() || matches!(fault, Fault::Sync(..)), "{at}: open again");
    }
    let healthy = Faults::default();
    // What stood before is lost with the origin; `machine/tests/abandon.rs` says what stays.
    let expected = Some(expected).filter(|_| !fault.loses_the_origin());
    for found in disk.memory().history() {
        reach(expected, &found, &healthy, &["new"], &format!("{at}, cut off"));
    }
    for targets in [["old", "new"], ["new", "old"], ["other", "old"]] {
        reach(expected, disk.memory(), &healthy, &targets, at);
    }
    1
}

/// Applies configurations one after another to a copy of a machine, each of which is reached, and whole where that is
/// expected.
fn reach(expected: Option<&Expected>, found: &MemoryDisk, faults: &Faults, targets: &[&str], at: &str) {
    let disk = FaultyDisk::new(found.kill(), faults);
    let copy = Node { disk: &disk, faults };
    for name in targets {
        let target = match *name {
            "old" => old(),
            "new" => new(),
            _ => other(),
        };
        if let Err(trouble) = copy.pursue(&target).and_then(|()| copy.repair()) {
            panic!("{at}: {name} of {targets:?} is not reached: {}", trouble.reason());
        }
        if let Some(expected) = expected {
            assert_eq!(shape(disk.memory()), expected.trees[name], "{at}: {name} of {targets:?}");
        }
    }
}

impl Node<'_> {
    /// A configuration that the machine is in already is not applied again: what differs is drift.
    fn repair(&self) -> Result<(), Trouble> {
        let machine = self.machine()?;
        let Some(proposal) = machine.propose_repair(&[])? else { return machine.agrees(&[]) };
        transaction::run(&machine, &proposal, &mut |_| {}).map(drop)
    }
}
