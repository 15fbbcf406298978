//! QEMU and busybox, out of Debian's packages and into the cache: nothing is installed on this machine, so nothing of it can
//! stand in their way.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use crate::command::{answer, bounded};
use crate::keep::{self, Key};

/// What the virtual machines run, and where their emulator comes from.
pub const SUITE: &str = "trixie";
/// How long a fetch from a mirror may take: some times what it takes on a good day.
pub const FETCH: Duration = Duration::from_secs(480);
const PACKAGES: &str = "qemu-system-x86,busybox-static";
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";

fn name() -> String {
    Key::default().text(SUITE).text(PACKAGES).name()
}

/// The unpacked packages.
pub struct Tools(PathBuf);

impl Tools {
    /// Those of the cache; fetched first where they are not there.
    pub fn provide() -> Result<Self> {
        let at = keep::provide("tools", &name(), |work| {
            let mut fetch = bounded("mmdebstrap", FETCH);
            fetch.args(["--quiet", "--variant=extract", "--mode=root", "--include", PACKAGES]);
            fetch.args(["--aptopt=Acquire::Languages \"none\"", SUITE]).arg(work.join("root"));
            answer(&mut fetch).map(drop)
        })?;
        Ok(Self(at.join("root")))
    }

    /// Its QEMU, with its own libraries.
    pub fn qemu(&self) -> Command {
        let libraries = self.0.join(LIBRARIES);
        // It ends with the thread that has started it, however that ends. In a session of its own it has a share of the processors
        // of its own where the kernel shares them out by sessions.
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig", "KILL", "--", "setsid", "--"])
            .arg(libraries.join("ld-linux-x86-64.so.2"))
            .arg("--library-path")
            .arg(&libraries);
        command.arg(self.0.join("usr/bin/qemu-system-x86_64"));
        command.arg("-L").arg(self.0.join("usr/share/qemu")).arg("-L").arg(self.0.join("usr/share/seabios"));
        command.env("QEMU_MODULE_DIR", libraries.join("qemu"));
        command
    }

    /// A busybox that needs no library.
    pub fn busybox(&self) -> PathBuf {
        self.0.join("usr/bin/busybox")
    }
}
