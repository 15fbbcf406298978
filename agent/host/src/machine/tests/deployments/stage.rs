//! Operating systems that are staged before the change that needs them.

use super::*;

fn stage_on(machine: &Machine<'_, MemoryDisk>, target: &Recorded) -> Result<(), Trouble> {
    let proposal = transaction::propose(machine, target.clone(), &Rules::default())?.unwrap();
    assert!(machine.stage_ahead(&proposal, &mut |_| {}, &|| true)?, "it brings an operating system");
    Ok(())
}

fn is_locked(node: &Host) -> bool {
    node.disk.stat(&path(LOCK)).unwrap().is_some()
}

fn staged_for(node: &Host) -> Option<String> {
    crate::machine::status(&node.disk, &node.boot).unwrap().staged_for
}

#[test]
fn a_restart_before_the_change_comes_up_old_and_whole() {
    for how in [Restart::Clean, Restart::Cut, Restart::Soft] {
        let mut node = settled_node();
        stage_on(&node.machine(), &new_target()).unwrap();
        assert_eq!(node.state().staged.as_ref().unwrap().image.as_deref(), Some(NEW));
        assert!(is_locked(&node));
        assert_eq!(staged_for(&node).as_deref(), Some("new"));
        node.restart(how);
        assert_eq!(node.recover().unwrap(), None, "nothing was begun");
        assert_eq!((end(&node), is_locked(&node), staged_for(&node)), ("old", false, None));
    }
}

#[test]
fn the_change_takes_what_was_staged_and_unlocks_it_last() {
    let mut node = settled_node();
    stage_on(&node.machine(), &new_target()).unwrap();
    node.broken = vec!["the registry is not to be asked"];
    stage_on(&node.machine(), &new_target()).unwrap();
    let waits = node.apply(&new_target()).unwrap();
    assert_eq!(waits.ending, Ending::AwaitsReboot { reason: None });
    assert_eq!((is_locked(&node), staged_for(&node)), (false, None));
    assert_eq!(node.settle(Restart::Clean).unwrap().ending, Ending::Applied);
    assert_eq!(end(&node), "new");
}

#[test]
fn every_crash_while_staging_and_a_restart_leave_the_old_configuration() {
    let before = settled_node();
    let boot = before.boot.clone();
    let points = every_crash(
        || before.disk.kill(),
        |disk| stage_on(&Host::on(disk, &boot, &[]), &new_target()).map_err(io_error),
        2,
        |disk, point| {
            let mut node = before.with(disk);
            let cut = matches!(point.ending, memory::Ending::PowerCut(_));
            node.restart(if cut { Restart::Cut } else { Restart::Clean });
            assert_eq!(node.settle(Restart::Clean), None, "{point:?}");
            assert_eq!(end(&node), "old", "{point:?}");
        },
    );
    println!("staging ahead: {} points, each old", points.unwrap());
}

#[test]
fn a_change_that_is_not_made_is_dropped_with_its_lock_and_another_replaces_it() {
    let mut node = settled_node();
    stage_on(&node.machine(), &new_target()).unwrap();
    let other = target("other", NEW, &["other"], "other");
    stage_on(&node.machine(), &other).unwrap();
    assert!(node.state().staged.unwrap().kargs.contains(&"other".to_owned()));
    assert_eq!((is_locked(&node), staged_for(&node).as_deref()), (true, Some("other")));
    node.machine().unstage().unwrap();
    assert_eq!((end(&node), is_locked(&node), staged_for(&node)), ("old", false, None));
    node.broken = vec!["no space"];
    let trouble = stage_on(&node.machine(), &new_target()).unwrap_err();
    assert!(trouble.reason().contains("no space"), "{}", trouble.reason());
    assert_eq!((end(&node), is_locked(&node), staged_for(&node)), ("old", false, None));
}

#[test]
fn a_deployment_that_somebody_else_has_locked_is_left_alone() {
    let node = settled_node();
    node.machine().lock_staged().unwrap();
    node.machine().unstage().unwrap();
    assert!(is_locked(&node));
}

#[test]
fn a_lock_that_goes_with_a_replaced_deployment_is_put_back() {
    let mut node = settled_node();
    node.disk.create(&path(fake::NEWER_LIBOSTREE), b"", PLAIN).unwrap();
    stage_on(&node.machine(), &new_target()).unwrap();
    assert!(is_locked(&node));
    node.restart(Restart::Clean);
    assert_eq!((end(&node), staged_for(&node)), ("old", None));
}

#[test]
fn what_is_not_wanted_any_more_is_not_left_staged() {
    let node = settled_node();
    let machine = node.machine();
    let proposal = transaction::propose(&machine, new_target(), &Rules::default()).unwrap().unwrap();
    let trouble = machine.stage_ahead(&proposal, &mut |_| {}, &|| false).unwrap_err();
    assert_eq!(trouble.class(), Class::Transient, "{}", trouble.reason());
    drop(machine);
    assert_eq!((node.state().staged, is_locked(&node), staged_for(&node)), (None, false, None));
}
