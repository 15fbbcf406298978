//! Methods, properties and signals of `org.freedesktop.systemd1`, and what their errors mean.

use std::future::Future;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use zbus::proxy::{CacheProperties, Proxy, SignalStream};
use zbus::{Connection, OwnedObjectPath, Type, fdo};

use super::error::{BusError, UnitState};

/// The library would look in `/var/run`, which not every image links to `/run`, or wherever the environment says.
const SYSTEM_BUS: &str = "unix:path=/run/dbus/system_bus_socket";
pub(super) const SERVICE: &str = "org.freedesktop.systemd1";
pub(super) const MANAGER: &str = "org.freedesktop.systemd1.Manager";
pub(super) const MANAGER_PATH: &str = "/org/freedesktop/systemd1";
pub(super) const UNIT: &str = "org.freedesktop.systemd1.Unit";

pub(super) const NO_SUCH_UNIT: &str = "org.freedesktop.systemd1.NoSuchUnit";

/// Kind, path and target of each link that systemd changed.
pub(super) type Changed = Vec<(String, String, String)>;
/// Whether the units had an `[Install]` section, and the changes.
pub(super) type Enabled = (bool, Changed);

/// What is being tried, for the error if it fails, and for how long.
pub(super) struct Attempt<'a> {
    pub what: &'static str,
    pub units: &'a [&'a str],
    pub within: Duration,
}

impl Attempt<'_> {
    /// Waits for the answer, no longer than allowed.
    pub async fn bounded<T>(&self, answer: impl Future<Output = zbus::Result<T>>) -> Result<T, BusError> {
        match tokio::time::timeout(self.within, answer).await {
            Ok(answer) => answer.map_err(|error| self.failed(error)),
            Err(_) => Err(BusError::NoAnswer { what: self.what, units: self.listed(), within: self.within }),
        }
    }

    pub fn gone(&self, source: Option<zbus::Error>) -> BusError {
        BusError::Gone { what: self.what, units: self.listed(), source: source.map(Box::new) }
    }

    fn failed(&self, error: zbus::Error) -> BusError {
        let (what, units) = (self.what, self.listed());
        match &error {
            zbus::Error::InputOutput(_) | zbus::Error::Handshake(_) => self.gone(Some(error)),
            zbus::Error::FDO(answer) => match answer.as_ref() {
                // The object of a unit goes with it, even between two questions to it.
                fdo::Error::FileNotFound(_) | fdo::Error::UnknownObject(_) => BusError::NoSuchUnit { what, units },
                fdo::Error::ServiceUnknown(_)
                | fdo::Error::NameHasNoOwner(_)
                | fdo::Error::NoReply(_)
                | fdo::Error::NoServer(_)
                | fdo::Error::Disconnected(_)
                | fdo::Error::Timeout(_)
                | fdo::Error::TimedOut(_)
                | fdo::Error::LimitsExceeded(_) => self.gone(Some(error)),
                _ => BusError::Refused { what, units, source: Box::new(error) },
            },
            zbus::Error::MethodError(name, ..) if name.as_str() == NO_SUCH_UNIT => BusError::NoSuchUnit { what, units },
            _ => BusError::Refused { what, units, source: Box::new(error) },
        }
    }

    fn listed(&self) -> String {
        self.units.iter().map(|unit| format!(" {unit}")).collect()
    }
}

/// Connects and asks for signals.
pub(super) async fn connect(address: Option<&str>) -> zbus::Result<Connection> {
    let connection = zbus::connection::Builder::address(address.unwrap_or(SYSTEM_BUS)).build().await?;
    manager::<_, ()>(&connection, "Subscribe", &()).await?;
    Ok(connection)
}

/// Calls a method of the manager.
pub(super) async fn manager<B, R>(connection: &Connection, method: &'static str, body: &B) -> zbus::Result<R>
where
    B: Serialize + Type,
    R: DeserializeOwned + Type,
{
    let reply = proxy(connection, MANAGER_PATH, MANAGER).await?.call_method(method, body).await?;
    reply.body().deserialize()
}

/// Ends of jobs from now on.
pub(super) async fn job_ends(connection: &Connection) -> zbus::Result<SignalStream<'static>> {
    proxy(connection, MANAGER_PATH, MANAGER).await?.receive_signal("JobRemoved").await
}

/// State of the whole machine.
pub(super) async fn system_state(connection: &Connection) -> zbus::Result<String> {
    proxy(connection, MANAGER_PATH, MANAGER).await?.get_property("SystemState").await
}

/// States of a unit, which is loaded if it is not.
pub(super) async fn unit_state(connection: &Connection, unit: &str) -> zbus::Result<UnitState> {
    let path: OwnedObjectPath = manager(connection, "LoadUnit", &(unit,)).await?;
    let general = proxy(connection, path.as_str(), UNIT).await?;
    let (active, sub) = (general.get_property("ActiveState").await?, general.get_property("SubState").await?);
    // Only some types of unit have a result.
    let result = match interface(unit) {
        Some(name) => proxy(connection, path.as_str(), &name).await?.get_property("Result").await.unwrap_or_default(),
        None => String::new(),
    };
    Ok(UnitState { active, sub, result })
}

/// `LoadState` and `ActiveState` of a unit, which is loaded if it is not.
pub(super) async fn load_state(connection: &Connection, unit: &str) -> zbus::Result<(String, String)> {
    let path: OwnedObjectPath = manager(connection, "LoadUnit", &(unit,)).await?;
    let general = proxy(connection, path.as_str(), UNIT).await?;
    Ok((general.get_property("LoadState").await?, general.get_property("ActiveState").await?))
}

/// The interface of a unit's own type.
fn interface(unit: &str) -> Option<String> {
    let mut kind = unit.rsplit_once('.')?.1.chars();
    let first = kind.next()?.to_ascii_uppercase();
    Some(format!("{SERVICE}.{first}{}", kind.as_str()))
}

/// An object of systemd's.
pub(super) async fn proxy<'a>(connection: &Connection, path: &'a str, interface: &'a str) -> zbus::Result<Proxy<'a>> {
    proxy_of(connection, SERVICE, path, interface).await
}

/// An object of anybody's.
pub(super) async fn proxy_of<'a>(
    connection: &Connection,
    service: &'a str,
    path: &'a str,
    interface: &'a str,
) -> zbus::Result<Proxy<'a>> {
    zbus::proxy::Builder::new(connection)
        .destination(service)
        .path(path)
        .interface(interface)
        .cache_properties(CacheProperties::No)
        .build()
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_type_has_an_interface_of_its_own() {
        assert_eq!(interface("a.service").as_deref(), Some("org.freedesktop.systemd1.Service"));
        assert_eq!(interface("a"), None);
    }
}
