//! Transactions on a machine that runs, with a service manager that notes what it is asked and fails where it is told to.

use std::cell::RefCell;
use std::rc::Rc;

use ostler_core::transaction::Ending;

use super::*;
use crate::machine::{Manager, ManagerError, Presence};
use crate::systemd::offline::Wish;

const LINK: &str = "/etc/systemd/system/multi-user.target.wants/new.service";

/// What a manager was asked, what it cannot do, once or ever, and how units stand that are not active.
#[derive(Clone, Default)]
pub(super) struct Asked {
    calls: Rc<RefCell<Vec<String>>>,
    broken: Rc<RefCell<Vec<&'static str>>>,
    lasting: &'static [&'static str],
    presence: &'static [(&'static str, Presence)],
}

impl Asked {
    fn breaks(what: &[&'static str]) -> Self {
        Self { broken: Rc::new(RefCell::new(what.to_vec())), ..Self::default() }
    }

    fn note(&self, call: String) -> Result<(), ManagerError> {
        let mut broken = self.broken.borrow_mut();
        let fails = broken.iter().position(|name| *name == call);
        self.calls.borrow_mut().push(call.clone());
        match fails {
            Some(index) => drop(broken.remove(index)),
            None if self.lasting.contains(&call.as_str()) => {}
            None => return Ok(()),
        }
        Err(ManagerError { action: "do", unit: call, transient: false, source: "broken".into() })
    }
}

impl Manager for Asked {
    fn set(&self, unit: &str, wish: Wish) -> Result<(), ManagerError> {
        self.note(format!("{wish:?} {unit}"))
    }

    fn daemon_reload(&self) -> Result<(), ManagerError> {
        self.note("daemon-reload".to_owned())
    }

    fn reload(&self, unit: &str) -> Result<(), ManagerError> {
        self.note(format!("reload {unit}"))
    }

    fn restart(&self, unit: &str) -> Result<(), ManagerError> {
        self.note(format!("restart {unit}"))
    }

    fn state(&self, _unit: &str) -> Result<Option<String>, ManagerError> {
        Ok(None)
    }

    fn presence(&self, unit: &str) -> Result<Presence, ManagerError> {
        let known = self.presence.iter().find(|(name, _)| *name == unit);
        Ok(known.map_or(Presence::Active, |(_, presence)| *presence))
    }

    fn is_booting(&self) -> Result<bool, ManagerError> {
        Ok(false)
    }
}

fn running(disk: &MemoryDisk, manager: Option<Asked>) -> Machine<'_, MemoryDisk> {
    let manager = manager.map(|manager| Box::new(manager) as Box<dyn Manager>);
    Machine::open(disk, Surroundings { manager, live: true, ..surroundings() }).unwrap()
}

/// A new unit, and a file for which a service is restarted.
fn change(disk: &MemoryDisk, manager: &Asked) -> Result<Finished, Trouble> {
    let machine = running(disk, Some(manager.clone()));
    let text = "[Service]\nExecStart=/bin/new\n[Install]\nWantedBy=multi-user.target\n";
    let target = config(
        "new",
        json!({
            "storage": {"files": [{"path": "/etc/app.conf", "contents": {"source": "data:,new"}}]},
            "systemd": {"units": [{"name": "new.service", "enabled": true, "contents": text}]},
        }),
    );
    let policy = json!({
        "files": [{"path": "/etc/app.conf", "actions": [{"type": "Restart", "restart": {"serviceName": "app.service"}}]}],
        "units": [{"name": "new.service", "actions": [{"type": "None"}]}],
    });
    let rules = Rules { policy: Some(policy), ..Rules::default() };
    let proposal = transaction::propose(&machine, target, &rules)?.unwrap();
    transaction::run(&machine, &proposal, &mut |_| {})
}

#[test]
fn units_are_read_again_before_a_service_goes_back_to_its_old_configuration() {
    let (disk, manager) = (fresh(), Asked::breaks(&["restart app.service"]));
    let finished = change(&disk, &manager).unwrap();
    assert!(matches!(finished.ending, Ending::Undone { .. }), "{finished:?}");
    let there = ["Enable new.service", "daemon-reload", "restart app.service"];
    let back = ["Preset new.service", "daemon-reload", "restart app.service"];
    assert_eq!(*manager.calls.borrow(), [there, back].concat());
}

#[test]
fn services_that_were_not_told_of_a_change_are_not_told_of_its_end() {
    let (disk, manager) = (fresh(), Asked::breaks(&["Enable new.service"]));
    let finished = change(&disk, &manager).unwrap();
    assert!(matches!(finished.ending, Ending::Undone { .. }), "{finished:?}");
    assert_eq!(*manager.calls.borrow(), ["Enable new.service", "Preset new.service", "daemon-reload"]);
}

#[test]
fn an_undo_ends_whatever_services_and_units_do_and_records_what_failed() {
    for (lasting, failed) in [
        (&["restart app.service"][..], &["do restart app.service"][..]),
        (&["restart app.service", "daemon-reload"], &["do daemon-reload"]),
        (&["Enable new.service", "Preset new.service"], &[]),
        (&["restart app.service", "Preset new.service"], &["do restart app.service"]),
    ] {
        let (disk, manager) = (fresh(), Asked { lasting, ..Asked::default() });
        let before = tree(&disk);
        let finished = change(&disk, &manager).unwrap();
        assert!(matches!(finished.ending, Ending::Undone { .. }), "{finished:?}");
        let found: Vec<_> =
            finished.service_failures.iter().map(|one| format!("{} {}", one.action, one.unit)).collect();
        assert_eq!(found, failed, "{lasting:?}");
        assert_eq!(tree(&disk), before, "{lasting:?}");
        assert_eq!(status(&disk).last.unwrap().service_failures, finished.service_failures);
        assert!(recover(&disk).unwrap().is_none(), "{lasting:?}");
    }
}

#[test]
fn a_service_that_is_not_there_to_be_told_is_passed_over() {
    for (presence, told) in [
        (Presence::Active, &["restart app.service"][..]),
        (Presence::Inactive, &["restart app.service"]),
        (Presence::Masked, &[]),
    ] {
        let presence = match presence {
            Presence::Active => &[("app.service", Presence::Active)],
            Presence::Inactive => &[("app.service", Presence::Inactive)],
            _ => &[("app.service", Presence::Masked)],
        };
        let (disk, manager) = (fresh(), Asked { presence, ..Asked::default() });
        assert_eq!(change(&disk, &manager).unwrap().ending, Ending::Applied);
        assert_eq!(manager.calls.borrow()[2..], *told, "{presence:?}");
    }
}

#[test]
fn a_change_is_ended_by_links_where_the_manager_is_gone() {
    let (disk, manager) = (fresh(), Asked::breaks(&["restart app.service"]));
    let before = tree(&disk);
    disk.remember();
    change(&disk, &manager).unwrap();
    for found in disk.history() {
        let Some(finished) = transaction::recover(&running(&found, None), &mut |_| {}).unwrap() else { continue };
        if finished.ending != Ending::Applied {
            assert_eq!(tree(&found), before);
            assert!(finished.reboot && !tree(&found).contains_key(LINK), "{finished:?}");
        }
    }
}
