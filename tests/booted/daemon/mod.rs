//! The agent as a service of a node: started by systemd, told what to do by a directory, followed through the restarts
//! that it orders itself.

mod kills;
mod manager;
mod restarts;
mod staging;
mod trials;

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::booted::wait_until;
use crate::node::{Driver, Node};

const DESIRED: &str = "var/lib/ostler-desired";
const UNIT: &str = "etc/systemd/system/ostler.service";
/// With this a boot has succeeded or failed when the agent first looks.
const AFTER_THE_BOOT: &str = "[Unit]\nAfter=boot-complete.target\n";

/// A node that is looked after.
struct Agent {
    node: Node,
}

impl Agent {
    /// A node in `old`, which is what is desired, with an agent that has seen so. `more` goes into the unit.
    fn start(driver: Driver, prove_within: u32, more: &str) -> Option<Self> {
        let agent = Self { node: Node::boot(driver)? };
        let node = &agent.node;
        agent.desire("1-old", &node.config("old", 0, &["old.karg"]));
        let unit = format!(
            "[Unit]\nWants=boot-complete.target\n[Service]\nType=notify\nBusName=dev.ostler.Agent\nWatchdogSec=30\n\
             KillMode=mixed\nExecStart=/opt/ostler/ostler daemon --standalone /{DESIRED} --reboot=auto --node-name=node-1 \
             --metrics=none --prove-within={prove_within}\n{more}"
        );
        node.write(UNIT, &unit);
        let wants = node.machine.path("etc/systemd/system/multi-user.target.wants");
        fs::create_dir_all(&wants).unwrap();
        symlink("../ostler.service", wants.join("ostler.service")).unwrap();
        node.machine.run("systemctl", &["daemon-reload"]);
        node.machine.run("systemctl", &["start", "ostler.service"]);
        agent.wait_until("the node is in the old configuration", || agent.is("Updated"));
        Some(agent)
    }

    /// Puts a configuration in the directory; the last by name is desired.
    fn desire(&self, name: &str, config: &Value) {
        self.node.write(&format!("{DESIRED}/{name}.json"), &config.to_string());
    }

    /// The node's status object.
    fn object(&self) -> Value {
        serde_json::from_str(&self.node.read("run/ostler/agent/machineconfignode.json")).unwrap_or_default()
    }

    fn condition(&self, kind: &str) -> Value {
        let object = self.object();
        let conditions = object["status"]["conditions"].as_array();
        conditions.into_iter().flatten().find(|one| one["type"] == kind).cloned().unwrap_or_default()
    }

    fn is(&self, kind: &str) -> bool {
        self.condition(kind)["status"] == "True"
    }

    /// What systemd knows of the service.
    fn property(&self, name: &str) -> String {
        let said = self.node.machine.run("systemctl", &["show", "--value", "--property", name, "ostler.service"]);
        said.trim_end().to_owned()
    }

    /// Its own lines in the journal, with their fields, of this boot.
    fn lines(&self) -> Vec<Value> {
        let text = self.node.machine.run("journalctl", &["--boot", "--unit=ostler.service", "--output=json"]);
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["SYSLOG_IDENTIFIER"] == "ostler").collect()
    }

    /// How many of them have these words.
    fn said(&self, words: &str) -> usize {
        self.lines().iter().filter(|line| line["MESSAGE"].as_str().is_some_and(|said| said.contains(words))).count()
    }

    /// Waits, and shows the journal where that is in vain.
    fn wait_until(&self, what: &str, done: impl Fn() -> bool) {
        let waited = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| wait_until(what, done)));
        assert!(waited.is_ok(), "{what}\n{}\n{:#}", self.journal(), self.object());
    }

    fn journal(&self) -> String {
        self.node.machine.journal(&["--boot", "--lines=100"])
    }

    /// Waits until an update is over, and says which configuration the node is in.
    fn comes_to_rest_in(&self, config: &str) {
        self.wait_until(&format!("the node is in {config}"), || {
            self.is("Updated") && self.object()["status"]["configVersion"]["current"] == config
        });
        let status = self.node.status();
        assert_eq!((&status["trial"], &status["open"]), (&json!(null), &json!(null)), "{status:#}");
    }
}
