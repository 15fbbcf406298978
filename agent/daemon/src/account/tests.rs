//! Asking and answering over a real socket.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::time::Duration;

use nix::sys::socket::{AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind, listen, socket};
use ostler_core::node::duties::DriftSummary;
use ostler_core::node::{Decision, DrainRequest, Next, Trouble, TroubleKind, Wait};
use ostler_core::verdict::{ConfigSource, Lost};
use serde_json::json;
use tokio::sync::watch;

use super::client::{AskError, ask, ask_within, wake};
use super::server::{ServeError, Server};
use super::*;

/// A daemon in the middle of something.
pub fn account() -> Account {
    Account {
        version: "0.1.0".to_owned(),
        node: "worker-0".to_owned(),
        doing: "waiting for workloads to leave".to_owned(),
        since: 1_791_000_000,
        reason: "the node's annotations changed".to_owned(),
        next: "the machine changes to rendered-worker-2".to_owned(),
        blocked_by: Some("the drain controller has not done drain-rendered-worker-2".to_owned()),
        phase: Phase::Draining,
        current: Some(ConfigRef::new("rendered-worker-1")),
        desired: Some(ConfigRef::new("rendered-worker-2")),
        attempt: 1,
        retry_at: None,
        trouble: None,
        api: Some(Api { reachable: true, since: 1_790_999_000 }),
        irreconcilable: 0,
        base_kept: false,
        drift_policy: None,
        rules: None,
        report: Some(report()),
    }
}

/// An agent that waits for the drain.
pub fn report() -> AgentReport {
    let request = DrainRequest::Drain { config: "rendered-worker-2".to_owned(), cordoned: false };
    let next = Next::Wait(Wait::Controller { request: request.text() });
    AgentReport {
        source: ConfigSource::Cluster,
        current: Some(ConfigRef::new("rendered-worker-1")),
        desired: Some(ConfigRef::new("rendered-worker-2")),
        decision: Decision { next, phase: Phase::Draining, trouble: None, drain: Some(request) },
        retry_at: None,
        lost: None,
        denied: None,
        drift: None,
        certificates: None,
    }
}

fn socket_of(root: &Path) -> PathBuf {
    super::socket(Some(root))
}

async fn asked(path: &Path) -> Result<Option<Account>, AskError> {
    let path = path.to_owned();
    tokio::task::spawn_blocking(move || ask(&path)).await.unwrap()
}

#[tokio::test]
async fn whoever_asks_gets_the_latest_account() {
    let directory = tempfile::tempdir().unwrap();
    let path = socket_of(directory.path());
    assert_eq!(path, directory.path().join("run/ostler/agent/agent.sock"));
    assert_eq!(asked(&path).await.unwrap(), None);
    let (sender, receiver) = watch::channel(account());
    let task = tokio::spawn(Server::listen(&path).unwrap().serve(receiver, Arc::default()));
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o660);
    assert_eq!(asked(&path).await.unwrap(), Some(account()));
    let later = Account { phase: Phase::Executing, ..account() };
    sender.send(later.clone()).unwrap();
    let answers = futures_util::future::join_all((0..20).map(|_| asked(&path))).await;
    assert!(answers.into_iter().all(|answer| answer.unwrap() == Some(later.clone())));
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    assert_eq!(asked(&path).await.unwrap(), None);
    assert!(!path.exists());
}

#[tokio::test]
async fn the_agent_looks_again_for_who_asks_for_it_and_not_for_who_only_reads() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("agent.sock");
    let (_sender, receiver) = watch::channel(account());
    let look = Arc::new(tokio::sync::Notify::new());
    let task = tokio::spawn(Server::listen(&path).unwrap().serve(receiver, Arc::clone(&look)));
    assert_eq!(asked(&path).await.unwrap(), Some(account()));
    let mut stranger = UnixStream::connect(&path).unwrap();
    stranger.write_all(b"look twice\n").unwrap();
    stranger.shutdown(std::net::Shutdown::Write).unwrap();
    let woken = tokio::task::spawn_blocking({
        let path = path.clone();
        move || wake(&path)
    });
    assert_eq!(woken.await.unwrap().unwrap(), Some(account()));
    look.notified().await;
    let again = tokio::time::timeout(Duration::from_millis(300), look.notified()).await;
    assert!(again.is_err(), "once for one request");
    task.abort();
}

#[tokio::test]
async fn the_path_of_a_root_may_be_longer_than_the_address_of_a_socket() {
    let directory = tempfile::tempdir().unwrap();
    let path = socket_of(&directory.path().join("deep".repeat(50)));
    assert_eq!(asked(&path).await.unwrap(), None);
    let (_sender, receiver) = watch::channel(account());
    let task = tokio::spawn(Server::listen(&path).unwrap().serve(receiver, Arc::default()));
    assert_eq!(asked(&path).await.unwrap(), Some(account()));
    assert!(matches!(Server::listen(&path), Err(ServeError::AlreadyRunning(_))));
    task.abort();
}

#[tokio::test]
async fn a_second_daemon_is_found_out_and_the_first_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("agent.sock");
    let (_sender, receiver) = watch::channel(account());
    let task = tokio::spawn(Server::listen(&path).unwrap().serve(receiver, Arc::default()));
    assert!(matches!(Server::listen(&path), Err(ServeError::AlreadyRunning(_))));
    assert_eq!(asked(&path).await.unwrap(), Some(account()));
    // One that holds no claim, but answers.
    let other = directory.path().join("other.sock");
    let _listener = UnixListener::bind(&other).unwrap();
    assert!(matches!(Server::listen(&other), Err(ServeError::AlreadyRunning(_))));
    task.abort();
}

