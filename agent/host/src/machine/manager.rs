//! What a transaction asks of the service manager of a running machine.

use crate::systemd::offline::Wish;

/// The service manager. Everything asked of it can be asked again.
pub trait Manager {
    /// Makes a unit start at boot or not; one that does not exist is passed over.
    fn set(&self, unit: &str, wish: Wish) -> Result<(), ManagerError>;

    /// Has it read its units again.
    fn daemon_reload(&self) -> Result<(), ManagerError>;

    /// Reloads a service and waits for the result.
    fn reload(&self, unit: &str) -> Result<(), ManagerError>;

    /// Restarts a service and waits for the result.
    fn restart(&self, unit: &str) -> Result<(), ManagerError>;

    /// The state of a unit's file in systemd's words; `None` when there is no such unit.
    fn state(&self, unit: &str) -> Result<Option<String>, ManagerError>;

    /// Whether the machine is still booting, so that services are yet to start by themselves.
    fn is_booting(&self) -> Result<bool, ManagerError>;
}

/// Why the service manager did not do it.
#[derive(Debug, thiserror::Error)]
#[error("systemd could not {action} {unit}")]
pub struct ManagerError {
    /// What was asked.
    pub action: &'static str,
    /// Of which unit; `units` for all.
    pub unit: String,
    /// Whether asking again may help.
    pub transient: bool,
    /// What it answered.
    pub source: Box<dyn std::error::Error + Send + Sync>,
}
