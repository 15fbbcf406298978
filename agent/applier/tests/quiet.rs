//! What a panic lets out, seen from outside: a process of its own, whose log is read.
#![cfg(test)]

mod common;

use std::process::Command;

use common::{conversation, failure, greet, never, send};
use ostler_applier::{Limits, panics};
use ostler_core::protocol::Request;

const INNER: &str = "OSTLER_TEST_PANIC";

/// In a process of its own: work panics with a secret.
#[test]
fn inner() {
    if std::env::var_os(INNER).is_none() {
        return;
    }
    panics::keep_quiet();
    let (mut peer, served, _strings) = conversation(Limits::default(), never());
    greet(&mut peer);
    send(&mut peer, &Request::Recover);
    failure(&mut peer);
    served.join().unwrap();
}

#[test]
fn a_panic_says_where_it_was_and_not_what_it_said() {
    let run = Command::new(std::env::current_exe().unwrap())
        .args(["inner", "--exact", "--nocapture"])
        .env(INNER, "1")
        .output()
        .unwrap();
    let log = format!("{}{}", String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success() && log.contains("1 passed"), "{log}");
    assert!(log.contains("ostler-applier: internal error at ") && log.contains("common/mod.rs:"), "{log}");
    assert!(!log.contains("hunter2"), "{log}");
}
