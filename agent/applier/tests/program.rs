//! The program itself: its command line, its streams, the sockets systemd passes, signals.
#![cfg(test)]

mod common;

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::{body, connect, greet, hello, reply, send};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ostler_core::protocol::{MAX_FRAME, Reply, Request, VERSION};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ostler-applier");

fn run(arguments: &[&str]) -> (Option<i32>, String) {
    let Output { status, stderr, .. } =
        Command::new(PROGRAM).args(arguments).stdin(Stdio::null()).env_remove("LISTEN_FDS").output().unwrap();
    (status.code(), String::from_utf8(stderr).unwrap())
}

/// The program on an empty root directory, greeted.
fn child(root: &tempfile::TempDir) -> Child {
    let mut child = Command::new(PROGRAM)
        .arg("--root")
        .arg(root.path())
        .arg("--stdio")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    body(child.stdout.as_mut().unwrap()).expect("a greeting");
    child.stdin.as_mut().unwrap().write_all(&hello(VERSION)).unwrap();
    child
}

fn signal(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id().try_into().unwrap()), signal).unwrap();
}

fn ask_status(child: &mut Child) -> Reply {
    send(child.stdin.as_mut().unwrap(), &Request::Status);
    reply(child.stdout.as_mut().unwrap()).expect("an answer")
}

#[test]
fn a_wrong_command_line_is_told_what_is_wrong() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let file = file.path().to_str().unwrap();
    for (arguments, code, says) in [
        (&[][..], 2, "--stdio|--socket"),
        (&["--stdio", "--socket"], 2, "cannot be used with"),
        (&["--socket", "--root", "/tmp"], 2, "cannot be used with"),
        (&["--stdio", "--idle", "3"], 2, "cannot be used with"),
        (&["--stdio", "--root", "/no/such/directory"], 1, "--root /no/such/directory: No such file"),
        (&["--stdio", "--root", file], 1, "not a directory"),
        (&["--socket"], 1, "start ostler-applier.socket"),
    ] {
        let (status, stderr) = run(arguments);
        assert_eq!(status, Some(code), "{arguments:?}: {stderr}");
        assert!(stderr.contains(says), "{arguments:?}: {stderr}");
    }
}

#[test]
fn standard_streams_serve_one_peer_until_it_closes_them() {
    let root = tempfile::tempdir().unwrap();
    let mut child = child(&root);
    assert!(!matches!(ask_status(&mut child), Reply::Progress(_)));
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    let mut rest = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty(), "nothing but frames");
}

#[test]
fn a_terminal_that_goes_away_or_interrupts_does_not_end_it() {
    let root = tempfile::tempdir().unwrap();
    let mut child = child(&root);
    signal(&child, Signal::SIGINT);
    signal(&child, Signal::SIGHUP);
    ask_status(&mut child);
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn sigterm_ends_it_between_requests() {
    let root = tempfile::tempdir().unwrap();
    let mut child = child(&root);
    ask_status(&mut child);
    signal(&child, Signal::SIGTERM);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_header_does_not_make_it_reserve_memory() {
    let root = tempfile::tempdir().unwrap();
    let mut child = child(&root);
    ask_status(&mut child);
    let kibibytes = |child: &Child| -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmPeak:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
    };
    let before = kibibytes(&child);
    let header = u32::try_from(MAX_FRAME).unwrap().to_be_bytes();
    child.stdin.as_mut().unwrap().write_all(&[&header[..], b"{\"request\":"].concat()).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let grown = kibibytes(&child) - before;
    assert!(grown < 4096, "{grown} KiB for a promise");
    drop(child.stdin.take());
    assert!(matches!(reply(child.stdout.as_mut().unwrap()), Some(Reply::Failed(_))));
    assert!(!child.wait().unwrap().success());
}

/// Starts the program as systemd does: the socket is descriptor 3, and the variables name the process itself.
fn activated(listener: UnixListener, process: &str, arguments: &str) -> Child {
    let start = format!("LISTEN_FDS=1 LISTEN_PID={process} exec {PROGRAM} --socket {arguments} 3<&0 </dev/null");
    let socket = Stdio::from(OwnedFd::from(listener));
    Command::new("/bin/sh").args(["-c", &start]).stdin(socket).stderr(Stdio::piped()).spawn().unwrap()
}

fn listener() -> (tempfile::TempDir, UnixListener, std::path::PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("applier.sock");
    let listener = UnixListener::bind(&path).unwrap();
    (directory, listener, path)
}

#[test]
fn a_socket_from_systemd_is_served_and_left_when_idle() {
    let (_directory, listener, path) = listener();
    let began = Instant::now();
    let mut child = activated(listener, "$$", "--idle 5 --allow-user no-such-user-here");
    for _ in 0..2 {
        greet(&mut connect(&path));
    }
    let status = child.wait().unwrap();
    let mut log = String::new();
    child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    assert!(status.success(), "{log}");
    assert!(began.elapsed() >= Duration::from_secs(5));
    assert!(log.contains("there is no user no-such-user-here"), "{log}");
}

#[test]
fn sigterm_ends_a_service_that_waits() {
    let (_directory, listener, path) = listener();
    let mut child = activated(listener, "$$", "--idle 600");
    greet(&mut connect(&path));
    signal(&child, Signal::SIGTERM);
    assert!(child.wait().unwrap().success());
}

#[test]
fn sockets_for_another_process_are_left_alone() {
    let (_directory, listener, _path) = listener();
    let output = activated(listener, "1", "").wait_with_output().unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && log.contains("meant for process 1"), "{log}");
}
