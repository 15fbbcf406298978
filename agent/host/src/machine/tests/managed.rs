//! Transactions on a machine that runs, with a service manager that notes what it is asked and fails where it is told to.

use std::cell::RefCell;
use std::rc::Rc;

use ostler_core::transaction::Ending;

use super::*;
use crate::machine::{Manager, ManagerError};
use crate::systemd::offline::Wish;

const LINK: &str = "/etc/systemd/system/multi-user.target.wants/new.service";

/// What a manager was asked, and what it cannot do, once.
#[derive(Clone, Default)]
pub(super) struct Asked {
    calls: Rc<RefCell<Vec<String>>>,
    broken: Rc<RefCell<Vec<&'static str>>>,
}

impl Asked {
    fn breaks(what: &[&'static str]) -> Self {
        Self { broken: Rc::new(RefCell::new(what.to_vec())), ..Self::default() }
    }

    fn note(&self, call: String) -> Result<(), ManagerError> {
        let mut broken = self.broken.borrow_mut();
        let fails = broken.iter().position(|name| *name == call);
        self.calls.borrow_mut().push(call.clone());
        let Some(index) = fails else { return Ok(()) };
        broken.remove(index);
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
    let desired = rules.desired(MachineConfig::clone(&target.config)).unwrap();
    let steps = plan(&Observed::configured(MachineConfig::clone(&machine.observe()?.current.config)), &desired)?.steps;
    let proposal = transaction::propose(&machine, target, &rules, &steps)?.unwrap();
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
fn a_change_is_ended_by_links_where_the_manager_is_gone() {
    for (broken, applied) in [
        (&["Enable new.service", "Preset new.service"][..], false),
        (&["restart app.service", "Preset new.service"], false),
    ] {
        let (disk, manager) = (fresh(), Asked::breaks(broken));
        let before = tree(&disk);
        assert!(matches!(change(&disk, &manager), Err(Trouble::Unsettled { .. })));
        let finished = transaction::recover(&running(&disk, None), &mut |_| {}).unwrap().unwrap();
        assert_eq!((finished.ending == Ending::Applied, finished.reboot), (applied, true), "{finished:?}");
        assert!(!tree(&disk).contains_key(LINK));
        assert_eq!(tree(&disk), before);
    }
}
