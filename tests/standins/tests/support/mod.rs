//! A private bus, images, a sysroot and the daemon, for one test each.
#![allow(dead_code, reason = "each test binary uses its own part")]
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    missing_docs,
    reason = "clippy does not see that helpers of tests are test code"
)]

use std::collections::HashMap;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use futures_util::StreamExt;
use zbus::proxy::CacheProperties;
use zbus::{Connection, OwnedVariant, Variant};

pub const NAME: &str = "org.projectatomic.rpmostree1";
pub const OS: &str = "/org/projectatomic/rpmostree1/rhcos";

pub type Dict = HashMap<String, OwnedVariant>;

/// Everything of one test; gone with it.
pub struct Site {
    directory: tempfile::TempDir,
    children: Vec<Child>,
}

impl Drop for Site {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Site {
    /// Two images, and a sysroot with the first one deployed.
    pub fn new() -> Self {
        let site = Self { directory: tempfile::tempdir().unwrap(), children: Vec::new() };
        site.image("v1");
        site.image("v2");
        let (root, image) = (site.path("root"), site.reference("v1"));
        site.lab(&["sysroot", "--sysroot", &root, "--image", &image, "--karg", "quiet", "--karg", "rw"]);
        site
    }

    pub fn path(&self, name: &str) -> String {
        self.directory.path().join(name).display().to_string()
    }

    pub fn image(&self, tag: &str) -> String {
        let version = tag.trim_start_matches('v');
        let dest = format!("oci:{}:{tag}", self.path("images"));
        let made = self.lab(&["image", "--dest", &dest, "--version", version, "--rhel-version", "9.6"]);
        made["digest"].as_str().unwrap().to_owned()
    }

    pub fn reference(&self, tag: &str) -> String {
        format!("ostree-unverified-image:oci:{}:{tag}", self.path("images"))
    }

    pub fn lab(&self, args: &[&str]) -> serde_json::Value {
        let output = self.command(env!("CARGO_BIN_EXE_lab")).args(args).output().unwrap();
        assert!(output.status.success(), "lab {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap_or_default()
    }

    pub fn deployments(&self) -> Vec<serde_json::Value> {
        let root = self.path("root");
        self.lab(&["deployments", "--sysroot", &root]).as_array().unwrap().clone()
    }

    pub fn versions(&self) -> Vec<String> {
        self.deployments().iter().map(|one| one["version"].as_str().unwrap().to_owned()).collect()
    }

    pub fn faults(&self, json: &str) {
        std::fs::write(self.path("faults.json"), json).unwrap();
    }

    pub fn no_faults(&self) {
        let _ = std::fs::remove_file(self.path("faults.json"));
    }

    pub fn bootc(&self, args: &[&str]) -> Output {
        self.bootc_command(args).output().unwrap()
    }

    pub fn bootc_command(&self, args: &[&str]) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_bootc"));
        command.args(args);
        command
    }

    /// Runs bootc where `policy` is the signature policy of the host, in a mount namespace of its own.
    pub fn bootc_under_policy(&self, policy: &str, args: &[&str]) -> Output {
        std::fs::write(self.path("policy.json"), policy).unwrap();
        let script = r#"mount --bind "$0" /etc/containers/policy.json; exec "$@""#;
        let mut command = self.command("unshare");
        command.args(["--mount", "--propagation=private", "sh", "-ec", script, &self.path("policy.json")]);
        command.arg(env!("CARGO_BIN_EXE_bootc")).args(args).output().unwrap()
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env("OSTREE_SYSROOT_DEBUG", "mutable-deployments")
            .env("NO_COLOR", "1")
            .env("STANDIN_SYSROOT", self.path("root"))
            .env("STANDIN_FAULTS_FILE", self.path("faults.json"))
            .env_remove("STANDIN_FAULTS");
        command
    }

    /// Starts the bus, and the daemon on it.
    pub async fn daemon(&mut self) -> Connection {
        self.bus();
        self.start_daemon().await;
        self.connect().await
    }

    fn bus(&mut self) {
        let config = format!(
            r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
            "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig><type>system</type><listen>unix:path={}</listen><auth>EXTERNAL</auth>
            <policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/>
            <allow own="*"/></policy></busconfig>"#,
            self.path("bus")
        );
        std::fs::write(self.path("bus.conf"), config).unwrap();
        let mut command = Command::new("dbus-daemon");
        command.arg(format!("--config-file={}", self.path("bus.conf"))).arg("--nofork").stderr(Stdio::null());
        self.children.push(command.spawn().unwrap());
        let bus = self.path("bus");
        wait_until(|| std::os::unix::net::UnixStream::connect(&bus).is_ok());
    }

