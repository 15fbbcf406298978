//! A clock that is set in the middle of an update: it is only written down, never waited by.

use std::fs;
use std::path::PathBuf;

use k8s_openapi::jiff::{SignedDuration, Timestamp};

use super::agent::{Subject, condition, is, with_file};
use super::cluster::controller::{Controller, annotation};
use super::cluster::drains::Drains;
use super::cluster::loudly;
use super::cluster::server::Server;

/// Where the library that lies about the time may be; the environment may name another place.
const LIARS: [&str; 3] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib64/faketime/libfaketimeMT.so.1",
];
const LIAR: &str = "OSTLER_FAKETIME";
/// A file whose change takes a drain and a restart.
const LOUD: &str = "/etc/motd";

fn liar() -> Option<PathBuf> {
    let named = std::env::var_os(LIAR).map(PathBuf::from);
    let found = named.into_iter().chain(LIARS.map(PathBuf::from)).find(|path| path.exists());
    if found.is_none() {
        loudly(&format!("SKIPPED: clocks that are set: install libfaketime, or name its library in {LIAR}"));
    }
    found
}

/// A node whose agent is told the time by a file.
async fn dated(server: &Server, name: &str, liar: &str) -> Subject {
    let controller = Controller::new(server.admin().await);
    let config = with_file(&format!("rendered-{name}-1"), LOUD, "1");
    let mut subject = Subject::installed(name, server.node(name), controller, &config).await;
    let clock = subject.sandbox.note("clock", "+0");
    // What counts from the start of the machine is right, as it is where an administrator sets the clock.
    subject = subject.within("LD_PRELOAD", liar).within("FAKETIME_TIMESTAMP_FILE", &clock);
    subject = subject.within("FAKETIME_NO_CACHE", "1").within("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    subject.start();
    subject.done(&format!("rendered-{name}-1")).await;
    subject
}

/// Sets the clock; whoever reads it finds the old time or the new.
fn set(subject: &Subject, offset: &str) {
    let new = subject.sandbox.note("clock.new", offset);
    fs::rename(&new, new.trim_end_matches(".new")).unwrap();
}

/// First by a day into one direction, then back, or the other way round; in each an update with everything.
#[tokio::test]
async fn a_clock_that_is_set_changes_nothing_but_what_is_written_down() {
    let Some(server) = Server::shared().await else { return };
    let Some(liar) = liar() else { return };
    let mut subject = dated(server, "dated", liar.to_str().unwrap()).await;
    let drains = Drains::hold_from_the_start(subject.controller.clone(), "dated");
    for (number, before, after) in [(2, "+1d", "+0"), (3, "+0", "+1d")] {
        let (config, text) = (format!("rendered-dated-{number}"), number.to_string());
        subject.make(&config, &with_file(&config, LOUD, &text)["spec"]["config"]).await;
        subject.want(&config).await;
        let drain = format!("drain-{config}");
        subject.node_until("a drain", |node| annotation(node, "desiredDrain") == Some(&drain)).await;
        set(&subject, before);
        drains.release();
        subject.node_until("Rebooting", |node| annotation(node, "post-config-action") == Some("Rebooting")).await;
        let object = subject.object_until("a restart", |object| is(object, "RebootedNode", "Unknown")).await;
        let told = condition(&object, "RebootedNode").unwrap().last_transition_time.0;
        let ahead = told.duration_since(Timestamp::now()) > SignedDuration::from_hours(23);
        assert_eq!(ahead, before == "+1d", "the agent did not believe the clock: {told}");
        set(&subject, after);
        subject.restart();
        subject.done(&config).await;
        assert_eq!(subject.file(LOUD).as_deref(), Some(text.as_str()));
        drains.hold();
    }
}
