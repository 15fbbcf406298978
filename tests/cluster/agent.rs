//! A node with the real agent at work on a root directory of its own, and what becomes of its objects.
#![allow(dead_code, reason = "every scenario takes what it needs of it")]

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::runtime::{WatchStreamExt, watcher};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ostler_core::api::{Condition, MachineConfigNode};
use serde_json::{Value, json};

use super::cluster::controller::{Controller, annotation, machine_config};
use super::sandbox::{self, Sandbox};

/// No scenario takes longer from one state to the next.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// A node: its files, its agent, its credentials, and the controller that looks at it.
pub struct Subject {
    pub name: String,
    pub sandbox: Sandbox,
    pub controller: Controller,
    kubeconfig: PathBuf,
    agent: Option<Child>,
    boots: u32,
    program: PathBuf,
    options: Vec<String>,
    environment: Vec<(String, String)>,
}

impl Subject {
    /// A node that was installed with a configuration, which is new to the cluster, and is known to it; its agent does
    /// not run yet.
    pub async fn installed(name: &str, kubeconfig: PathBuf, controller: Controller, config: &Value) -> Self {
        let installed = config["metadata"]["name"].as_str().unwrap();
        controller.create_config(&machine_config(installed, config["spec"]["config"].clone())).await;
        Self::joined(name, kubeconfig, controller, config).await
    }

    /// The same with a configuration that the cluster has already.
    pub async fn joined(name: &str, kubeconfig: PathBuf, controller: Controller, config: &Value) -> Self {
        let subject = Self::unknown(name, kubeconfig, controller).await;
        subject.sandbox.write("/etc/mcs-machine-config-content.json", config.to_string());
        subject.want(config["metadata"]["name"].as_str().unwrap()).await;
        subject
    }

    /// A node whose object says nothing of any configuration, and without files.
    pub async fn unknown(name: &str, kubeconfig: PathBuf, controller: Controller) -> Self {
        let subject = Self::with_files(name, kubeconfig, controller);
        subject.controller.introduce(name).await;
        subject
    }

    /// A node that was not installed with anything, and is known to a cluster that has no MachineConfigNodes.
    pub async fn alone(name: &str, kubeconfig: PathBuf, controller: Controller) -> Self {
        let subject = Self::with_files(name, kubeconfig, controller);
        subject.controller.create_node(name).await;
        subject
    }

    fn with_files(name: &str, kubeconfig: PathBuf, controller: Controller) -> Self {
        let mut subject = Self {
            name: name.to_owned(),
            sandbox: Sandbox::new(),
            controller,
            kubeconfig,
            agent: None,
            boots: 0,
            program: sandbox::programs().join("ostler"),
            options: Vec::new(),
            environment: Vec::new(),
        };
        subject.boot();
        subject
    }

    /// More options for the agent.
    pub fn with(mut self, options: &[&str]) -> Self {
        self.options = options.iter().map(|option| (*option).to_owned()).collect();
        self
    }

    /// Something in the environment of the agent.
    pub fn within(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Another program as the agent.
    pub fn by(mut self, program: PathBuf) -> Self {
        self.program = program;
        self
    }

    /// Makes a configuration in the cluster.
    pub async fn make(&self, name: &str, ignition: &Value) {
        self.controller.create_config(&machine_config(name, ignition.clone())).await;
    }

    /// Wants a configuration of the node.
    pub async fn want(&self, config: &str) {
        self.controller.set_desired(&self.name, config, None).await;
    }

    /// A new boot, as far as files can tell.
    fn boot(&mut self) {
        self.boots += 1;
        let id = format!("00000000-0000-4000-8000-{:012}\n", self.boots);
        self.sandbox.write("/proc/sys/kernel/random/boot_id", id);
        let _ = fs::remove_dir_all(self.sandbox.path("/run/ostler"));
    }

    /// Starts the agent.
    pub fn start(&mut self) {
        let log = fs::OpenOptions::new().create(true).append(true).open(self.log_path()).unwrap();
        let mut command = Command::new(&self.program);
        command.args(["daemon", "--log-level", "debug", "--kubelet-healthz", "none"]);
        if !self.options.iter().any(|option| option == "--metrics") {
            command.args(["--metrics", "none"]);
        }
        command.arg("--root").arg(self.sandbox.root()).arg("--kubeconfig").arg(&self.kubeconfig);
        command.args(["--node-name", &self.name]).args(&self.options).env_remove("OSTLER_APPLIER");
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        self.agent = Some(command.spawn().expect("ostler starts"));
    }

    fn log_path(&self) -> PathBuf {
        self.sandbox.outside().join("agent.log")
    }

    /// All that the agent has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    /// The agent's process.
    pub fn pid(&self) -> Pid {
        Pid::from_raw(self.agent.as_ref().expect("the agent runs").id().cast_signed())
    }

    /// Ends the agent as the service manager does.
    pub fn stop(&mut self) {
        self.signal(Signal::SIGTERM);
    }

    /// Ends the agent as nobody should.
    pub fn kill(&mut self) {
        self.signal(Signal::SIGKILL);
    }

    fn signal(&mut self, signal: Signal) {
        let Some(mut agent) = self.agent.take() else { return };
        let _ = kill(Pid::from_raw(agent.id().cast_signed()), signal);
        let _ = agent.wait();
    }

    /// Restarts the machine, as far as files can tell: the agent of the next boot finds another boot ID.
    pub fn restart(&mut self) {
        self.kill();
        self.boot();
        self.start();
    }

    /// The text of a file on the node.
    pub fn file(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.sandbox.path(path)).ok()
    }

