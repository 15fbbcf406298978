//! A peer for tests, and work that does as it is told.
#![allow(dead_code, reason = "every test file uses a part of it")]

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use ostler_applier::{Allowed, Ending, Limits, Peer, Service, Stop, Work, converse};
use ostler_core::protocol::{Failure, HEADER_BYTES, Hello, Reply, Request, VERSION, decode, encode, length};
use ostler_core::transaction::{Direction, Phase, Progress};
use serde::Serialize;

/// Long for a test, short for whoever waits for a test that hangs.
pub const PATIENCE: Duration = Duration::from_secs(180);

pub fn hello(protocol: u32) -> Vec<u8> {
    encode(&Hello { protocol, version: "7.7.7".to_owned() }).unwrap()
}

pub fn send<T: Serialize>(socket: &mut impl Write, message: &T) {
    socket.write_all(&encode(message).unwrap()).unwrap();
}

/// The next frame's body, or nothing at the end.
pub fn body(socket: &mut impl Read) -> Option<Vec<u8>> {
    let mut header = [0; HEADER_BYTES];
    socket.read_exact(&mut header).ok()?;
    let mut body = vec![0; length(header).unwrap()];
    socket.read_exact(&mut body).unwrap();
    Some(body)
}

pub fn reply(socket: &mut impl Read) -> Option<Reply> {
    body(socket).map(|body| decode(&body).unwrap())
}

pub fn failure(socket: &mut impl Read) -> Failure {
    match reply(socket) {
        Some(Reply::Failed(failure)) => failure,
        other => panic!("{other:?} is no failure"),
    }
}

pub fn greet(socket: &mut (impl Read + Write)) {
    let theirs: Hello = decode(&body(socket).expect("a greeting")).unwrap();
    assert_eq!(theirs.protocol, VERSION);
    socket.write_all(&hello(VERSION)).unwrap();
}

/// Work for tests: `Recover` panics, `Pin` lasts as long as somebody waits for it, `Repair` waits to be let go between two reports of progress, `Drift` reports a
/// lot, `Observe` answers with progress, which is no answer. `Status` does nothing.
pub struct Scripted {
    pub finished: Arc<AtomicUsize>,
    pub begun: Mutex<Sender<()>>,
    pub go: Arc<Mutex<Receiver<()>>>,
}

/// What the test holds of the work.
pub struct Strings {
    pub finished: Arc<AtomicUsize>,
    pub begun: Receiver<()>,
    pub go: Sender<()>,
}

pub fn step() -> Progress {
    Progress { direction: Direction::Forward, phase: Phase::Write, subject: Some("x".repeat(500)) }
}

impl Scripted {
    pub fn new() -> (impl Fn() -> Self + Send + Sync, Strings) {
        let finished = Arc::new(AtomicUsize::new(0));
        let ((begin, begun), (go, gone)) = (channel(), channel());
        let gone = Arc::new(Mutex::new(gone));
        let counter = Arc::clone(&finished);
        let work =
            move || Self { finished: Arc::clone(&counter), begun: Mutex::new(begin.clone()), go: Arc::clone(&gone) };
        (work, Strings { finished, begun, go })
    }
}

impl Work for Scripted {
    fn handle(&mut self, request: Request, progress: &mut dyn FnMut(Progress), wanted: &dyn Fn() -> bool) -> Reply {
        match request {
            Request::Pin(_) => {
                self.begun.lock().unwrap().send(()).unwrap();
                while wanted() {
                    std::thread::yield_now();
                }
            }
            Request::Recover => panic!("hunter2"),
            Request::Observe => return Reply::Progress(step()),
            Request::Repair { .. } => {
                progress(step());
                self.begun.lock().unwrap().send(()).unwrap();
                self.go.lock().unwrap().recv_timeout(PATIENCE).unwrap();
                progress(step());
            }
            Request::Drift => (0..2000).for_each(|_| progress(step())),
            _ => {}
        }
        self.finished.fetch_add(1, Ordering::SeqCst);
        Reply::Status(Box::default())
    }
}

/// A peer connected to a conversation in another thread.
pub fn conversation(limits: Limits, stop: Stop) -> (UnixStream, JoinHandle<Ending>, Strings) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    ours.set_read_timeout(Some(PATIENCE)).unwrap();
    ours.set_write_timeout(Some(PATIENCE)).unwrap();
    let (work, strings) = Scripted::new();
    let served = std::thread::spawn(move || {
        let peer = Peer::of_socket(theirs).unwrap();
        converse(&peer, &mut work(), &limits, &stop)
    });
    (ours, served, strings)
}

/// Never time to stop.
pub fn never() -> Stop {
    let (signalled, other) = UnixStream::pair().unwrap();
    // Closing it would read as a signal.
    std::mem::forget(other);
    Stop::when_readable(signalled)
}

/// Limits that tests can wait for.
pub fn short() -> Limits {
    let moment = Duration::from_secs(2);
    Limits { greeting: moment, pause: moment, frame: moment }
}

/// Sockets served in another thread, until nobody connects for a while or they are stopped.
pub struct Served {
    pub directory: tempfile::TempDir,
    pub path: PathBuf,
    pub thread: JoinHandle<std::io::Result<()>>,
    pub strings: Strings,
    stop: UnixStream,
}

impl Served {
    /// Tells the service to stop and waits until it has.
    pub fn stop(self) {
        drop(self.stop);
        self.thread.join().unwrap().unwrap();
    }
}

pub fn serve(allowed: Allowed, idle: Duration) -> Served {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("applier.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let (work, strings) = Scripted::new();
    let (signalled, stop) = UnixStream::pair().unwrap();
    let service = Service { allowed, idle, limits: Limits::default(), stop: Stop::when_readable(signalled) };
    let thread = std::thread::spawn(move || service.serve(&[listener], work));
    Served { directory, path, thread, strings, stop }
}

pub fn connect(path: &Path) -> UnixStream {
    let socket = UnixStream::connect(path).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}
