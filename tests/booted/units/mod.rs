//! The units as they are shipped, on a machine whose image has the package: who starts when and as whom, who may ask whom,
//! and what becomes of a half that is killed.

mod accounts;
mod cluster;
mod cuts;
mod first_boot;
mod kills;
mod memory;
mod merge;
mod order;
mod recover;
mod scripts;

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::Value;

use crate::answer::Answer;
use crate::booted::wait_until;
use crate::node::{Driver, Node};

const UNITS: [&str; 4] =
    ["ostler.service", "ostler-applier.socket", "ostler-firstboot.service", "ostler-recover.service"];
const AGENT: &str = "ostler.service";
const APPLIER: &str = "ostler-applier.service";
const DESIRED: &str = "var/lib/ostler-desired";
/// An agent that is told what to do by a directory, and would soon be taken for dead.
const STANDALONE: &str = "[Service]\nExecStart=\nExecStart=/usr/bin/ostler daemon --standalone /var/lib/ostler-desired --reboot=auto \
    --node-name=node-1\nWatchdogSec=3\nRestartSec=100ms\n";
/// A root half that soon has nothing to do.
const IMPATIENT: &str =
    "[Service]\nExecStart=\nExecStart=/usr/libexec/ostler/ostler-applier --socket --idle 1\nRestartSec=100ms\n";

/// A node whose image has the package.
struct Packaged {
    node: Node,
}

impl Packaged {
    /// A node in `old`, on which the package's scripts have run and nothing was started yet.
    fn install() -> Option<Self> {
        Self::with(Driver::Bootc)
    }

    fn with(driver: Driver) -> Option<Self> {
        Self::on(Node::boot(driver)?)
    }

    fn on(node: Node) -> Option<Self> {
        let packaged = Self { node };
        let machine = &packaged.node.machine;
        machine.run("systemd-sysusers", &["/usr/lib/sysusers.d/ostler.conf"]);
        machine.run("systemd-tmpfiles", &["--create", "/usr/lib/tmpfiles.d/ostler.conf"]);
        machine.run("systemctl", &[&["preset"], &UNITS[..]].concat());
        packaged.write(&format!("etc/systemd/system/{APPLIER}.d/test.conf"), IMPATIENT);
        Some(packaged)
    }

    /// Has a directory say what is desired, which is `old`.
    fn standalone(&self) {
        self.standalone_with("");
    }

    /// The same, with one more option for the agent.
    fn standalone_with(&self, option: &str) {
        let unit = STANDALONE.replace("--node-name=node-1", &format!("--node-name=node-1 {option}"));
        self.write(&format!("etc/systemd/system/{AGENT}.d/test.conf"), &unit);
        self.desire("1-old", &self.node.config("old", 0, &["old.karg"]));
    }

    fn desire(&self, name: &str, config: &Value) {
        self.write(&format!("{DESIRED}/{name}.json"), &config.to_string());
    }

    fn write(&self, path: &str, text: &str) {
        self.node.write(path, text);
    }

    /// A unit of the cluster's configuration, wanted or required by another.
    fn unit(&self, name: &str, text: &str, by: &str) {
        self.write(&format!("etc/systemd/system/{name}"), text);
        let directory = self.node.machine.path(&format!("etc/systemd/system/{by}"));
        fs::create_dir_all(&directory).unwrap();
        symlink(format!("../{name}"), directory.join(name)).unwrap();
    }

    fn systemctl(&self, arguments: &[&str]) -> String {
        self.node.machine.run("systemctl", arguments).trim_end().to_owned()
    }

    /// What systemd knows of a unit.
    fn show(&self, unit: &str, property: &str) -> String {
        self.systemctl(&["show", "--value", "--property", property, unit])
    }

    /// A moment of a unit, in microseconds of this boot.
    fn moment(&self, unit: &str, property: &str) -> u64 {
        self.show(unit, &format!("{property}TimestampMonotonic")).parse().unwrap()
    }

    /// What a user of the machine gets from a command.
    fn as_user(&self, user: &str, group: &str, command: &[&str]) -> Answer {
        let mut whole = self.node.machine.enter("setpriv");
        whole.args([&format!("--reuid={user}"), &format!("--regid={group}"), "--clear-groups"]).args(command);
        whole.env("NO_COLOR", "1").output().unwrap().into()
    }

    /// A line of a process's status.
    fn process(&self, pid: &str, key: &str) -> String {
        let text = fs::read_to_string(self.node.machine.path(&format!("proc/{pid}/status"))).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
        line.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The agent's own lines in the journal of this boot.
    fn lines(&self) -> Vec<Value> {
        let text = self.node.machine.run("journalctl", &["--boot", "--unit=ostler.service", "--output=json"]);
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["SYSLOG_IDENTIFIER"] == "ostler").collect()
    }

    fn said(&self, words: &str) -> usize {
        self.lines().iter().filter(|line| line["MESSAGE"].as_str().is_some_and(|said| said.contains(words))).count()
    }

    fn object(&self) -> Value {
        serde_json::from_str(&self.node.read("run/ostler/agent/machineconfignode.json")).unwrap_or_default()
    }

    /// Whether the node is in a configuration and says so.
    fn rests_in(&self, config: &str) -> bool {
        let object = self.object();
        let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
        let updated = conditions.clone().any(|one| one["type"] == "Updated" && one["status"] == "True");
        updated && object["status"]["configVersion"]["current"] == config
    }

    /// Waits, and shows the journal where that is in vain.
    fn wait_until(&self, what: &str, done: impl Fn() -> bool) {
        let waited = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| wait_until(what, done)));
        assert!(waited.is_ok(), "{what}\n{}", self.node.machine.journal(&["--boot", "--lines=150"]));
    }
}
