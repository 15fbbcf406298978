//! Operating systems on trial, proven and given up.

use ostler_core::transaction::Trial;

use super::*;

/// A machine that has restarted into the new system and has yet to prove itself in it.
fn on_trial() -> Host {
    let mut node = settled_node();
    assert_eq!(node.machine().confirm().unwrap().as_deref(), Some("old"));
    node.apply(&new_target()).unwrap();
    assert_eq!(node.settle(Restart::Clean).unwrap().ending, Ending::Applied);
    node
}

fn found(node: &Host) -> Status {
    crate::machine::status(&node.disk, &node.boot).unwrap()
}

fn confirm(node: &Host) -> Option<String> {
    node.machine().confirm().unwrap()
}

fn give_up(machine: &Machine<'_, MemoryDisk>) -> Result<Option<Finished>, Trouble> {
    transaction::give_up(machine, "no kubelet", &Rules::default(), &mut |_| {})
}

fn names(node: &Host) -> Vec<String> {
    found(node).rejected.into_iter().map(|rejected| rejected.config).collect()
}

#[test]
fn a_new_system_is_on_trial_from_its_first_boot_on() {
    let mut node = settled_node();
    assert_eq!(confirm(&node).as_deref(), Some("old"));
    node.apply(&new_target()).unwrap();
    assert_eq!(found(&node).trial, None, "it is open, and not reached");
    let before = node.boot.clone();
    node.restart(Restart::Clean);
    node.recover().unwrap();
    assert_eq!(found(&node).trial, Some(Trial { config: "new".into(), before, os: true, since: NOON }));
}

#[test]
fn the_other_deployment_goes_with_the_proof_and_not_before() {
    let node = on_trial();
    assert_eq!(node.state().rollback.unwrap().image.as_deref(), Some(OLD));
    assert_eq!(confirm(&node).as_deref(), Some("new"));
    assert_eq!((node.state().rollback, node.state().deployments.len()), (None, 1));
    assert_eq!(end(&node), "new");
}

#[test]
fn a_deployment_that_is_pinned_or_comes_first_stays() {
    for (pinned, first) in [(true, false), (false, true)] {
        let node = on_trial();
        let state = node.state();
        let (booted, mut other) = (state.booted.unwrap(), state.rollback.unwrap());
        other.pinned = pinned;
        let deployments = if first { vec![other, booted.clone()] } else { vec![booted.clone(), other] };
        let loader = Loader { deployments, booted };
        node.disk.put(&path(STATE), &serde_json::to_vec(&loader).unwrap(), PLAIN).unwrap();
        assert_eq!(confirm(&node).as_deref(), Some("new"), "it is proven all the same");
        assert_eq!(node.state().deployments, loader.deployments, "pinned {pinned}, first {first}");
    }
}

#[test]
fn a_system_that_is_given_up_is_left_with_its_configuration_and_not_tried_again() {
    let mut node = on_trial();
    let waits = give_up(&node.machine()).unwrap().unwrap();
    assert_eq!(waits.ending, Ending::AwaitsReboot { reason: None });
    assert_eq!(found(&node).trial.unwrap().config, "new", "until the machine has left it");
    assert!(matches!(give_up(&node.machine()), Err(Trouble::AwaitsReboot { .. })));
    assert!(matches!(node.machine().confirm(), Err(Trouble::AwaitsReboot { .. })));
    assert_eq!(node.settle(Restart::Clean).unwrap().ending, Ending::Applied);
    assert_eq!((end(&node), found(&node).trial, names(&node)), ("old", None, vec!["new".to_owned()]));
    let trouble = node.apply(&new_target()).unwrap_err();
    assert!(trouble.reason().contains("no kubelet"), "{}", trouble.reason());
    assert_eq!(trouble.class(), Class::Refusal);
    let other = target("other", OLD, &["quiet"], "other");
    node.apply(&other).unwrap();
}

#[test]
fn a_change_of_kernel_arguments_alone_is_not_held_against_the_image() {
    let mut node = settled_node();
    confirm(&node);
    let nosmt = target("nosmt", OLD, &["nosmt", "quiet"], "nosmt");
    node.apply(&nosmt).unwrap();
    node.settle(Restart::Clean).unwrap();
    give_up(&node.machine()).unwrap().unwrap();
    node.settle(Restart::Clean).unwrap();
    assert_eq!((end(&node), names(&node)), ("old", vec!["nosmt".to_owned()]));
    assert_eq!(node.machine().failed().unwrap(), []);
}

#[test]
fn only_what_fails_by_its_own_fault_is_rejected() {
    for (restart, rejected) in [(Restart::OldFromMenu, true), (Restart::Cut, false)] {
        let mut node = settled_node();
        let earlier = found(&node).trial;
        node.apply(&new_target()).unwrap();
        assert!(matches!(node.settle(restart).unwrap().ending, Ending::Undone { .. }));
        assert_eq!(names(&node), if rejected { vec!["new".to_owned()] } else { Vec::new() });
        assert_eq!(found(&node).trial, earlier, "the old one has yet to prove itself still");
    }
    let node = settled_node();
    node.apply(&new_target()).unwrap();
    transaction::withdraw(&node.machine(), "a newer one came", &mut |_| {}).unwrap().unwrap();
    assert_eq!(names(&node), [""; 0], "it was only taken back");
}

