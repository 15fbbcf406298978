//! A daemon that does what a test tells it to, and what rpm-ostree never would on purpose: it dies, hangs and lies.
//!
//! Owns faults. Refuses to be a model of rpm-ostree: its deployments are names.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Notify;
use zbus::{Connection, OwnedObjectPath, OwnedVariant, Variant};

use crate::bus::Bus;
use crate::transaction::{Act, Transaction};

pub const SERVICE: &str = "org.projectatomic.rpmostree1";
const SYSROOT_PATH: &str = "/org/projectatomic/rpmostree1/Sysroot";
const OS_PATH: &str = "/org/projectatomic/rpmostree1/testos";

/// A deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deployed {
    pub booted: bool,
    pub staged: bool,
    pub pinned: bool,
    pub digest: String,
    pub packages: Vec<String>,
    pub removals: Vec<String>,
    pub initramfs_etc: Vec<String>,
    pub kargs: String,
}

impl Deployed {
    fn fields(&self) -> HashMap<&'static str, OwnedVariant> {
        let owned = |value: Variant<'_>| value.try_to_owned().unwrap();
        let layered = !self.packages.is_empty() || !self.removals.is_empty();
        let base = layered.then(|| ("base-checksum", owned(Variant::from("c0ffee"))));
        let mut fields = HashMap::from([
            ("osname", owned(Variant::from("testos"))),
            ("booted", owned(Variant::from(self.booted))),
            ("staged", owned(Variant::from(self.staged))),
            ("pinned", owned(Variant::from(self.pinned))),
            ("container-image-reference-digest", owned(Variant::from(self.digest.as_str()))),
            ("requested-packages", owned(Variant::from(self.packages.clone()))),
            ("requested-base-removals", owned(Variant::from(self.removals.clone()))),
            ("initramfs-etc", owned(Variant::from(self.initramfs_etc.clone()))),
        ]);
        fields.extend(base);
        fields
    }
}

/// What a test sees and sets.
#[derive(Default)]
pub struct State {
    pub calls: Vec<String>,
    pub deployments: Vec<Deployed>,
    /// What the next transactions do, the first one first; those without a script work.
    pub scripts: VecDeque<Vec<Act>>,
    /// Errors that the next requests are answered with.
    pub denials: VecDeque<Wrong>,
    pub active: Option<Arc<Transaction>>,
    /// What every request is answered with, as if it had asked for the same.
    pub joined: Option<Arc<Transaction>>,
    /// Signals that come before the answer to a start.
    pub ahead: usize,
    /// How often the bus gives up on the start of the daemon.
    pub starts: usize,
    /// Whether libostree fails.
    pub broken: bool,
    deaths: usize,
    /// Whose transactions are: the client's id by its bus name.
    clients: HashMap<String, String>,
    serial: usize,
}

/// Everything that the services of the daemon share.
pub struct Shared {
    pub state: Mutex<State>,
    pub directory: std::path::PathBuf,
    pub death: Notify,
    stop: Notify,
}

impl Shared {
    pub fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap())
    }

    pub fn log(&self, call: impl Into<String>) {
        let call = call.into();
        self.with(|state| state.calls.push(call));
    }

    /// Where the next transaction listens.
    pub fn socket(&self) -> std::path::PathBuf {
        self.with(|state| {
            state.serial += 1;
            self.directory.join(format!("transaction-{}", state.serial))
        })
    }
}

/// Error answers.
#[derive(Clone, Debug, zbus::DBusError)]
#[zbus(prefix = "org.projectatomic.rpmostreed.Error")]
pub enum Wrong {
    #[zbus(error)]
    ZBus(zbus::Error),
    UpdateInProgress(String),
    Failed(String),
}

