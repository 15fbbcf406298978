//! The memory that one message takes, as the kernel counts it: at most three times the longest message, whatever is in it.
#![cfg(test)]

mod common;

use std::fs;
use std::io::Write;
use std::process::{Child, Command, Stdio};

use common::{greet, reply, send};
use ostler_core::protocol::{Class, Destination, MAX_FRAME, Prepare, Reply, Request, Rules, Sealed, encode};
use serde_json::{Value, json};

/// How much larger than the longest message.
const FACTOR: usize = 3;
const MIB: usize = 1024 * 1024;

/// The program, on a root of its own.
struct Applier {
    root: tempfile::TempDir,
    program: Child,
}

impl Applier {
    fn start() -> Self {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in [("passwd", "root:x:0:0::/root:/bin/sh\n"), ("group", "root:x:0:\n")] {
            fs::create_dir_all(root.path().join("etc")).unwrap();
            fs::write(root.path().join("etc").join(path), text).unwrap();
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_ostler-applier"));
        command.arg("--stdio").arg("--root").arg(root.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        // As the unit does.
        command.env("GLIBC_TUNABLES", "glibc.malloc.mmap_threshold=1048576");
        let mut program = command.spawn().unwrap();
        let mut streams = Streams(&mut program);
        greet(&mut streams);
        Self { root, program }
    }

    fn memory(&self, key: &str) -> usize {
        memory(self.program.id(), key).expect("the program runs")
    }

    /// The answer to a frame, and to applying what it prepares, and the most memory that was in use meanwhile beyond what was before.
    fn cost(&mut self, frame: &[u8]) -> (Reply, usize) {
        send(&mut Streams(&mut self.program), &Request::Status);
        assert!(matches!(reply(&mut Streams(&mut self.program)), Some(Reply::Status(_))));
        let before = self.memory("VmRSS");
        // It may end with its answer, and a process that has ended has no memory to tell of.
        let id = self.program.id();
        let watched = std::thread::spawn(move || std::iter::from_fn(|| memory(id, "VmHWM")).last().unwrap_or_default());
        // A program that has seen enough may not take all of it.
        let _ = self.program.stdin.as_mut().unwrap().write_all(frame);
        let answer = loop {
            match reply(&mut Streams(&mut self.program)).expect("an answer") {
                Reply::Progress(_) => {}
                Reply::Prepared(prepared) => {
                    send(&mut Streams(&mut self.program), &Request::Apply { ticket: prepared.ticket });
                }
                answer => break answer,
            }
        };
        let most = memory(id, "VmHWM").unwrap_or_default();
        drop(self.program.stdin.take());
        self.program.wait().unwrap();
        (answer, watched.join().unwrap().max(most).saturating_sub(before))
    }
}

impl Drop for Applier {
    fn drop(&mut self) {
        drop(self.program.stdin.take());
        let _ = self.program.wait();
    }
}

/// A line of a process's status, in bytes; nothing once it has ended.
fn memory(process: u32, key: &str) -> Option<usize> {
    let text = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    Some(line.split_whitespace().next()?.parse::<usize>().ok()? * 1024)
}

/// Both ends of a child as one stream.
struct Streams<'c>(&'c mut Child);

impl std::io::Read for Streams<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.0.stdout.as_mut().unwrap().read(into)
    }
}

impl Write for Streams<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.stdin.as_mut().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.stdin.as_mut().unwrap().flush()
    }
}

fn config(files: Value) -> Value {
    let ignition = json!({"ignition": {"version": "3.4.0"}, "storage": {"files": files}});
    json!({"metadata": {"name": "large"}, "spec": {"config": ignition}})
}

fn prepare(target: &Value) -> Vec<u8> {
    let to = Destination::Config(Sealed::new(target.clone()));
    encode(&Request::Prepare(Prepare { to, rules: Rules::default() })).unwrap()
}

#[test]
fn large_configurations_are_applied_within_the_bound() {
    // Base64 of zeroes.
    let data = |length: usize| format!("data:;base64,{}", "A".repeat(length));
    let large = data(31 * MIB);
    let one = json!([{"path": "/etc/large", "contents": {"source": large}}]);
    let part = data(MIB);
    let some: Vec<_> = (0..31).map(|n| json!({"path": format!("/etc/f/{n}"), "contents": {"source": part}})).collect();
    let small = |n| json!({"path": format!("/etc/f/{n}"), "mode": 420, "contents": {"source": "data:,x"}});
    let many: Vec<_> = (0..5_000).map(small).collect();
    for (shape, files) in [("one file", one), ("some files", json!(some)), ("many small files", json!(many))] {
        let mut applier = Applier::start();
        let frame = prepare(&config(files));
        let (answer, cost) = applier.cost(&frame);
        eprintln!("{shape}: a frame of {} KiB took {} KiB", frame.len() / 1024, cost / 1024);
        assert!(matches!(answer, Reply::Finished(_)), "{shape}: {answer:?}");
        assert!(applier.root.path().join("etc/machine-config-daemon/currentconfig").exists());
        assert!(cost <= FACTOR * MAX_FRAME, "{shape}: {cost} bytes for {}", frame.len());
    }
}

#[test]
fn hostile_messages_are_refused_within_the_bound() {
    let fill = |before: &str, part: &str, after: &str| {
        let room = MAX_FRAME - before.len() - after.len() - 16;
        format!("{before}{}0{after}", part.repeat(room / part.len()))
    };
    let (target, rest) =
        (r#"{"prepare":{"to":{"config":""#, r#""},"rules":{"policy":null,"firstBoot":false,"overrides":[]}}}"#);
    let (policy, end) =
        (r#"{"prepare":{"to":{"config":"{}"},"rules":{"policy":["#, r#"],"firstBoot":false,"overrides":[]}}}"#);
    let overrides = r#"{"prepare":{"to":"previous","rules":{"policy":null,"firstBoot":false,"overrides":["#;
    for (shape, body) in [
        ("a target of lists", fill(target, "[],", rest)),
        ("a target of nothing", fill(target, "x", rest)),
        ("a policy of lists", fill(policy, "[],", end)),
        ("a policy of objects", fill(policy, "{\"a\":1},", end)),
        ("a policy of numbers", fill(policy, "1,", end)),
        ("a policy of one string", fill(&format!("{policy}\""), "x", &format!("\"{end}"))),
        ("many overrides", fill(overrides, "\"Disks\",", "\"Raid\"]}}}")),
        ("a name of one string", fill("{\"", "x", "\":{}}")),
        ("depth", fill(policy, "[", end)),
        ("an unknown request", fill("{\"request\":\"apply\",\"x\":[", "[],", "]}")),
    ] {
        let mut applier = Applier::start();
        let mut frame = u32::try_from(body.len()).unwrap().to_be_bytes().to_vec();
        frame.extend(body.as_bytes());
        let (answer, cost) = applier.cost(&frame);
        eprintln!("{shape}: a frame of {} KiB took {} KiB", frame.len() / 1024, cost / 1024);
        let Reply::Failed(failure) = answer else { panic!("{shape}: {answer:?}") };
        assert!(matches!(failure.class, Class::Refusal | Class::Inoperable), "{shape}: {failure:?}");
        assert!(cost <= FACTOR * frame.len(), "{shape}: {cost} bytes for {}", frame.len());
    }
}
