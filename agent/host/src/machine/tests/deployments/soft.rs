//! Restarts of user space alone, which keep the boot ID.

use ostler_core::os::boot_mark::Restarted;
use ostler_core::protocol::Rules;
use ostler_core::transaction::Ending;

use super::fake::Deployments;
use super::{Restart, end, new_target, settled_node};
use crate::machine::status;
use crate::os::Sysroot;
use crate::transaction::{self, World as _};

#[test]
fn a_restart_of_user_space_into_the_new_system_applies_the_update_in_the_same_boot() {
    let mut node = settled_node();
    node.apply(&new_target()).unwrap();
    assert!(status(&node.disk, &node.boot).unwrap().awaits_reboot);
    let before = node.boot.clone();
    node.restart(Restart::Soft);
    assert_eq!(before.since(&node.boot), Restarted::UserSpace);
    assert!(!status(&node.disk, &node.boot).unwrap().awaits_reboot);
    let finished = node.recover().unwrap().unwrap();
    assert_eq!((finished.ending, finished.reboot), (Ending::Applied, false));
    assert_eq!(end(&node), "new");
}

#[test]
fn a_restart_of_user_space_that_led_nowhere_is_no_failure_of_the_new_system() {
    let mut node = settled_node();
    node.apply(&new_target()).unwrap();
    node.restart(Restart::SoftSameRoot);
    assert_eq!(node.recover().unwrap().unwrap().ending, Ending::AwaitsReboot { reason: None });
    assert!(status(&node.disk, &node.boot).unwrap().awaits_reboot);
    node.restart(Restart::Clean);
    assert_eq!(node.recover().unwrap().unwrap().ending, Ending::Applied);
    assert_eq!(end(&node), "new");

    // Where the new one is not there any more, it goes back, and the new one may be tried again.
    let mut node = settled_node();
    node.apply(&new_target()).unwrap();
    Sysroot::discard(&Deployments::of(&node.disk)).unwrap();
    node.restart(Restart::SoftSameRoot);
    assert!(matches!(node.recover().unwrap().unwrap().ending, Ending::Undone { .. }));
    assert_eq!(end(&node), "old");
    node.apply(&new_target()).unwrap();
    assert_eq!(node.settle(Restart::Soft).unwrap().ending, Ending::Applied);
}

#[test]
fn a_systemd_that_cannot_be_asked_proves_no_restart_and_loses_no_mark() {
    let mut node = settled_node();
    node.apply(&new_target()).unwrap();
    let counted = node.boot.clone();
    node.boot.soft_reboots = None;
    assert_eq!(node.recover().unwrap().unwrap().ending, Ending::AwaitsReboot { reason: None });
    let open = node.machine().observe().unwrap().interrupted.unwrap().open;
    assert_eq!(open.awaits_end_of, Some(counted.clone()));
    node.boot = counted;
    node.restart(Restart::Soft);
    assert_eq!(node.recover().unwrap().unwrap().ending, Ending::Applied);
    assert_eq!(end(&node), "new");
}

#[test]
fn a_change_is_taken_back_softly_as_well() {
    let mut node = settled_node();
    node.apply(&new_target()).unwrap();
    assert_eq!(node.settle(Restart::Soft).unwrap().ending, Ending::Applied);
    let machine = node.machine();
    let proposal = transaction::propose_rollback(&machine, &Rules::default()).unwrap().unwrap();
    transaction::run(&machine, &proposal, &mut |_| {}).unwrap();
    drop(machine);
    assert_eq!(node.settle(Restart::Soft).unwrap().ending, Ending::Applied);
    assert_eq!(end(&node), "old");
}