    /// Starts the daemon, in place of one that has gone, and waits until it owns its name.
    pub async fn start_daemon(&mut self) {
        let (root, socket, repos) = (self.path("root"), self.path("txn.sock"), self.path("repos"));
        let address = format!("unix:path={}", self.path("bus"));
        let args = ["--sysroot", &root, "--transaction-socket", &socket, "--repos-dir", &repos, "--address", &address];
        let child = self.command(env!("CARGO_BIN_EXE_rpm-ostreed")).args(args).spawn().unwrap();
        self.children.push(child);
        let bus = self.connect().await;
        let proxy = zbus::fdo::DBusProxy::new(&bus).await.unwrap();
        for _ in 0..500 {
            if proxy.name_has_owner(NAME.try_into().unwrap()).await.unwrap() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the daemon does not come up");
    }

    /// The exit status of the daemon that was started last.
    pub fn daemon_status(&mut self) -> Option<i32> {
        self.children.pop().unwrap().wait().unwrap().code()
    }

    pub async fn connect(&self) -> Connection {
        let address = format!("unix:path={}", self.path("bus"));
        zbus::connection::Builder::address(address.as_str()).build().await.unwrap()
    }
}

pub fn wait_until(condition: impl Fn() -> bool) {
    for _ in 0..1000 {
        if condition() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("waited in vain");
}

pub fn dict(entries: &[(&str, Variant<'static>)]) -> Dict {
    entries.iter().map(|(key, value)| ((*key).to_owned(), OwnedVariant::try_from(value).unwrap())).collect()
}

pub fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

pub async fn os(bus: &Connection) -> zbus::Proxy<'static> {
    proxy(bus, OS, "org.projectatomic.rpmostree1.OS").await
}

pub async fn sysroot(bus: &Connection) -> zbus::Proxy<'static> {
    proxy(bus, "/org/projectatomic/rpmostree1/Sysroot", "org.projectatomic.rpmostree1.Sysroot").await
}

async fn proxy(bus: &Connection, path: &'static str, interface: &'static str) -> zbus::Proxy<'static> {
    zbus::proxy::Builder::new(bus)
        .destination(NAME)
        .path(path)
        .interface(interface)
        .cache_properties(CacheProperties::No)
        .build()
        .await
        .unwrap()
}

pub async fn rebase(bus: &Connection, reference: &str) -> zbus::Result<String> {
    let modifiers = dict(&[("set-refspec", reference.to_owned().into())]);
    os(bus).await.call("UpdateDeployment", &(modifiers, Dict::new())).await
}

/// A peer of a transaction.
pub struct Peer {
    pub connection: Connection,
    pub proxy: zbus::Proxy<'static>,
    signals: zbus::proxy::SignalStream<'static>,
}

/// What a peer heard.
#[derive(Debug, Default)]
pub struct Heard {
    pub signals: Vec<String>,
    pub finished: Option<(bool, String)>,
}

impl Peer {
    pub async fn connect(address: &str) -> zbus::Result<Self> {
        let connection = zbus::connection::Builder::address(address).p2p().build().await?;
        let proxy: zbus::Proxy<'static> = zbus::proxy::Builder::new(&connection)
            .destination(NAME)
            .path("/")
            .interface("org.projectatomic.rpmostree1.Transaction")
            .cache_properties(CacheProperties::No)
            .build()
            .await?;
        let signals = proxy.receive_all_signals().await?;
        Ok(Self { connection, proxy, signals })
    }

    pub async fn start(&self) -> zbus::Result<bool> {
        self.proxy.call("Start", &()).await
    }

    /// Listens until the end or the cut.
    pub async fn listen(&mut self) -> Heard {
        let mut heard = Heard::default();
        loop {
            tokio::select! {
                biased;
                signal = self.signals.next() => {
                    let Some(signal) = signal else { return heard };
                    let member = signal.header().member().unwrap().to_string();
                    if member == "Finished" {
                        heard.finished = Some(signal.body().deserialize().unwrap());
                        return heard;
                    }
                    heard.signals.push(member);
                }
                () = self.connection.closed() => return heard,
            }
        }
    }
}

/// Runs a transaction to its end, and waits until the daemon has put it away.
pub async fn run(bus: &Connection, address: &str) -> Heard {
    let mut peer = Peer::connect(address).await.unwrap();
    assert!(peer.start().await.unwrap());
    let heard = peer.listen().await;
    drop(peer);
    idle(bus).await;
    heard
}

/// Waits until no transaction is active.
pub async fn idle(bus: &Connection) {
    let sysroot = sysroot(bus).await;
    for _ in 0..500 {
        let path: String = sysroot.get_property("ActiveTransactionPath").await.unwrap();
        if path.is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the transaction does not end");
}

pub fn write(path: &str, text: &str) {
    let path = Path::new(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}
