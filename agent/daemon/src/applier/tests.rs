use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::Command;
use std::thread::{JoinHandle, spawn};

use ostler_core::protocol::{Class, Failure, encode};
use ostler_core::status::Status;
use ostler_core::transaction::{Direction, Phase};

use super::*;

fn hello(protocol: u32) -> Vec<u8> {
    encode(&Hello { protocol, version: "9.9.9".to_owned() }).unwrap()
}

/// A socket at which these bytes are said to the first who comes, who is then listened to for a while.
fn applier_that_says(said: Vec<Vec<u8>>) -> (tempfile::TempDir, PathBuf, JoinHandle<Vec<u8>>) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("applier.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let heard = spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        said.iter().for_each(|frame| socket.write_all(frame).unwrap());
        socket.shutdown(std::net::Shutdown::Write).unwrap();
        let mut heard = Vec::new();
        socket.read_to_end(&mut heard).unwrap();
        heard
    });
    (directory, path, heard)
}

/// A program. Written by another process: a child that some other test starts meanwhile would otherwise hold it open
/// for writing, and such a program cannot be started.
fn script(text: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ostler-applier");
    let write = "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$0\" && chmod 755 \"$0\"";
    let written = Command::new("/bin/sh").arg("-c").arg(write).arg(&path).arg(text).status().unwrap();
    assert!(written.success());
    (directory, path)
}

fn trouble(result: Result<Connection, Trouble>) -> Trouble {
    result.err().expect("the connection should have failed")
}

fn ask(connection: &mut Connection) -> Trouble {
    connection.ask(&Request::Status, &mut |_| {}).unwrap_err().downcast().unwrap()
}

#[test]
fn progress_is_passed_on_and_the_answer_returned() {
    let step = Progress { direction: Direction::Forward, phase: Phase::Write, subject: None };
    let answer = Reply::Status(Box::new(Status { busy: true, ..Status::default() }));
    let replies = [Reply::Progress(step.clone()), Reply::Progress(step.clone()), answer.clone()];
    let said = [hello(VERSION)].into_iter().chain(replies.iter().map(|reply| encode(reply).unwrap())).collect();
    let (_directory, path, heard) = applier_that_says(said);
    let mut connection = Connection::at(&path).unwrap().unwrap();
    let mut steps = Vec::new();
    assert_eq!(connection.ask(&Request::Status, &mut |step| steps.push(step.clone())).unwrap(), answer);
    assert_eq!(steps, [step.clone(), step]);
    drop(connection);
    let heard = heard.join().unwrap();
    assert!(heard.ends_with(&encode(&Request::Status).unwrap()));
}

#[test]
fn another_version_is_named_with_ours_and_the_remedy() {
    let (_directory, path, heard) = applier_that_says(vec![hello(VERSION + 1)]);
    let text = Connection::at(&path).err().unwrap().to_string();
    let [ours, theirs] = [VERSION, VERSION + 1].map(|version| format!("protocol {version}"));
    for part in [&ours, &theirs, "9.9.9", env!("CARGO_PKG_VERSION"), "systemctl restart"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    heard.join().unwrap();
}

#[test]
fn a_refusal_instead_of_a_greeting_is_told_with_its_remedy() {
    let failure = Failure {
        class: Class::Refusal,
        reasons: vec!["user 7 may not use the applier".to_owned()],
        remedy: Some("run as root".to_owned()),
        unchanged: true,
    };
    let (_directory, path, heard) = applier_that_says(vec![encode(&Reply::Failed(failure)).unwrap()]);
    let text = Connection::at(&path).err().unwrap().to_string();
    assert_eq!(text, "the applier refused the connection: user 7 may not use the applier; run as root");
    heard.join().unwrap();
}

#[test]
fn garbage_and_ends_in_every_place_are_errors_that_do_not_quote_it() {
    let secret = encode(&"hunter2").unwrap();
    let cut = encode(&Reply::Nothing).unwrap().split_last().unwrap().1.to_vec();
    let long = vec![0xff; 4];
    for said in [vec![], vec![secret.clone()], vec![long.clone()], vec![hello(VERSION).split_at(7).0.to_vec()]] {
        let (_directory, path, heard) = applier_that_says(said);
        let error = Connection::at(&path).err().unwrap();
        assert!(!format!("{error} {error:?}").contains("hunter2"));
        heard.join().unwrap();
    }
    for said in [vec![], secret, long, cut] {
        let (_directory, path, heard) = applier_that_says(vec![hello(VERSION), said]);
        let error = ask(&mut Connection::at(&path).unwrap().unwrap());
        assert!(!format!("{error} {error:?}").contains("hunter2"));
        heard.join().unwrap();
    }
}

#[test]
fn no_socket_and_a_socket_nobody_serves_are_no_applier() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("applier.sock");
    assert!(Connection::at(&path).unwrap().is_none());
    drop(UnixListener::bind(&path).unwrap());
    assert!(path.exists() && Connection::at(&path).unwrap().is_none());
}