    /// Waits until the Node is as it should be.
    pub async fn node_until(&self, what: &str, is_so: impl Fn(&Node) -> bool) -> Node {
        let api: Api<Node> = self.controller.nodes();
        self.until(api, what, is_so).await
    }

    /// Waits until the MachineConfigNode is as it should be.
    pub async fn object_until(&self, what: &str, is_so: impl Fn(&MachineConfigNode) -> bool) -> MachineConfigNode {
        self.until(self.controller.machine_config_nodes(), what, is_so).await
    }

    async fn until<K>(&self, api: Api<K>, what: &str, is_so: impl Fn(&K) -> bool) -> K
    where
        K: kube::Resource + Clone + std::fmt::Debug + serde::de::DeserializeOwned + Send + 'static,
    {
        let config = watcher::Config::default().fields(&format!("metadata.name={}", self.name));
        let mut seen = None;
        let objects = watcher(api, config).default_backoff().applied_objects();
        let wait = async {
            let mut objects = std::pin::pin!(objects);
            while let Some(object) = objects.next().await {
                let Ok(object) = object else { continue };
                if is_so(&object) {
                    return Some(object);
                }
                seen = Some(object);
            }
            None
        };
        match tokio::time::timeout(PATIENCE, wait).await {
            Ok(Some(object)) => object,
            _ => panic!("{}: never saw {what}; last seen {seen:#?}; the agent says:\n{}", self.name, self.log()),
        }
    }

    /// Waits until the node says that it is done with a configuration, and that it is in it.
    pub async fn done(&self, config: &str) -> Node {
        let node = self
            .node_until(&format!("Done in {config}"), |node| {
                annotation(node, "state") == Some("Done") && annotation(node, "currentConfig") == Some(config)
            })
            .await;
        assert_eq!(annotation(&node, "reason").unwrap_or_default(), "", "{}", self.log());
        self.object_until(&format!("Updated in {config}"), |object| {
            let version = object.status.as_ref().and_then(|status| status.config_version.as_ref());
            is(object, "Updated", "True") && version.is_some_and(|version| version.current.as_deref() == Some(config))
        })
        .await;
        node
    }

    /// What happened to the node, as its events say, oldest first.
    pub async fn events(&self) -> Vec<String> {
        let events: Api<k8s_openapi::api::core::v1::Event> = Api::all(self.controller.nodes().into_client());
        let list = events.list(&Default::default()).await.unwrap();
        let own = list.items.into_iter().filter(|event| event.involved_object.name.as_deref() == Some(&self.name));
        own.filter_map(|event| event.reason).collect()
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A configuration as a document, with one file of this text.
pub fn with_file(name: &str, path: &str, text: &str) -> Value {
    document(name, json!({"ignition": {"version": "3.5.0"}, "storage": {"files": [sandbox::file(path, text)]}}))
}

/// A configuration as a document.
pub fn document(name: &str, ignition: Value) -> Value {
    serde_json::to_value(machine_config(name, ignition)).unwrap()
}

/// A condition of the node.
pub fn condition<'a>(object: &'a MachineConfigNode, type_: &str) -> Option<&'a Condition> {
    object.status.as_ref()?.conditions.iter().find(|condition| condition.type_ == type_)
}

/// Whether a condition of the node has a status.
pub fn is(object: &MachineConfigNode, type_: &str, status: &str) -> bool {
    condition(object, type_).is_some_and(|condition| condition.status == status)
}
