//! A real registry on this machine's loopback network, which guests reach through QEMU. Without TLS and without a password: both
//! are proven elsewhere, and their clocks and files would be in the way here.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::json;

/// Debian's and Fedora's name for the same program.
const SERVERS: [&str; 2] = ["/usr/bin/docker-registry", "/usr/bin/registry"];
const PATIENCE: Duration = Duration::from_secs(60);

/// The registry. Ends with whoever has it.
pub struct Registry {
    storage: PathBuf,
    port: u16,
    work: tempfile::TempDir,
    process: Option<Child>,
}

impl Registry {
    /// Serves what is in a directory.
    pub fn start(storage: &Path) -> Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let work = tempfile::tempdir()?;
        let mut registry = Self { storage: storage.to_owned(), port, work, process: None };
        registry.resume()?;
        Ok(registry)
    }

    /// Where this machine has it.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Its port there.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// From now on it refuses connections.
    pub fn stop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// Serves again.
    pub fn resume(&mut self) -> Result<()> {
        let server = SERVERS.into_iter().find(|path| Path::new(path).exists()).context("there is no registry")?;
        let [config, log] = ["config.yml", "log"].map(|name| self.work.path().join(name));
        // JSON is YAML.
        let settings = json!({
            "version": "0.1",
            "log": {"level": "info"},
            "storage": {"filesystem": {"rootdirectory": self.storage}},
            "http": {"addr": self.address(), "secret": "test"},
        });
        fs::write(&config, settings.to_string())?;
        let output = File::create(&log)?;
        // It ends with the thread that has started it, however that ends.
        let mut serve = Command::new("setpriv");
        serve
            .args(["--pdeathsig", "KILL", "--", server, "serve"])
            .arg(&config)
            .stdout(output.try_clone()?)
            .stderr(output);
        self.process = Some(serve.spawn().context("cannot start the registry")?);
        let start = Instant::now();
        while !fs::read_to_string(&log)?.contains("listening on ") {
            if start.elapsed() > PATIENCE {
                bail!("the registry does not listen: {}", fs::read_to_string(&log)?);
            }
            sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.stop();
    }
}
