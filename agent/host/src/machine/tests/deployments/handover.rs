//! Machines whose operating system a machine-config-daemon left behind their configuration.

use ostler_core::protocol::TakeOver;

use super::*;

/// What a daemon leaves that had the new configuration in place: everything of it but what an agent of ours would know.
fn left(staged: bool) -> Host {
    let node = settled_node();
    node.apply(&new_target()).unwrap();
    if !staged {
        Sysroot::discard(&Deployments::of(&node.disk)).unwrap();
    }
    let mut etc = node.disk.tree();
    etc.retain(|path, _| path.starts_with("/etc/"));
    let mut forgotten = with_etc(&node.disk, &etc);
    if staged {
        let staged = text(&node.disk, STAGED).unwrap();
        forgotten.put(&path(STAGED), staged.as_bytes(), PLAIN).unwrap();
    }
    for kept in node.disk.tree().into_keys().filter(|path| path.starts_with("/var/lib/ostler/journal/")) {
        let _ = crate::disk::Disk::remove(&forgotten, &path(&kept));
    }
    forgotten = forgotten.kill();
    node.with(forgotten)
}

/// Applies the configuration that the machine is in, as far as its operating system is not the configuration's.
fn apply_again(node: &Host, target: &Recorded) -> Finished {
    let machine = node.machine();
    let proposal = transaction::propose(&machine, target.clone(), &Rules::default()).unwrap().unwrap();
    transaction::run(&machine, &proposal, &mut |_| {}).unwrap()
}

#[test]
fn a_configuration_whose_operating_system_never_came_is_brought_to_its_end() {
    for staged in [false, true] {
        let mut node = left(staged);
        let handed = node.machine().take_over(TakeOver::default(), &mut |_| {}).unwrap();
        assert!(handed.done.iter().any(|line| line.contains("it runs registry.example/os")), "{handed:?}");
        let behind = crate::machine::behind(&node.disk, &node.state()).unwrap().unwrap();
        assert_eq!(behind.lacking, ["nosmt"]);
        assert!(matches!(node.machine().hand_back(true), Err(Trouble::Behind { .. })));
        assert_eq!(apply_again(&node, &new_target()).ending, Ending::AwaitsReboot { reason: None });
        assert_eq!(node.settle(Restart::Clean).unwrap().ending, Ending::Applied);
        assert_eq!(end(&node), "new");
        assert_eq!(crate::machine::behind(&node.disk, &node.state()).unwrap(), None);
    }
}

#[test]
fn another_configuration_can_be_reached_from_there_as_well() {
    let mut node = left(false);
    node.machine().take_over(TakeOver::default(), &mut |_| {}).unwrap();
    let back = target("old", OLD, &["quiet"], "old");
    apply_again(&node, &back);
    node.settle(Restart::Clean);
    let status = node.state();
    assert_eq!(status.booted.unwrap().kargs.join(" "), "root=x ro quiet");
    assert_eq!(text(&node.disk, "/etc/motd").as_deref(), Some("old"));
}
