//! The clients that registered: who keeps the daemon up, and how transactions name their initiator.

use std::sync::Arc;

use futures_util::StreamExt;
use zbus::Connection;
use zbus::fdo::DBusProxy;
use zbus::names::BusName;

use super::daemon::Daemon;

/// The description of a client, in the form of rpm-ostree.
pub async fn describe(bus: &Connection, sender: &str, id: Option<&str>) -> String {
    let (uid, unit) = identity(bus, sender).await.unwrap_or((u32::MAX, None));
    let id = id.map(|id| format!("id:{id} ")).unwrap_or_default();
    let name = sender.trim_start_matches(':');
    format!("client({id}dbus:{name} unit:{} uid:{uid})", unit.as_deref().unwrap_or("unknown"))
}

/// Forgets clients when they leave the bus.
pub async fn watch(daemon: Arc<Daemon>, bus: Connection) {
    let Ok(proxy) = DBusProxy::new(&bus).await else { return };
    let Ok(mut changes) = proxy.receive_name_owner_changed().await else { return };
    while let Some(change) = changes.next().await {
        if let Ok(change) = change.args()
            && change.new_owner().as_ref().is_none()
        {
            daemon.forget_client(change.name().as_str());
        }
    }
}

/// Resolves when `sender` has left the bus.
pub async fn vanished(bus: &Connection, sender: &str) -> zbus::Result<()> {
    let proxy = DBusProxy::new(bus).await?;
    let mut changes = proxy.receive_name_owner_changed_with_args(&[(0, sender)]).await?;
    // It may have left before we listened.
    if !proxy.name_has_owner(BusName::try_from(sender)?).await? {
        return Ok(());
    }
    while let Some(change) = changes.next().await {
        if change.args()?.new_owner().as_ref().is_none() {
            return Ok(());
        }
    }
    Ok(())
}

async fn identity(bus: &Connection, sender: &str) -> zbus::Result<(u32, Option<String>)> {
    let proxy = DBusProxy::new(bus).await?;
    let uid = proxy.get_connection_unix_user(BusName::try_from(sender)?).await?;
    let pid = proxy.get_connection_unix_process_id(BusName::try_from(sender)?).await?;
    let cgroups = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let unit = cgroups.lines().filter_map(unit_of).next();
    Ok((uid, unit))
}

fn unit_of(line: &str) -> Option<String> {
    let last = line.rsplit('/').next()?;
    [".service", ".scope"].iter().any(|suffix| last.ends_with(suffix)).then(|| last.to_owned())
}
