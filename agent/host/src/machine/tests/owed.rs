//! A restart that the machine owes stays on record until it happened, whatever is applied meanwhile.

use ostler_core::transaction::{Ending, OwedRestart};

use super::managed::Asked;
use super::*;
use crate::disk::memory::every_crash;
use crate::disk::{Disk, RootPath};
use crate::journal::Slot;
use crate::machine::Manager;

/// A machine that runs, in this boot.
fn running<'d>(disk: &'d MemoryDisk, boot: &str) -> Machine<'d, MemoryDisk> {
    let manager = Some(Box::new(Asked::default()) as Box<dyn Manager>);
    Machine::open(disk, Surroundings { manager, live: true, boot: boot.to_owned().into(), ..surroundings() }).unwrap()
}

/// Files under /etc/quiet.d need no restart, all others do.
fn rules() -> Rules {
    let policy = json!({"files": [{"path": "/etc/quiet.d", "actions": [{"type": "None"}]}]});
    Rules { policy: Some(policy), ..Rules::default() }
}

fn files(name: &str, files: &[(&str, &str)]) -> Recorded {
    let files: Vec<_> = files
        .iter()
        .map(|(path, text)| json!({"path": path, "contents": {"source": format!("data:,{text}")}}))
        .collect();
    config(name, json!({"storage": {"files": files}}))
}

fn bring(machine: &Machine<'_, MemoryDisk>, target: &Recorded) -> Result<Finished, Trouble> {
    let proposal = transaction::propose(machine, target.clone(), &rules())?.unwrap();
    transaction::run(machine, &proposal, &mut |_| {})
}

fn loud() -> Recorded {
    files("loud", &[("/etc/loud.conf", "1")])
}

fn quiet() -> Recorded {
    files("quiet", &[("/etc/loud.conf", "1"), ("/etc/quiet.d/a.conf", "1")])
}

fn owed(disk: &MemoryDisk, boot: &str) -> Vec<String> {
    let status = crate::machine::status(disk, &boot.to_owned().into()).unwrap();
    assert_eq!(status.awaits_reboot, !status.owed_restarts.is_empty());
    status.owed_restarts.iter().map(OwedRestart::cause).collect()
}

fn loud_then_quiet() -> MemoryDisk {
    let disk = fresh();
    assert!(bring(&running(&disk, "boot-1"), &loud()).unwrap().reboot);
    let finished = bring(&running(&disk, "boot-1"), &quiet()).unwrap();
    assert_eq!((finished.ending, finished.reboot), (Ending::Applied, false));
    disk
}

#[test]
fn a_change_that_needs_no_restart_does_not_hide_one_that_does() {
    let disk = loud_then_quiet();
    assert_eq!(owed(&disk, "boot-1"), ["loud (/etc/loud.conf)"]);
    assert_eq!(owed(&disk, "boot-2"), [""; 0]);
    // User space alone counts as systemd counts it.
    let disk = fresh();
    bring(&running(&disk, "boot-1+0"), &loud()).unwrap();
    assert_eq!((owed(&disk, "boot-1").len(), owed(&disk, "boot-1+0").len(), owed(&disk, "boot-1+1").len()), (1, 1, 0));
}

#[test]
fn a_second_change_that_needs_a_restart_comes_beside_the_first_until_another_boot() {
    let disk = loud_then_quiet();
    let louder = files("louder", &[("/etc/loud.conf", "1"), ("/etc/quiet.d/a.conf", "1"), ("/etc/more.conf", "1")]);
    bring(&running(&disk, "boot-1"), &louder).unwrap();
    assert_eq!(owed(&disk, "boot-1"), ["loud (/etc/loud.conf)", "louder (/etc/more.conf)"]);
    let last = files("last", &[("/etc/loud.conf", "1"), ("/etc/more.conf", "1"), ("/etc/last.conf", "1")]);
    bring(&running(&disk, "boot-2"), &last).unwrap();
    assert_eq!(owed(&disk, "boot-2"), ["last (/etc/last.conf)"]);
    assert_eq!(owed(&disk, "boot-3"), [""; 0]);
}

#[test]
fn neither_a_repair_nor_a_change_that_is_undone_hides_an_owed_restart() {
    let disk = loud_then_quiet();
    disk.remove(&RootPath::new("/etc/quiet.d/a.conf").unwrap()).unwrap();
    let machine = running(&disk, "boot-1");
    let repair = machine.propose_repair(&[]).unwrap().unwrap();
    assert_eq!(transaction::run(&machine, &repair, &mut |_| {}).unwrap().ending, Ending::Applied);
    drop(machine);
    assert_eq!(owed(&disk, "boot-1"), ["loud (/etc/loud.conf)"]);
    let machine = running(&disk, "boot-1");
    let error = machine.hand_back(true).unwrap_err();
    assert!(matches!(error, Trouble::NotRestarted { .. }), "{error}");
}

#[test]
fn a_restart_that_an_older_version_left_due_is_owed_too() {
    let disk = fresh();
    let machine = running(&disk, "boot-1");
    bring(&machine, &loud()).unwrap();
    machine.journal.clear(Slot::Owed).unwrap();
    drop(machine);
    assert_eq!(owed(&disk, "boot-1"), ["loud"]);
    assert_eq!(owed(&disk, "boot-2"), [""; 0]);
}

/// Cut off after any effect, the restart is owed as soon as the change is in place, and is never forgotten again.
#[test]
fn a_restart_is_owed_whatever_cuts_the_change_off() {
    let before = fresh();
    bring(&running(&before, "boot-1"), &loud()).unwrap();
    let quietly = |disk: &MemoryDisk| bring(&running(disk, "boot-1"), &quiet()).map(drop).map_err(io_error);
    let still = |disk: MemoryDisk, point| {
        assert_eq!(owed(&disk, "boot-1"), ["loud (/etc/loud.conf)"], "{point:?}");
        transaction::recover(&running(&disk, "boot-1"), &mut |_| {}).unwrap();
        assert_eq!(owed(&disk, "boot-1"), ["loud (/etc/loud.conf)"], "{point:?}");
    };
    let mut points = every_crash(|| before.kill(), quietly, 2, still).unwrap();
    let loudly = |disk: &MemoryDisk| bring(&running(disk, "boot-1"), &loud()).map(drop).map_err(io_error);
    let with_it = |disk: MemoryDisk, point| {
        transaction::recover(&running(&disk, "boot-1"), &mut |_| {}).unwrap();
        let applied = status(&disk).config.as_deref() == Some("loud");
        assert_eq!(owed(&disk, "boot-1").len(), usize::from(applied), "{point:?}");
    };
    points += every_crash(fresh, loudly, 2, with_it).unwrap();
    eprintln!("restarts are owed at {points} points");
}