#[test]
fn without_a_socket_only_root_gets_to_start_a_child() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("applier.sock");
    let error = Connection::to_this_machine(&path, Uid::from_raw(1000)).err().unwrap();
    assert!(error.to_string().ends_with("; run as root, or give --root"), "{error}");
    assert!(Connection::to_this_machine(&path, Uid::from_raw(0)).unwrap().is_none());
}

#[test]
fn what_the_system_says_about_a_socket_is_explained() {
    let said = |kind: io::ErrorKind| Trouble::unreachable(Path::new("/s"), &kind.into()).to_string();
    assert_eq!(
        said(io::ErrorKind::PermissionDenied),
        "not allowed to use the applier at /s; run as root, or give --root"
    );
    assert!(said(io::ErrorKind::OutOfMemory).contains("systemctl status ostler-applier.socket"));
}

#[test]
fn a_child_that_exits_at_once_is_named_with_its_status() {
    for (program, status) in [("/bin/true", "exit status: 0"), ("/bin/false", "exit status: 1")] {
        let error = trouble(Connection::of_child(Path::new(program), None));
        assert!(matches!(error, Trouble::NeverGreeted { .. }) && error.to_string().contains(status), "{error}");
    }
}

#[test]
fn a_child_that_only_echoes_is_not_understood() {
    let (_directory, cat) = script("exec cat");
    let mut connection = Connection::of_child(&cat, None).unwrap();
    assert!(matches!(ask(&mut connection), Trouble::Nonsense(_)));
}

#[test]
fn a_child_that_dies_before_its_answer_is_told_with_how_to_recover() {
    // Echoes the greeting, then is killed by the first byte of the request.
    let count = hello(VERSION).len() - "9.9.9".len() + env!("CARGO_PKG_VERSION").len();
    let (_directory, program) = script(&format!("head -c {count}; head -c 1 >/dev/null; kill -KILL $$"));
    let mut connection = Connection::of_child(&program, None).unwrap();
    let error = ask(&mut connection);
    assert!(matches!(error, Trouble::Ended { .. }), "{error:?}");
    for part in ["ostler-applier", "SIGKILL", "ostler recover"] {
        assert!(error.to_string().contains(part), "{part} in {error}");
    }
    assert!(matches!(ask(&mut connection), Trouble::Ended { .. }), "asking again is no hang");
}

#[test]
fn a_child_gets_its_root_and_next_to_no_environment() {
    let (directory, program) = script("env > \"${0%/*}/env\"; echo \"$*\" > \"${0%/*}/arguments\"");
    trouble(Connection::of_child(&program, Some(Path::new("/some where"))));
    let read = |name| std::fs::read_to_string(directory.path().join(name)).unwrap();
    assert_eq!(read("arguments"), "--root /some where --stdio\n");
    let env = read("env");
    // The shell adds the last three by itself.
    let known = ["PATH", "LANG", "PWD", "SHLVL", "_"];
    assert!(env.lines().all(|line| known.contains(&line.split_once('=').unwrap().0)), "{env}");
}

#[test]
fn a_missing_program_is_told_with_where_it_was_looked_for() {
    let error = trouble(Connection::of_child(Path::new("/nowhere/ostler-applier"), None));
    assert!(error.to_string().contains("cannot start the applier /nowhere/ostler-applier"), "{error}");
    let error = child::find(None, Some(Path::new("/here/ostler")), Path::new("/there/ostler-applier")).unwrap_err();
    assert!(error.to_string().contains("/here/ostler-applier, /there/ostler-applier"), "{error}");
}

#[test]
fn a_named_program_goes_before_the_one_beside_us_and_that_before_the_packaged_one() {
    let (beside, program) = script("");
    let (_packaged, packaged) = script("");
    let own = beside.path().join("ostler");
    let find = |named: Option<&str>, own| child::find(named.map(Into::into), own, &packaged).unwrap();
    assert_eq!(find(Some("/named"), Some(&own)), Path::new("/named"));
    assert_eq!(find(Some(""), Some(&own)), program);
    assert_eq!(find(None, Some(Path::new("/nowhere/ostler"))), packaged);
    assert_eq!(find(None, None), packaged);
}

#[test]
fn errors_leave_no_room_for_remedies_about_files() {
    let error = anyhow::Error::from(trouble(Connection::of_child(Path::new("/nowhere/ostler-applier"), None)));
    assert!(error.chain().all(|cause| cause.downcast_ref::<io::Error>().is_none()));
}
