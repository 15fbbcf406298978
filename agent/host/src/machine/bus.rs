//! The running systemd as the manager that transactions ask.

use std::cell::RefCell;

use super::manager::{Manager, ManagerError, Presence, presence};
use crate::systemd::bus::{Bus, BusError, Limits};
use crate::systemd::offline::Wish;

/// What stands for a unit where systemd itself is meant.
const SYSTEMD: &str = "systemd";

/// systemd over the system bus. A bus that goes away, as it does when the change restarts it, is connected to again for
/// the next question: the way back needs it.
#[derive(Debug)]
pub struct Systemd {
    address: Option<String>,
    limits: Limits,
    bus: RefCell<Option<Bus>>,
}

impl Systemd {
    /// Connects to the bus at a D-Bus address, or to the system bus.
    pub fn connect(address: Option<&str>, limits: Limits) -> Result<Self, BusError> {
        let bus = Bus::connect(address, limits)?;
        Ok(Self { address: address.map(str::to_owned), limits, bus: RefCell::new(Some(bus)) })
    }

    /// Stops a service and waits until it has stopped; one that is not there has.
    pub fn stop_unit(&self, unit: &str) -> Result<(), ManagerError> {
        self.ask("stop", unit, |bus| bus.stop_unit(unit))
    }

    /// Starts a service, however often it failed before, and waits until it is up.
    pub fn start_unit(&self, unit: &str) -> Result<(), ManagerError> {
        self.ask("start", unit, |bus| bus.reset_failed(unit).and_then(|()| bus.start_unit(unit)))
    }

    fn ask<T>(
        &self,
        action: &'static str,
        unit: &str,
        question: impl FnOnce(&Bus) -> Result<T, BusError>,
    ) -> Result<T, ManagerError> {
        let mut bus = self.bus.borrow_mut();
        let answer = match bus.take() {
            Some(bus) => Ok(bus),
            None => Bus::connect(self.address.as_deref(), self.limits),
        }
        .and_then(|connected| {
            let answer = question(&connected);
            if !matches!(answer, Err(BusError::Gone { .. })) {
                *bus = Some(connected);
            }
            answer
        });
        answer.map_err(|error| ManagerError {
            action,
            unit: unit.to_owned(),
            transient: error.is_transient(),
            source: Box::new(error),
        })
    }
}

impl Manager for Systemd {
    fn set(&self, unit: &str, wish: Wish) -> Result<(), ManagerError> {
        match wish {
            Wish::Disable => self.ask("disable", unit, |bus| bus.disable(&[unit])),
            // The image may mask what the configuration has a drop-in for: no preset counts then.
            Wish::Preset if self.state(unit)?.is_some_and(|state| state.starts_with("masked")) => Ok(()),
            Wish::Preset => self.ask("preset", unit, |bus| bus.preset(&[unit])),
            // A config may enable a unit that this OS image does not have; the daemon passes over it too.
            Wish::Enable if self.state(unit)?.is_none() => Ok(()),
            Wish::Enable => self.ask("enable", unit, |bus| bus.reenable(&[unit])),
        }
    }

    fn daemon_reload(&self) -> Result<(), ManagerError> {
        self.ask("daemon-reload", SYSTEMD, Bus::daemon_reload)
    }

    fn reload(&self, unit: &str) -> Result<(), ManagerError> {
        self.ask("reload", unit, |bus| bus.reload_unit(unit))
    }

    /// A service that failed too often is not started any more until that is forgotten, whatever was mended.
    fn restart(&self, unit: &str) -> Result<(), ManagerError> {
        self.ask("restart", unit, |bus| bus.reset_failed(unit).and_then(|()| bus.restart_unit(unit)))
    }

    fn state(&self, unit: &str) -> Result<Option<String>, ManagerError> {
        self.ask("read the state of", unit, |bus| bus.unit_file_state(unit))
    }

    fn presence(&self, unit: &str) -> Result<Presence, ManagerError> {
        let states = self.ask("look up", unit, |bus| match bus.load_state(unit) {
            // It is no name of a unit that could be started, such as that of a template.
            Err(BusError::NoSuchUnit { .. } | BusError::Refused { .. }) => Ok(None),
            states => states.map(Some),
        })?;
        let Some((load, active)) = states else { return Ok(Presence::Missing) };
        Ok(presence(&load, &active))
    }

    fn is_booting(&self) -> Result<bool, ManagerError> {
        self.ask("read the state of", SYSTEMD, Bus::boot_finished).map(|finished| !finished)
    }
}
