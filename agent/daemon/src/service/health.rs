//! What proves a machine after a restart: its boot, its kubelet, and how long it has run.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::time::ClockId;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The target that every check of a boot comes before.
const BOOT_COMPLETE: &str = "boot-complete.target";
/// How long the kubelet or systemd may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// More than any answer of the kubelet's.
const MAX_ANSWER: u64 = 4096;

/// What to look at.
#[derive(Clone, Debug)]
pub struct Health {
    /// Where the kubelet says how it is; nothing where it is not asked.
    pub kubelet: Option<Endpoint>,
    /// Whether systemd is asked.
    pub systemd: bool,
}

/// An address and a path of plain HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Host and port.
    pub authority: String,
    /// Path.
    pub path: String,
}

impl std::str::FromStr for Endpoint {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let rest = text.strip_prefix("http://").context("give an address that begins with http://")?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if !authority.contains(':') || authority.chars().any(|letter| letter.is_whitespace() || letter.is_control()) {
            bail!("give a host and a port, as in http://localhost:10248/healthz");
        }
        if path.chars().any(|letter| letter.is_whitespace() || letter.is_control()) {
            bail!("the path must not contain spaces");
        }
        Ok(Self { authority: authority.to_owned(), path: format!("/{path}") })
    }
}

impl Health {
    /// Whether the kubelet says that it is well.
    pub async fn kubelet(&self) -> Option<bool> {
        let endpoint = self.kubelet.as_ref()?;
        Some(timeout(PATIENCE, is_well(endpoint)).await.is_ok_and(|answer| answer.unwrap_or(false)))
    }

    /// Whether everything that belongs to booting has succeeded.
    pub async fn boot_complete(&self) -> Option<bool> {
        if !self.systemd {
            return None;
        }
        // A bus that does not answer is a machine that has not booted yet.
        Some(timeout(PATIENCE, is_active(BOOT_COMPLETE)).await.is_ok_and(|answer| answer.unwrap_or(false)))
    }

    /// How long ago this boot began. The kernel's clocks do not tell of a container, nor of a restart of user space alone;
    /// they do for a machine whose systemd does not answer, which must not have for ever.
    pub async fn since_boot(&self) -> Option<Duration> {
        if !self.systemd {
            return None;
        }
        let answer = timeout(PATIENCE, since_start()).await;
        Some(answer.ok().and_then(Result::ok).unwrap_or_else(|| elapsed(ClockId::CLOCK_BOOTTIME)))
    }
}

/// One question, one answer: the kubelet's probe is plain HTTP on the loopback device.
async fn is_well(endpoint: &Endpoint) -> Result<bool> {
    let mut stream = TcpStream::connect(&endpoint.authority).await?;
    let Endpoint { authority, path } = endpoint;
    stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: {authority}\r\n\r\n").as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(MAX_ANSWER).read_to_end(&mut answer).await?;
    let answer = String::from_utf8_lossy(&answer);
    let said = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body.trim());
    Ok(answer.split_ascii_whitespace().nth(1) == Some("200") && said == "ok")
}

const SYSTEMD: &str = "org.freedesktop.systemd1";

async fn manager(bus: &zbus::Connection) -> zbus::Result<zbus::Proxy<'static>> {
    zbus::Proxy::new(bus, SYSTEMD, "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager").await
}

async fn is_active(unit: &str) -> Result<bool> {
    let bus = zbus::Connection::system().await?;
    let path: zbus::OwnedObjectPath = manager(&bus).await?.call("LoadUnit", &(unit)).await?;
    let unit = zbus::Proxy::new(&bus, SYSTEMD, path, "org.freedesktop.systemd1.Unit").await?;
    let state: String = unit.get_property("ActiveState").await?;
    Ok(state == "active")
}

/// How long systemd has run user space.
async fn since_start() -> Result<Duration> {
    let bus = zbus::Connection::system().await?;
    let started: u64 = manager(&bus).await?.get_property("UserspaceTimestampMonotonic").await?;
    Ok(elapsed(ClockId::CLOCK_MONOTONIC).saturating_sub(Duration::from_micros(started)))
}

/// How far a clock is from its beginning.
fn elapsed(clock: ClockId) -> Duration {
    nix::time::clock_gettime(clock).map_or(Duration::ZERO, Duration::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_plain_http_with_a_port() {
        let endpoint: Endpoint = "http://localhost:10248/healthz".parse().unwrap();
        assert_eq!(endpoint, Endpoint { authority: "localhost:10248".to_owned(), path: "/healthz".to_owned() });
        for bad in ["https://localhost:1/", "localhost:1", "http://localhost/x", "http://a:1/b c", "http://a b:1/"] {
            assert!(bad.parse::<Endpoint>().is_err(), "{bad}");
        }
    }

    #[tokio::test]
    async fn a_kubelet_is_well_when_it_says_so() {
        for (answer, expected) in [
            ("HTTP/1.1 200 OK\r\n\r\nok", true),
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n", true),
            ("HTTP/1.1 200 OK\r\n\r\nfailed", false),
            ("HTTP/1.1 200 OK\r\n\r\n", false),
            ("HTTP/1.1 500 Oh\r\n\r\nok", false),
            ("", false),
            ("garbage", false),
        ] {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let authority = listener.local_addr().unwrap().to_string();
            let served = tokio::spawn(async move {
                let (mut peer, _) = listener.accept().await.unwrap();
                let mut asked = [0; 512];
                let _ = peer.read(&mut asked).await.unwrap();
                peer.write_all(answer.as_bytes()).await.unwrap();
            });
            let kubelet = Some(Endpoint { authority, path: "/healthz".to_owned() });
            let health = Health { kubelet, systemd: false };
            assert_eq!(health.kubelet().await, Some(expected), "{answer}");
            served.await.unwrap();
        }
        let nobody = Health { kubelet: Some("http://127.0.0.1:1/healthz".parse().unwrap()), systemd: false };
        assert_eq!((nobody.kubelet().await, nobody.boot_complete().await), (Some(false), None));
        assert_eq!(nobody.since_boot().await, None);
        assert_eq!(Health { kubelet: None, systemd: false }.kubelet().await, None);
    }
}
