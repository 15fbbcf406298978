//! A message bus for one test.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// A real `dbus-daemon` on a socket of its own, on which everybody may do everything.
pub struct Bus {
    pub directory: TempDir,
    pub address: String,
    process: Child,
}

impl Bus {
    /// With `activation`, a call to the daemon waits until somebody has its name, as with systemd.
    pub fn start(activation: bool) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path();
        std::fs::create_dir(at.join("services")).unwrap();
        if activation {
            let service = "[D-BUS Service]\nName=org.projectatomic.rpmostree1\nExec=/bin/sleep 3\n";
            std::fs::write(at.join("services/daemon.service"), service).unwrap();
        }
        std::fs::write(at.join("bus.conf"), configuration(at)).unwrap();
        let mut process = Command::new("dbus-daemon")
            .arg(format!("--config-file={}", at.join("bus.conf").display()))
            .args(["--nofork", "--print-address=1"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut address = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut address).unwrap();
        assert!(!address.is_empty(), "dbus-daemon did not start");
        Self { directory, address: address.trim().to_owned(), process }
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn configuration(at: &Path) -> String {
    let at = at.display();
    format!(
        "<busconfig><type>custom</type><listen>unix:path={at}/bus</listen><auth>EXTERNAL</auth>\
         <servicedir>{at}/services</servicedir><policy context=\"default\"><allow send_destination=\"*\"/>\
         <allow receive_sender=\"*\"/><allow own=\"*\"/></policy></busconfig>"
    )
}
