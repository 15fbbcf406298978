//! Methods and properties of `org.projectatomic.rpmostree1`, bounded in time, and what their errors mean.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use ostler_core::os::backend::Backend;
use serde::Serialize;
use serde::de::DeserializeOwned;
use zbus::{Connection, OwnedObjectPath, OwnedVariant, Type, Variant, fdo};

use super::deployments::{Deployments, Fields};
use super::{CLIENT, Limits, verdict};
use crate::os::OsError;

/// The library would look in `/var/run`, which not every image links to `/run`, or wherever the environment says.
const SYSTEM_BUS: &str = "unix:path=/run/dbus/system_bus_socket";
const SERVICE: &str = "org.projectatomic.rpmostree1";
const SYSROOT_PATH: &str = "/org/projectatomic/rpmostree1/Sysroot";
const SYSROOT: &str = "org.projectatomic.rpmostree1.Sysroot";
const OS: &str = "org.projectatomic.rpmostree1.OS";
const BUS: &str = "org.freedesktop.DBus";
const BUS_PATH: &str = "/org/freedesktop/DBus";
const SYSTEMD: &str = "org.freedesktop.systemd1.";
/// So that a bus which gives up at once is not asked without end.
const BETWEEN_STARTS: Duration = Duration::from_secs(1);
pub(super) const TRANSACTION: &str = "org.projectatomic.rpmostree1.Transaction";
pub(super) const PROPERTIES: &str = "org.freedesktop.DBus.Properties";

/// Options and modifiers. Sorted, because the daemon joins requests whose parameters are equal in their order too.
pub(super) type Options = BTreeMap<&'static str, Variant<'static>>;

/// Why a transaction was not made.
pub(super) enum Denied {
    /// Somebody else's is under way, or somebody else has locked the deployments; in the daemon's words.
    Busy(String),
    /// Anything else.
    Error(OsError),
}

/// A connection to the bus for one operation.
pub(super) struct Session {
    bus: Connection,
    pub limits: Limits,
    pub action: &'static str,
}

impl Session {
    pub async fn open(address: Option<&str>, limits: Limits, action: &'static str) -> Result<Self, OsError> {
        let build = zbus::connection::Builder::address(address.unwrap_or(SYSTEM_BUS)).build();
        match tokio::time::timeout(limits.call, build).await {
            Ok(Ok(bus)) => Ok(Self { bus, limits, action }),
            Ok(Err(error)) => Err(unreachable(action, error)),
            Err(_) => Err(too_slow(action, limits.call)),
        }
    }

    /// Keeps the daemon from exiting while we work, and lets it say whose a transaction is. It is started for that; a bus
    /// that waits for it less long than its unit may take is asked again.
    pub async fn register(&self) -> Result<(), OsError> {
        let options: Options = [("id", Variant::from(CLIENT))].into();
        let body = (options,);
        let registered = async {
            loop {
                match self.call(SYSROOT_PATH, SYSROOT, "RegisterClient", &body).await {
                    Err(error) if is_starting(&error) => tokio::time::sleep(BETWEEN_STARTS).await,
                    answer => return answer,
                }
            }
        };
        match tokio::time::timeout(self.limits.start, registered).await {
            Ok(answer) => answer.map_err(|error| self.meaning(error)),
            Err(_) => Err(too_slow("start", self.limits.start)),
        }
    }

    /// Lets the daemon exit when it likes to. It does the same by itself once the connection is gone.
    pub async fn close(self) {
        let _: Result<(), OsError> = self.sysroot("UnregisterClient", &(Options::new(),)).await;
        let _ = tokio::time::timeout(self.limits.call, self.bus.close()).await;
    }

    /// Whether a bus name is that of this connection.
    pub fn is_me(&self, name: &str) -> bool {
        self.bus.unique_name().is_some_and(|mine| mine.as_str() == name)
    }

    pub async fn daemon_runs(&self) -> Result<bool, OsError> {
        self.has_owner(SERVICE).await
    }

    pub async fn has_owner(&self, name: &str) -> Result<bool, OsError> {
        self.bus_call("NameHasOwner", name).await
    }

    /// The process behind a bus name.
    pub async fn process(&self, name: &str) -> Option<u32> {
        self.bus_call("GetConnectionUnixProcessID", name).await.ok()
    }

    async fn bus_call<R: DeserializeOwned + Type>(&self, method: &'static str, name: &str) -> Result<R, OsError> {
        let body = (name,);
        self.bounded(async {
            self.bus.call_method(Some(BUS), BUS_PATH, Some(BUS), method, &body).await?.body().deserialize()
        })
        .await
    }

    /// Makes the daemon look at the disk, and at what was closed, before it answers anything else.
    pub async fn reload(&self) -> Result<(), OsError> {
        self.sysroot("Reload", &()).await
    }

    /// Method, caller and address of the transaction under way; the method is empty when there is none.
    pub async fn active(&self) -> Result<(String, String, String), OsError> {
        let (method, sender, _): (String, String, String) = self.property("ActiveTransaction").await?;
        let address: String = self.property("ActiveTransactionPath").await?;
        Ok((method, sender, address))
    }

    pub async fn deployments(&self) -> Result<Deployments, OsError> {
        let fields: Vec<Fields> = self.property("Deployments").await?;
        Deployments::of(fields).ok_or_else(not_booted)
    }

