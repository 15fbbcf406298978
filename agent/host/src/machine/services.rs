//! Units made to start at boot or not, and services told of a change.
//!
//! On the way forward the first failure ends the phase, and the transaction turns back. On the way back there is nowhere
//! left to turn to: each failure is recorded, the rest still happens, and the transaction ends.

use std::collections::BTreeSet;

use ostler_core::disruption::Cause;
use ostler_core::ignition::Unit;
use ostler_core::machine_config::MachineConfig;
use ostler_core::step::{ServiceAction, Step};
use ostler_core::transaction::{Direction, ServiceFailure};
use ostler_core::unit_name;

use super::draft::{Action, Actions, Draft, Enablement};
use super::forward::MASK;
use super::manager::{Manager, ManagerError, Presence};
use super::prepare::Way;
use super::{Machine, place};
use crate::disk::{Disk, RootPath};
use crate::originals;
use crate::os::Told;
use crate::systemd::offline::{self, OfflineError};
use crate::transaction::{Journey, PhaseOutcome, Trouble};

/// Where systemd keeps the links of enabled units.
const UNITS: &str = "/etc/systemd/system";

impl<D: Disk> Machine<'_, D> {
    /// systemd makes links without making them durable, so that is done here.
    pub(super) fn units(&self, way: &Way) -> Result<PhaseOutcome, Trouble> {
        let Some(manager) = &self.surroundings.manager else {
            return self.apply(way, &way.draft.links.batch(&[]));
        };
        let mut outcome = PhaseOutcome::changed(way.draft.enablement.len());
        for enablement in &way.draft.enablement {
            match manager.set(&enablement.unit, enablement.wish) {
                Ok(()) => {}
                Err(error) if way.direction == Direction::Forward => return Err(error.into()),
                Err(error) => outcome.service_failures.extend(self.set_by_links(way, enablement, error)?),
            }
        }
        if !way.draft.enablement.is_empty() {
            let directory = RootPath::new(UNITS).map_err(Trouble::path(UNITS))?;
            self.disk.sync_filesystem(&directory).map_err(Trouble::disk("make durable", &directory))?;
        }
        if way.draft.reloads {
            pass_over(way, manager.daemon_reload(), &mut outcome)?;
            cancel_disabled(&**manager, &way.draft.enablement);
        }
        Ok(outcome)
    }

    /// Makes the links that systemd would not make. By now the units' own files are those of the old configuration.
    fn set_by_links(
        &self,
        way: &Way,
        enablement: &Enablement,
        refused: ManagerError,
    ) -> Result<Option<ServiceFailure>, Trouble> {
        let texts = offline::DiskTexts { disk: self.disk, overlay: Default::default() };
        let change = offline::Change { unit: &enablement.unit, wish: enablement.wish };
        let links = match offline::links(self.disk, &texts, &[change]) {
            Ok(links) => links,
            Err(error @ OfflineError::Read { .. }) => return Err(error.into()),
            Err(_) => return Ok(Some(refused.into())),
        };
        let mut actions = Actions::default();
        links.remove.into_iter().for_each(|path| actions.set(path, Action::Remove));
        links.add.into_iter().for_each(|(path, target)| actions.set(path, Action::Link(target)));
        self.apply(way, &actions.batch(&[]))?;
        Ok(None)
    }

    pub(super) fn services(&self, way: &Way, told: Told<'_>) -> Result<PhaseOutcome, Trouble> {
        let mut outcome = PhaseOutcome::default();
        let Some(manager) = &self.surroundings.manager else { return Ok(outcome) };
        for step in &way.draft.services {
            // Beside services only systemd itself is told.
            let Some((service, action)) = step.service() else {
                pass_over(way, manager.daemon_reload(), &mut outcome)?;
                continue;
            };
            if let Some(why) = passed_over(&**manager, step, way.direction) {
                told(&format!("{service}: {why}"));
                continue;
            }
            let done = match action {
                ServiceAction::Reload => manager.reload(service),
                ServiceAction::Restart => manager.restart(service),
            };
            pass_over(way, done, &mut outcome)?;
        }
        Ok(outcome)
    }
}

/// In a boot that has begun, units that were enabled until now are queued. Where that cannot be changed one of them runs, and
/// that is all.
fn cancel_disabled(manager: &dyn Manager, enablement: &[Enablement]) {
    let mut disabled = enablement.iter().filter(|enablement| enablement.wish == offline::Wish::Disable).peekable();
    if disabled.peek().is_some() && manager.is_booting().is_ok_and(|booting| booting) {
        disabled.for_each(|enablement| drop(manager.cancel_unwanted(&enablement.unit)));
    }
}

/// Where unit files are that no configuration brings.
const OS_UNITS: [&str; 3] = ["/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"];

