//! What the service manager is told: that we are ready, what we do, that we are alive.
//!
//! `alive` is for the loop to call, and for nobody else: a timer of its own would keep a loop alive that hangs. A long
//! change does not stop the loop, which asks the applier in a blocking task and turns at [`Manager::watchdog_interval`].
//!
//! The messages are worded by `sd-notify`; sending is done here, because that crate takes the socket from the environment
//! at every call, which tests cannot change safely, and does not know abstract sockets.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use sd_notify::NotifyState;

use crate::show::printable;

/// How long a message may wait for a manager that does not read.
const PATIENCE: Duration = Duration::from_secs(1);
/// Longest status, in characters: `systemctl status` shows one line.
const MAX_STATUS: usize = 256;

/// The service manager, if there is one.
#[derive(Debug, Default)]
pub struct Manager {
    socket: Option<UnixDatagram>,
    watchdog: Option<Duration>,
}

impl Manager {
    /// The manager that started this process. One that cannot be reached is as none.
    pub fn from_environment() -> Self {
        let address = std::env::var_os("NOTIFY_SOCKET");
        let socket = address.and_then(|address| match connect(&address) {
            Ok(socket) => Some(socket),
            Err(error) => {
                tracing::debug!("the service manager cannot be told anything, ignoring: {error}");
                None
            }
        });
        Self { socket, watchdog: sd_notify::watchdog_enabled() }
    }

    /// One that reads here.
    #[cfg(test)]
    pub const fn reading(socket: UnixDatagram) -> Self {
        Self { socket: Some(socket), watchdog: None }
    }

    /// We can be relied upon.
    pub fn ready(&self) {
        self.send(&[NotifyState::Ready]);
    }

    /// What we do, in one line.
    pub fn status(&self, text: &str) {
        let text: String = printable(text).chars().take(MAX_STATUS).collect();
        self.send(&[NotifyState::Status(&text)]);
    }

    /// We are about to end.
    pub fn stopping(&self) {
        self.send(&[NotifyState::Stopping]);
    }

    /// Starting or ending takes so much longer from now on; 71 minutes at most, so a longer wait is extended again.
    pub fn extend(&self, by: Duration) {
        self.send(&[NotifyState::ExtendTimeoutUsec(u32::try_from(by.as_micros()).unwrap_or(u32::MAX))]);
    }

    /// How often [`Self::alive`] is due, if it is at all.
    pub fn watchdog_interval(&self) -> Option<Duration> {
        self.watchdog.map(|limit| limit / 2)
    }

    /// The loop turns.
    pub fn alive(&self) {
        if self.watchdog.is_some() {
            self.send(&[NotifyState::Watchdog]);
        }
    }

    fn send(&self, states: &[NotifyState<'_>]) {
        let Some(socket) = &self.socket else { return };
        let mut message = String::new();
        for state in states {
            let _ = writeln!(message, "{state}");
        }
        if let Err(error) = socket.send(message.as_bytes()) {
            tracing::debug!("the service manager was not told, ignoring: {error}");
        }
    }
}

fn connect(address: &OsStr) -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    match address.as_bytes().strip_prefix(b"@") {
        Some(name) => socket.connect_addr(&SocketAddr::from_abstract_name(name)?)?,
        None => socket.connect(address)?,
    }
    socket.set_write_timeout(Some(PATIENCE))?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(socket: &UnixDatagram) -> String {
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut buffer = [0; 4096];
        let length = socket.recv(&mut buffer).unwrap();
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    }

    fn told(watchdog: Option<Duration>, act: impl FnOnce(&Manager)) -> UnixDatagram {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        act(&Manager { socket: Some(connect(path.as_os_str()).unwrap()), watchdog });
        socket
    }

    #[test]
    fn every_message_is_in_the_managers_words() {
        let socket = told(Some(Duration::from_secs(60)), |manager| {
            manager.ready();
            manager.status("draining\nREADY=1");
            manager.extend(Duration::from_secs(90));
            manager.extend(Duration::from_secs(7200));
            manager.alive();
            manager.stopping();
        });
        for expected in [
            "READY=1\n",
            "STATUS=draining\\u{a}READY=1\n",
            "EXTEND_TIMEOUT_USEC=90000000\n",
            "EXTEND_TIMEOUT_USEC=4294967295\n",
            "WATCHDOG=1\n",
            "STOPPING=1\n",
        ] {
            assert_eq!(read(&socket), expected);
        }
    }

    #[test]
    fn a_status_has_a_limit() {
        let socket = told(None, |manager| manager.status(&"ö".repeat(10_000)));
        assert_eq!(read(&socket), format!("STATUS={}\n", "ö".repeat(MAX_STATUS)));
    }

    #[test]
    fn an_abstract_socket_will_do() {
        let name = format!("ostler-test-{}", std::process::id());
        let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        Manager { socket: Some(connect(OsStr::new(&format!("@{name}"))).unwrap()), watchdog: None }.ready();
        assert_eq!(read(&socket), "READY=1\n");
    }

    #[test]
    fn nothing_is_sent_where_nobody_asked_and_a_manager_that_is_gone_harms_nobody() {
        let nobody = Manager::default();
        nobody.ready();
        nobody.alive();
        assert_eq!(nobody.watchdog_interval(), None);
        let socket = told(None, |manager| {
            manager.alive();
            manager.ready();
        });
        assert_eq!(read(&socket), "READY=1\n", "without a watchdog nobody waits for signs of life");
        let (left, right) = UnixDatagram::pair().unwrap();
        drop(right);
        Manager { socket: Some(left), watchdog: Some(Duration::from_secs(1)) }.alive();
    }

    #[test]
    fn signs_of_life_are_due_twice_as_often_as_the_manager_waits_for_them() {
        let manager = Manager { socket: None, watchdog: Some(Duration::from_secs(30)) };
        assert_eq!(manager.watchdog_interval(), Some(Duration::from_secs(15)));
    }
}
