//! The program on a directory with a boot of its own: what is on trial, proven, given up, and kept as a base.
#![cfg(test)]

mod common;

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use common::{body, hello, reply, send};
use ostler_core::protocol::{
    Class, Destination, Failure, Observation, Prepare, Reply, Request, Rules, Sealed, VERSION,
};
use ostler_core::status::Status;
use ostler_core::transaction::{Ending, Finished, Purpose};
use serde_json::{Value, json};

const BOOT_ID: &str = "proc/sys/kernel/random/boot_id";
const KEPT: &str = "var/lib/ostler/install-time.json";
const INSTALLED: &str = "etc/mcs-machine-config-content.json";

/// The files of a machine, and the program that serves them.
struct Node {
    root: tempfile::TempDir,
    program: Child,
}

impl Node {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for directory in ["etc", "usr", "var/lib"] {
            fs::create_dir_all(root.path().join(directory)).unwrap();
        }
        let mut program = Command::new(env!("CARGO_BIN_EXE_ostler-applier"))
            .arg("--root")
            .arg(root.path())
            .arg("--stdio")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        body(program.stdout.as_mut().unwrap()).expect("a greeting");
        program.stdin.as_mut().unwrap().write_all(&hello(VERSION)).unwrap();
        Self { root, program }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.root.path().join(below)
    }

    fn put(&self, below: &str, text: &str) {
        fs::create_dir_all(self.path(below).parent().unwrap()).unwrap();
        fs::write(self.path(below), text).unwrap();
    }

    fn ask(&mut self, request: &Request) -> Reply {
        send(self.program.stdin.as_mut().unwrap(), request);
        loop {
            match reply(self.program.stdout.as_mut().unwrap()).expect("an answer") {
                Reply::Progress(_) => {}
                answer => return answer,
            }
        }
    }

    fn failure(&mut self, request: &Request) -> Failure {
        match self.ask(request) {
            Reply::Failed(failure) => failure,
            other => panic!("{other:?}"),
        }
    }

    fn status(&mut self) -> Status {
        match self.ask(&Request::Status) {
            Reply::Status(status) => *status,
            other => panic!("{other:?}"),
        }
    }

    fn observe(&mut self) -> Observation {
        match self.ask(&Request::Observe) {
            Reply::Observed(observation) => observation,
            other => panic!("{other:?}"),
        }
    }

    fn apply(&mut self, target: &Value) -> Finished {
        let to = Destination::Config(Sealed::new(target.clone()));
        let ticket = match self.ask(&Request::Prepare(Prepare { to, rules: Rules::default() })) {
            Reply::Prepared(prepared) => prepared.ticket,
            other => panic!("{other:?}"),
        };
        match self.ask(&Request::Apply { ticket }) {
            Reply::Finished(finished) => finished,
            other => panic!("{other:?}"),
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        drop(self.program.stdin.take());
        let _ = self.program.wait();
    }
}

fn target(name: &str) -> Value {
    let file = json!({"path": "/etc/motd", "contents": {"source": format!("data:,{name}")}});
    let ignition = json!({"ignition": {"version": "3.4.0"}, "storage": {"files": [file]}});
    json!({"metadata": {"name": name}, "spec": {"config": ignition}})
}

fn give_up() -> Request {
    Request::GiveUp { reason: "the kubelet is ill".to_owned(), rules: Rules::default() }
}

#[test]
fn a_configuration_is_proven_in_another_boot_or_given_up() {
    let mut node = Node::new();
    node.put(BOOT_ID, "boot-1\n");
    assert_eq!(node.ask(&Request::Confirm), Reply::Nothing);
    assert_eq!(node.ask(&give_up()), Reply::Nothing);
    node.apply(&target("rendered-1"));
    let status = node.status();
    let trial = status.trial.unwrap();
    assert_eq!(
        (status.boot.boot_id.as_str(), trial.config.as_str(), trial.before.boot_id.as_str()),
        ("boot-1", "rendered-1", "boot-1")
    );
    let refused = node.failure(&Request::Confirm);
    assert_eq!((refused.class, refused.unchanged), (Class::Refusal, true));
    assert!(refused.reasons[0].contains("has not restarted yet"), "{refused:?}");
    node.put(BOOT_ID, "boot-2\n");
    assert!(!node.observe().interrupted, "a trial is nothing that is open");
    assert_eq!(node.ask(&Request::Confirm), Reply::Confirmed { config: "rendered-1".to_owned() });
    assert_eq!(node.ask(&Request::Confirm), Reply::Nothing);

    node.apply(&target("rendered-2"));
    node.put(BOOT_ID, "boot-3\n");
    let Reply::Finished(finished) = node.ask(&give_up()) else { panic!() };
    assert_eq!((finished.purpose, finished.ending), (Purpose::Rollback, Ending::Applied));
    assert_eq!(fs::read_to_string(node.path("etc/motd")).unwrap(), "rendered-1");
    let status = node.status();
    assert_eq!((status.trial, status.config.as_deref()), (None, Some("rendered-1")));
    let rejected: Vec<_> = status.rejected.iter().map(|one| (one.config.as_str(), one.reason.as_str())).collect();
    assert_eq!(rejected, [("rendered-2", "the kubelet is ill")]);
    assert_eq!(node.ask(&give_up()), Reply::Nothing);
    node.apply(&target("rendered-2"));
    assert_eq!(node.status().rejected, []);
}

#[test]
fn the_boot_is_the_roots_own_where_it_has_one_and_never_made_up() {
    let mut node = Node::new();
    let kernel = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    assert_eq!(node.status().boot.boot_id, kernel.trim());
    node.put(BOOT_ID, "its-own\n");
    assert_eq!(node.status().boot.boot_id, "its-own");
    for bad in ["", "\n", &"x".repeat(1000)] {
        node.put(BOOT_ID, bad);
        for request in [Request::Status, Request::Observe, Request::Confirm] {
            assert_eq!(node.failure(&request).class, Class::Inoperable, "{bad:?} {request:?}");
        }
    }
    let Reply::Failed(refused) = node.ask(&Request::Reboot { check: false, soft: false }) else { panic!() };
    assert_eq!(refused.class, Class::Refusal);
}

#[test]
fn a_base_is_kept_once_and_gives_way_to_the_real_one() {
    let mut node = Node::new();
    let keep = |document: Value| Request::KeepBase { config: Some(Sealed::new(document)) };
    for nonsense in [json!(7), json!({"metadata": {}}), json!({"spec": {"config": "hunter2"}})] {
        let refused = node.failure(&keep(nonsense));
        assert_eq!(refused.class, Class::Refusal);
        assert!(!format!("{refused:?}").contains("hunter2"));
    }
    let observed = node.observe();
    assert_eq!((observed.install_time, observed.base_kept), (None, false));
    assert_eq!(node.ask(&keep(target("first"))), Reply::BaseKept { config: "first".to_owned() });
    assert_eq!(node.ask(&keep(target("second"))), Reply::Nothing);
    assert_eq!(fs::metadata(node.path(KEPT)).unwrap().permissions().mode() & 0o7777, 0o600);
    let observed = node.observe();
    assert_eq!((observed.install_time, observed.base_kept), (Some(Sealed::new(target("first"))), true));
    node.put(INSTALLED, &target("real").to_string());
    let observed = node.observe();
    assert_eq!((observed.install_time, observed.base_kept), (Some(Sealed::new(target("real"))), false));
}
