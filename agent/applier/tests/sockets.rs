//! Real Unix sockets: who is let in, how many at a time, and the end when nobody comes.
#![cfg(test)]

mod common;

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use common::{PATIENCE, connect, failure, greet, reply, send, serve};
use ostler_applier::Allowed;
use ostler_core::pinned::Order;
use ostler_core::protocol::{Class, Reply, Request};

const IDLE: Duration = Duration::from_millis(500);

/// Root, and whoever runs the tests.
fn us() -> Allowed {
    Allowed::uids(&[nix::unistd::Uid::effective().as_raw()])
}

#[test]
fn it_ends_when_nobody_has_connected_for_a_while() {
    let began = Instant::now();
    let served = serve(us(), IDLE);
    served.thread.join().unwrap().unwrap();
    assert!(began.elapsed() >= IDLE && began.elapsed() < PATIENCE);
}

#[test]
fn a_connection_puts_the_end_off() {
    let idle = IDLE * 4;
    let served = serve(us(), idle);
    let mut peer = connect(&served.path);
    greet(&mut peer);
    // An open connection is not idleness, however long nothing is said; and the time begins again after it.
    std::thread::sleep(idle + IDLE);
    send(&mut peer, &Request::Status);
    assert!(matches!(reply(&mut peer), Some(Reply::Status(_))));
    let left = Instant::now();
    drop(peer);
    served.thread.join().unwrap().unwrap();
    assert!(left.elapsed() >= idle);
}

#[test]
fn four_clients_are_served_at_once_and_the_fifth_waits() {
    let served = serve(us(), PATIENCE);
    let mut four: Vec<_> = (0..4).map(|_| connect(&served.path)).collect();
    four.iter_mut().for_each(greet);
    let mut fifth = connect(&served.path);
    fifth.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    assert!(common::body(&mut fifth).is_none(), "the fifth has to wait for its greeting");
    fifth.set_read_timeout(Some(PATIENCE)).unwrap();
    drop(four.pop());
    greet(&mut fifth);
    for peer in four.iter_mut().chain([&mut fifth]) {
        send(peer, &Request::Status);
        assert!(matches!(reply(peer), Some(Reply::Status(_))));
    }
    assert_eq!(served.strings.finished.load(Ordering::SeqCst), 4);
    served.stop();
}

#[test]
fn a_long_request_holds_nobody_up() {
    let served = serve(us(), PATIENCE);
    let mut first = connect(&served.path);
    greet(&mut first);
    send(&mut first, &Request::Repair { only: Vec::new() });
    served.strings.begun.recv_timeout(PATIENCE).unwrap();
    let mut second = connect(&served.path);
    greet(&mut second);
    send(&mut second, &Request::Status);
    assert!(matches!(reply(&mut second), Some(Reply::Status(_))));
    served.strings.go.send(()).unwrap();
    while matches!(reply(&mut first), Some(Reply::Progress(_))) {}
    assert_eq!(served.strings.finished.load(Ordering::SeqCst), 2);
    served.stop();
}

#[test]
fn what_can_be_taken_up_again_ends_with_its_peer_or_with_the_service() {
    let served = serve(us(), PATIENCE);
    for leaves in [true, false] {
        let mut peer = connect(&served.path);
        greet(&mut peer);
        send(&mut peer, &Request::Pin(Order::default()));
        served.strings.begun.recv_timeout(PATIENCE).unwrap();
        if leaves {
            drop(peer);
        } else {
            served.stop();
            return assert!(matches!(reply(&mut peer), Some(Reply::Status(_))), "the answer still comes");
        }
        let finished = &served.strings.finished;
        let began = Instant::now();
        while finished.load(Ordering::SeqCst) == 0 {
            assert!(began.elapsed() < PATIENCE);
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_panic_ends_one_connection_and_not_the_service() {
    let served = serve(us(), PATIENCE);
    let mut peer = connect(&served.path);
    greet(&mut peer);
    send(&mut peer, &Request::Recover);
    assert_eq!(failure(&mut peer).class, Class::Inoperable);
    let mut peer = connect(&served.path);
    greet(&mut peer);
    send(&mut peer, &Request::Status);
    assert!(matches!(reply(&mut peer), Some(Reply::Status(_))));
    drop(peer);
    assert_eq!(served.strings.finished.load(Ordering::SeqCst), 1);
    served.stop();
}

#[test]
fn names_that_nobody_has_are_returned_and_root_is_always_there() {
    let (_, unknown) = Allowed::users(&["root".to_owned(), "no-such-user-here".to_owned()]).unwrap();
    assert_eq!(unknown, ["no-such-user-here"]);
}

const STRANGER: u32 = 65534;
const SOCKET: &str = "OSTLER_TEST_SOCKET";

/// What a stranger does, in a process of its own: prints what it was told.
#[test]
fn stranger() {
    let Some(path) = std::env::var_os(SOCKET) else { return };
    let mut peer = connect(Path::new(&path));
    let body = common::body(&mut peer).unwrap();
    println!("uid {} was told {}", nix::unistd::Uid::effective(), String::from_utf8(body).unwrap());
    peer.set_read_timeout(Some(IDLE)).unwrap();
    println!("closed {}", matches!(peer.read(&mut [0]), Ok(0)));
}

/// Runs [`stranger`] as another user against a service; nothing where this user cannot become another.
fn told_to_a_stranger(allowed: Allowed) -> Option<String> {
    if !nix::unistd::Uid::effective().is_root() {
        eprintln!("SKIPPED: only root can become another user to be refused");
        return None;
    }
    let served = serve(allowed, PATIENCE);
    let open = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    open(served.directory.path(), 0o755);
    open(&served.path, 0o777);
    // The test's own program may lie where the other user cannot reach it.
    let program = served.directory.path().join("stranger");
    // Copied by another process: a child of ours that starts meanwhile would hold it open for writing.
    let copied = Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&program).status().unwrap();
    assert!(copied.success());
    let stranger = Command::new(&program)
        .args(["stranger", "--exact", "--nocapture"])
        .env(SOCKET, &served.path)
        .current_dir("/")
        .gid(STRANGER)
        .uid(STRANGER)
        .output()
        .unwrap();
    served.stop();
    let said = String::from_utf8(stranger.stdout).unwrap();
    assert!(said.contains("uid 65534 was told"), "{said}");
    Some(said)
}

#[test]
fn a_user_who_is_not_allowed_is_told_so_and_the_connection_closes() {
    let Some(said) = told_to_a_stranger(Allowed::uids(&[])) else { return };
    for part in ["\"refusal\"", "user 65534 may not", "run the command as root", "closed true"] {
        assert!(said.contains(part), "{part} in {said}");
    }
}

#[test]
fn a_user_who_is_allowed_is_greeted() {
    let Some(said) = told_to_a_stranger(Allowed::uids(&[STRANGER])) else { return };
    assert!(said.contains("\"protocol\":1") && said.contains("closed false"), "{said}");
}
