//! A real registry on the loopback network: TLS by a certification authority of its own, and a password.
//!
//! Images get into it by `skopeo`. Everything lies in one temporary directory and ends with the test.
#![allow(dead_code, reason = "every proof takes what it needs of it")]

pub mod layout;
pub mod wires;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ostler_registry::{Credentials, Options, Patience};
use serde_json::{Value, json};
use tempfile::TempDir;

pub const USER: &str = "puller";
pub const PASSWORD: &str = "hunter-two";

const PROGRAMS: &[&str] = &["/usr/bin/htpasswd", "/usr/bin/openssl", "/usr/bin/skopeo"];
/// Debian's and Fedora's name for the same program.
const SERVERS: &[&str] = &["/usr/bin/docker-registry", "/usr/bin/registry"];
const PATIENCE: Duration = Duration::from_secs(180);
/// Keeps its cache away from this machine's `/var/lib/containers`.
const SKOPEO: &str = "mount -t tmpfs cache /var/lib && exec skopeo \"$@\"";

/// The registry.
pub struct Served {
    directory: TempDir,
    process: Option<Child>,
    port: u16,
}

impl Served {
    /// An empty registry; nothing, loudly, where none can be had. `OSTLER_REQUIRE_REGISTRY=1` makes that a failure.
    pub fn start() -> Option<Self> {
        Self::furnished(false)
    }

    /// One that wants a certificate of its clients too.
    pub fn start_closed() -> Option<Self> {
        Self::furnished(true)
    }

    fn furnished(closed: bool) -> Option<Self> {
        let missing: Vec<&str> = PROGRAMS.iter().copied().filter(|program| !Path::new(program).exists()).collect();
        if !missing.is_empty() || server().is_none() {
            let what = format!("SKIPPED: there is no {missing:?}, or none of {SERVERS:?}");
            assert!(std::env::var_os("OSTLER_REQUIRE_REGISTRY").is_none_or(|value| value != "1"), "{what}");
            eprintln!("{what}");
            return None;
        }
        let mut served = Self { directory: TempDir::new().unwrap(), process: None, port: 0 };
        served.furnish(closed);
        served.serve();
        // The port is known only now, and the names of files with it.
        fs::create_dir_all(served.certs().join(served.host())).unwrap();
        fs::copy(served.path("ca.crt"), served.certs().join(served.host()).join("ca.crt")).unwrap();
        fs::write(served.path("auth.json"), auths(&[&served.host()]).to_string()).unwrap();
        Some(served)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// What clients call it.
    pub fn host(&self) -> String {
        format!("localhost:{}", self.port)
    }

    pub const fn port(&self) -> u16 {
        self.port
    }

    /// A directory like `/etc/containers/certs.d`.
    pub fn certs(&self) -> PathBuf {
        self.path("certs.d")
    }

    pub fn authority(&self) -> Vec<u8> {
        fs::read(self.path("ca.crt")).unwrap()
    }

    /// Everything that is needed to get in, under any names that it goes by.
    pub fn options(&self, hosts: &[&str]) -> Options {
        let own = self.host();
        let hosts: Vec<&str> = hosts.iter().copied().chain([own.as_str()]).collect();
        let credentials = Credentials::parse(auths(&hosts).to_string().as_bytes());
        let patience = Patience { retries: 0, ..Patience::default() };
        Options { credentials, authorities: vec![self.authority()], patience, ..Options::default() }
    }

    /// What it has written of requests and of itself.
    pub fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    /// Takes an image in, from where `skopeo` is told to find it, and gives its digest.
    pub fn push(&self, source: &str, name: &str) -> String {
        let digest = self.path("digest");
        let mut copy = skopeo();
        copy.args(["--insecure-policy", "copy", "--quiet", "--all", "--preserve-digests", "--digestfile"]).arg(&digest);
        copy.arg("--dest-authfile").arg(self.path("auth.json"));
        copy.arg("--dest-cert-dir").arg(self.certs().join(self.host()));
        succeed(copy.args([source, &format!("docker://{}/{name}", self.host())]));
        fs::read_to_string(digest).unwrap().trim_end().to_owned()
    }

    /// Takes many images in at once: each directory `NAME:TAG` is one in the form of `dir:`.
    pub fn push_all(&self, directory: &Path, space: &str) {
        let mut sync = skopeo();
        sync.args(["--insecure-policy", "sync", "--src", "dir", "--dest", "docker"]);
        sync.arg("--authfile").arg(self.path("auth.json"));
        sync.arg("--dest-cert-dir").arg(self.certs().join(self.host()));
        succeed(sync.arg(directory).arg(format!("{}/{space}", self.host())));
    }

    /// Where it keeps what has a digest.
    pub fn stored(&self, digest: &str) -> PathBuf {
        let hex = digest.strip_prefix("sha256:").unwrap();
        self.path("data/docker/registry/v2/blobs/sha256").join(hex.get(..2).unwrap()).join(hex).join("data")
    }

    /// A certificate that a closed registry takes, and its key.
    pub fn client_certificate(&self, certificate: &Path, key: &Path) {
        let [ca, ca_key] = ["ca.crt", "ca.key"].map(|name| self.path(name).display().to_string());
        let usage = ["-subj", "/CN=client", "-CA", &ca, "-CAkey", &ca_key, "-addext", "extendedKeyUsage=clientAuth"];
        certify(key, certificate, &[&usage[..], &["-addext", "basicConstraints=critical,CA:FALSE"]].concat());
    }

    fn serve(&mut self) {
        let log = File::create(self.path("log")).unwrap();
        let mut serve = Command::new(server().unwrap());
        serve.arg("serve").arg(self.path("config.yml")).stdout(log.try_clone().unwrap()).stderr(log);
        let process = self.process.insert(serve.spawn().unwrap());
        let start = Instant::now();
        loop {
            let log = fs::read_to_string(self.directory.path().join("log")).unwrap();
            let port = log.split("listening on 127.0.0.1:").nth(1).and_then(|rest| rest.split(',').next());
            if let Some(port) = port.and_then(|port| port.parse().ok()) {
                self.port = port;
                return;
            }
            assert!(start.elapsed() < PATIENCE, "the registry does not listen: {log}");
            assert!(process.try_wait().unwrap().is_none(), "the registry ended at once: {log}");
            sleep(Duration::from_millis(10));
        }
    }

    fn furnish(&self, closed: bool) {
        let at = |name: &str| self.path(name).display().to_string();
        authorise(self.directory.path());
        let hashed = succeed(Command::new("htpasswd").args(["-B", "-C", "4", "-b", "-n", USER, PASSWORD]));
        fs::write(self.path("htpasswd"), hashed).unwrap();
        let mut tls = json!({"certificate": at("server.crt"), "key": at("server.key")});
        if closed {
            tls["clientcas"] = json!([at("ca.crt")]);
        }
        // JSON is YAML.
        let config = json!({
            "version": "0.1",
            "log": {"level": "info"},
            "storage": {"filesystem": {"rootdirectory": at("data")}},
            "auth": {"htpasswd": {"realm": "test", "path": at("htpasswd")}},
            "http": {"addr": "127.0.0.1:0", "secret": "test", "tls": tls},
        });
        fs::write(self.path("config.yml"), config.to_string()).unwrap();
    }
}

/// A server with TLS that answers each path with what a file has, head and all.
pub struct Answering {
    directory: TempDir,
    process: Child,
    port: u16,
}

impl Answering {
    /// With one answer; nothing, loudly, where there is no `openssl`.
    pub fn start(path: &str, answer: &str) -> Option<Self> {
        if !Path::new("/usr/bin/openssl").exists() {
            assert!(std::env::var_os("OSTLER_REQUIRE_REGISTRY").is_none_or(|value| value != "1"), "no openssl");
            eprintln!("SKIPPED: there is no openssl");
            return None;
        }
        let directory = TempDir::new().unwrap();
        authorise(directory.path());
        let file = directory.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, answer).unwrap();
        let log = File::create(directory.path().join("log")).unwrap();
        let mut serve = Command::new("openssl");
        serve.args(["s_server", "-accept", "127.0.0.1:0", "-cert", "server.crt", "-key", "server.key", "-HTTP"]);
        serve.current_dir(directory.path()).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        let mut answering = Self { process: serve.spawn().unwrap(), directory, port: 0 };
        let start = Instant::now();
        while answering.port == 0 {
            assert!(start.elapsed() < PATIENCE, "openssl does not listen: {}", answering.log());
            let log = answering.log();
            let port = log.split("ACCEPT 127.0.0.1:").nth(1).and_then(|rest| rest.lines().next());
            answering.port = port.and_then(|port| port.parse().ok()).unwrap_or_default();
            sleep(Duration::from_millis(10));
        }
        Some(answering)
    }

