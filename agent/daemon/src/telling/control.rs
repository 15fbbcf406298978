//! `org.freedesktop.LogControl1` on the bus, so that `systemctl service-log-level` and `busctl` can make the running
//! daemon say more or less.
//!
//! Owns the interface. Who may use it is written in the bus policy beside the units.

use std::time::Duration;

use ostler_core::node::Notice;
use zbus::connection::Builder;
use zbus::{Connection, fdo, interface};

use super::journal::{Handle, IDENTIFIER};
use super::level::{Level, Target};
use crate::show::printable;

/// Our name on the bus.
pub const NAME: &str = "dev.ostler.Agent";
/// Where the interface always is.
const PATH: &str = "/org/freedesktop/LogControl1";
/// How long the bus may take to let us in.
const PATIENCE: Duration = Duration::from_secs(5);

struct Control(Handle);

#[interface(name = "org.freedesktop.LogControl1")]
impl Control {
    #[zbus(property(emits_changed_signal = "false"))]
    fn log_level(&self) -> String {
        self.0.level().name().to_owned()
    }

    #[zbus(property)]
    fn set_log_level(&mut self, name: String) -> fdo::Result<()> {
        let known = "emerg, alert, crit, err, warning, notice, info and debug";
        let level = Level::from_name(&name).ok_or_else(|| unknown("level", &name, known))?;
        self.0.set_level(level).map_err(|error| fdo::Error::Failed(error.to_string()))
    }

    #[zbus(property(emits_changed_signal = "false"))]
    fn log_target(&self) -> String {
        self.0.target().name().to_owned()
    }

    #[zbus(property)]
    fn set_log_target(&mut self, name: String) -> fdo::Result<()> {
        let target = Target::from_name(&name).ok_or_else(|| unknown("target", &name, "journal, console and null"))?;
        self.0.set_target(target).map_err(|error| fdo::Error::Failed(error.to_string()))
    }

    #[zbus(property(emits_changed_signal = "const"))]
    fn syslog_identifier(&self) -> String {
        IDENTIFIER.to_owned()
    }
}

fn unknown(what: &str, name: &str, known: &str) -> fdo::Error {
    let name: String = printable(name).chars().take(64).collect();
    fdo::Error::InvalidArgs(format!("\"{name}\" is no log {what} here; there are {known}"))
}

/// Offers the control on the system bus for as long as the connection is kept. Without a bus there is none.
pub async fn offer(handle: Handle) -> Result<Connection, Notice> {
    offer_on(Builder::system(), handle).await
}

async fn offer_on(bus: Builder<'_>, handle: Handle) -> Result<Connection, Notice> {
    let bus = bus.name(NAME).allow_name_replacements(false).replace_existing_names(false);
    let connection = bus.serve_at(PATH, Control(handle)).build();
    match tokio::time::timeout(PATIENCE, connection).await {
        Ok(Ok(connection)) => Ok(connection),
        Ok(Err(error)) => Err(Notice::ControlUnavailable { reason: error.to_string() }),
        Err(_) => Err(Notice::ControlUnavailable { reason: "the bus does not answer".to_owned() }),
    }
}

#[cfg(test)]
mod tests;
