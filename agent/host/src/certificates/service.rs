//! What is asked of the kubelet's service.

use std::thread::sleep;
use std::time::Duration;

use ostler_core::certificates::KUBELET;

use crate::machine::{Manager, ManagerError, Systemd};

/// How long the kubelet is left to itself between two looks at whether it has new credentials.
const PAUSE: Duration = Duration::from_secs(2);

/// The kubelet as a service. Everything asked of it can be asked again.
pub trait KubeletService {
    /// Whether the machine has one.
    fn exists(&self) -> Result<bool, ManagerError>;

    /// Stops it and waits until it has stopped.
    fn stop(&self) -> Result<(), ManagerError>;

    /// Has the manager read its units again, starts the kubelet and waits until it is up.
    fn start(&self) -> Result<(), ManagerError>;

    /// Restarts it and waits until it is up.
    fn restart(&self) -> Result<(), ManagerError>;

    /// Leaves it to itself for a little.
    fn pause(&self);
}

impl KubeletService for Systemd {
    fn exists(&self) -> Result<bool, ManagerError> {
        Ok(self.state(KUBELET)?.is_some())
    }

    fn stop(&self) -> Result<(), ManagerError> {
        self.stop_unit(KUBELET)
    }

    fn start(&self) -> Result<(), ManagerError> {
        self.daemon_reload()?;
        self.start_unit(KUBELET)
    }

    fn restart(&self) -> Result<(), ManagerError> {
        Manager::restart(self, KUBELET)
    }

    fn pause(&self) {
        sleep(PAUSE);
    }
}
