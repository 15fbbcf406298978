//! Services that are made over the bus and never have a file: how one is started, seen and waited for.

use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::{Either, select};
use zbus::{Connection, OwnedObjectPath, Variant};

use super::error::BusError;
use super::wire::{self, Attempt};
use super::{Bus, job};

const PROPERTIES: &str = "org.freedesktop.DBus.Properties";
const SERVICE_UNIT: &str = "org.freedesktop.systemd1.Service";
/// How long a change may go unnoticed when its signal was lost.
const GLANCE: Duration = Duration::from_secs(5);
/// How long systemd may take to forget a unit that has ended.
const FORGETTING: Duration = Duration::from_millis(50);

/// A setting of a unit, by its name on the bus.
pub type Property<'p> = (&'static str, Variant<'p>);

/// Path, arguments, whether a failure counts, four times, and identifier, code and status of the process.
type Executed = (String, Vec<String>, bool, u64, u64, u64, u64, u32, i32, i32);

/// A service as systemd has it in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Service {
    /// Such as `active` or `failed`.
    pub active: String,
    /// Such as `running` or `exited`.
    pub sub: String,
    /// Why it ended, such as `success` or `exit-code`.
    pub result: String,
    /// What it runs, program first, as systemd writes it; empty when it is not known.
    pub argv: Vec<String>,
    /// How its process ended: 1 by itself, 2 or 3 by a signal, 0 not yet.
    pub code: i32,
    /// With which exit status or signal.
    pub status: i32,
}

impl Service {
    /// Whether its process has ended, well or not.
    pub fn has_ended(&self) -> bool {
        matches!((self.active.as_str(), self.sub.as_str()), ("failed" | "inactive", _) | ("active", "exited"))
    }

    /// Whether it is this command, but for backslashes and repeated dollars. When systemd reads its units again, 252 adds
    /// backslashes to the command line, and 262 doubles every dollar.
    pub fn runs(&self, argv: &[String]) -> bool {
        let plain = |argument: &String| plain(argument);
        self.argv.iter().map(plain).eq(argv.iter().map(plain))
    }
}

fn plain(argument: &str) -> String {
    let mut text = argument.replace('\\', "");
    while text.contains("$$") {
        text = text.replace("$$", "$");
    }
    text
}

/// A command line in which systemd expands nothing. There is a setting to that effect, `ExecStartEx`, but systemd 252
/// forgets what was set with it when it reads its units again.
pub(crate) fn literal(argv: &[String]) -> Vec<String> {
    argv.iter().map(|argument| argument.replace('$', "$$")).collect()
}