/// What generators make units from: which ones is known only when they have run.
const GENERATED_FROM: [&str; 5] =
    ["/etc/containers/systemd/", "/etc/init.d/", "/etc/systemd/system-generators/", "/etc/fstab", "/etc/crypttab"];

/// What a check finds out about services beforehand.
impl<D: Disk> Machine<'_, D> {
    /// Units of a configuration that are there without it too: the operating system has them, or had them in `/etc`.
    pub(super) fn units_without(&self, config: &MachineConfig) -> BTreeSet<String> {
        let stands = |path: RootPath| self.disk.stat(&path).is_ok_and(|stat| stat.is_some());
        let is_there = |unit: &&Unit| {
            let own = place::unit(&unit.name).ok().and_then(|path| originals::backup_path(&path).ok());
            own.is_some_and(stands) || in_os(&unit.name).any(stands)
        };
        config.ignition.units.iter().filter(is_there).map(|unit| unit.name.clone()).collect()
    }

    /// Refuses a change that restarts or reloads a unit which neither is there nor comes with it; gives remarks on others
    /// that will be passed over. Where systemd cannot be asked, nothing is known.
    pub(super) fn check_services(&self, draft: &Draft, journey: &Journey<'_>) -> Result<Vec<String>, Trouble> {
        let mut remarks = Vec::new();
        if journey.boot.is_some() || journey.direction == Direction::Back {
            return Ok(remarks);
        }
        let Some(manager) = &self.surroundings.manager else { return Ok(remarks) };
        for step in &draft.services {
            let Some((service, _)) = step.service() else { continue };
            let comes = comes_with(draft, service);
            if !comes && manager.presence(service).is_ok_and(|presence| presence == Presence::Missing) {
                return Err(Trouble::NoSuchService {
                    service: service.to_owned(),
                    policy: policy(journey.causes, service),
                });
            }
            if let Some(why) = passed_over(&**manager, step, Direction::Forward).filter(|_| !comes) {
                remarks.push(format!("{service} is passed over: {why}"));
            }
        }
        Ok(remarks)
    }
}

fn in_os(unit: &str) -> impl Iterator<Item = RootPath> {
    OS_UNITS.iter().filter_map(move |directory| RootPath::new(format!("{directory}/{unit}")).ok())
}

/// Whether a change brings a unit, or may.
fn comes_with(draft: &Draft, service: &str) -> bool {
    let template = unit_name::template(service);
    let names: Vec<&str> = [Some(service), template.as_deref()].into_iter().flatten().collect();
    draft.write.iter().any(|(path, action)| {
        let generates = || GENERATED_FROM.iter().any(|from| path.as_str().starts_with(from));
        let is_unit = [UNITS].iter().chain(&OS_UNITS).any(|at| path.directory() == *at);
        match action {
            Action::Remove => false,
            Action::Link(target) if target == MASK => false,
            Action::Link(_) => generates() || (is_unit && names.contains(&path.name())),
            Action::Write(write) => {
                let text = || String::from_utf8_lossy(write.contents.expose()).into_owned();
                generates() || (is_unit && (names.contains(&path.name()) || offline::has_alias(&text(), service)))
            }
        }
    })
}

/// The policy that asks for a service, as a person would look for it.
fn policy(causes: &[Cause], service: &str) -> String {
    let asks = |cause: &&Cause| cause.actions.iter().any(|action| action.service() == Some(service));
    let cause = causes.iter().find(asks);
    cause.and_then(|cause| cause.policy.as_ref()).map_or_else(|| "the plan".to_owned(), |(key, _)| key.clone())
}

/// Records a failure on the way back, and ends the way forward with it.
fn pass_over(way: &Way, done: Result<(), ManagerError>, outcome: &mut PhaseOutcome) -> Result<(), Trouble> {
    match (done, way.direction) {
        (Ok(()), _) => {}
        (Err(error), Direction::Forward) => return Err(error.into()),
        (Err(error), Direction::Back) => outcome.service_failures.push(error.into()),
    }
    Ok(())
}

/// Why there is nothing to tell a service. Where systemd does not say, it is told.
pub(super) fn passed_over(manager: &dyn Manager, step: &Step, direction: Direction) -> Option<&'static str> {
    let (service, action) = step.service()?;
    match (manager.presence(service).ok()?, direction) {
        (Presence::Masked, _) => Some("it is masked and cannot be started"),
        // It came with the configuration that is left.
        (Presence::Missing, Direction::Back) => Some("there is no such unit any more"),
        (Presence::Inactive, _) if action == ServiceAction::Reload => {
            Some("it is not active, so there is nothing to reload")
        }
        (Presence::Missing, Direction::Forward) | (Presence::Active | Presence::Inactive, _) => None,
    }
}
