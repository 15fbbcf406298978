//! The control on a real bus.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

use super::super::journal::tell;
use super::super::journal::tests::on_tape;
use super::*;

/// A real `dbus-daemon` that lets nobody do anything but what our own policy allows.
struct Bus {
    address: String,
    process: Child,
    _directory: TempDir,
}

impl Bus {
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        // Another user is to get as far as the bus.
        std::fs::set_permissions(directory.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let configuration = directory.path().join("bus.conf");
        std::fs::write(&configuration, strict(directory.path())).unwrap();
        let mut process = Command::new("dbus-daemon")
            .arg(format!("--config-file={}", configuration.display()))
            .args(["--nofork", "--print-address=1"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut address = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut address).unwrap();
        assert!(!address.is_empty(), "dbus-daemon did not start");
        Self { address: address.trim().to_owned(), process, _directory: directory }
    }

    /// Runs `busctl` as this user.
    async fn busctl(&self, user: u32, arguments: &[&str]) -> Output {
        let mut command = Command::new("setpriv");
        let user = user.to_string();
        command.args(["--reuid", &user, "--regid", &user, "--clear-groups", "busctl"]);
        command.arg(format!("--address={}", self.address)).args(arguments).stdin(Stdio::null());
        tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn policy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../units/usr/share/dbus-1/system.d/dev.ostler.Agent.conf")
}

/// The rules of a system bus, and our own file.
fn strict(at: &Path) -> String {
    format!(
        "<busconfig><type>custom</type><listen>unix:path={}/bus</listen><auth>EXTERNAL</auth>\
         <policy context=\"default\"><allow user=\"*\"/><deny own=\"*\"/><deny send_type=\"method_call\"/>\
         <allow send_type=\"signal\"/><allow send_requested_reply=\"true\" send_type=\"method_return\"/>\
         <allow send_requested_reply=\"true\" send_type=\"error\"/><allow receive_type=\"method_call\"/>\
         <allow receive_type=\"method_return\"/><allow receive_type=\"error\"/><allow receive_type=\"signal\"/>\
         <allow send_destination=\"org.freedesktop.DBus\" send_interface=\"org.freedesktop.DBus\"/></policy>\
         <include>{}</include></busconfig>",
        at.display(),
        policy().display()
    )
}

const CONTROL: [&str; 3] = [NAME, PATH, "org.freedesktop.LogControl1"];

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn is_here(tool: &str) -> bool {
    Command::new(tool).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// What it takes to run as root and as somebody else on a bus of our own.
fn can_run() -> bool {
    let can = ["dbus-daemon", "busctl", "setpriv"].into_iter().all(is_here) && nix::unistd::Uid::effective().is_root();
    if !can {
        eprintln!("SKIPPED: this needs root, dbus-daemon, busctl and setpriv");
    }
    can
}

#[tokio::test]
async fn the_level_is_read_and_changed_over_the_bus_and_changes_what_is_told() {
    if !can_run() {
        return;
    }
    let bus = Bus::start();
    let (subscriber, handle, tape) = on_tape(Level::Info, false);
    let _guard = tracing::subscriber::set_default(subscriber);
    let _connection = offer_on(Builder::address(bus.address.as_str()), handle).await.unwrap();
    let get = async |name| stdout(&bus.busctl(0, &[&["get-property"], &CONTROL[..], &[name]].concat()).await);
    let set = async |name, value| bus.busctl(0, &[&["set-property"], &CONTROL[..], &[name, "s", value]].concat()).await;
    let turn = Notice::Turn { reason: "a test".to_owned(), next: "more".to_owned() };
    tell("n", &turn);
    assert_eq!((get("LogLevel").await.as_str(), tape.take().contains("a test")), ("s \"info\"", false));
    assert!(set("LogLevel", "debug").await.status.success());
    tell("n", &turn);
    assert_eq!((get("LogLevel").await.as_str(), tape.take().contains("a test")), ("s \"debug\"", true));
    let refused = set("LogLevel", "loud").await;
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("\"loud\" is no log level here"), "{refused:?}");
    assert_eq!(get("LogTarget").await, "s \"console\"");
    for unserved in ["kmsg", "journal"] {
        assert!(!set("LogTarget", unserved).await.status.success(), "{unserved}");
    }
    assert!(set("LogTarget", "null").await.status.success());
    tell("n", &turn);
    assert!(!tape.take().contains("a test"));
    assert_eq!(get("SyslogIdentifier").await, "s \"ostler\"");
    assert!(!set("SyslogIdentifier", "else").await.status.success());
    let described = stdout(&bus.busctl(0, &[&["introspect"], &CONTROL[..2]].concat()).await);
    for line in [".LogLevel", ".LogTarget", ".SyslogIdentifier"] {
        assert!(described.contains(line), "{described}");
    }
}

#[tokio::test]
async fn everybody_may_look_and_only_root_may_change_or_be_us() {
    const NOBODY: u32 = 65534;
    if !can_run() {
        return;
    }
    let bus = Bus::start();
    let (_subscriber, handle, _) = on_tape(Level::Info, false);
    let _connection = offer_on(Builder::address(bus.address.as_str()), handle.clone()).await.unwrap();
    let looked = bus.busctl(NOBODY, &[&["get-property"], &CONTROL[..], &["LogLevel"]].concat()).await;
    assert_eq!(stdout(&looked), "s \"info\"", "{looked:?}");
    let changed = bus.busctl(NOBODY, &[&["set-property"], &CONTROL[..], &["LogLevel", "s", "debug"]].concat()).await;
    assert!(!changed.status.success() && handle.level() == Level::Info, "{changed:?}");
    let request = ["call", "org.freedesktop.DBus", "/", "org.freedesktop.DBus", "RequestName", "su", NAME, "4"];
    let taken = bus.busctl(NOBODY, &request).await;
    assert!(String::from_utf8_lossy(&taken.stderr).contains("Access denied"), "{taken:?}");
    // Root would be allowed to, and is only told that somebody else was first.
    assert_eq!(stdout(&bus.busctl(0, &request).await), "u 3");
    let second = offer_on(Builder::address(bus.address.as_str()), handle).await;
    assert!(matches!(second, Err(Notice::ControlUnavailable { .. })), "{second:?}");
}

#[tokio::test]
async fn without_a_bus_there_is_no_control_and_nobody_minds() {
    let (_subscriber, handle, _) = on_tape(Level::Info, false);
    let notice = offer_on(Builder::address("unix:path=/nowhere/bus"), handle).await.unwrap_err();
    assert_eq!(notice.weight(), ostler_core::node::Weight::Detail);
    assert!(matches!(notice, Notice::ControlUnavailable { .. }));
}