impl Bus {
    /// Makes a service and waits until it is up; one of that name must not be there.
    pub fn start_transient(&self, unit: &str, properties: &[Property<'_>]) -> Result<(), BusError> {
        let auxiliary: [(&str, &[Property<'_>]); 0] = [];
        let body = (unit, "fail", properties, &auxiliary[..]);
        let job = job::Job { unit, verb: "start", method: "StartTransientUnit" };
        self.runtime.block_on(job::run_with(&self.connection, self.limits, job, &body))
    }

    /// How a service stands; `None` when systemd has none of that name in memory.
    pub fn service(&self, unit: &str) -> Result<Option<Service>, BusError> {
        let units = [unit];
        let attempt = self.attempt("ask for the state", &units);
        known(self.runtime.block_on(attempt.bounded(look(&self.connection, unit))))
    }

    /// Waits until the process of a service has ended; `None` when it is gone. Tells how it stands when time is up.
    pub fn wait_for_end(&self, unit: &str, within: Duration) -> Result<Option<Service>, BusError> {
        let units = [unit];
        let attempt = self.attempt("wait for the end of", &units);
        known(self.runtime.block_on(async {
            match tokio::time::timeout(within, ended(&self.connection, &attempt, unit)).await {
                Ok(service) => service,
                Err(_) => attempt.bounded(look(&self.connection, unit)).await,
            }
        }))
    }

    /// Stops and forgets a service, so that its name is free again.
    pub fn release(&self, unit: &str) -> Result<(), BusError> {
        if self.service(unit)?.is_none() {
            return Ok(());
        }
        self.stop_unit(unit)?;
        self.reset_failed(unit)?;
        let units = [unit];
        let attempt = self.attempt("forget", &units);
        self.runtime.block_on(attempt.bounded(forgotten(&self.connection, unit)))
    }
}

fn known<T>(answer: Result<T, BusError>) -> Result<Option<T>, BusError> {
    match answer {
        Err(BusError::NoSuchUnit { .. }) => Ok(None),
        answer => answer.map(Some),
    }
}

async fn look(connection: &Connection, unit: &str) -> zbus::Result<Service> {
    let path: OwnedObjectPath = wire::manager(connection, "GetUnit", &(unit,)).await?;
    let general = wire::proxy(connection, path.as_str(), wire::UNIT).await?;
    let (active, sub) = (general.get_property("ActiveState").await?, general.get_property("SubState").await?);
    let own = wire::proxy(connection, path.as_str(), SERVICE_UNIT).await?;
    let executed: Vec<Executed> = own.get_property("ExecStart").await?;
    Ok(Service {
        active,
        sub,
        result: own.get_property("Result").await?,
        argv: executed.into_iter().next().map(|command| command.1).unwrap_or_default(),
        code: own.get_property("ExecMainCode").await?,
        status: own.get_property("ExecMainStatus").await?,
    })
}

async fn ended(connection: &Connection, attempt: &Attempt<'_>, unit: &str) -> Result<Service, BusError> {
    let path: OwnedObjectPath = attempt.bounded(wire::manager(connection, "GetUnit", &(unit,))).await?;
    let properties = attempt.bounded(wire::proxy(connection, path.as_str(), PROPERTIES)).await?;
    // Listening before looking: what changes in between is seen.
    let mut changes = attempt.bounded(properties.receive_signal("PropertiesChanged")).await?;
    loop {
        let service = attempt.bounded(look(connection, unit)).await?;
        if service.has_ended() {
            return Ok(service);
        }
        let change = tokio::time::timeout(GLANCE, changes.next());
        if let Either::Right(_) = select(pin!(change), pin!(connection.closed())).await {
            return Err(attempt.gone(None));
        }
    }
}

/// Returns once systemd does not know the unit any more, or knows it only because others name it: it clears away what has
/// ended when it has nothing else to do.
async fn forgotten(connection: &Connection, unit: &str) -> zbus::Result<()> {
    loop {
        let path: OwnedObjectPath = match wire::manager(connection, "GetUnit", &(unit,)).await {
            Ok(path) => path,
            Err(zbus::Error::MethodError(name, ..)) if name.as_str() == wire::NO_SUCH_UNIT => return Ok(()),
            Err(error) => return Err(error),
        };
        let general = wire::proxy(connection, path.as_str(), wire::UNIT).await?;
        if general.get_property::<String>("LoadState").await? == "not-found" {
            return Ok(());
        }
        tokio::time::sleep(FORGETTING).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_recognised_in_what_systemd_makes_of_it() {
        let words = |argv: &[&str]| argv.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        for (has, argv, expected) in [
            (&["a", "b"][..], &["a", "b"][..], true),
            (&["a", "$$x"], &["a", "$x"], true),
            (&["a", "\\$\\$x\\;"], &["a", "$x;"], true),
            (&["a", "$$$$x"], &["a", "$x"], true),
            (&["a", "x"], &["a", "$x"], false),
            (&["a"], &["a", "b"], false),
            (&[], &["a"], false),
        ] {
            let service = Service { argv: words(has), ..Service::default() };
            assert_eq!(service.runs(&words(argv)), expected, "{has:?}");
        }
    }

    #[test]
    fn a_service_has_ended_when_no_process_of_its_is_left() {
        for (active, sub, expected) in [
            ("activating", "start", false),
            ("active", "running", false),
            ("active", "exited", true),
            ("deactivating", "stop-sigterm", false),
            ("failed", "failed", true),
            ("inactive", "dead", true),
        ] {
            let service = Service { active: active.to_owned(), sub: sub.to_owned(), ..Service::default() };
            assert_eq!(service.has_ended(), expected, "{active} {sub}");
        }
    }
}
