//! A real kube-apiserver with its etcd on the loopback network, with authorities of its own.
//!
//! Owns the two processes and who may talk to them; what is in the cluster is up to others. Nodes are authorised as in
//! a real cluster: `Node` and `RBAC`, with `NodeRestriction`.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use kube::Client;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use nix::sys::signal::Signal;
use tokio::sync::OnceCell;
use tokio::time::sleep;

use super::audit::{self, Request};
use super::authority::{Authority, Identity};
use super::keeper::{Ground, Process};
use super::proxy::Proxy;
use super::{Programs, crds, manifests, or_skip};

/// How long a start may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);
/// How long a process may take to end when asked. The API server would wait for its watches for a minute.
const GRACE: Duration = Duration::from_secs(2);
const NAP: Duration = Duration::from_millis(50);

static SHARED: OnceCell<Option<Server>> = OnceCell::const_new();

/// The cluster. Ends with its owner, or with the test process.
pub struct Server {
    // Dropped in this order: what writes to the ground, then the ground.
    api: Option<Process>,
    store: Option<Process>,
    programs: Programs,
    authority: Authority,
    ports: Ports,
    ground: Ground,
}

struct Ports {
    api: u16,
    store: u16,
    peers: u16,
}

/// What the store held at some time.
pub struct Snapshot(tempfile::TempDir);

impl Server {
    /// A new cluster with Ostler's kinds and manifests; nothing, loudly, where none can be had. `OSTLER_REQUIRE_KUBE=1`
    /// makes that a failure.
    pub async fn start() -> Option<Self> {
        let server = Self::bare().await?;
        let admin = server.admin().await;
        crds::install(&admin).await;
        manifests::apply(&admin).await;
        Some(server)
    }

    /// A cluster with the kinds of Kubernetes only.
    pub async fn bare() -> Option<Self> {
        let programs = or_skip(Programs::find())?;
        let ground = Ground::new();
        let authority = Authority::new(ground.path("pki"));
        fs::write(ground.path("audit-policy.json"), audit::policy()).unwrap();
        let mut server = Self { api: None, store: None, programs, authority, ports: Ports::free(), ground };
        server.authority.kubeconfig(ADMIN, server.address(), &server.ground.path("admin.kubeconfig"));
        server.start_again().await;
        Some(server)
    }

