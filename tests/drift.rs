//! Drift while the agent runs: everything that somebody can do to a configured machine is told, put right where the policy
//! says so, and forgotten when it is gone; nobody can keep the agent busy with it.
#![cfg(test)]

#[path = "sandbox/mod.rs"]
mod sandbox;

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Duration;

use sandbox::{Answer, Running, Sandbox, file, is_root, machine_config, until};
use serde_json::{Value, json};

/// Files of the configuration.
const MANY: usize = 2000;
/// Deeds at a time: as many as are told one by one.
const GROUP: usize = 3;
/// A unit that is started at boot.
const UNIT: &str = "[Service]\n[Install]\nWantedBy=multi-user.target\n";
/// Stands in all contents, and must come out nowhere.
const CANARY: &str = "c4n4ry-hunter2";
/// Writes of somebody who fights a repair, and the time between two of them.
const STROKES: u32 = 150;
const STROKE: Duration = Duration::from_millis(50);
/// For how long a quiet agent is looked at, and what it may do meanwhile.
const QUIET: Duration = Duration::from_secs(8);
const WAKE_UPS: u64 = 12;

fn many(number: usize) -> String {
    format!("/etc/many/{}/{number}.conf", number % 100)
}

fn configuration(name: &str, files: usize) -> Value {
    let mut all: Vec<Value> = (0..files).map(|number| file(&many(number), format!("{CANARY} {name}"))).collect();
    all.extend(["/etc/app/app.conf", "/etc/lone/lone.conf"].map(|path| file(path, CANARY)));
    let keys = json!([format!("ssh-ed25519 {CANARY}")]);
    machine_config(
        name,
        &json!({
            "storage": {"files": all},
            "systemd": {"units": [
                {"name": "n.service", "enabled": true, "contents": UNIT,
                 "dropins": [{"name": "x.conf", "contents": "[Unit]\n"}]},
                {"name": "m.service", "mask": true},
            ]},
            "passwd": {"users": [{"name": "core", "passwordHash": "$6$c4n4ry-hunter2", "sshAuthorizedKeys": keys}]},
        }),
    )
}

/// A node that is where it should be, and its agent.
struct Node {
    sandbox: Sandbox,
    desired: PathBuf,
    agent: Option<Running>,
}

impl Node {
    fn new(files: usize, policy: Option<&str>) -> Self {
        let sandbox = Sandbox::new();
        let desired = sandbox.outside().join("desired");
        fs::create_dir(&desired).unwrap();
        fs::write(desired.join("rendered-1.json"), configuration("rendered-1", files).to_string()).unwrap();
        let mut node = Self { sandbox, desired, agent: None };
        if let Some(policy) = policy {
            node.sandbox.write("/etc/ostler/drift.yaml", policy);
        }
        for (boot, code) in [(1, 4), (2, 0)] {
            node.sandbox.write("/proc/sys/kernel/random/boot_id", format!("boot-{boot}\n"));
            let answer = node.start(&["--once"]).end();
            assert_eq!(answer.code, Some(code), "{answer}");
        }
        node.agent = Some(node.start(&[]));
        until("the agent watches", || node.says("settled") || node.trouble().is_some());
        node
    }

    fn start(&self, more: &[&str]) -> Running {
        let desired = self.desired.to_str().unwrap();
        let mut words = vec!["daemon", "--standalone", desired, "--node-name", "alone", "--metrics", "none"];
        words.extend(more);
        self.sandbox.start(&words)
    }

    fn daemon(&self) -> Value {
        self.sandbox.ostler(&["status", "-o", "json"]).json()["daemon"].clone()
    }

    fn says(&self, phase: &str) -> bool {
        self.daemon()["phase"] == phase
    }

    fn trouble(&self) -> Option<String> {
        self.daemon()["trouble"].as_str().map(str::to_owned)
    }

