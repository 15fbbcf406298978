//! systemd asked through `systemctl`, for the beginning of a boot: it uses systemd's own socket, which is there before any bus.

use std::time::Duration;

use super::manager::{Manager, ManagerError, Presence, presence};
use crate::command::{Command, CommandError};
use crate::systemd::bus::Limits;
use crate::systemd::offline::Wish;

const SYSTEMCTL: &str = "systemctl";
/// What stands for a unit where systemd itself is meant.
const SYSTEMD: &str = "systemd";
/// Properties of one unit are no longer than this.
const MOST: usize = 1 << 20;
/// By what a unit is started, beside its name.
const STARTED_BY: &str = "WantedBy,RequiredBy,BoundBy,UpheldBy,TriggeredBy,ConsistsOf";

/// The running systemd, where there is no bus.
#[derive(Debug)]
pub struct Systemctl {
    limits: Limits,
}

impl Systemctl {
    /// The systemd of a machine that boots. On one that is up, a bus that does not answer has failed, and services that need
    /// it are not restarted without it.
    pub fn if_booting(limits: Limits) -> Option<Self> {
        let systemctl = Self { limits };
        systemctl.is_booting().is_ok_and(|booting| booting).then_some(systemctl)
    }

    fn call(&self, action: &'static str, verb: &str, rest: &[&str], unit: &str) -> Result<String, ManagerError> {
        let named = (unit != SYSTEMD).then_some(unit);
        let words = ["--no-ask-password", verb].into_iter().chain(rest.iter().copied()).chain(["--"]).chain(named);
        self.run(action, unit, Command::new(SYSTEMCTL, self.limits.job, MOST).arguments(words))
    }

    fn run(&self, action: &'static str, unit: &str, command: Command) -> Result<String, ManagerError> {
        let output = command.run().map_err(|error| {
            let source = match error {
                CommandError::Failed { stderr, .. } if !stderr.trim().is_empty() => {
                    stderr.lines().next().unwrap_or_default().to_owned().into()
                }
                error => error.into(),
            };
            ManagerError { action, unit: unit.to_owned(), transient: true, source }
        })?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// For verbs that answer by their exit status as well.
    fn query(&self, verb: &str, unit: &str) -> Result<String, ManagerError> {
        let named = (unit != SYSTEMD).then_some(unit);
        let words = [verb, "--"].into_iter().chain(named);
        self.run(
            "read the state of",
            unit,
            Command::new(SYSTEMCTL, self.limits.call, MOST).arguments(words).whatever_status(),
        )
    }
}

impl Manager for Systemctl {
    fn set(&self, unit: &str, wish: Wish) -> Result<(), ManagerError> {
        let rest = &["--no-reload"];
        let done = match wish {
            Wish::Disable => self.call("disable", "disable", rest, unit),
            Wish::Enable if self.state(unit)?.is_none() => return Ok(()),
            Wish::Enable => self.call("enable", "reenable", rest, unit),
            Wish::Preset if self.state(unit)?.is_none_or(|state| state.starts_with("masked")) => return Ok(()),
            Wish::Preset => self.call("preset", "preset", rest, unit),
        };
        done.map(drop)
    }

    fn daemon_reload(&self) -> Result<(), ManagerError> {
        self.call("daemon-reload", "daemon-reload", &[], SYSTEMD).map(drop)
    }

    fn cancel_unwanted(&self, unit: &str) -> Result<(), ManagerError> {
        let show = |properties: &str| {
            self.call("read the state of", "show", &["--value", &format!("--property={properties}")], unit)
        };
        if !show(STARTED_BY)?.is_empty() {
            return Ok(());
        }
        match show("Job")?.as_str() {
            "" | "0" => Ok(()),
            job => self.call("cancel the start of", "cancel", &[], job).map(drop),
        }
    }

    fn reload(&self, unit: &str) -> Result<(), ManagerError> {
        self.call("reload", "reload", &[], unit).map(drop)
    }

    fn restart(&self, unit: &str) -> Result<(), ManagerError> {
        self.call("restart", "restart", &[], unit).map(drop)
    }

    fn state(&self, unit: &str) -> Result<Option<String>, ManagerError> {
        let state = self.query("is-enabled", unit)?;
        Ok(Some(state).filter(|state| !state.is_empty() && state != "not-found"))
    }

    fn presence(&self, unit: &str) -> Result<Presence, ManagerError> {
        let states = self.call("look up", "show", &["--value", "--property=LoadState,ActiveState"], unit)?;
        let (load, active) = states.split_once('\n').unwrap_or((&states, ""));
        Ok(presence(load, active))
    }

    fn is_booting(&self) -> Result<bool, ManagerError> {
        Ok(matches!(self.query("is-system-running", SYSTEMD)?.as_str(), "initializing" | "starting"))
    }
}

/// How long a boot waits for systemd's own answers: they come at once or never.
pub const EARLY: Limits = Limits { call: Duration::from_secs(30), job: Duration::from_secs(90) };
