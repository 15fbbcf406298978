//! A real SIGTERM, in a process that runs no other test.
#![cfg(test)]

mod common;

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;

use common::{PATIENCE, Scripted, Strings, body, conversation, failure, greet, hello, reply, send};
use nix::sys::signal::{Signal, raise};
use ostler_applier::{Ending, Limits, Peer, Stop, converse};
use ostler_core::protocol::{Class, Reply, Request, VERSION};

/// A request that arrives when it is already time to stop is told so, and nothing is done.
fn comes_too_late(stop: &Stop) {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    ours.write_all(&hello(VERSION)).unwrap();
    send(&mut ours, &Request::Status);
    let (work, strings) = Scripted::new();
    let ending = converse(&Peer::of_socket(theirs).unwrap(), &mut work(), &Limits::default(), stop);
    assert!(matches!(ending, Ending::Stopped), "{ending}");
    body(&mut ours).expect("a greeting");
    let failure = failure(&mut ours);
    assert_eq!((failure.class, failure.unchanged), (Class::Transient, true));
    assert_eq!(strings.finished.load(Ordering::SeqCst), 0);
}

fn is_finished(peer: &mut UnixStream, strings: &Strings) {
    strings.go.send(()).unwrap();
    for _ in 0..2 {
        assert!(matches!(reply(peer), Some(Reply::Progress(_))));
    }
    assert!(matches!(reply(peer), Some(Reply::Status(_))), "the request under way is answered");
    assert_eq!(strings.finished.load(Ordering::SeqCst), 1);
}

/// One test and not three: a signal reaches all of this process.
#[test]
fn a_request_is_finished_and_the_next_one_refused() {
    let [within, between, late] = [(); 3].map(|()| Stop::on_sigterm().unwrap());
    let (mut busy, served_busy, strings) = conversation(Limits::default(), within);
    greet(&mut busy);
    send(&mut busy, &Request::Repair { only: Vec::new() });
    strings.begun.recv_timeout(PATIENCE).unwrap();
    let (mut idle, served_idle, _) = conversation(Limits::default(), between);
    greet(&mut idle);
    assert!(!late.is_due());

    raise(Signal::SIGTERM).unwrap();

    assert!(late.is_due());
    assert!(matches!(served_idle.join().unwrap(), Ending::Stopped), "who waits for a request stops at once");
    // The peer stays: one that left would be noticed before the signal was, now and then.
    is_finished(&mut busy, &strings);
    assert!(matches!(served_busy.join().unwrap(), Ending::Stopped));
    comes_too_late(&late);
}