/// Cuts work off everywhere; gives the machines that are found, started again where they had stopped.
fn each_cut(
    before: &Host,
    work: impl Fn(&Machine<'_, MemoryDisk>) -> Result<(), Trouble>,
    check: impl Fn(Host),
) -> (usize, usize) {
    let seen: RefCell<HashSet<(u128, bool)>> = RefCell::default();
    let boot = before.boot.clone();
    let tried = every_crash(
        || before.disk.kill(),
        |disk| work(&Host::on(disk, &boot, &[])).map_err(io_error),
        2,
        |disk, point| {
            let cut = matches!(point.ending, memory::Ending::PowerCut(_));
            if seen.borrow_mut().insert((disk.fingerprint(), cut)) {
                let mut node = before.with(disk);
                if cut {
                    node.restart(Restart::Cut);
                }
                check(node);
            }
        },
    );
    (tried.unwrap(), seen.into_inner().len())
}

#[test]
fn every_crash_of_the_end_of_an_update_leaves_it_open_or_on_trial() {
    let mut node = settled_node();
    let earlier = found(&node).trial;
    node.apply(&new_target()).unwrap();
    let before = node.boot.clone();
    node.restart(Restart::Clean);
    let new = Some(Trial { config: "new".into(), before, os: true, since: NOON });
    let commit = |machine: &Machine<'_, MemoryDisk>| transaction::recover(machine, &mut |_| {}).map(drop);
    let (points, different) = each_cut(&node, commit, |mut node| {
        let status = found(&node);
        assert_eq!(status.trial, if status.open.is_some() { earlier.clone() } else { new.clone() });
        node.settle(Restart::Clean);
        assert_eq!((end(&node), found(&node).trial), ("new", new.clone()));
    });
    println!("ends of updates: {points} points, {different} different machines, each open or on trial");
}

#[test]
fn an_end_that_was_cut_off_and_is_undone_after_all_leaves_the_earlier_trial() {
    let mut node = settled_node();
    let earlier = found(&node).trial;
    node.apply(&new_target()).unwrap();
    node.restart(Restart::Clean);
    let commit = |machine: &Machine<'_, MemoryDisk>| transaction::recover(machine, &mut |_| {}).map(drop);
    let (points, _) = each_cut(&node, commit, |mut node| {
        let state = node.state();
        let booted = state.rollback.unwrap();
        if found(&node).open.is_none() {
            return;
        }
        // Somebody chooses the old one in the boot menu.
        let loader = Loader { deployments: state.deployments, booted: booted.clone() };
        node.disk = with_etc(&node.disk, &node.etcs[&key(&booted)]);
        node.disk.put(&path(STATE), &serde_json::to_vec(&loader).unwrap(), PLAIN).unwrap();
        node.boot = "the next".to_owned().into();
        assert!(matches!(node.settle(Restart::Clean).unwrap().ending, Ending::Undone { .. }));
        assert_eq!((found(&node).trial, names(&node)), (earlier.clone(), vec!["new".to_owned()]));
    });
    println!("ends of updates undone after all: {points} points, each with the trial from before");
}

#[test]
fn every_crash_of_a_confirmation_leaves_it_proven_or_with_a_way_back() {
    let node = on_trial();
    let work = |machine: &Machine<'_, MemoryDisk>| machine.confirm().map(drop);
    let (points, different) = each_cut(&node, work, |mut node| {
        if found(&node).trial.is_none() {
            assert_eq!((end(&node), node.state().rollback), ("new", None));
            return;
        }
        let again = node.with(node.disk.kill());
        assert_eq!(confirm(&again).as_deref(), Some("new"));
        assert_eq!((end(&again), again.state().rollback, found(&again).trial), ("new", None, None));
        give_up(&node.machine()).unwrap().unwrap();
        assert_eq!(node.settle(Restart::Clean).unwrap().ending, Ending::Applied);
        assert_eq!((end(&node), found(&node).trial), ("old", None));
    });
    println!("confirmations: {points} points, {different} different machines, each proven or with a way back");
}

#[test]
fn every_crash_of_giving_up_ends_in_the_old_pair() {
    let node = on_trial();
    let work = |machine: &Machine<'_, MemoryDisk>| give_up(machine).map(drop);
    let (points, different) = each_cut(&node, work, |mut node| {
        node.settle(Restart::Clean);
        if found(&node).trial.is_some() {
            assert_eq!(end(&node), "new");
            give_up(&node.machine()).unwrap().unwrap();
            node.settle(Restart::Clean);
        }
        assert_eq!((end(&node), found(&node).trial), ("old", None));
        assert_eq!(names(&node), ["new"]);
        assert_eq!(node.machine().failed().unwrap().len(), 1);
    });
    println!("given up: {points} points, {different} different machines, each in the old pair in the end");
}
