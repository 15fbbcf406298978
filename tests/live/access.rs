//! The password of `core`, in the machine's own database and under its lock.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::node::Node;

const HASH: &str = "$6$salt$0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789abcdefghijklmn";
/// Holds the lock of the password database as passwd does, until its input ends.
const HOLDER: &str = "use Fcntl; open(my $file, '>>', '/etc/.pwd.lock') or die; \
    my $lock = pack('s s x4 q q l x4', F_WRLCK, 0, 0, 0, 0); fcntl($file, F_SETLK, $lock) or die; \
    $| = 1; print \"held\n\"; <STDIN>;";

fn config(hash: Option<&str>) -> Value {
    let users = hash.map(|hash| json!({"name": "core", "passwordHash": hash}));
    json!({"passwd": {"users": users.into_iter().collect::<Vec<_>>()}})
}

fn furnish(node: &Node) {
    let accounts = node.read("etc/passwd");
    node.write("etc/passwd", &format!("{accounts}core:x:1000:1000::/var/home/core:/bin/sh\n"));
    node.write("etc/shadow", "root:*:19000:0:99999:7:::\ncore:*:19000:0:99999:7:::\n");
}

fn line(node: &Node) -> Vec<String> {
    let shadow = node.read("etc/shadow");
    let line = shadow.lines().find(|line| line.starts_with("core:")).unwrap();
    line.split(':').map(str::to_owned).collect()
}

fn apply(node: &Node, name: &str, hash: Option<&str>) -> Answer {
    let config = node.config(name, &config(hash));
    node.ostler(&["apply", "--to", &config, "--yes"])
}

/// Whether `passwd -S` takes the password for usable (P) or locked (L).
fn usable(node: &Node) -> String {
    let said = node.run("passwd", &["-S", "core"]);
    said.stdout.split_whitespace().nth(1).unwrap_or_else(|| panic!("{said:?}")).to_owned()
}

#[test]
fn a_password_is_set_locked_and_put_back() {
    let Some(node) = Node::boot() else { return };
    furnish(&node);
    apply(&node, "set", Some(HASH)).exits(0);
    assert_eq!((line(&node).get(1).unwrap().as_str(), usable(&node).as_str()), (HASH, "P"));
    assert_ne!(line(&node).get(2).unwrap(), "19000");
    assert!(node.read("etc/shadow").starts_with("root:*:19000:"));
    apply(&node, "unset", None).exits(0);
    assert_eq!(usable(&node), "L");
    assert!(!node.read("etc/shadow").contains("salt"));
    node.ostler(&["rollback", "--yes"]).exits(0);
    assert_eq!((line(&node).get(1).unwrap().as_str(), usable(&node).as_str()), (HASH, "P"));
    node.ostler(&["drift"]).exits(0);
}

fn hold(node: &Node) -> Child {
    let mut holder = node.command("perl");
    let mut child = holder.args(["-e", HOLDER]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut held = [0; 5];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut held).unwrap();
    child
}

#[test]
fn a_password_waits_for_whoever_else_changes_passwords() {
    let Some(node) = Node::boot() else { return };
    furnish(&node);
    let mut holder = hold(&node);
    let config = node.config("set", &config(Some(HASH)));
    let start = Instant::now();
    let child = node.start(&["apply", "--to", &config, "--yes"]);
    std::thread::sleep(Duration::from_millis(1500));
    assert!(!node.read("etc/shadow").contains(HASH));
    drop(holder.stdin.take());
    holder.wait().unwrap();
    Answer::from(child.wait_with_output().unwrap()).exits(0);
    assert!(start.elapsed() >= Duration::from_millis(1500));
    assert!(node.read("etc/shadow").contains(HASH));
}

#[test]
fn a_password_that_cannot_be_locked_changes_nothing() {
    let Some(node) = Node::boot() else { return };
    furnish(&node);
    let (before, mut holder) = (node.read("etc/shadow"), hold(&node));
    apply(&node, "set", Some(HASH)).exits(1).says("lock of the password database");
    assert_eq!(node.read("etc/shadow"), before);
    let status = node.ostler(&["status", "-o", "json"]).exits(6).json();
    assert_eq!(status["config"], json!(null), "{status:#}");
    drop(holder.stdin.take());
    holder.wait().unwrap();
    apply(&node, "set", Some(HASH)).exits(0);
}
