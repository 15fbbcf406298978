//! One conversation over a real socket pair: greetings, frames, and either side going wrong.
#![cfg(test)]

mod common;

use std::io::Write;
use std::net::Shutdown;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use common::{Strings, body, conversation, failure, greet, hello, never, reply, send, short, step};
use ostler_applier::{Ending, Limits, WireError};
use ostler_core::protocol::{Class, FrameError, MAX_FRAME, Reply, Request, VERSION, encode};
use proptest::prelude::*;

#[test]
fn requests_are_answered_in_turn_until_the_peer_leaves() {
    let (mut peer, served, strings) = conversation(Limits::default(), never());
    greet(&mut peer);
    for _ in 0..3 {
        send(&mut peer, &Request::Status);
        assert!(matches!(reply(&mut peer), Some(Reply::Status(_))));
    }
    drop(peer);
    assert!(matches!(served.join().unwrap(), Ending::Left));
    assert_eq!(strings.finished.load(Ordering::SeqCst), 3);
}

#[test]
fn progress_comes_before_the_answer() {
    let (mut peer, served, _strings) = conversation(Limits::default(), never());
    greet(&mut peer);
    send(&mut peer, &Request::Drift);
    for _ in 0..2000 {
        assert_eq!(reply(&mut peer), Some(Reply::Progress(step())));
    }
    assert!(matches!(reply(&mut peer), Some(Reply::Status(_))));
    drop(peer);
    served.join().unwrap();
}

#[test]
fn another_version_is_refused_with_both_versions_and_the_remedy() {
    let (mut peer, served, _strings) = conversation(Limits::default(), never());
    body(&mut peer).unwrap();
    peer.write_all(&hello(VERSION + 41)).unwrap();
    let failure = failure(&mut peer);
    let said = format!("{failure:?}");
    let (ours, theirs) = (format!("protocol {VERSION},"), format!("protocol {}", VERSION + 41));
    for part in [&ours, &theirs, "7.7.7", env!("CARGO_PKG_VERSION"), "systemctl restart ostler ostler-applier"] {
        assert!(said.contains(part), "{part} in {said}");
    }
    assert!(failure.unchanged && reply(&mut peer).is_none(), "and the connection is closed");
    assert!(matches!(served.join().unwrap(), Ending::Foreign));
}

#[test]
fn a_request_instead_of_a_greeting_is_refused() {
    let (mut peer, served, strings) = conversation(Limits::default(), never());
    body(&mut peer).unwrap();
    send(&mut peer, &Request::Status);
    assert!(failure(&mut peer).reasons[0].contains("no greeting"));
    assert!(matches!(served.join().unwrap(), Ending::Foreign));
    assert_eq!(strings.finished.load(Ordering::SeqCst), 0);
}

/// Sends bytes after the greeting and returns what was answered and how it ended.
fn after_greeting(bytes: &[u8], close: bool) -> (ostler_core::protocol::Failure, Ending, Strings) {
    let (mut peer, served, strings) = conversation(short(), never());
    greet(&mut peer);
    peer.write_all(bytes).unwrap();
    if close {
        peer.shutdown(Shutdown::Write).unwrap();
    }
    let failure = failure(&mut peer);
    assert!(reply(&mut peer).is_none(), "the connection should be closed");
    (failure, served.join().unwrap(), strings)
}

#[test]
fn an_oversized_header_is_refused_at_once() {
    let (failure, ending, _) = after_greeting(&u32::try_from(MAX_FRAME + 1).unwrap().to_be_bytes(), false);
    assert!(failure.reasons[0].contains("longer than"), "{failure:?}");
    assert!(matches!(ending, Ending::Lost(WireError::Frame(FrameError::TooLong { .. }))), "{ending}");
}

#[test]
fn garbage_is_refused_and_not_quoted() {
    for request in
        [&b"hunter2"[..], b"{\"request\":\"hunter2\"}", b"", b"\xff\xfe", b"{\"request\":\"status\"} hunter2"]
    {
        let mut bytes = u32::try_from(request.len()).unwrap().to_be_bytes().to_vec();
        bytes.extend(request);
        let (failure, ending, strings) = after_greeting(&bytes, false);
        assert!(!format!("{failure:?} {ending} {ending:?}").contains("hunter2"));
        assert!(matches!(ending, Ending::Lost(WireError::Frame(FrameError::Unknown { .. }))), "{ending}");
        assert_eq!(strings.finished.load(Ordering::SeqCst), 0);
    }
}

#[test]
fn a_truncated_frame_is_refused() {
    let frame = encode(&Request::Status).unwrap();
    for count in 1..frame.len() {
        let (_, ending, strings) = after_greeting(&frame[..count], true);
        assert!(matches!(ending, Ending::Lost(WireError::Truncated { received }) if received == count), "{ending}");
        assert_eq!(strings.finished.load(Ordering::SeqCst), 0);
    }
}