    /// The kernel arguments of the deployment that a transaction would start from, or of the booted one.
    pub async fn kernel_line(&self, pending: bool) -> Result<String, OsError> {
        let path = self.os_path().await?;
        let body = ("", pending);
        let fields: BTreeMap<String, OwnedVariant> =
            self.bounded(async { self.call(path.as_str(), OS, "GetDeploymentBootConfig", &body).await }).await?;
        match fields.get("options").map(|value| &**value) {
            Some(Variant::Str(line)) => Ok(line.to_string()),
            _ => Err(self.failed("it did not say which kernel arguments there are".to_owned())),
        }
    }

    /// Asks for a transaction; answers with the address at which it waits to be started.
    pub async fn request<B: Serialize + Type>(&self, method: &'static str, body: &B) -> Result<String, Denied> {
        let path = self.os_path().await.map_err(Denied::Error)?;
        let answer = self.call(path.as_str(), OS, method, body);
        match tokio::time::timeout(self.limits.call, answer).await {
            Ok(Ok(address)) => Ok(address),
            Ok(Err(error)) => match busy(&error) {
                Some(words) => Err(Denied::Busy(words)),
                None => Err(Denied::Error(self.meaning(error))),
            },
            Err(_) => Err(Denied::Error(too_slow(self.action, self.limits.call))),
        }
    }

    /// The state root that was booted.
    async fn os_path(&self) -> Result<OwnedObjectPath, OsError> {
        let path: OwnedObjectPath = self.property("Booted").await?;
        if path.as_str() == "/" { Err(not_booted()) } else { Ok(path) }
    }

    async fn sysroot<B, R>(&self, method: &'static str, body: &B) -> Result<R, OsError>
    where
        B: Serialize + Type,
        R: DeserializeOwned + Type,
    {
        self.bounded(self.call(SYSROOT_PATH, SYSROOT, method, body)).await
    }

    async fn property<T>(&self, name: &'static str) -> Result<T, OsError>
    where
        T: TryFrom<OwnedVariant, Error = zbus::Error>,
    {
        let body = (SYSROOT, name);
        let value: OwnedVariant = self.bounded(self.call(SYSROOT_PATH, PROPERTIES, "Get", &body)).await?;
        T::try_from(value).map_err(|error| self.meaning(error))
    }

    async fn call<B, R>(&self, path: &str, interface: &str, method: &'static str, body: &B) -> zbus::Result<R>
    where
        B: Serialize + Type,
        R: DeserializeOwned + Type,
    {
        self.bus.call_method(Some(SERVICE), path, Some(interface), method, body).await?.body().deserialize()
    }

    async fn bounded<T>(&self, answer: impl Future<Output = zbus::Result<T>>) -> Result<T, OsError> {
        match tokio::time::timeout(self.limits.call, answer).await {
            Ok(answer) => answer.map_err(|error| self.meaning(error)),
            Err(_) => Err(too_slow(self.action, self.limits.call)),
        }
    }

    fn meaning(&self, error: zbus::Error) -> OsError {
        match &error {
            zbus::Error::InputOutput(_) | zbus::Error::Handshake(_) | zbus::Error::Connection(..) => {
                unreachable(self.action, error)
            }
            zbus::Error::FDO(answer) => match answer.as_ref() {
                fdo::Error::NoReply(_) | fdo::Error::Disconnected(_) => self.vanished(Some(error)),
                fdo::Error::ServiceUnknown(_)
                | fdo::Error::NameHasNoOwner(_)
                | fdo::Error::NoServer(_)
                | fdo::Error::Timeout(_)
                | fdo::Error::TimedOut(_)
                | fdo::Error::SpawnChildExited(_)
                | fdo::Error::SpawnFailed(_)
                | fdo::Error::LimitsExceeded(_) => unreachable(self.action, error),
                _ => self.failed(error.to_string()),
            },
            // The bus passes on why systemd did not start it.
            zbus::Error::MethodError(name, ..) if name.as_str().starts_with(SYSTEMD) => unreachable(self.action, error),
            zbus::Error::MethodError(_, Some(text), _) => verdict::of(self.action, text),
            _ => self.failed(error.to_string()),
        }
    }

    pub fn failed(&self, message: String) -> OsError {
        OsError::Failed { backend: Backend::RpmOstree, action: self.action, message: verdict::last_part(&message) }
    }

    pub fn vanished(&self, source: Option<zbus::Error>) -> OsError {
        let source = source.map(|error| Box::new(error) as Box<dyn std::error::Error + Send + Sync>);
        OsError::Vanished { backend: Backend::RpmOstree, action: self.action, source }
    }
}

fn is_starting(error: &zbus::Error) -> bool {
    matches!(error, zbus::Error::FDO(answer) if matches!(**answer, fdo::Error::TimedOut(_) | fdo::Error::Timeout(_)))
}

/// What the daemon says when it is not our turn.
fn busy(error: &zbus::Error) -> Option<String> {
    let zbus::Error::MethodError(name, text, _) = error else { return None };
    let text = text.as_deref().unwrap_or_default();
    let ours_to_wait = name.as_str().ends_with(".UpdateInProgress") || text.contains("ransaction in progress");
    ours_to_wait.then(|| verdict::last_part(text))
}

fn unreachable(action: &'static str, error: zbus::Error) -> OsError {
    OsError::Unreachable { backend: Backend::RpmOstree, action, source: Box::new(error) }
}

pub(super) fn too_slow(action: &'static str, within: Duration) -> OsError {
    OsError::TooSlow { backend: Backend::RpmOstree, action, seconds: within.as_secs() }
}

fn not_booted() -> OsError {
    let what = "change a machine that was not booted from one of its deployments".to_owned();
    OsError::Unable { backend: Backend::RpmOstree, what }
}