    /// The cluster that all tests of this process may share, if they keep to nodes of their own and stop nothing.
    pub async fn shared() -> Option<&'static Self> {
        SHARED.get_or_init(Self::start).await.as_ref()
    }

    /// Where the API is served.
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.ports.api).into()
    }

    /// A client that may do everything, of the calling runtime.
    pub async fn admin(&self) -> Client {
        client(&self.ground.path("admin.kubeconfig")).await
    }

    /// The kubeconfig of somebody who may do everything.
    pub fn admin_file(&self) -> PathBuf {
        self.ground.path("admin.kubeconfig")
    }

    /// The kubeconfig of a node's kubelet.
    pub fn node(&self, name: &str) -> PathBuf {
        self.node_at(name, self.address(), "kubeconfig")
    }

    /// The same, through a wire.
    pub fn node_through(&self, name: &str, wire: &Proxy) -> PathBuf {
        self.node_at(name, wire.address(), &format!("through-{}.kubeconfig", wire.address().port()))
    }

    /// The same for a node that has the server at another address than this machine has.
    pub fn node_seen_from(&self, name: &str, address: SocketAddr) -> PathBuf {
        self.node_at(name, address, "from-elsewhere.kubeconfig")
    }

    fn node_at(&self, name: &str, address: SocketAddr, file: &str) -> PathBuf {
        let file = self.ground.path("nodes").join(name).join(file);
        let user = format!("system:node:{name}");
        self.authority.kubeconfig(Identity { user: &user, group: Some("system:nodes") }, address, &file);
        file
    }

    /// The kubeconfig of somebody known who may do nothing.
    pub fn nobody(&self) -> PathBuf {
        let file = self.ground.path("nobody.kubeconfig");
        self.authority.kubeconfig(Identity { user: "nobody", group: None }, self.address(), &file);
        file
    }

    /// A wire to it.
    pub fn wire(&self) -> Proxy {
        Proxy::to(self.address())
    }

    /// What a user has asked so far, oldest first. A node's is `system:node:NAME`.
    pub fn requests_by(&self, user: &str) -> Vec<Request> {
        audit::requests_by(user, &self.ground.path("audit.log"))
    }

    /// Ends the API server: connections are refused until [`Self::start_again`].
    pub fn stop(&mut self) {
        self.api.take().expect("the API server runs").end(Signal::SIGTERM, GRACE);
    }

    /// The same at once and with the store, as when the power fails.
    pub fn kill(&mut self) {
        for process in [self.api.take(), self.store.take()].into_iter().flatten() {
            process.end(Signal::SIGKILL, GRACE);
        }
    }

    /// Starts what does not run, with the same contents and addresses.
    pub async fn start_again(&mut self) {
        let [store_log, api_log] = ["etcd.log", "kube-apiserver.log"].map(|name| self.ground.path(name));
        if self.store.is_none() {
            self.store = Some(Process::start(&self.store_command(), &store_log));
        }
        if self.api.is_none() {
            self.api = Some(Process::start(&self.api_command(), &api_log));
        }
        self.wait_until_ready().await;
    }

    /// What the server is verified with: the present authority, and another that is new.
    pub fn new_authority(&self) -> [String; 2] {
        self.authority.prepare_next();
        self.authority.kubeconfig(ADMIN, self.address(), &self.ground.path("admin.kubeconfig"));
        [fs::read_to_string(self.authority.path("ca.crt")).unwrap(), self.authority.next().expect("it was made")]
    }

    /// Starts the API server anew, with a certificate that only the new authority vouches for.
    pub async fn change_authority(&mut self) {
        self.stop();
        self.authority.hand_over();
        self.start_again().await;
    }

    /// Makes the store forget everything but its present.
    pub async fn compact(&self) {
        let ask = |path: &str, body: serde_json::Value| {
            let address = format!("http://127.0.0.1:{}/v3/kv/{path}", self.ports.store);
            let run = Command::new("curl").args(["-sf", "-X", "POST", "-d", &body.to_string(), &address]).output();
            let answer = run.expect("curl starts");
            assert!(answer.status.success(), "{path}: {answer:?}");
            serde_json::from_slice::<serde_json::Value>(&answer.stdout).unwrap()
        };
        let present = ask("range", serde_json::json!({"key": "AA=="}));
        ask("compaction", serde_json::json!({"revision": present["header"]["revision"], "physical": true}));
    }

    /// A copy of all that the cluster holds. The cluster is down meanwhile.
    pub async fn snapshot(&mut self) -> Snapshot {
        self.rest();
        let snapshot = Snapshot(tempfile::tempdir().unwrap());
        copy(&self.data(), snapshot.0.path());
        self.start_again().await;
        snapshot
    }

    /// Puts the cluster back to what it held, as an administrator does after a disaster: what came after never
    /// happened, and resource versions are given out a second time.
    pub async fn restore(&mut self, snapshot: &Snapshot) {
        self.rest();
        fs::remove_dir_all(self.data()).unwrap();
        fs::create_dir(self.data()).unwrap();
        copy(snapshot.0.path(), &self.data());
        self.start_again().await;
    }

    fn rest(&mut self) {
        self.stop();
        self.store.take().expect("the store runs").end(Signal::SIGTERM, GRACE);
    }

    fn data(&self) -> PathBuf {
        self.ground.path("etcd")
    }

    fn store_command(&self) -> Command {
        let [clients, peers] = [self.ports.store, self.ports.peers].map(|port| format!("http://127.0.0.1:{port}"));
        let mut command = Command::new(&self.programs.store);
        command.arg("--data-dir").arg(self.data());
        command.args(["--listen-client-urls", &clients, "--advertise-client-urls", &clients]);
        command.args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers]);
        command.args(["--initial-cluster", &format!("default={peers}")]);
        command
    }

    fn api_command(&self) -> Command {
        let mut command = Command::new(&self.programs.server);
        let pki = |name: &str| self.authority.path(name).display().to_string();
        let below = |name: &str| self.ground.path(name).display().to_string();
        let options = [
            ("etcd-servers", format!("http://127.0.0.1:{}", self.ports.store)),
            ("bind-address", "127.0.0.1".to_owned()),
            ("advertise-address", "127.0.0.1".to_owned()),
            ("secure-port", self.ports.api.to_string()),
            ("cert-dir", below("certificates")),
            ("authorization-mode", "Node,RBAC".to_owned()),
            ("enable-admission-plugins", "NodeRestriction".to_owned()),
            ("disable-admission-plugins", "ServiceAccount".to_owned()),
            ("client-ca-file", pki("ca.crt")),
            ("tls-cert-file", pki("server.crt")),
            ("tls-private-key-file", pki("server.key")),
            ("service-account-issuer", "https://localhost".to_owned()),
            ("service-account-key-file", pki("accounts.crt")),
            ("service-account-signing-key-file", pki("accounts.key")),
            ("service-cluster-ip-range", "10.96.0.0/24".to_owned()),
            ("endpoint-reconciler-type", "none".to_owned()),
            ("audit-policy-file", below("audit-policy.json")),
            ("audit-log-path", below("audit.log")),
        ];
        command.args(options.map(|(name, value)| format!("--{name}={value}")));
        command
    }

    async fn wait_until_ready(&self) {
        let admin = self.admin().await;
        let start = Instant::now();
        loop {
            let question = hyper::Request::get("/readyz").body(Vec::new()).unwrap();
            if admin.request_text(question).await.is_ok_and(|answer| answer == "ok") {
                return;
            }
            for process in [&self.store, &self.api].into_iter().flatten() {
                let given_up = process.has_ended() || start.elapsed() > PATIENCE;
                assert!(
                    !given_up,
                    "the cluster does not come up; one of its processes says:\n{}",
                    process.last_words()
                );
            }
            sleep(NAP).await;
        }
    }
}

const ADMIN: Identity<'_> = Identity { user: "lab:admin", group: Some("system:masters") };

/// A client with the credentials of a file, of the calling runtime.
pub async fn client(kubeconfig: &Path) -> Client {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

impl Ports {
    /// Three that nobody uses. Somebody could take one before we do, and then the start fails.
    fn free() -> Self {
        let held = [(); 3].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
        let [api, store, peers] = held.each_ref().map(|listener| listener.local_addr().unwrap().port());
        Self { api, store, peers }
    }
}

fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-a").arg(from.join(".")).arg(to).status().unwrap();
    assert!(status.success(), "cannot copy {}", from.display());
}
