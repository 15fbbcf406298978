//! Kernel arguments for the names of network interfaces, through updates and restarts.

use std::cell::Cell;

use ostler_core::kargs::Change;
use ostler_core::os::nics::Manner;

use super::*;
use crate::command::CommandError;
use crate::machine::NicNames;

const NAME: &str = "ifname=eth0:52:54:00:de:a8:2f";

/// Says its arguments once, as nmstate does.
struct Names {
    says: &'static str,
    asked: Cell<usize>,
    broken: bool,
}

impl Names {
    fn saying(says: &'static str) -> Self {
        Self { says, asked: Cell::new(0), broken: false }
    }
}

impl NicNames for Names {
    fn ask(&self, _manner: Manner) -> Result<Option<Vec<u8>>, CommandError> {
        self.asked.set(self.asked.get() + 1);
        if self.broken {
            return Err(CommandError::TooSlow { program: "nmstatectl".to_owned(), seconds: 1 });
        }
        Ok(Some(if self.asked.get() == 1 { self.says.as_bytes().to_vec() } else { Vec::new() }))
    }
}

fn persist(host: &Host, manner: Manner, names: &Names) -> Result<Option<Change>, Trouble> {
    Host::on(&host.disk, &host.boot, &[]).persist_nics(manner, names)
}

fn staged(host: &Host) -> Option<Vec<String>> {
    Some(Deployments::of(&host.disk).read().unwrap().staged?.kargs)
}

fn booted(host: &Host) -> Vec<String> {
    Deployments::of(&host.disk).read().unwrap().booted.unwrap().kargs
}

#[test]
fn arguments_are_staged_once_and_are_no_reason_to_restart() {
    let mut host = Host::new();
    let names = Names::saying(NAME);
    assert_eq!(persist(&host, Manner::Persist, &names).unwrap().unwrap().append, [NAME]);
    assert_eq!(staged(&host).unwrap(), ["root=x", "ro", NAME]);
    assert_eq!(persist(&host, Manner::Persist, &names).unwrap(), None);
    assert_eq!(names.asked.get(), 1, "once per boot");
    assert!(!status(&host.disk).awaits_reboot);
    host.restart(Restart::Clean);
    assert_eq!(booted(&host), ["root=x", "ro", NAME]);
    assert_eq!(persist(&host, Manner::Persist, &Names::saying(NAME)).unwrap(), None, "it is on the line already");
    assert_eq!(staged(&host), None);
}

#[test]
fn arguments_that_were_staged_and_lost_are_staged_again() {
    let mut host = Host::new();
    let names = Names::saying(NAME);
    persist(&host, Manner::Persist, &names).unwrap().unwrap();
    host.restart(Restart::Cut);
    assert_eq!(booted(&host), ["root=x", "ro"]);
    assert_eq!(persist(&host, Manner::Persist, &names).unwrap().unwrap().append, [NAME]);
    assert_eq!(staged(&host).unwrap(), ["root=x", "ro", NAME]);
}

#[test]
fn an_update_of_the_operating_system_keeps_them() {
    let mut host = Host::new();
    persist(&host, Manner::Persist, &Names::saying(NAME)).unwrap().unwrap();
    host.apply(&target("new", NEW, &["quiet"], "new")).unwrap();
    assert!(staged(&host).unwrap().contains(&NAME.to_owned()), "{:?}", staged(&host));
    assert_eq!(persist(&host, Manner::Persist, &Names::saying("x=1")).unwrap(), None, "a transaction is open");
    host.restart(Restart::Clean);
    assert_eq!(host.settle(Restart::Clean).unwrap().ending, Ending::Applied);
    assert_eq!(booted(&host), ["root=x", "ro", "quiet", NAME]);
}

#[test]
fn arguments_that_are_not_needed_any_more_go_unless_the_configuration_wants_them() {
    let mut host = Host::new();
    persist(&host, Manner::Persist, &Names::saying(NAME)).unwrap().unwrap();
    host.restart(Restart::Clean);
    let names = Names::saying(NAME);
    assert_eq!(persist(&host, Manner::Cleanup, &names).unwrap().unwrap().remove, [NAME]);
    assert_eq!(staged(&host).unwrap(), ["root=x", "ro"]);
    host.restart(Restart::Clean);
    assert_eq!(persist(&host, Manner::Cleanup, &names).unwrap(), None);
    assert_eq!(booted(&host), ["root=x", "ro"]);
    let configured = settled_node();
    assert_eq!(persist(&configured, Manner::Cleanup, &Names::saying("quiet")).unwrap(), None);
    assert_eq!(staged(&configured), None);
}

#[test]
fn who_cannot_be_asked_is_asked_again_and_cleaning_up_may_fail() {
    let host = Host::new();
    let broken = Names { broken: true, ..Names::saying(NAME) };
    assert!(matches!(persist(&host, Manner::Persist, &broken), Err(Trouble::NicNames { .. })));
    assert_eq!(persist(&host, Manner::Cleanup, &broken).unwrap(), None);
    let nonsense = Names::saying("a=\u{1}");
    let host = Host::new();
    assert!(persist(&host, Manner::Persist, &nonsense).is_err());
    assert_eq!(persist(&host, Manner::Persist, &Names::saying(NAME)).unwrap().unwrap().append, [NAME]);
}
