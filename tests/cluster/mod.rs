//! A cluster to test against: a real API server with Ostler's kinds, and a double of the controller nodes talk to.
//!
//! `cargo xtask e2e` provides the programs and runs the tests; without it they are skipped, loudly.
#![allow(dead_code, reason = "every proof takes what it needs of it")]

pub mod audit;
mod authority;
pub mod controller;
pub mod crds;
pub mod drains;
mod keeper;
pub mod manifests;
pub mod proxy;
pub mod server;

use std::env;
use std::future::Future;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long something may take to happen on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// What a cluster consists of.
#[derive(Clone, Debug)]
pub struct Programs {
    /// `kube-apiserver`.
    pub server: PathBuf,
    /// `etcd`.
    pub store: PathBuf,
}

impl Programs {
    /// Those that the environment names.
    pub fn find() -> Result<Self, String> {
        let named = |name: &str| {
            let path = env::var_os(name).map(PathBuf::from).ok_or_else(|| format!("{name} is not set"))?;
            if path.exists() { Ok(path) } else { Err(format!("{name}={} does not exist", path.display())) }
        };
        Ok(Self { server: named("KUBE_APISERVER")?, store: named("ETCD")? })
    }
}

/// What could be had; nothing, loudly, where it could not. `OSTLER_REQUIRE_KUBE=1` makes that a failure.
pub fn or_skip<T>(made: Result<T, String>) -> Option<T> {
    match made {
        Ok(made) => Some(made),
        Err(reason) if env::var_os("OSTLER_REQUIRE_KUBE").is_some_and(|value| value == "1") => {
            panic!("OSTLER_REQUIRE_KUBE=1, but there is no cluster to test with: {reason}")
        }
        Err(reason) => {
            loudly(&format!("SKIPPED: the tests with a cluster: {reason}; run `cargo xtask e2e`"));
            None
        }
    }
}

/// Written to the stream itself: the test harness would swallow what the print macros write.
pub fn loudly(line: &str) {
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Asks again until the answer is yes, and fails when it never is.
pub async fn eventually<F: Future<Output = bool>>(what: &str, question: impl Fn() -> F) {
    let start = Instant::now();
    while !question().await {
        assert!(start.elapsed() < PATIENCE, "never: {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