    /// What the status file says of the node's health.
    fn degraded(&self) -> Option<String> {
        let text = fs::read_to_string(self.sandbox.path("/run/ostler/agent/machineconfignode.json")).ok()?;
        let object: Value = serde_json::from_str(&text).ok()?;
        let all = object["status"]["conditions"].as_array()?;
        let condition =
            all.iter().find(|condition| condition["type"] == "NodeDegraded" && condition["status"] == "True")?;
        condition["message"].as_str().map(str::to_owned)
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.sandbox.path(path)).unwrap_or_default()
    }

    /// All that differs; nothing while a repair is under way.
    fn drift(&self) -> Option<Vec<Value>> {
        self.sandbox.ostler(&["drift", "-o", "json"]).json()["drift"].as_array().cloned()
    }

    /// Ends the agent; what it said.
    fn end(mut self) -> Answer {
        let mut agent = self.agent.take().unwrap();
        agent.terminate();
        let answer = agent.end();
        assert_eq!(answer.code, Some(0), "{answer}");
        assert!(!answer.stderr.contains(CANARY), "a secret: {answer}");
        answer
    }
}

/// What is done to a machine, and what has to be said of it.
type Deed = (&'static str, fn(&Sandbox), &'static str);

const DEEDS: &[Deed] = &[
    ("written", |at| at.write("/etc/many/7/7.conf", "mine"), "content mismatch for file \"/etc/many/7/7.conf\""),
    (
        "removed",
        |at| fs::remove_file(at.path("/etc/many/8/8.conf")).unwrap(),
        "could not stat file \"/etc/many/8/8.conf\"",
    ),
    (
        "chmod",
        |at| fs::set_permissions(at.path("/etc/many/9/9.conf"), fs::Permissions::from_mode(0o600)).unwrap(),
        "mode mismatch for file: \"/etc/many/9/9.conf\"; expected: -rw-r--r--/420/0644; received: -rw-------/384/0600",
    ),
    (
        "edited as vim does",
        |at| {
            let place = at.path("/etc/many/10/10.conf");
            fs::rename(&place, place.with_extension("conf~")).unwrap();
            fs::write(&place, "mine").unwrap();
            fs::remove_file(place.with_extension("conf~")).unwrap();
        },
        "content mismatch for file \"/etc/many/10/10.conf\"",
    ),
    (
        "a link in its place",
        |at| {
            let place = at.path("/etc/many/11/11.conf");
            fs::remove_file(&place).unwrap();
            symlink("/dev/null", place).unwrap();
        },
        "type mismatch for file: \"/etc/many/11/11.conf\"; expected: file; received: link",
    ),
    (
        "a directory swapped for a link",
        |at| {
            at.write("/srv/app/app.conf", "theirs");
            fs::rename(at.path("/etc/app"), at.path("/srv/aside")).unwrap();
            symlink("../srv/app", at.path("/etc/app")).unwrap();
        },
        "content mismatch for file \"/etc/app/app.conf\"",
    ),
    (
        "unit rewritten",
        |at| at.write("/etc/systemd/system/n.service", format!("{UNIT}#\n")),
        "content mismatch for file \"/etc/systemd/system/n.service\"",
    ),
    (
        "unit disabled",
        |at| fs::remove_file(at.path("/etc/systemd/system/multi-user.target.wants/n.service")).unwrap(),
        "unit \"n.service\" expected enabled=true, but systemd reports \"disabled\"",
    ),
    (
        "unit unmasked",
        |at| fs::remove_file(at.path("/etc/systemd/system/m.service")).unwrap(),
        "unit \"m.service\" expected masked, but is not masked",
    ),
    (
        "drop-in rewritten",
        |at| at.write("/etc/systemd/system/n.service.d/x.conf", "[Service]\n"),
        "content mismatch for file \"/etc/systemd/system/n.service.d/x.conf\"",
    ),
    (
        "drop-in added",
        |at| at.write("/etc/systemd/system/m.service.d/y.conf", "[Service]\n"),
        "unexpected file \"/etc/systemd/system/m.service.d/y.conf\"",
    ),
    (
        "key added",
        |at| {
            let place = at.path("/home/core/.ssh/authorized_keys.d/ignition");
            let mut text = fs::read_to_string(&place).unwrap();
            let _ = writeln!(text, "ssh-ed25519 theirs");
            fs::write(place, text).unwrap();
        },
        "SSH keys mismatch for user \"core\"",
    ),
    (
        "password changed",
        |at| {
            let place = at.path("/etc/shadow");
            let text = fs::read_to_string(&place).unwrap().replace("$6$c4n4ry-hunter2", "$6$theirs");
            fs::write(place.with_extension("new"), text).unwrap();
            fs::set_permissions(place.with_extension("new"), fs::Permissions::from_mode(0o000)).unwrap();
            fs::rename(place.with_extension("new"), place).unwrap();
        },
        "password mismatch for user \"core\"",
    ),
    (
        "a directory removed",
        |at| fs::remove_dir_all(at.path("/etc/lone")).unwrap(),
        "could not stat file \"/etc/lone/lone.conf\"",
    ),
];

