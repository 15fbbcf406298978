//! Sockets of programs that have just been started.

use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

const PATIENCE: Duration = Duration::from_secs(60);

/// Connects to a socket; one that nobody listens at yet is waited for.
pub fn connect(path: &Path) -> Result<UnixStream> {
    let start = Instant::now();
    loop {
        match UnixStream::connect(path) {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused && start.elapsed() < PATIENCE => {
                sleep(Duration::from_millis(20));
            }
            result => return result.with_context(|| format!("cannot connect to {}", path.display())),
        }
    }
}