#[test]
fn a_frame_that_never_completes_is_given_up() {
    let (failure, ending, _) = after_greeting(&encode(&Request::Status).unwrap()[..9], false);
    assert!(failure.reasons[0].contains("not complete"), "{failure:?}");
    assert!(matches!(ending, Ending::Lost(WireError::Slow { .. })), "{ending}");
}

#[test]
fn a_frame_that_trickles_has_one_deadline_and_not_one_per_byte() {
    let (mut peer, served, _strings) = conversation(short(), never());
    greet(&mut peer);
    let began = Instant::now();
    for byte in encode(&Request::Status).unwrap() {
        std::thread::sleep(short().frame / 10);
        if peer.write_all(&[byte]).is_err() {
            break;
        }
    }
    assert!(matches!(served.join().unwrap(), Ending::Lost(WireError::Slow { .. })), "{:?}", began.elapsed());
}

#[test]
fn a_slow_frame_within_the_limit_is_taken() {
    let limits = Limits { frame: common::PATIENCE, ..short() };
    let (mut peer, served, _strings) = conversation(limits, never());
    greet(&mut peer);
    let frame = encode(&Request::Status).unwrap();
    peer.write_all(&frame[..2]).unwrap();
    // Longer than the pause between requests may be: a frame has begun.
    std::thread::sleep(limits.pause + Duration::from_millis(500));
    peer.write_all(&frame[2..]).unwrap();
    assert!(matches!(reply(&mut peer), Some(Reply::Status(_))));
    assert!(matches!(served.join().unwrap(), Ending::Silent));
}

#[test]
fn a_peer_that_does_not_greet_is_given_up() {
    let (_peer, served, _strings) = conversation(short(), never());
    assert!(matches!(served.join().unwrap(), Ending::Silent));
}

#[test]
fn work_goes_on_to_its_end_when_the_peer_goes_away() {
    let (mut peer, served, strings) = conversation(Limits::default(), never());
    greet(&mut peer);
    send(&mut peer, &Request::Repair { only: Vec::new() });
    strings.begun.recv_timeout(common::PATIENCE).unwrap();
    drop(peer);
    strings.go.send(()).unwrap();
    assert!(matches!(served.join().unwrap(), Ending::Lost(WireError::Broken(_))));
    assert_eq!(strings.finished.load(Ordering::SeqCst), 1);
}

#[test]
fn work_goes_on_to_its_end_when_the_peer_stops_reading() {
    let (mut peer, served, strings) = conversation(short(), never());
    greet(&mut peer);
    send(&mut peer, &Request::Drift);
    assert!(matches!(served.join().unwrap(), Ending::Lost(WireError::Slow { .. })));
    assert_eq!(strings.finished.load(Ordering::SeqCst), 1);
}

#[test]
fn a_panic_is_answered_without_its_text_and_ends_the_conversation() {
    let (mut peer, served, _strings) = conversation(Limits::default(), never());
    greet(&mut peer);
    send(&mut peer, &Request::Recover);
    let failure = failure(&mut peer);
    assert_eq!((failure.class, failure.unchanged), (Class::Inoperable, false));
    assert!(!format!("{failure:?}").contains("hunter2"));
    assert!(reply(&mut peer).is_none());
    assert!(matches!(served.join().unwrap(), Ending::Panicked));
}

#[test]
fn progress_as_an_answer_is_a_failure() {
    let (mut peer, served, _strings) = conversation(Limits::default(), never());
    greet(&mut peer);
    send(&mut peer, &Request::Observe);
    assert_eq!(failure(&mut peer).class, Class::Inoperable);
    drop(peer);
    served.join().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A panic in the conversation itself would come out of `join`; one in the work would show as `Panicked`.
    #[test]
    fn arbitrary_bytes_end_the_conversation_and_nothing_else(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        greeted in any::<bool>(),
        framed in any::<bool>(),
    ) {
        let (mut peer, served, _strings) = conversation(Limits::default(), never());
        if greeted {
            greet(&mut peer);
        }
        let header = framed.then(|| u32::try_from(bytes.len()).unwrap().to_be_bytes());
        // The other side may have heard enough before the end.
        let _ = peer.write_all(header.as_ref().map_or(&[][..], |header| header)).and_then(|()| peer.write_all(&bytes));
        let _ = peer.shutdown(Shutdown::Write);
        while body(&mut peer).is_some() {}
        let ending = served.join().unwrap();
        prop_assert!(!matches!(ending, Ending::Panicked | Ending::Silent | Ending::Stopped), "{}", ending);
    }
}