#[test]
fn every_kind_of_drift_is_told_and_forgotten_when_it_is_gone() {
    let node = Node::new(MANY, None);
    assert_eq!((node.trouble(), node.degraded()), (None, None));
    for deeds in DEEDS.chunks(GROUP) {
        let names: Vec<&str> = deeds.iter().map(|(what, ..)| *what).collect();
        deeds.iter().for_each(|(_, act, _)| act(&node.sandbox));
        let tells_all = |told: &str| deeds.iter().all(|(.., words)| told.contains(words));
        until(&format!("{names:?}: told"), || node.degraded().is_some_and(|told| tells_all(&told)));
        let trouble = node.trouble().unwrap_or_default();
        let start = "unexpected on-disk state validating against rendered-1: ";
        assert!(trouble.starts_with(start) && tells_all(&trouble), "{names:?}: {trouble}");
        let repaired = node.sandbox.ostler(&["drift", "--repair", "--yes"]);
        assert_eq!(repaired.code, Some(0), "{names:?}: {repaired}");
        until(&format!("{names:?}: forgotten"), || node.degraded().is_none());
        until(&format!("{names:?}: no trouble"), || node.trouble().is_none());
    }
    if is_root() {
        chown(node.sandbox.path(&many(13)), Some(7), Some(7)).unwrap();
        let words = "owner mismatch for file: \"/etc/many/13/13.conf\"; expected: 0:0; received: 7:7";
        until("owned by another", || node.degraded().is_some_and(|message| message.contains(words)));
    }
    let said = node.end().stderr;
    let found = said.matches(" from rendered-1: ").count();
    assert!((DEEDS.len().div_ceil(GROUP)..=DEEDS.len() + 1).contains(&found), "nothing was told twice: {said}");
}

#[test]
fn what_the_policy_says_is_put_right_by_itself_and_the_rest_is_reported() {
    let policy = "rules:\n- {path: /etc/many/**, action: repair}\n- {path: /etc/app/*, action: ignore}\n";
    let node = Node::new(MANY, Some(policy));
    for (number, path) in (0..MANY).map(|number| (number, many(number))).step_by(5) {
        match number % 3 {
            0 => node.sandbox.write(&path, "mine"),
            1 => fs::remove_file(node.sandbox.path(&path)).unwrap(),
            _ => fs::set_permissions(node.sandbox.path(&path), fs::Permissions::from_mode(0o755)).unwrap(),
        }
    }
    node.sandbox.write("/etc/app/app.conf", "mine");
    let is_right = |number| node.text(&many(number)) == format!("{CANARY} rendered-1");
    until("everything is put right", || (0..MANY).step_by(5).all(is_right));
    until("one thing is left", || node.drift().is_some_and(|left| left.len() == 1));
    let left = node.drift().unwrap();
    assert_eq!((&left[0]["subject"]["path"], &left[0]["policy"]), (&json!("/etc/app/app.conf"), &json!("ignore")));
    until("nothing is reported", || node.degraded().is_none());
    let status = node.sandbox.ostler(&["status", "-o", "json"]).json();
    assert_eq!((&status["trial"], &status["settled"]), (&Value::Null, &json!(true)), "{status}");
    // A policy is watched like everything else.
    node.sandbox.write("/etc/ostler/drift.yaml", "default: repair\n");
    until("the new policy counts", || node.text("/etc/app/app.conf") == CANARY);
    let said = node.end().stderr;
    assert!(said.contains("repaired, as the drift policy says"), "{said}");
}

