//! `org.projectatomic.rpmostree1.Sysroot`

use std::sync::Arc;

use zbus::message::Header;
use zbus::object_server::SignalEmitter;
use zbus::{Connection, ObjectPath, OwnedObjectPath};

use super::SYSROOT_PATH;
use super::clients;
use super::daemon::{Daemon, os_path};
use super::dict::{self, Dict};
use super::errors::BusError;

/// The sysroot on the bus.
pub struct SysrootObject {
    daemon: Arc<Daemon>,
}

impl SysrootObject {
    /// The sysroot of `daemon`.
    pub fn new(daemon: Arc<Daemon>) -> Self {
        Self { daemon }
    }

    /// Tells that the deployments changed.
    pub async fn tell_deployments(&self, bus: &Connection) -> zbus::Result<()> {
        let emitter = SignalEmitter::new(bus, SYSROOT_PATH)?;
        self.booted_changed(&emitter).await?;
        self.deployments_changed(&emitter).await
    }

    /// Tells that a transaction began or ended.
    pub async fn tell_transaction(&self, bus: &Connection) -> zbus::Result<()> {
        let emitter = SignalEmitter::new(bus, SYSROOT_PATH)?;
        self.active_transaction_changed(&emitter).await?;
        self.active_transaction_path_changed(&emitter).await
    }

    fn booted_path(&self) -> OwnedObjectPath {
        let path = self.daemon.view().booted().map(|booted| os_path(&booted.osname));
        object_path(&path.unwrap_or_else(|| "/".to_owned()))
    }
}

#[zbus::interface(name = "org.projectatomic.rpmostree1.Sysroot")]
impl SysrootObject {
    #[zbus(property)]
    async fn booted(&self) -> OwnedObjectPath {
        self.booted_path()
    }

    #[zbus(property)]
    async fn path(&self) -> String {
        self.daemon.options.sysroot.display().to_string()
    }

    #[zbus(property)]
    async fn active_transaction(&self) -> (String, String, String) {
        let call = self.daemon.transaction().map(|transaction| transaction.call.clone());
        call.map(|call| (call.method, call.sender, call.path)).unwrap_or_default()
    }

    #[zbus(property)]
    async fn active_transaction_path(&self) -> String {
        self.daemon.transaction().map(|transaction| transaction.address.clone()).unwrap_or_default()
    }

    #[zbus(property)]
    async fn automatic_update_policy(&self) -> String {
        "none".to_owned()
    }

    #[zbus(property)]
    async fn deployments(&self) -> Vec<Dict> {
        self.daemon.touch();
        self.daemon.view().deployments.iter().map(dict::deployment).collect()
    }

    async fn register_client(
        &self,
        options: Dict,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] bus: &Connection,
    ) -> Result<(), BusError> {
        self.daemon.touch();
        let sender = sender(&header)?;
        let id = options.get("id").and_then(|id| <&str>::try_from(id).ok());
        let description = clients::describe(bus, &sender, id).await;
        self.daemon.add_client(&sender, description);
        Ok(())
    }

    async fn unregister_client(&self, options: Dict, #[zbus(header)] header: Header<'_>) -> Result<(), BusError> {
        // No options are defined.
        drop(options);
        self.daemon.touch();
        self.daemon.forget_client(&sender(&header)?);
        Ok(())
    }

    async fn reload(&self) -> Result<(), BusError> {
        self.daemon.touch();
        self.daemon.refresh().await.map_err(|error| BusError::io(format!("Handling reload: {error:#}")))
    }

    async fn reload_config(&self) -> Result<(), BusError> {
        self.daemon.touch();
        self.daemon.refresh().await.map_err(|error| BusError::io(format!("Handling config reload: {error:#}")))
    }

    #[zbus(name = "GetOS", out_args("object_path"))]
    async fn get_os(&self, name: &str) -> Result<OwnedObjectPath, BusError> {
        self.daemon.touch();
        if name.is_empty() {
            return Ok(self.booted_path());
        }
        if self.daemon.view().of_os(name).next().is_none() {
            return Err(BusError::not_found(format!("OS name \"{name}\" not found")));
        }
        Ok(object_path(&os_path(name)))
    }
}

/// The unique name of the caller.
pub fn sender(header: &Header<'_>) -> Result<String, BusError> {
    let sender = header.sender().ok_or_else(|| BusError::failed("the call has no sender"))?;
    Ok(sender.to_string())
}

fn object_path(path: &str) -> OwnedObjectPath {
    ObjectPath::try_from(path.to_owned()).unwrap_or_else(|_| ObjectPath::from_static_str_unchecked("/")).into()
}