    /// What it has written of requests and of itself.
    pub fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap()
    }

    pub fn host(&self) -> String {
        format!("localhost:{}", self.port)
    }

    pub fn authority(&self) -> Vec<u8> {
        fs::read(self.directory.path().join("ca.crt")).unwrap()
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// A pull secret for these.
pub fn auths(scopes: &[&str]) -> Value {
    let auth = json!({"auth": STANDARD.encode(format!("{USER}:{PASSWORD}"))});
    json!({"auths": scopes.iter().map(|scope| ((*scope).to_owned(), auth.clone())).collect::<serde_json::Map<_, _>>()})
}

fn server() -> Option<&'static str> {
    SERVERS.iter().find(|program| Path::new(program).exists()).copied()
}

fn skopeo() -> Command {
    let mut hidden = Command::new("unshare");
    hidden.args(["--mount", "--propagation", "private"]);
    let probe = Command::new("unshare").args(["--mount", "true"]).stderr(Stdio::null()).status();
    if probe.is_ok_and(|status| status.success()) {
        hidden.args(["sh", "-c", SKOPEO, "skopeo"]);
        return hidden;
    }
    Command::new("skopeo")
}

/// Makes an authority and a certificate for this machine by it.
fn authorise(directory: &Path) {
    let at = |name: &str| directory.join(name).display().to_string();
    let (ca, key) = (at("ca.crt"), at("ca.key"));
    certify(key.as_ref(), ca.as_ref(), &["-subj", "/CN=authority", "-addext", "keyUsage=keyCertSign"]);
    let names = "subjectAltName=DNS:localhost,IP:127.0.0.1";
    let signed = ["-subj", "/CN=localhost", "-CA", &ca, "-CAkey", &key, "-addext", names];
    let leaf = [&signed[..], &["-addext", "basicConstraints=critical,CA:FALSE"]].concat();
    certify(&directory.join("server.key"), &directory.join("server.crt"), &leaf);
}

fn certify(key: &Path, certificate: &Path, more: &[&str]) {
    let kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];
    let mut command = Command::new("openssl");
    command.args(["req", "-x509", "-nodes", "-days", "2"]).args(kind).args(more);
    succeed(command.arg("-keyout").arg(key).arg("-out").arg(certificate));
}

fn succeed(command: &mut Command) -> Vec<u8> {
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}