#[test]
fn an_update_is_no_drift() {
    let node = Node::new(MANY, None);
    let next = configuration("rendered-2", MANY);
    fs::write(node.desired.join("rendered-2.json"), next.to_string()).unwrap();
    until("the update is made", || node.text(&many(MANY - 1)).ends_with("rendered-2"));
    until("it waits for the restart", || node.says("restarting"));
    // Nothing is looked at until the machine is at rest.
    node.sandbox.write(&many(1), "mine");
    node.sandbox.write("/proc/sys/kernel/random/boot_id", "boot-3\n");
    let said = node.end().stderr;
    assert!(!said.contains(" from rendered-1: "), "{said}");
}

#[test]
fn who_fights_a_repair_gets_few_of_them() {
    let node = Node::new(50, Some("default: repair\n"));
    let place = node.sandbox.path(&many(1));
    for _ in 0..STROKES {
        let _ = fs::write(&place, "mine");
        thread::sleep(STROKE);
    }
    until("the last word is ours", || node.text(&many(1)).starts_with(CANARY));
    let said = node.end().stderr;
    let repairs = said.matches("put right").count();
    assert!(repairs <= 8, "{repairs} repairs: {said}");
}

#[test]
fn a_quiet_machine_wakes_nobody() {
    let node = Node::new(MANY, Some("default: repair\n"));
    let pid = node.agent.as_ref().unwrap().pid();
    // The thread of the last look ends by itself after a while.
    let threads = || fs::read_dir(format!("/proc/{pid}/task")).unwrap().count();
    until("the agent is alone", || threads() == 1);
    let before = switches(pid);
    thread::sleep(QUIET);
    let woken = switches(pid) - before;
    assert!(woken <= WAKE_UPS, "woken {woken} times in {QUIET:?}");
    node.end();
}

fn switches(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text.lines().find(|line| line.starts_with("voluntary_ctxt_switches")).unwrap();
    line.split_whitespace().last().unwrap().parse().unwrap()
}

/// A directory that cannot be written to, until it is dropped.
struct ReadOnly(PathBuf);

impl ReadOnly {
    fn new(place: PathBuf) -> Option<Self> {
        let mount = |options: &[&str]| {
            let output = Command::new("mount").args(options).arg(&place).output();
            output.is_ok_and(|output| output.status.success())
        };
        if !mount(&["--bind", place.to_str()?]) {
            let _ = writeln!(io::stderr(), "SKIPPED: nothing can be mounted");
            return None;
        }
        let mounted = Self(place.clone());
        assert!(mount(&["-o", "remount,bind,ro"]));
        Some(mounted)
    }
}

impl Drop for ReadOnly {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn what_cannot_be_written_is_reported_and_keeps_nothing_else_from_being_put_right() {
    let node = Node::new(50, Some("default: repair\n"));
    let place = node.sandbox.path("/etc/app");
    fs::write(place.join("app.conf"), "mine").unwrap();
    let Some(mounted) = ReadOnly::new(place) else { return };
    node.sandbox.write(&many(2), "mine");
    let is_right = || node.text(&many(2)).starts_with(CANARY);
    until("the other file is put right", is_right);
    // Whether the repair came before the mount or not, it is told as it is.
    if node.text("/etc/app/app.conf") == "mine" {
        let words = "content mismatch for file \"/etc/app/app.conf\"";
        until("it is reported", || node.degraded().is_some_and(|message| message.contains(words)));
        drop(mounted);
        until("it is put right", || node.text("/etc/app/app.conf") == CANARY);
        until("it is forgotten", || node.degraded().is_none());
    }
    node.end();
}