/// The daemon, on a bus and a thread of its own.
pub struct Daemon {
    pub bus: Bus,
    pub shared: Arc<Shared>,
    pub handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Daemon {
    /// One booted deployment of the image `sha256:aaa…` with the line `root=x ostree=/boot.0`.
    pub fn start() -> Self {
        let bus = Bus::start(true);
        let booted = Deployed {
            booted: true,
            digest: crate::digest('a'),
            kargs: "root=x ostree=/boot.0".to_owned(),
            ..Deployed::default()
        };
        let state = Mutex::new(State { deployments: vec![booted], ..State::default() });
        let directory = bus.directory.path().to_owned();
        let shared = Arc::new(Shared { state, directory, death: Notify::new(), stop: Notify::new() });
        let (ready, is_ready) = std::sync::mpsc::channel();
        let (address, its) = (bus.address.clone(), shared.clone());
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(live(&address, &its, || drop(ready.send(Handle::current()))));
        });
        let handle = is_ready.recv().unwrap();
        Self { bus, shared, handle, thread: Some(thread) }
    }

    /// Kills it; it is started again in a moment.
    pub fn kill(&self) {
        let before = self.shared.with(|state| state.deaths);
        self.shared.death.notify_one();
        while self.shared.with(|state| state.deaths) == before {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub fn script(&self, acts: impl Into<Vec<Act>>) {
        self.shared.with(|state| state.scripts.push_back(acts.into()));
    }

    /// Calls so far, without those that come with every operation.
    pub fn calls(&self) -> Vec<String> {
        let dull = ["RegisterClient", "UnregisterClient", "Reload"];
        self.shared.with(|state| state.calls.iter().filter(|call| !dull.contains(&call.as_str())).cloned().collect())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.shared.stop.notify_one();
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(std::thread::panicking() || ended.is_none_or(|ended| ended.is_ok()), "the daemon panicked");
    }
}

/// Lives, dies and is started again.
async fn live(address: &str, shared: &Arc<Shared>, mut ready: impl FnMut()) {
    loop {
        let connection = zbus::connection::Builder::address(address)
            .serve_at(SYSROOT_PATH, Sysroot(shared.clone()))
            .serve_at(OS_PATH, Os(shared.clone()))
            .name(SERVICE)
            .build()
            .await
            .unwrap();
        ready();
        tokio::select! {
            () = shared.death.notified() => (),
            () = shared.stop.notified() => return,
        }
        connection.close().await.unwrap();
        shared.with(|state| state.deaths += 1);
        if let Some(active) = shared.with(|state| state.active.take()) {
            active.close().await;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

struct Sysroot(Arc<Shared>);

#[zbus::interface(name = "org.projectatomic.rpmostree1.Sysroot")]
impl Sysroot {
    fn register_client(
        &self,
        options: HashMap<String, OwnedVariant>,
        #[zbus(header)] header: zbus::message::Header<'_>,
    ) -> zbus::fdo::Result<()> {
        let starts = self.0.with(|state| {
            let before = state.starts;
            state.starts = before.saturating_sub(1);
            before
        });
        if starts > 0 {
            return Err(zbus::fdo::Error::TimedOut("Failed to activate service".to_owned()));
        }
        let sender = header.sender().unwrap().to_string();
        let id = options.get("id").and_then(|id| String::try_from(id.try_clone().unwrap()).ok()).unwrap_or_default();
        self.0.with(|state| state.clients.insert(sender, id));
        self.0.log("RegisterClient");
        Ok(())
    }

    fn unregister_client(&self, _options: HashMap<String, OwnedVariant>) {
        self.0.log("UnregisterClient");
    }

    async fn reload(&self) {
        tokio::task::yield_now().await;
        self.0.log("Reload");
    }

    #[zbus(property)]
    fn booted(&self) -> OwnedObjectPath {
        OwnedObjectPath::try_from(OS_PATH).unwrap()
    }

    #[zbus(property)]
    fn active_transaction(&self) -> (String, String, String) {
        let active = self.0.with(|state| state.active.clone());
        active.map_or_else(Default::default, |one| (one.method.clone(), one.sender.clone(), OS_PATH.to_owned()))
    }

    #[zbus(property)]
    fn active_transaction_path(&self) -> String {
        self.0.with(|state| state.active.as_ref().map(|one| one.address()).unwrap_or_default())
    }

    #[zbus(property)]
    fn deployments(&self) -> Vec<HashMap<&'static str, OwnedVariant>> {
        self.0.with(|state| state.deployments.iter().map(Deployed::fields).collect())
    }
}

struct Os(Arc<Shared>);

/// What a transaction does to the deployments if it gets that far.
pub type Effect = Box<dyn FnOnce(&mut Vec<Deployed>) + Send>;

impl Os {
    async fn begin(&self, method: &str, call: String, sender: String, effect: Effect) -> Result<String, Wrong> {
        self.0.log(call);
        let (denial, active, id, script) = self.0.with(|state| {
            let id = state.clients.get(&sender).cloned().unwrap_or_default();
            (state.denials.pop_front(), state.active.clone(), id, state.scripts.front().cloned())
        });
        if let Some(denial) = denial {
            return Err(denial);
        }
        if let Some(joined) = self.0.with(|state| state.joined.clone()) {
            return Ok(joined.address());
        }
        if active.is_some() {
            return Err(Wrong::Failed("Transaction in progress: another\n You can cancel it".to_owned()));
        }
        self.0.with(|state| drop(state.scripts.pop_front()));
        if let Some([Act::DieUnanswered, ..]) = script.as_deref() {
            self.0.death.notify_one();
            return std::future::pending().await;
        }
        let client = format!("client(id:{id} dbus{sender} uid:0)");
        let script = script.unwrap_or_else(|| vec![Act::Apply, Act::Finish(Ok(()))]);
        if let [Act::DieUnstarted, ..] = script[..] {
            self.0.death.notify_one();
        }
        let transaction = Transaction::listen(&self.0, method, [sender, client], (script, Some(effect)));
        Ok(transaction.address())
    }
}

fn sender(header: &zbus::message::Header<'_>) -> String {
    header.sender().unwrap().to_string()
}

fn text(options: &HashMap<String, OwnedVariant>, name: &str) -> Option<String> {
    options.get(name).map(|value| String::try_from(value.try_clone().unwrap()).unwrap())
}

fn list(options: &HashMap<String, OwnedVariant>, name: &str) -> Vec<String> {
    options.get(name).map(|value| Vec::try_from(value.try_clone().unwrap()).unwrap()).unwrap_or_default()
}

#[zbus::interface(name = "org.projectatomic.rpmostree1.OS")]
impl Os {
    async fn update_deployment(
        &self,
        modifiers: HashMap<String, OwnedVariant>,
        options: HashMap<String, OwnedVariant>,
        #[zbus(header)] header: zbus::message::Header<'_>,
    ) -> Result<String, Wrong> {
        let refspec = text(&modifiers, "set-refspec");
        let [install, uninstall, remove, reset] =
            ["install-packages", "uninstall-packages", "override-remove-packages", "override-reset-packages"]
                .map(|name| list(&modifiers, name));
        let mut set: Vec<&str> = options.keys().map(String::as_str).collect();
        set.sort_unstable();
        let call = format!(
            "UpdateDeployment {} +{install:?} -{uninstall:?} remove{remove:?} reset{reset:?} {}",
            refspec.as_deref().unwrap_or("-"),
            set.join(",")
        );
        let effect: Effect = Box::new(move |deployments| {
            let mut new = deployments[0].clone();
            (new.booted, new.staged, new.pinned) = (false, true, false);
            if let Some((_, digest)) = refspec.as_deref().and_then(|refspec| refspec.split_once('@')) {
                new.digest = digest.to_owned();
            }
            new.packages.retain(|name| !uninstall.contains(name));
            new.packages.extend(install);
            new.removals.retain(|name| !reset.contains(name));
            new.removals.extend(remove);
            place(deployments, new);
        });
        self.begin("UpdateDeployment", call, sender(&header), effect).await
    }

    #[allow(clippy::too_many_arguments)]
    async fn kernel_args(
        &self,
        existing: String,
        _added: Vec<String>,
        _replaced: Vec<String>,
        _removed: Vec<String>,
        options: HashMap<String, OwnedVariant>,
        #[zbus(header)] header: zbus::message::Header<'_>,
    ) -> Result<String, Wrong> {
        let line = text(&options, "final-kernel-args").unwrap();
        let call = format!("KernelArgs {existing} => {line}");
        let effect: Effect = Box::new(move |deployments| {
            let new = Deployed { booted: false, staged: true, kargs: line, ..deployments[0].clone() };
            place(deployments, new);
        });
        self.begin("KernelArgs", call, sender(&header), effect).await
    }

    fn get_deployment_boot_config(&self, _index: &str, pending: bool) -> HashMap<&'static str, OwnedVariant> {
        let line = self.0.with(|state| {
            let one = state.deployments.iter().find(|one| pending || one.booted);
            one.map(|one| one.kargs.clone()).unwrap_or_default()
        });
        HashMap::from([("options", Variant::from(line).try_to_owned().unwrap())])
    }

    async fn cleanup(
        &self,
        elements: Vec<String>,
        #[zbus(header)] header: zbus::message::Header<'_>,
    ) -> Result<String, Wrong> {
        let pending = elements.contains(&"pending-deploy".to_owned());
        let effect: Effect = Box::new(move |deployments| {
            let booted = deployments.iter().position(|one| one.booted).unwrap();
            let mut place = 0;
            deployments.retain(|one| {
                let drop = one.pinned || place == booted || (place < booted) != pending;
                place += 1;
                drop
            });
        });
        self.begin("Cleanup", format!("Cleanup {}", elements.join(",")), sender(&header), effect).await
    }

    async fn rollback(
        &self,
        _options: HashMap<String, OwnedVariant>,
        #[zbus(header)] header: zbus::message::Header<'_>,
    ) -> Result<String, Wrong> {
        let effect: Effect = Box::new(|deployments| {
            let booted = deployments.iter().position(|one| one.booted).unwrap();
            let first = if deployments.len() > booted + 1 { booted + 1 } else { booted };
            let moved = deployments.remove(first);
            deployments.insert(0, moved);
        });
        self.begin("Rollback", "Rollback".to_owned(), sender(&header), effect).await
    }
}

/// A staged deployment takes the place of another one.
pub fn place(deployments: &mut Vec<Deployed>, new: Deployed) {
    deployments.retain(|one| !one.staged);
    deployments.insert(0, new);
}

/// Drops a connection for good: the library keeps it alive as long as its tasks do.
pub async fn hang_up(connection: Connection) {
    let _ = connection.close().await;
}
