//! What a transaction asks of the service manager of a running machine.

use ostler_core::transaction::ServiceFailure;

use crate::systemd::offline::Wish;

/// The service manager. Everything asked of it can be asked again.
pub trait Manager {
    /// Makes a unit start at boot or not; one that does not exist is passed over.
    fn set(&self, unit: &str, wish: Wish) -> Result<(), ManagerError>;

    /// Has it read its units again.
    fn daemon_reload(&self) -> Result<(), ManagerError>;

    /// Cancels the queued start of a unit that nothing asks for any more. Only at the beginning of a boot: by the time there is
    /// a bus, queued units have started.
    fn cancel_unwanted(&self, _unit: &str) -> Result<(), ManagerError> {
        Ok(())
    }

    /// Reloads a service and waits for the result.
    fn reload(&self, unit: &str) -> Result<(), ManagerError>;

    /// Restarts a service and waits for the result.
    fn restart(&self, unit: &str) -> Result<(), ManagerError>;

    /// The state of a unit's file in systemd's words; `None` when there is no such unit.
    fn state(&self, unit: &str) -> Result<Option<String>, ManagerError>;

    /// Whether a unit is there to be restarted or reloaded. Aliases, instances of templates, generated and transient units are.
    fn presence(&self, unit: &str) -> Result<Presence, ManagerError>;

    /// Whether the machine is still booting, so that services are yet to start by themselves.
    fn is_booting(&self) -> Result<bool, ManagerError>;
}

/// How a unit stands with the service manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It runs, or is about to.
    Active,
    /// It does not run, but could.
    Inactive,
    /// It cannot be started, because it is masked.
    Masked,
    /// There is no such unit.
    Missing,
}

/// Of systemd's `LoadState` and `ActiveState`.
pub(super) fn presence(load: &str, active: &str) -> Presence {
    match (load, active) {
        ("not-found", _) => Presence::Missing,
        ("masked", _) => Presence::Masked,
        (_, "inactive" | "failed") => Presence::Inactive,
        _ => Presence::Active,
    }
}

/// Why the service manager did not do it.
#[derive(Debug, thiserror::Error)]
#[error("systemd could not {action} {unit}")]
pub struct ManagerError {
    /// What was asked, as systemctl calls it.
    pub action: &'static str,
    /// Of which unit; `systemd` for the manager itself.
    pub unit: String,
    /// Whether asking again may help.
    pub transient: bool,
    /// What it answered.
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

impl From<ManagerError> for ServiceFailure {
    fn from(error: ManagerError) -> Self {
        let causes =
            std::iter::successors(Some(error.source.as_ref() as &dyn std::error::Error), |cause| cause.source());
        let cause = causes.map(ToString::to_string).collect::<Vec<_>>().join(": ");
        Self { unit: error.unit, action: error.action.to_owned(), cause }
    }
}
