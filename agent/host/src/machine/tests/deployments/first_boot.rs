//! First boots that are cut off everywhere: until one is over something on the disk says so, and it is over only in the
//! configuration.

use ostler_core::protocol::FirstBoot;

use super::*;
use crate::machine::is_first_boot;
use crate::machine::place::{ENCAPSULATED, ENCAPSULATED_DONE};

/// A machine that Ignition has furnished for the new configuration, in the operating system of its boot image.
fn installed() -> Host {
    let host = Host::new();
    for (file, text) in [("/etc/motd", "new"), ("/etc/new.conf", "new"), (ENCAPSULATED, "{}")] {
        host.disk.put(&path(file), text.as_bytes(), PLAIN).unwrap();
    }
    host
}

/// One try, as the unit makes it: to the restart, or to the end. Gives whether the machine restarts.
fn attempt(disk: &MemoryDisk, boot: &BootMark) -> Result<bool, Trouble> {
    let machine = Host::on(disk, boot, &[]);
    machine.first_boot(FirstBoot::Begins)?;
    let recovered = transaction::recover(&machine, &mut |_| {})?;
    let waits = |finished: &Finished| matches!(finished.ending, Ending::AwaitsReboot { .. });
    let restarts = match recovered {
        Some(finished) if waits(&finished) => true,
        _ if machine.observe()?.current.config.name == "new" => false,
        _ => waits(&apply_to(&machine, &new_target())?),
    };
    machine.first_boot(if restarts { FirstBoot::Restarts } else { FirstBoot::Ends })?;
    Ok(restarts)
}

/// Whether the unit's conditions are met.
fn is_due(disk: &MemoryDisk) -> bool {
    text(disk, ENCAPSULATED).is_some() || is_first_boot(disk).unwrap()
}

/// Goes on as the unit does, boot by boot; gives the number of restarts.
fn go_on(node: &mut Host) -> usize {
    let mut restarts = 0;
    while is_due(&node.disk) {
        assert!(restarts < 4, "it is never over");
        if attempt(&node.disk, &node.boot).unwrap_or_else(|trouble| panic!("{}", trouble.reason())) {
            node.restart(Restart::Clean);
            restarts += 1;
        }
    }
    restarts
}

fn check(node: &Host) {
    assert_eq!(end(node), "new");
    assert_eq!(text(&node.disk, ENCAPSULATED_DONE).as_deref(), Some("{}"));
    let observed = node.machine().observe().unwrap();
    assert!(observed.interrupted.is_none());
    assert_eq!((observed.current.config.name.as_str(), observed.current.config.ignition.files.len()), ("new", 2));
}

/// Cuts a try off everywhere, by kills and power cuts, and lets the machine go on by itself.
fn cut_everywhere(before: &Host) -> usize {
    let tried = every_crash(
        || before.disk.kill(),
        |disk| attempt(disk, &before.boot).map(drop).map_err(io_error),
        2,
        |disk, point| {
            let mut node = before.with(disk);
            if matches!(point.ending, memory::Ending::PowerCut(_)) {
                node.restart(Restart::Cut);
            }
            assert!(is_due(&node.disk) || end(&node) == "new", "{point:?}: over too early");
            go_on(&mut node);
            check(&node);
        },
    );
    tried.unwrap()
}

#[test]
fn a_first_boot_takes_one_restart_and_none_where_all_is_there() {
    let mut node = installed();
    assert_eq!(go_on(&mut node), 1);
    check(&node);
    node.disk.put(&path(ENCAPSULATED), b"{}", PLAIN).unwrap();
    assert_eq!(go_on(&mut node), 0, "it is in its configuration already");
    check(&node);
}

#[test]
fn a_first_boot_that_is_cut_off_anywhere_comes_to_the_same_end() {
    let mut node = installed();
    let before = cut_everywhere(&node);
    assert!(attempt(&node.disk, &node.boot).unwrap());
    node.restart(Restart::Clean);
    let after = cut_everywhere(&node);
    println!("first boots: {before} points before the restart, {after} after it; each in its configuration");
    assert!(before > 100 && after > 10, "{before} {after}");
}
