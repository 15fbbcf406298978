//! The cluster is away from the moment an update begins to change the machine until after the restart into it: the update goes
//! on without it, and is told, proven and committed when it is back.

use std::net::SocketAddr;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use serde_json::json;
use tokio::runtime::{Builder, Runtime};

use crate::cluster::controller::{Controller, annotation};
use crate::cluster::drains::Drains;
use crate::cluster::server::Server;
use crate::lab::Lab;
use crate::machine::PATIENCE;
use crate::node::{Node, Target};
use crate::qemu::HOST;

const NAME: &str = "node-1";
const KUBECONFIG: &str = "/var/lib/kubelet/kubeconfig";
const CERTIFICATE: &str = "/var/lib/kubelet/pki/kubelet-client-current.pem";
/// The unit as it is shipped, but for a kubelet, which these machines do not have.
const IN_A_CLUSTER: &str =
    "[Service]\nExecStart=\nExecStart=/usr/bin/ostler daemon --metrics=none --kubelet-healthz=none\n";
const JOURNAL: &str = "test -e /var/lib/ostler/journal/plan";
const LOST: &str = "journalctl --boot --unit=ostler.service --grep='the cluster cannot be reached'";
const NAP: Duration = Duration::from_secs(1);

/// The cluster's side; whatever it has to do it does while somebody waits with it.
struct Cluster {
    runtime: Runtime,
    server: Server,
    controller: Controller,
}

impl Cluster {
    /// A cluster that knows the node and both configurations; nothing, loudly, where none can be had.
    fn start(node: &Node<'_>) -> Result<Option<Self>> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let Some(server) = runtime.block_on(Server::start()) else { return Ok(None) };
        let controller = runtime.block_on(async { Controller::new(server.admin().await) });
        for target in [Target::old(), Target::new_os()] {
            let config = serde_json::from_value(node.config(&target)?)?;
            runtime.block_on(controller.create_config(&config));
        }
        runtime.block_on(controller.introduce(NAME));
        Ok(Some(Self { runtime, server, controller }))
    }

    fn want(&self, config: &str) {
        self.runtime.block_on(self.controller.set_desired(NAME, config, None));
    }

    /// Lets its own work go on for a while.
    fn rest(&self) {
        // A timer is made within the runtime, or not at all.
        self.runtime.block_on(async { tokio::time::sleep(NAP).await });
    }

    /// Waits until the node says that it is done with a configuration.
    fn wait_for(&self, config: &str, node: &mut Node<'_>) -> Result<()> {
        let start = Instant::now();
        loop {
            self.rest();
            let object = self.runtime.block_on(self.controller.nodes().get(NAME))?;
            let state = annotation(&object, "state");
            ensure!(state != Some("Degraded"), "{:?}\n{}", annotation(&object, "reason"), node.account());
            if state == Some("Done") && annotation(&object, "currentConfig") == Some(config) {
                return Ok(());
            }
            if start.elapsed() > PATIENCE {
                bail!("the node is never done with {config}: {object:#?}\n{}", node.account());
            }
        }
    }

    /// The kubeconfig of the node's kubelet and what it names, as the node sees both.
    fn credentials(&self) -> Result<(String, String)> {
        let file = self.server.node_seen_from(NAME, SocketAddr::from((HOST, self.server.address().port())));
        let certificate = std::fs::read_to_string(file.with_extension("pem"))?;
        let mut config: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(file)?)?;
        *config.pointer_mut("/users/0/user").context("a kubeconfig without a user")? =
            json!({"client-certificate": CERTIFICATE, "client-key": CERTIFICATE});
        Ok((config.to_string(), certificate))
    }
}

/// Has the node's agent look to the cluster.
fn join(node: &mut Node<'_>, cluster: &Cluster) -> Result<()> {
    // The machine has slept for longer than its certificates are old.
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    node.machine.run(&format!("date -s @{now}"))?;
    let (config, certificate) = cluster.credentials()?;
    node.write(CERTIFICATE, &certificate)?;
    node.write(KUBECONFIG, &config)?;
    node.write("/etc/systemd/system/ostler.service.d/20-case.conf", IN_A_CLUSTER)?;
    node.machine
        .run("chmod 0600 /var/lib/kubelet/kubeconfig; systemctl daemon-reload; systemctl restart ostler.service")?;
    cluster.wait_for("old", node)
}

/// The case.
pub fn run(lab: &mut Lab) -> Result<()> {
    let mut node = lab.node()?;
    let Some(mut cluster) = Cluster::start(&node)? else { return Ok(()) };
    cluster.want("old");
    join(&mut node, &cluster)?;
    let drains = {
        let _here = cluster.runtime.enter();
        Drains::answer(cluster.controller.clone(), NAME)
    };
    let before = node.read("/proc/sys/kernel/random/boot_id")?;
    cluster.want("new");
    node.wait_until("the machine is being changed", |node| {
        cluster.rest();
        Ok(node.machine.ask(JOURNAL)?.status == 0)
    })?;
    cluster.server.kill();
    node.follow_until("it has restarted, and the cluster is missed", |node| {
        Ok(node.read("/proc/sys/kernel/random/boot_id")? != before && node.machine.ask(LOST)?.status == 0)
    })?;
    let status = node.status()?;
    ensure!(
        status.pointer("/trial/config").is_some_and(|config| config == "new"),
        "proven without a cluster: {status:#}"
    );
    ensure!(node.seen()?.last().is_some_and(|(_, found)| *found == Ok(1)), "not new as a whole: {:?}", node.seen()?);
    let restarted = node.read("/proc/sys/kernel/random/boot_id")?;
    cluster.runtime.block_on(cluster.server.start_again());
    cluster.wait_for("new", &mut node)?;
    node.wait_until("nothing is left to do", |node| Ok(node.check(&Target::new_os()).is_ok()))?;
    ensure!(node.read("/proc/sys/kernel/random/boot_id")? == restarted, "it has restarted once more");
    ensure!(drains.asked() == ["drain-new", "uncordon-new"], "{:?}", drains.asked());
    node.fsck()
}
