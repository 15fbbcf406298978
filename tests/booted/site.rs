//! Where machines and registries stand: a piece of memory for their files, a loopback network and a cgroup.
//!
//! None of them leaves a trace: the process that keeps the site ends it as soon as the test's end of a pipe is closed, be it
//! that the test is done, has panicked or was killed.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

const KEEP: &str = include_str!("site.sh");
const JOIN: &str = "echo $$ > \"$1/cgroup.procs\" && shift && exec \"$@\"";
/// Where commands on the site find its files.
pub const DIRECTORY: &str = "/sys";
/// The most that its files may take: an image of 500 MB is there as a tree, a layout, in the registry and in the sysroot.
const SIZE: &str = "4g";

/// Sites of one process differ by this in their names.
static SITES: AtomicU32 = AtomicU32::new(0);

/// A site. It stays until the last thing on it is gone.
#[derive(Clone)]
pub struct Site(Arc<Keeper>);

struct Keeper {
    process: Child,
    cgroup: PathBuf,
}

impl Site {
    /// A site; nothing, loudly, where none can be had. `OSTLER_REQUIRE_SYSTEMD=1` makes that a failure.
    pub fn if_possible() -> Option<Self> {
        or_skip(Self::open())
    }

    fn open() -> Result<Self, String> {
        if fs::metadata("/proc/self").map_err(|error| error.to_string())?.uid() != 0 {
            return Err("they need root".to_owned());
        }
        need(&["/usr/bin/unshare", "/usr/bin/nsenter", "/usr/sbin/ip", "/usr/lib/systemd/systemd"])?;
        let hierarchy = cgroup_hierarchy().ok_or("no cgroup2 hierarchy is mounted")?;
        let number = SITES.fetch_add(1, Ordering::Relaxed);
        let cgroup = hierarchy.join(format!("ostler-site-{}-{number}", std::process::id()));
        let mut keep = Command::new("unshare");
        keep.args(["--mount", "--net", "--propagation", "private", "sh", "-c", KEEP, "keep"]);
        // Nor does it end with a signal from the terminal: it has yet to clean up then.
        keep.arg(&cgroup).arg(SIZE).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let process = keep.spawn().map_err(|error| format!("cannot start unshare: {error}"))?;
        let mut site = Keeper { process, cgroup };
        let mut said = String::new();
        if let Some(output) = site.process.stdout.take() {
            let _ = BufReader::new(output).read_line(&mut said);
        }
        if said != "ready\n" {
            return Err("no namespaces, tmpfs, loopback network or cgroup that can be killed can be had".to_owned());
        }
        Ok(Self(Arc::new(site)))
    }

    /// A path on it, as seen from here and by commands on it.
    pub fn path(&self, below: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{DIRECTORY}", self.0.process.id())).join(below)
    }

    /// A command with its files and its network.
    pub fn command(&self, program: &str) -> Command {
        self.command_in(&self.0.cgroup, program)
    }

    /// The same, in a cgroup.
    pub fn command_in(&self, cgroup: &Path, program: &str) -> Command {
        let mut command = join(cgroup);
        command.arg("nsenter").arg(format!("--target={}", self.0.process.id()));
        command.args(["--mount", "--net", "--wdns=/", "--", program]);
        command
    }

    /// The cgroup of everything on it.
    pub fn cgroup(&self) -> &Path {
        &self.0.cgroup
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// A command that joins a cgroup and becomes what is added to it.
pub fn join(cgroup: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", JOIN, "join"]).arg(cgroup);
    command.env_clear().env("PATH", "/usr/sbin:/usr/bin").stdin(Stdio::null());
    command
}

/// What a command prints; fails if that does not succeed.
pub fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let [stdout, stderr] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.success(), "{command:?}: {}\n{stdout}{stderr}", output.status);
    stdout
}

/// Whether this machine has these files, or which one it has not.
pub fn need(files: &[&str]) -> Result<(), String> {
    let missing = files.iter().find(|file| !Path::new(file).exists());
    missing.map_or(Ok(()), |file| Err(format!("there is no {file}")))
}

/// What was made; nothing, loudly, if there is a reason why it could not be. `OSTLER_REQUIRE_SYSTEMD=1` makes that a failure.
pub fn or_skip<T>(made: Result<T, String>) -> Option<T> {
    match made {
        Ok(made) => Some(made),
        Err(reason) if std::env::var_os("OSTLER_REQUIRE_SYSTEMD").is_some_and(|value| value == "1") => {
            panic!("OSTLER_REQUIRE_SYSTEMD=1, but there is no machine to test with: {reason}")
        }
        Err(reason) => {
            eprintln!("SKIPPED: the tests with a machine that runs a deployment: {reason}");
            None
        }
    }
}

/// Removes a cgroup whose processes are ending.
pub fn remove_cgroup(at: &Path) {
    for _ in 0..100 {
        if try_to_remove_cgroup(at) {
            return;
        }
        sleep(Duration::from_millis(20));
    }
    eprintln!("could not remove {}", at.display());
}

fn try_to_remove_cgroup(at: &Path) -> bool {
    for entry in fs::read_dir(at).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            try_to_remove_cgroup(&entry.path());
        }
    }
    let _ = fs::remove_dir(at);
    !at.exists()
}

fn cgroup_hierarchy() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let line = mounts.lines().find(|line| line.contains(" - cgroup2 "))?;
    line.split_whitespace().nth(4).map(PathBuf::from)
}
