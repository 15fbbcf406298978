//! What the root half writes to the journal of what it is asked for, and what its page on security says of each request.
#![cfg(test)]

mod common;

use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use common::{PATIENCE, greet, never, reply, send};
use ostler_applier::{Limits, Peer, Work, converse};
use ostler_core::protocol::{Change, Reply, Request, Rules, Sealed};
use ostler_core::transaction::Progress;
use serde_json::json;

/// Does nothing, or panics, and has a journal.
struct Audited(PathBuf);

impl Work for Audited {
    fn handle(&mut self, request: Request, _: &mut dyn FnMut(Progress), _: &dyn Fn() -> bool) -> Reply {
        assert_ne!(request, Request::Recover, "hunter2");
        Reply::Nothing
    }

    fn journal(&self) -> Option<&Path> {
        Some(&self.0)
    }
}

/// The fields of the next line that the journal got.
fn line(journal: &UnixDatagram) -> Vec<(String, String)> {
    let mut buffer = vec![0; 64 << 10];
    let length = journal.recv(&mut buffer).unwrap();
    let text = String::from_utf8(buffer[..length].to_vec()).unwrap();
    text.lines()
        .map(|line| line.split_once('=').unwrap())
        .map(|(name, text)| (name.to_owned(), text.to_owned()))
        .collect()
}

fn field<'l>(line: &'l [(String, String)], wanted: &str) -> Option<&'l str> {
    line.iter().find(|(name, _)| name == wanted).map(|(_, text)| text.as_str())
}

#[test]
fn every_change_is_written_with_its_peer_its_configuration_and_its_end_and_no_look_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    let journal = UnixDatagram::bind(&path).unwrap();
    journal.set_read_timeout(Some(PATIENCE)).unwrap();
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let served = std::thread::spawn(move || {
        ostler_applier::panics::keep_quiet();
        converse(&Peer::of_socket(theirs).unwrap(), &mut Audited(path), &Limits::default(), &never())
    });
    greet(&mut ours);
    let target = Sealed::new(json!({"metadata": {"name": "site-1"}, "spec": {"config": {"x": "hunter2"}}}));
    let apply = Request::Apply(Change { target, rules: Rules::default(), steps: Vec::new() });
    for request in [&Request::Status, &Request::Credentials, &apply, &Request::Recover] {
        send(&mut ours, request);
        reply(&mut ours).unwrap();
    }
    drop(ours);
    served.join().unwrap();
    let lines: Vec<_> = (0..4).map(|_| line(&journal)).collect();
    let texts: Vec<_> = lines.iter().map(|line| field(line, "OSTLER_REQUEST").unwrap()).collect();
    assert_eq!(texts, ["apply", "apply", "recover", "recover"], "{lines:?}");
    for line in &lines {
        let own = (std::process::id().to_string(), nix::unistd::getuid().to_string());
        assert_eq!(field(line, "OSTLER_PEER_PID"), Some(own.0.as_str()), "{line:?}");
        assert_eq!(field(line, "OSTLER_PEER_UID"), Some(own.1.as_str()), "{line:?}");
        assert_eq!(
            (field(line, "SYSLOG_IDENTIFIER"), field(line, "MESSAGE_ID").map(str::len)),
            (Some("ostler-applier"), Some(32))
        );
    }
    assert_eq!(field(&lines[0], "OSTLER_CONFIG"), Some("site-1"));
    assert_eq!(field(&lines[0], "OSTLER_DIGEST").map(str::len), Some(64));
    let ends = [1, 3].map(|at| field(&lines[at], "OSTLER_RESULT").unwrap());
    assert_eq!(ends, ["there was nothing to do", "internal error"]);
    assert!(!format!("{lines:?}").contains("hunter2"), "{lines:?}");
    journal.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    assert!(journal.recv(&mut [0; 16]).is_err(), "nothing else was written");
}

#[test]
fn the_page_on_security_says_of_every_request_what_it_can_do() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/security.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, section) = page.split_once("\n| request | changes |").expect("the table is there");
    let table = section.split_once("\n\n").map_or(section, |(table, _)| table);
    let rows: Vec<_> = table.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`')).collect();
    let named: Vec<_> = rows.iter().map(|(name, _)| *name).collect();
    assert_eq!(named, Request::NAMES, "docs/security.md has a row for each request, in the order of the protocol");
    assert!(rows.iter().all(|(_, rest)| rest.len() > 40), "each row says what the request can do");
}
