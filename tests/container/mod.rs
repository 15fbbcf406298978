//! A throw-away machine with a real systemd: this machine's `/usr`, namespaces of its own, gone when dropped.
//!
//! Shared by the tests that need one, so it has only what all of them use.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

const BOOT: &str = include_str!("boot.sh");
const LAUNCH: &str = "echo $$ > \"$1/cgroup.procs\" && exec setpriv --pdeathsig KILL \
    unshare -m -p -i -u -n -C -f --kill-child --propagation private sh -c \"$2\" boot \"$3\" \"$4\"";
const PATIENCE: Duration = Duration::from_secs(180);

/// Machines of one process differ by this in their names.
static BOOTED: AtomicU32 = AtomicU32::new(0);

/// The machine. Dies with the thread that made it, whatever becomes of that.
pub struct Container {
    launcher: Child,
    leader: Option<u32>,
    cgroup: PathBuf,
    _root: tempfile::TempDir,
}

impl Container {
    /// A machine, or nothing, loudly, where none can be had. `OSTLER_REQUIRE_SYSTEMD=1` makes that a failure. It has the
    /// programs of a directory of this machine in `/opt/ostler`, if one is given.
    pub fn if_possible(programs: Option<&Path>) -> Option<Self> {
        match Self::boot(programs) {
            Ok(container) => Some(container),
            Err(reason) if std::env::var_os("OSTLER_REQUIRE_SYSTEMD").is_some_and(|value| value == "1") => {
                panic!("OSTLER_REQUIRE_SYSTEMD=1, but there is no systemd to test with: {reason}")
            }
            Err(reason) => {
                eprintln!("SKIPPED: the tests with a real systemd: {reason}");
                None
            }
        }
    }

    /// Boots it and waits until systemd says that boot is over.
    fn boot(programs: Option<&Path>) -> Result<Self, String> {
        if fs::metadata("/proc/self").map_err(|error| error.to_string())?.uid() != 0 {
            return Err("they need root".to_owned());
        }
        let hierarchy = cgroup_hierarchy().ok_or("no cgroup2 hierarchy is mounted")?;
        let number = BOOTED.fetch_add(1, Ordering::Relaxed);
        let cgroup = hierarchy.join(format!("ostler-test-{}-{number}", std::process::id()));
        fs::create_dir(&cgroup).map_err(|error| format!("cannot make {}: {error}", cgroup.display()))?;
        let root = tempfile::tempdir().map_err(|error| error.to_string())?;
        let launcher = Command::new("sh")
            .args(["-c", LAUNCH, "launch"])
            .args([cgroup.as_os_str(), BOOT.as_ref(), root.path().as_os_str()])
            .arg(programs.unwrap_or(Path::new("")))
            .stdin(Stdio::null())
            .spawn();
        let launcher = launcher.map_err(|error| error.to_string())?;
        let mut container = Self { launcher, leader: None, cgroup, _root: root };
        container.wait()?;
        Ok(container)
    }

    fn wait(&mut self) -> Result<(), String> {
        let start = Instant::now();
        let id = self.launcher.id();
        while start.elapsed() < PATIENCE {
            if let Ok(Some(status)) = self.launcher.try_wait() {
                return Err(format!("the container ended at once: {status}"));
            }
            let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
            self.leader = children.split_whitespace().next().and_then(|pid| pid.parse().ok());
            let booted = self.leader.is_some()
                && self.path("run/dbus/system_bus_socket").exists()
                && self.enter("systemctl").arg("is-system-running").output().is_ok_and(|said| finished(&said.stdout));
            if booted {
                eprintln!("systemd was up after {:.2} s", start.elapsed().as_secs_f32());
                return Ok(());
            }
            sleep(Duration::from_millis(20));
        }
        Err("systemd did not come up".to_owned())
    }

    /// A path in it as seen from here.
    pub fn path(&self, below: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root", self.leader.unwrap_or_default())).join(below)
    }

    /// A command in it.
    pub fn enter(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--target={}", self.leader.unwrap_or_default()));
        command.args(["--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--wdns=/", "--", program]);
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin").stdin(Stdio::null());
        command
    }

    /// Writes a file of `/etc/systemd/system`.
    pub fn unit(&self, name: &str, text: &str) {
        let at = self.path("etc/systemd/system").join(name);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(at, text).unwrap();
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        // The first process of a pid namespace takes all others with it, and they their mounts.
        let _ = fs::write(self.cgroup.join("cgroup.kill"), "1");
        let _ = self.launcher.kill();
        let _ = self.launcher.wait();
        for _ in 0..100 {
            if remove_cgroup(&self.cgroup) {
                return;
            }
            sleep(Duration::from_millis(20));
        }
        eprintln!("could not remove {}", self.cgroup.display());
    }
}

/// Whether `systemctl is-system-running` says that boot is over, for better or worse.
fn finished(said: &[u8]) -> bool {
    matches!(said.trim_ascii_end(), b"running" | b"degraded" | b"maintenance")
}

fn remove_cgroup(at: &Path) -> bool {
    for entry in fs::read_dir(at).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            remove_cgroup(&entry.path());
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