#[tokio::test]
async fn what_a_daemon_left_that_was_killed_is_replaced_and_nothing_else_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("agent.sock");
    drop(UnixListener::bind(&path).unwrap());
    drop(UnixListener::bind(directory.path().join("agent.sock.new")).unwrap());
    assert_eq!(asked(&path).await.unwrap(), None, "a socket file without a daemon is as none");
    drop(Server::listen(&path).unwrap());
    std::fs::write(&path, "precious").unwrap();
    assert!(matches!(Server::listen(&path), Err(ServeError::InTheWay(_))));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
}

#[tokio::test]
async fn somebody_who_asks_and_does_not_read_is_in_nobodys_way() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("agent.sock");
    let (_sender, receiver) = watch::channel(account());
    let task = tokio::spawn(Server::listen(&path).unwrap().serve(receiver, Arc::default()));
    let idle: Vec<_> = (0..30).map(|_| UnixStream::connect(&path).unwrap()).collect();
    assert_eq!(asked(&path).await.unwrap(), Some(account()));
    drop(idle);
    task.abort();
}

/// Says this to whoever connects, and closes if it is to.
fn impostor(path: &Path, says: Vec<u8>, closes: bool) -> std::thread::JoinHandle<()> {
    let listener = UnixListener::bind(path).unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.write_all(&says);
        if !closes {
            // Until the other side has had enough.
            let _ = stream.read(&mut [0]);
        }
    })
}

#[test]
fn a_daemon_that_says_too_much_or_nonsense_or_nothing_is_an_error_and_not_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    type Expected = fn(&AskError) -> bool;
    let cases: [(&str, Vec<u8>, bool, Expected); 4] = [
        ("endless", vec![b' '; 10 * MAX_DOCUMENT], true, |error| matches!(error, AskError::Endless)),
        ("nonsense", b"{\"node\": 7}".to_vec(), true, |error| matches!(error, AskError::Nonsense(_))),
        ("empty", Vec::new(), true, |error| matches!(error, AskError::Nonsense(_))),
        ("silent", b"{".to_vec(), false, |error| matches!(error, AskError::Silent(_))),
    ];
    for (name, says, closes, expected) in cases {
        let path = directory.path().join(name);
        let speaker = impostor(&path, says, closes);
        let patience = if closes { Duration::from_secs(60) } else { Duration::from_millis(300) };
        let error = ask_within(&path, patience, &[]).unwrap_err();
        assert!(expected(&error), "{name}: {error}");
        speaker.join().unwrap();
    }
}

#[test]
fn a_daemon_that_accepts_nobody_is_an_error_and_not_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("full");
    let address = UnixAddr::new(&path).unwrap();
    let listener = socket(AddressFamily::Unix, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).unwrap();
    bind(listener.as_raw_fd(), &address).unwrap();
    listen(&listener, Backlog::new(0).unwrap()).unwrap();
    let _waiting = UnixStream::connect(&path).unwrap();
    let error = ask(&path).unwrap_err();
    assert!(matches!(&error, AskError::Unreachable(cause) if cause.kind() == io::ErrorKind::WouldBlock), "{error}");
}

#[test]
fn texts_beyond_their_limits_are_cut_and_the_document_stays_below_its_own() {
    let long = "\u{1}".repeat(100_000);
    let reference = Some(ConfigRef { config: long.clone(), image: Some(long.clone()) });
    let account = Account {
        version: long.clone(),
        node: long.clone(),
        doing: long.clone(),
        reason: long.clone(),
        next: long.clone(),
        blocked_by: Some(long.clone()),
        trouble: Some(long.clone()),
        current: reference.clone(),
        desired: reference.clone(),
        report: Some(AgentReport {
            current: reference.clone(),
            desired: reference,
            lost: Some(Lost { since: 1, reason: long.clone() }),
            denied: Some(long.clone()),
            certificates: Some(long.clone()),
            drift: Some(DriftSummary { config: long.clone(), count: 1, words: long.clone(), since: 1 }),
            decision: Decision {
                next: Next::Wait(Wait::Chance { reason: long.clone() }),
                trouble: Some(Trouble { kind: TroubleKind::Degraded, reason: long.clone() }),
                drain: Some(DrainRequest::Uncordon { request: long.clone() }),
                phase: Phase::Executing,
            },
            ..report()
        }),
        rules: Some(Rules { policy: Some(json!(long)), ..Rules::default() }),
        drift_policy: Some(long),
        ..account()
    };
    let document = serde_json::to_vec(&account.bounded()).unwrap();
    assert!(document.len() <= MAX_DOCUMENT, "{}", document.len());
    assert_eq!(super::tests::account().bounded(), super::tests::account());
}

#[test]
fn the_document_has_the_keys_that_programs_know() {
    assert_eq!(
        serde_json::to_value(account()).unwrap(),
        json!({
            "version": "0.1.0", "node": "worker-0", "doing": "waiting for workloads to leave", "since": 1_791_000_000,
            "reason": "the node's annotations changed", "next": "the machine changes to rendered-worker-2",
            "blockedBy": "the drain controller has not done drain-rendered-worker-2", "phase": "draining",
            "current": {"config": "rendered-worker-1"}, "desired": {"config": "rendered-worker-2"},
            "attempt": 1, "retryAt": null, "trouble": null, "api": {"reachable": true, "since": 1_790_999_000},
            "irreconcilable": 0, "baseKept": false, "driftPolicy": null,
            "report": serde_json::to_value(report()).unwrap(),
        })
    );
}
