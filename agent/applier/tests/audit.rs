//! What the root half writes to the journal of what it is asked for, and what its page on security says of each request.
#![cfg(test)]

mod common;

use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use common::{PATIENCE, greet, never, reply, send};
use ostler_applier::machine::Machine;
use ostler_applier::{Limits, Peer, Work, converse};
use ostler_core::protocol::audit::ConfigId;
use ostler_core::protocol::{Class, Destination, Failure, Prepare, Reply, Request, Rules, Sealed};
use ostler_core::transaction::Progress;
use serde_json::json;

/// A machine below a directory, which has a journal and panics where it is to recover.
struct Audited(Machine, PathBuf);

impl Work for Audited {
    fn handle(&mut self, request: Request, progress: &mut dyn FnMut(Progress), wanted: &dyn Fn() -> bool) -> Reply {
        assert_ne!(request, Request::Recover, "hunter2");
        self.0.handle(request, progress, wanted)
    }

    fn journal(&self) -> Option<&Path> {
        Some(&self.1)
    }

    fn config(&self, request: &Request) -> Option<ConfigId> {
        self.0.config(request)
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

/// What a machine needs below its root.
fn root(directory: &Path) -> PathBuf {
    let root = directory.join("root");
    std::fs::create_dir_all(root.join("etc")).unwrap();
    for (name, text) in [("passwd", "root:x:0:0::/root:/bin/sh\n"), ("group", "root:x:0:\n")] {
        std::fs::write(root.join("etc").join(name), text).unwrap();
    }
    root
}

fn prepare() -> Request {
    let ignition = json!({"ignition": {"version": "3.4.0"}, "storage": {"files": [{"path": "/etc/hunter2"}]}});
    let target = json!({"metadata": {"name": "site-1"}, "spec": {"config": ignition}});
    Request::Prepare(Prepare { to: Destination::Config(Sealed::new(target)), rules: Rules::default() })
}

/// The answer to a request, after its progress.
fn answer(peer: &mut UnixStream, request: &Request) -> Reply {
    send(peer, request);
    std::iter::from_fn(|| reply(peer)).find(|reply| !matches!(reply, Reply::Progress(_))).unwrap()
}

#[test]
fn every_change_is_written_with_its_peer_its_configuration_and_its_end_and_no_look_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    let journal = UnixDatagram::bind(&path).unwrap();
    journal.set_read_timeout(Some(PATIENCE)).unwrap();
    let root = root(directory.path());
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let served = std::thread::spawn(move || {
        ostler_applier::panics::keep_quiet();
        let machine = Machine::new(root, false);
        converse(&Peer::of_socket(theirs).unwrap(), &mut Audited(machine, path), &Limits::default(), &never())
    });
    greet(&mut ours);
    let mut ask = |request| answer(&mut ours, &request);
    ask(Request::Status);
    ask(Request::Credentials);
    let prepared = ask(prepare());
    let Reply::Prepared(prepared) = prepared else { panic!("{prepared:?}") };
    let finished = ask(Request::Apply { ticket: prepared.ticket.clone() });
    assert!(matches!(finished, Reply::Finished(_)), "{finished:?}");
    let void = ask(Request::Apply { ticket: prepared.ticket });
    assert!(matches!(void, Reply::Failed(Failure { class: Class::Transient, unchanged: true, .. })), "{void:?}");
    ask(Request::Recover);
    drop(ours);
    served.join().unwrap();
    let lines: Vec<_> = (0..6).map(|_| line(&journal)).collect();
    let texts: Vec<_> = lines.iter().map(|line| field(line, "OSTLER_REQUEST").unwrap()).collect();
    assert_eq!(texts, ["apply", "apply", "apply", "apply", "recover", "recover"], "{lines:?}");
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
    let ends = [1, 3, 5].map(|at| field(&lines[at], "OSTLER_RESULT").unwrap());
    assert_eq!(ends, ["done", "refused, nothing was changed", "internal error"]);
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
