//! What systemd says of itself.

use super::Bus;
use super::error::BusError;
use super::wire;

impl Bus {
    /// How often user space was restarted without the kernel since boot; `None` from a systemd that does not count.
    pub fn soft_reboots(&self) -> Result<Option<u32>, BusError> {
        let answer = async {
            match manager(self).await?.get_property("SoftRebootsCount").await {
                Ok(count) => Ok(Some(count)),
                Err(zbus::Error::FDO(error)) if is_unknown(&error) => Ok(None),
                Err(error) => Err(error),
            }
        };
        self.runtime.block_on(self.attempt("ask for soft reboots", &[]).bounded(answer))
    }
}

async fn manager(bus: &Bus) -> zbus::Result<zbus::Proxy<'_>> {
    wire::proxy(&bus.connection, wire::MANAGER_PATH, wire::MANAGER).await
}

const fn is_unknown(error: &zbus::fdo::Error) -> bool {
    matches!(error, zbus::fdo::Error::UnknownProperty(_) | zbus::fdo::Error::InvalidArgs(_))
}
