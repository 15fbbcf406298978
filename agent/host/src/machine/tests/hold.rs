//! What a person's rollback leaves behind, through whoever makes it and however it ends.

use ostler_core::rollback::RollbackHold;
use ostler_core::transaction::Ending;

use super::*;

fn motd(name: &str) -> Recorded {
    let file = json!({"path": "/etc/motd", "contents": {"source": format!("data:,{name}")}});
    config(name, json!({"storage": {"files": [file]}}))
}

fn updated() -> MemoryDisk {
    let disk = fresh();
    apply(&disk, &motd("rendered-1")).unwrap();
    apply(&disk, &motd("rendered-2")).unwrap();
    disk
}

fn held(disk: &MemoryDisk) -> Option<(String, String)> {
    status(disk).rollback_hold.map(|RollbackHold { from, to, .. }| (from, to))
}

fn roll_back(disk: &MemoryDisk) -> Ending {
    let machine = open(disk).unwrap();
    let proposal = transaction::propose_rollback(&machine, &Rules::default()).unwrap().unwrap();
    transaction::run(&machine, &proposal, &mut |_| {}).unwrap().ending
}

#[test]
fn a_hold_lasts_from_its_request_until_another_configuration_is_applied_or_it_is_released() {
    let expected = Some(("rendered-2".to_owned(), "rendered-1".to_owned()));
    let disk = updated();
    let hold = open(&disk).unwrap().hold_rollback(Some("rendered-3".to_owned())).unwrap().unwrap();
    assert!(hold.applies_to("rendered-2") && hold.applies_to("rendered-3") && !hold.applies_to("rendered-4"));
    assert_eq!(held(&disk), expected, "it is the request too");
    assert!(!open(&disk).unwrap().is_rolled_back().unwrap());
    assert_eq!((roll_back(&disk), held(&disk)), (Ending::Applied, expected.clone()));
    assert!(open(&disk).unwrap().is_rolled_back().unwrap());
    assert_eq!(open(&disk).unwrap().release_rollback().unwrap(), Some(hold));
    assert_eq!((held(&disk), open(&disk).unwrap().release_rollback().unwrap()), (None, None));

    let disk = updated();
    open(&disk).unwrap().hold_rollback(None).unwrap();
    roll_back(&disk);
    apply(&disk, &motd("rendered-3")).unwrap();
    assert_eq!(held(&disk), None, "another configuration was applied");
}

#[test]
fn to_go_back_from_a_rollback_releases_its_hold() {
    let disk = updated();
    open(&disk).unwrap().hold_rollback(None).unwrap();
    roll_back(&disk);
    assert_eq!(open(&disk).unwrap().hold_rollback(None).unwrap(), None);
    assert_eq!((roll_back(&disk), held(&disk)), (Ending::Applied, None));
    assert_eq!(status(&disk).config.as_deref(), Some("rendered-2"));
}

#[test]
fn without_a_configuration_before_nothing_is_held() {
    let disk = fresh();
    assert!(matches!(open(&disk).unwrap().hold_rollback(None), Err(Trouble::NoPrevious)));
    assert_eq!(held(&disk), None);
}
