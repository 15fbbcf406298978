//! A machine to run `ostler` on, with a service that shows which configuration it has seen.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::answer::{Answer, programs};
use crate::container::Container;

/// Starts only with a text it likes, and not at once with a slow one; keeps count of what was done to it. systemd would
/// not start it twice by itself.
const APP: &str = "[Unit]\nStartLimitIntervalSec=600\nStartLimitBurst=1\n[Service]\nType=exec\nTimeoutStopSec=2\n\
    ExecStartPre=/bin/sh -c 'echo start >> /run/app.log; if grep -q slow /etc/app.conf; then touch /run/app.slow; \
    sleep 3; fi; if grep -q bad /etc/app.conf; then exit 7; fi; cp /etc/app.conf /run/app.seen'\n\
    ExecStart=/usr/bin/sleep infinity\n\
    ExecReload=/bin/sh -c 'echo reload >> /run/app.log; cp /etc/app.reload /run/app.reloaded'\n";

/// No reboots: every file and unit of these tests has a policy.
const POLICY: &str = "\
files:
  - {path: /etc/app.conf, actions: [{type: Restart, restart: {serviceName: app.service}}]}
  - {path: /etc/app.reload, actions: [{type: Reload, reload: {serviceName: app.service}}]}
  - {path: /etc/plain, actions: [{type: None}]}
units:
";

const UNITS: &[&str] = &[
    "new.service",
    "app.service",
    "old.service",
    "many@.service",
    "many@a.service",
    "hidden.service",
    "left.service",
    "absent.service",
];

/// How long anything may take that is waited for.
const PATIENCE: Duration = Duration::from_secs(180);

/// The machine.
pub struct Node(Container);

impl Node {
    /// A machine whose app runs with the text `first`; nothing, loudly, where no machine can be had.
    pub fn boot() -> Option<Self> {
        let node = Self(Container::if_possible(Some(programs()))?);
        let units: String =
            UNITS.iter().map(|name| format!("  - {{name: {name}, actions: [{{type: None}}]}}\n")).collect();
        node.write("var/tmp/policy.yaml", &format!("{POLICY}{units}"));
        node.write("etc/app.conf", "first");
        node.write("etc/app.reload", "first");
        node.0.unit("app.service", APP);
        node.systemctl(&["daemon-reload"]);
        node.systemctl(&["start", "app.service"]);
        assert_eq!(node.read("run/app.seen"), "first");
        Some(node)
    }

    pub fn unit(&self, name: &str, text: &str) {
        self.0.unit(name, text);
    }

    pub fn write(&self, path: &str, text: &str) {
        fs::write(self.0.path(path), text).unwrap();
    }

    /// A file's text; nothing when there is none.
    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.0.path(path)).unwrap_or_default()
    }

    pub fn has(&self, path: &str) -> bool {
        self.0.path(path).symlink_metadata().is_ok()
    }

    /// Writes a MachineConfig of this name and gives its path in the machine.
    pub fn config(&self, name: &str, ignition: &Value) -> String {
        self.config_with(name, ignition, &json!({}))
    }

    /// The same, with more in its spec.
    pub fn config_with(&self, name: &str, ignition: &Value, spec: &Value) -> String {
        let mut spec = spec.clone();
        spec["config"] = ignition.clone();
        spec["config"]["ignition"] = json!({"version": "3.5.0"});
        let document = json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
            "metadata": {"name": name}, "spec": spec,
        });
        self.write(&format!("var/tmp/{name}.json"), &document.to_string());
        format!("/var/tmp/{name}.json")
    }

    pub fn command(&self, program: &str) -> Command {
        self.0.enter(program)
    }

    pub fn run(&self, program: &str, arguments: &[&str]) -> Answer {
        self.0.enter(program).args(arguments).output().unwrap().into()
    }

    pub fn ostler(&self, arguments: &[&str]) -> Answer {
        self.run("/opt/ostler/ostler", arguments)
    }

    /// Starts `ostler` and does not wait for it.
    pub fn start(&self, arguments: &[&str]) -> Child {
        let mut command = self.0.enter("/opt/ostler/ostler");
        command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    pub fn apply(&self, config: &str) -> Answer {
        self.ostler(&["apply", "--to", config, "--policy=/var/tmp/policy.yaml", "--yes"])
    }

    pub fn start_applying(&self, config: &str) -> Child {
        self.start(&["apply", "--to", config, "--policy=/var/tmp/policy.yaml", "--yes"])
    }

    pub fn status(&self) -> Value {
        self.ostler(&["status", "-o", "json"]).json()
    }

    /// Fails unless the machine is settled in this configuration.
    pub fn settled_in(&self, config: &str) {
        let status = self.status();
        assert_eq!((&status["open"], &status["config"]), (&json!(null), &json!(config)), "{status:#}");
        assert_eq!(status["awaitsReboot"], false, "{status:#}");
    }

    pub fn systemctl(&self, arguments: &[&str]) -> String {
        self.run("systemctl", arguments).stdout.trim_end().to_owned()
    }

    pub fn enabled(&self, unit: &str) -> String {
        self.systemctl(&["is-enabled", unit])
    }

    pub fn show(&self, unit: &str, property: &str) -> String {
        self.systemctl(&["show", "--value", "--property", property, unit])
    }

    /// Fails if a unit was changed on disk and systemd has not read that.
    pub fn reloaded(&self, units: &[&str]) {
        for unit in units {
            assert_eq!(self.show(unit, "NeedDaemonReload"), "no", "{unit}");
        }
    }

    /// What was done to the app so far.
    pub fn log(&self) -> String {
        self.read("run/app.log").replace('\n', " ").trim_end().to_owned()
    }

    pub fn wait_until(&self, what: &str, done: impl Fn() -> bool) {
        let start = Instant::now();
        while !done() {
            assert!(start.elapsed() < PATIENCE, "waited in vain: {what}");
            sleep(Duration::from_millis(2));
        }
    }

    /// Numbers of the processes of a program, in the machine's own counting.
    pub fn processes(&self, program: &str) -> Vec<String> {
        let entries = fs::read_dir(self.0.path("proc")).unwrap().flatten();
        let named = |name: &String| self.read(&format!("proc/{name}/comm")).trim_end() == program;
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).filter(named).collect()
    }

    /// Ends the applier with no chance to say goodbye, and waits for the command it works for.
    pub fn kill_applier(&self, command: Child) -> Answer {
        for process in self.processes("ostler-applier") {
            self.run("sh", &["-c", &format!("kill -KILL {process}")]);
        }
        command.wait_with_output().unwrap().into()
    }
}

/// A file of an Ignition config.
pub fn file(path: &str, text: &str) -> Value {
    json!({"path": path, "mode": 0o644, "overwrite": true, "contents": {"source": format!("data:,{text}")}})
}

/// An Ignition config of these files and units.
pub fn ignition(files: &[Value], units: &[Value]) -> Value {
    json!({"storage": {"files": files}, "systemd": {"units": units}})
}
