//! The systemd that runs, over the system bus.
//!
//! Owns the connection, the waiting for jobs and the bounds on both. Refuses to retry and to choose units. Nobody is
//! asked for a password: what root may not do fails. A connection that broke stays broken; connect again.

mod error;
mod job;
mod login;
mod manager;
mod service;
mod wire;

use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use zbus::Connection;

pub use error::{BusError, JobResult, UnitState};
pub use login::Inhibitor;
pub(crate) use service::literal;
pub use service::{Property, Service};
use wire::Attempt;

/// How long to wait.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// For an answer.
    pub call: Duration,
    /// For a unit to start, stop or reload, and for systemd to read all units again.
    pub job: Duration,
}

/// A connection to systemd. Calls block; a current-thread runtime of its own runs them.
#[derive(Debug)]
pub struct Bus {
    runtime: Runtime,
    connection: Connection,
    limits: Limits,
}

impl Bus {
    /// Connects to the bus at a D-Bus address, or to the system bus.
    pub fn connect(address: Option<&str>, limits: Limits) -> Result<Self, BusError> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(BusError::Runtime)?;
        let attempt = Attempt { what: "connect", units: &[], within: limits.call };
        let connection =
            runtime.block_on(attempt.bounded(wire::connect(address))).map_err(BusError::while_connecting)?;
        Ok(Self { runtime, connection, limits })
    }

    /// Makes systemd read all unit files again.
    pub fn daemon_reload(&self) -> Result<(), BusError> {
        let attempt = Attempt { what: "daemon-reload", units: &[], within: self.limits.job };
        self.runtime.block_on(attempt.bounded(wire::manager(&self.connection, "Reload", &())))
    }

    /// Makes the links of these units those of their `[Install]` sections.
    pub fn reenable(&self, units: &[&str]) -> Result<(), BusError> {
        let (plain, instances): (Vec<&str>, Vec<&str>) = units.iter().partition(|unit| !unit.contains('@'));
        if !plain.is_empty() {
            self.enabling("ReenableUnitFiles", &plain)?;
        }
        if !instances.is_empty() {
            // systemd 252 re-enables the template where an instance is meant: two calls do what one should.
            self.disable(&instances)?;
            self.enabling("EnableUnitFiles", &instances)?;
        }
        Ok(())
    }

    fn enabling(&self, method: &'static str, units: &[&str]) -> Result<(), BusError> {
        let body = (units, false, false);
        let answer = wire::manager::<_, wire::Enabled>(&self.connection, method, &body);
        self.runtime.block_on(self.attempt("enable", units).bounded(answer)).map(drop)
    }

    /// Removes the links of these units; one that has no file any more loses those that dangle.
    pub fn disable(&self, units: &[&str]) -> Result<(), BusError> {
        let body = (units, false);
        let answer = wire::manager::<_, wire::Changed>(&self.connection, "DisableUnitFiles", &body);
        let done = self.runtime.block_on(self.attempt("disable", units).bounded(answer));
        match done {
            Err(BusError::NoSuchUnit { .. }) => Ok(()),
            done => done.map(drop),
        }
    }

    /// Makes the links of these units what the preset files say; one that has no file loses those that dangle.
    pub fn preset(&self, units: &[&str]) -> Result<(), BusError> {
        for unit in units {
            let one = [*unit];
            let body = (&one[..], false, false);
            let answer = wire::manager::<_, wire::Enabled>(&self.connection, "PresetUnitFiles", &body);
            match self.runtime.block_on(self.attempt("preset", &one).bounded(answer)) {
                Err(BusError::NoSuchUnit { .. }) => self.disable(&one)?,
                done => drop(done?),
            }
        }
        Ok(())
    }

    /// Makes a unit read its configuration again, and waits until it has.
    pub fn reload_unit(&self, unit: &str) -> Result<(), BusError> {
        self.job(unit, "reload", "ReloadUnit")
    }

    /// Restarts a unit, or starts it, and waits until it is up.
    pub fn restart_unit(&self, unit: &str) -> Result<(), BusError> {
        self.job(unit, "restart", "RestartUnit")
    }

    /// Starts a unit, if it is not up already, and waits until it is.
    pub fn start_unit(&self, unit: &str) -> Result<(), BusError> {
        self.job(unit, "start", "StartUnit")
    }

    /// Stops a unit and waits until it has; one that is not there has.
    pub fn stop_unit(&self, unit: &str) -> Result<(), BusError> {
        match self.job(unit, "stop", "StopUnit") {
            Err(BusError::NoSuchUnit { .. }) => Ok(()),
            done => done,
        }
    }

    /// Makes systemd forget that a unit failed, and how often it was started lately. One it does not know has not.
    pub fn reset_failed(&self, unit: &str) -> Result<(), BusError> {
        let (units, body) = ([unit], (unit,));
        let answer = wire::manager(&self.connection, "ResetFailedUnit", &body);
        match self.runtime.block_on(self.attempt("reset the failures of", &units).bounded(answer)) {
            Err(BusError::NoSuchUnit { .. }) => Ok(()),
            done => done,
        }
    }

    /// What `systemctl is-enabled` says; `None` when there is no such file.
    pub fn unit_file_state(&self, unit: &str) -> Result<Option<String>, BusError> {
        let (units, body) = ([unit], (unit,));
        let answer = wire::manager(&self.connection, "GetUnitFileState", &body);
        match self.runtime.block_on(self.attempt("ask for the enablement", &units).bounded(answer)) {
            Err(BusError::NoSuchUnit { .. }) => Ok(None),
            state => state.map(Some),
        }
    }

    /// What the unit does now.
    pub fn active_state(&self, unit: &str) -> Result<UnitState, BusError> {
        let units = [unit];
        let answer = wire::unit_state(&self.connection, unit);
        self.runtime.block_on(self.attempt("ask for the state", &units).bounded(answer))
    }

    /// How the unit was loaded, such as `loaded`, `masked` or `not-found`, and whether it is active, in systemd's words.
    pub fn load_state(&self, unit: &str) -> Result<(String, String), BusError> {
        let units = [unit];
        let answer = wire::load_state(&self.connection, unit);
        self.runtime.block_on(self.attempt("look up", &units).bounded(answer))
    }

    /// `running`, `degraded`, `starting` and so on, of the whole machine.
    pub fn system_state(&self) -> Result<String, BusError> {
        let answer = wire::system_state(&self.connection);
        self.runtime.block_on(self.attempt("ask for the system state", &[]).bounded(answer))
    }

    /// Whether boot is over, for better or worse.
    pub fn boot_finished(&self) -> Result<bool, BusError> {
        Ok(matches!(self.system_state()?.as_str(), "running" | "degraded" | "maintenance"))
    }

    fn job(&self, unit: &str, verb: &'static str, method: &'static str) -> Result<(), BusError> {
        self.runtime.block_on(job::run(&self.connection, self.limits, job::Job { unit, verb, method }))
    }

    fn attempt<'a>(&self, what: &'static str, units: &'a [&'a str]) -> Attempt<'a> {
        Attempt { what, units, within: self.limits.call }
    }
}
