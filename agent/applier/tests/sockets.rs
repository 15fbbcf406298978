//! Real Unix sockets: who is let in, how many at a time, and the end when nobody comes.
#![cfg(test)]

mod common;

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use common::{PATIENCE, Served, connect, failure, greet, reply, send, serve};
use ostler_applier::Allowed;
use ostler_core::pinned::Order;
use ostler_core::protocol::{Class, Reply, Request, VERSION};

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
    let idle = IDLE * 10;
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

/// Places for whoever runs the tests: the last one is root's alone.
fn places() -> usize {
    if nix::unistd::Uid::effective().is_root() { 4 } else { 3 }
}

#[test]
fn a_few_clients_are_served_at_once_and_the_next_waits() {
    let served = serve(us(), PATIENCE);
    let mut few: Vec<_> = (0..places()).map(|_| connect(&served.path)).collect();
    few.iter_mut().for_each(greet);
    let mut next = connect(&served.path);
    next.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    assert!(common::body(&mut next).is_none(), "it has to wait for its greeting");
    next.set_read_timeout(Some(PATIENCE)).unwrap();
    drop(few.pop());
    greet(&mut next);
    for peer in few.iter_mut().chain([&mut next]) {
        send(peer, &Request::Status);
        assert!(matches!(reply(peer), Some(Reply::Status(_))));
    }
    assert_eq!(served.strings.finished.load(Ordering::SeqCst), places());
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
const CROWD: &str = "OSTLER_TEST_CROWD";

/// What a stranger does, in a process of its own: prints what it was told.
#[test]
fn stranger() {
    let Some(path) = std::env::var_os(SOCKET) else { return };
    let mut peer = connect(Path::new(&path));
    let body = common::body(&mut peer).unwrap();
    println!("uid {} was told {}", nix::unistd::Uid::effective(), String::from_utf8(body).unwrap());
    // One who is refused reads the end long before, one who is greeted does not.
    peer.set_read_timeout(Some(IDLE * 10)).unwrap();
    println!("closed {}", matches!(peer.read(&mut [0]), Ok(0)));
}

/// What a crowd of strangers does, in a process of its own: the first are greeted, some wait, the rest are told to come
/// back. Once its input has ended the first leave, and those that wait are greeted.
#[test]
fn crowd() {
    let Some(path) = std::env::var_os(CROWD) else { return };
    let mut peers: Vec<_> = (0..40).map(|_| connect(Path::new(&path))).collect();
    let told = |peer: &mut UnixStream| String::from_utf8(common::body(peer).unwrap()).unwrap();
    let mut waiting = peers.split_off(3);
    let mut rest = waiting.split_off(16);
    assert!(peers.iter_mut().all(|peer| told(peer).contains("\"protocol\"")));
    assert!(rest.iter_mut().map(told).all(|text| text.contains("\"transient\"") && text.contains("too many")));
    waiting[0].set_read_timeout(Some(IDLE)).unwrap();
    assert!(common::body(&mut waiting[0]).is_none(), "it has to wait");
    waiting[0].set_read_timeout(Some(PATIENCE)).unwrap();
    println!("all told");
    let _ = std::io::stdin().read(&mut [0]);
    drop(peers);
    assert!(waiting[..3].iter_mut().all(|peer| told(peer).contains("\"protocol\"")));
    println!("all served");
}

#[test]
fn a_crowd_of_another_user_leaves_a_place_for_root() {
    let Some((served, mut program)) = stranger_to(Allowed::uids(&[STRANGER])) else { return };
    program.args(["crowd", "--exact", "--nocapture"]).env(CROWD, &served.path);
    let mut crowd = program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(crowd.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("all told")));
    for _ in 0..3 {
        let mut root = connect(&served.path);
        greet(&mut root);
        send(&mut root, &Request::Status);
        assert!(matches!(reply(&mut root), Some(Reply::Status(_))));
    }
    drop(crowd.stdin.take());
    assert!(lines.any(|line| line.contains("all served")));
    crowd.wait().unwrap();
    served.stop();
}

/// A service, and this program to be run as another user; nothing where this user cannot become another.
fn stranger_to(allowed: Allowed) -> Option<(Served, Command)> {
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
    let mut command = Command::new(&program);
    command.current_dir("/").gid(STRANGER).uid(STRANGER);
    Some((served, command))
}

/// What [`stranger`] is told as another user.
fn told_to_a_stranger(allowed: Allowed) -> Option<String> {
    let (served, mut program) = stranger_to(allowed)?;
    let stranger = program.args(["stranger", "--exact", "--nocapture"]).env(SOCKET, &served.path).output().unwrap();
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
    let protocol = format!("\"protocol\":{VERSION}");
    assert!(said.contains(&protocol) && said.contains("closed false"), "{said}");
}
