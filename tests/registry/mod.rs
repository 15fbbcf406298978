//! A real registry on the loopback network of a site: TLS by a certification authority of its own, and a password.
//!
//! A site has as many as a test wants, say one and its mirror, and each can be stopped for as long as it should be down.
//! Clients are machines on that site, or commands of it: nobody else can reach it.
#![allow(dead_code, reason = "every proof takes what it needs of it")]

mod image;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::booted::{Booted, Site, need, or_skip, succeed};

#[allow(unused_imports, reason = "a measurement of one image derives none")]
pub use image::oci_layout;

/// The one user.
pub const USER: &str = "puller";

const PROGRAMS: &[&str] = &["/usr/bin/htpasswd", "/usr/bin/openssl", "/usr/bin/skopeo"];
/// Debian's and Fedora's name for the same program.
const SERVERS: &[&str] = &["/usr/bin/docker-registry", "/usr/bin/registry"];
const PATIENCE: Duration = Duration::from_secs(180);
/// Keeps its cache away from this machine's `/var/lib/containers`.
const SKOPEO: &str = "mount -t tmpfs cache /var/lib && exec skopeo \"$@\"";

/// Registries of one process differ by this in their ports, although those of two sites would not have to.
static STARTED: AtomicU32 = AtomicU32::new(0);

/// The registry. Ends with the test, whatever becomes of that.
pub struct Registry {
    site: Site,
    host: String,
    directory: PathBuf,
    process: Option<Child>,
}

impl Registry {
    /// An empty registry; nothing, loudly, where none can be had. `OSTLER_REQUIRE_SYSTEMD=1` makes that a failure.
    pub fn start(site: &Site) -> Option<Self> {
        or_skip(need(PROGRAMS).and_then(|()| server().map(drop)))?;
        let port = 5000 + STARTED.fetch_add(1, Ordering::Relaxed);
        let directory = site.path(&format!("registry-{port}"));
        let mut registry = Self { site: site.clone(), host: format!("localhost:{port}"), directory, process: None };
        registry.furnish(port);
        registry.resume();
        Some(registry)
    }

    /// What clients call it: a name and a port.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The certificate of its certification authority.
    pub fn ca_path(&self) -> PathBuf {
        self.certs_path().join("ca.crt")
    }

    /// What clients have for it in `/etc/containers/certs.d`: the directory of that name.
    pub fn certs_path(&self) -> PathBuf {
        self.directory.join("certs.d").join(&self.host)
    }

    /// A file with the right password, as `auth.json` and the kubelet's `config.json` have it.
    pub fn auth_path(&self) -> PathBuf {
        self.directory.join("auth.json")
    }

    /// The entry of such a file for any password.
    pub fn auth(&self, password: &str) -> Value {
        json!({"auths": {&self.host: {"auth": STANDARD.encode(format!("{USER}:{password}"))}}})
    }

    /// What it has written of requests and of itself.
    pub fn log(&self) -> String {
        fs::read_to_string(self.directory.join("log")).unwrap_or_default()
    }

    /// Makes a machine trust it. The password is another matter.
    pub fn introduce_to(&self, machine: &Booted) {
        let certs = machine.path("etc/containers/certs.d").join(&self.host);
        fs::create_dir_all(&certs).unwrap();
        fs::copy(self.ca_path(), certs.join("ca.crt")).unwrap();
    }

    /// Takes an image in, from where `skopeo` is told to find it, and gives its digest.
    pub fn push(&self, source: &str, name: &str) -> String {
        let digest = self.directory.join("digest");
        let mut copy = self.skopeo(&["--insecure-policy", "copy", "--quiet", "--digestfile"]);
        copy.arg(&digest).arg("--dest-authfile").arg(self.auth_path()).arg("--dest-cert-dir").arg(self.certs_path());
        succeed(copy.args([source, &format!("docker://{}/{name}", self.host)]));
        fs::read_to_string(digest).unwrap().trim_end().to_owned()
    }

    /// `skopeo` where the registry can be reached.
    pub fn skopeo(&self, arguments: &[&str]) -> Command {
        let mut command = self.site.command("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-c", SKOPEO, "skopeo"]).args(arguments);
        command
    }

    /// From now on it refuses connections.
    pub fn stop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// Serves again what it has.
    pub fn resume(&mut self) {
        assert!(self.process.is_none(), "the registry runs");
        let log = File::create(self.directory.join("log")).unwrap();
        let mut serve = self.site.command(server().unwrap());
        serve.arg("serve").arg(self.directory.join("config.yml")).stdout(log.try_clone().unwrap()).stderr(log);
        let process = self.process.insert(serve.spawn().unwrap());
        let start = Instant::now();
        let log = self.directory.join("log");
        while !fs::read_to_string(&log).unwrap().contains("listening on ") {
            assert!(start.elapsed() < PATIENCE, "the registry does not listen");
            if let Some(status) = process.try_wait().unwrap() {
                panic!("the registry ended at once: {status}\n{}", fs::read_to_string(&log).unwrap());
            }
            sleep(Duration::from_millis(10));
        }
    }

    /// Writes all its files.
    fn furnish(&self, port: u32) {
        fs::create_dir_all(self.certs_path()).unwrap();
        self.certify();
        let password = format!("secret-{port}");
        let hashed = succeed(self.site.command("htpasswd").args(["-B", "-C", "4", "-b", "-n", USER, &password]));
        fs::write(self.directory.join("htpasswd"), hashed).unwrap();
        fs::write(self.auth_path(), self.auth(&password).to_string()).unwrap();
        let at = |name: &str| self.directory.join(name).display().to_string();
        // JSON is YAML.
        let config = json!({
            "version": "0.1",
            "log": {"level": "info"},
            "storage": {"filesystem": {"rootdirectory": at("data")}, "delete": {"enabled": true}},
            "auth": {"htpasswd": {"realm": "test", "path": at("htpasswd")}},
            "http": {
                "addr": format!("127.0.0.1:{port}"), "secret": "test",
                "tls": {"certificate": at("server.crt"), "key": at("server.key")},
            },
        });
        fs::write(self.directory.join("config.yml"), config.to_string()).unwrap();
    }

    fn certify(&self) {
        let (ca, key) = (self.ca_path(), self.directory.join("ca.key"));
        let name = format!("/CN=authority of {}", self.host);
        self.certificate(&key, &ca, &["-subj", &name, "-addext", "keyUsage=keyCertSign"]);
        let [ca, key] = [&ca, &key].map(|path| path.display().to_string());
        let names = "subjectAltName=DNS:localhost,IP:127.0.0.1";
        let signed = ["-subj", "/CN=localhost", "-CA", &ca, "-CAkey", &key, "-addext", names];
        let leaf = [&signed[..], &["-addext", "basicConstraints=critical,CA:FALSE"]].concat();
        self.certificate(&self.directory.join("server.key"), &self.directory.join("server.crt"), &leaf);
    }

    fn certificate(&self, key: &Path, certificate: &Path, more: &[&str]) {
        let mut command = self.site.command("openssl");
        command.args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
        ]);
        succeed(command.args(more).arg("-keyout").arg(key).arg("-out").arg(certificate));
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.stop();
    }
}

fn server() -> Result<&'static str, String> {
    let found = SERVERS.iter().find(|program| Path::new(program).exists());
    found.copied().ok_or_else(|| format!("there is none of {SERVERS:?}"))
}
