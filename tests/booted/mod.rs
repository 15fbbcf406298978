//! A throw-away machine that runs a deployment of a real ostree sysroot, with a real systemd, and can be rebooted.
//!
//! What a boot loader, an initramfs and `ostree-prepare-root` do is done by `boot.sh`; no kernel is started. Everything in
//! `/usr` but the deployment's own files is this machine's, or that of another OS, so that a deployment is a few files. A machine has the network
//! of its [`Site`]: loopback, with the site's registries, and nothing else.
#![allow(dead_code, reason = "every proof takes what it needs of it")]

mod entry;
pub mod os_root;
mod site;
mod standins;
mod sysroot;

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

pub use site::{Site, need, or_skip, succeed};
pub use sysroot::{Sysroot, plant};

const BOOT: &str = include_str!("boot.sh");
/// How long a boot or a shutdown may take.
const PATIENCE: Duration = Duration::from_secs(180);
/// What is installed with `ostler`.
const SHIPPED: &str = "../../units/usr";
/// Where the package has the programs, which are in `/opt/ostler` here.
const PROGRAMS: [(&str, &str); 2] = [("bin", "ostler"), ("libexec/ostler", "ostler-applier")];
const NAP: Duration = Duration::from_millis(20);

/// The machine. Dies with the test, whatever becomes of that.
pub struct Booted {
    site: Site,
    standins: Option<PathBuf>,
    power: Option<Power>,
    boots: u32,
}

/// A machine that is switched on.
struct Power {
    launcher: Child,
    leader: u32,
    cgroup: PathBuf,
}

impl Booted {
    /// Boots the default deployment of a sysroot; nothing, loudly, where that cannot be done. `OSTLER_REQUIRE_SYSTEMD=1`
    /// makes that a failure.
    pub fn start(sysroot: &Sysroot) -> Option<Self> {
        Self::start_with(sysroot, standins::directory().filter(|_| !os_root::is_given()))
    }

    /// The same, with the stand-ins of a directory.
    pub fn start_with(sysroot: &Sysroot, standins: Option<PathBuf>) -> Option<Self> {
        let mut machine = Self { site: sysroot.site().clone(), standins, power: None, boots: 0 };
        site::or_skip(machine.boot()).map(|()| machine)
    }

    /// Switches the machine on, and fails if it does not come up: the deployment is the default one of now.
    pub fn power_on(&mut self) {
        assert!(self.power.is_none(), "the machine is on");
        if let Err(reason) = self.boot() {
            panic!("{reason}");
        }
    }

    /// Takes the power away: nothing is shut down, and `/run` is lost.
    pub fn power_cut(&mut self) {
        drop(self.power.take().expect("the machine is off"));
    }

    /// Asks for a reboot as an administrator would, and follows it.
    pub fn reboot(&mut self) {
        self.ask_for("reboot");
        self.reboot_and_wait();
    }

    /// Asks for the power to be switched off as an administrator would, and waits for it.
    pub fn power_off(&mut self) {
        self.ask_for("poweroff");
        self.wait_for_power_off();
    }

    /// Whether that is granted shows in what happens: the answer can be lost in the shutdown.
    fn ask_for(&self, end: &str) {
        let _ = self.enter("systemctl").arg(end).stderr(Stdio::null()).status().expect("sh starts");
    }

    /// Waits until the machine reboots by itself, and boots what is the default deployment then.
    pub fn reboot_and_wait(&mut self) {
        self.wait_for_reboot();
        self.power_on();
    }

    /// The same without the end of the boot: until the machine has files that tell, nothing else of it may be used.
    pub fn reboot_and_watch(&mut self) {
        self.wait_for_reboot();
        self.launch_again();
    }

    /// Switches the machine on after a power cut, without the end of the boot either.
    pub fn launch_again(&mut self) {
        assert!(self.power.is_none(), "the machine is on");
        self.launch(Instant::now()).unwrap();
    }

    /// Waits for the end of a boot that was only launched.
    pub fn wait_for_boot(&mut self) {
        self.wait_for_systemd(Instant::now()).unwrap();
    }

    fn wait_for_reboot(&mut self) {
        let status = self.wait_for_end();
        assert_eq!(status.signal(), Some(Signal::SIGHUP as i32), "not a reboot: {status}");
    }

    /// Waits until the machine switches itself off.
    pub fn wait_for_power_off(&mut self) {
        let status = self.wait_for_end();
        assert_eq!(status.signal(), Some(Signal::SIGINT as i32), "not switched off: {status}");
    }

    /// Waits until what was staged is sure to be finalised in a shutdown. `ostree` does not: a reboot right after it has
    /// returned can be faster than the unit that its file starts, and then the staged deployment is lost.
    pub fn wait_until_armed(&self) {
        wait_until("the staged deployment is going to be finalised", || {
            let mut question = self.enter("systemctl");
            question.args(["is-active", "--quiet", "ostree-finalize-staged.service"]).status().unwrap().success()
        });
    }

    /// Whether it has not ended by itself.
    pub fn is_on(&mut self) -> bool {
        self.power.as_mut().is_some_and(|power| matches!(power.launcher.try_wait(), Ok(None)))
    }

    /// A path in it as seen from here. It must be on.
    pub fn path(&self, below: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root", self.on().leader)).join(below)
    }

    /// A command in it. It must be on.
    pub fn enter(&self, program: &str) -> Command {
        let power = self.on();
        let mut command = site::join(&power.cgroup);
        command.arg("nsenter").arg(format!("--target={}", power.leader));
        command.args(["--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--wdns=/", "--", program]);
        command
    }

    /// What a command in it prints; fails if that does not succeed.
    pub fn run(&self, program: &str, arguments: &[&str]) -> String {
        site::succeed(self.enter(program).args(arguments))
    }

    /// Sends a signal to every process in it whose name contains `name`; fails if there is none.
    pub fn signal(&self, name: &str, signal: Signal) {
        let named = |pid: &i32| fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.contains(name));
        let pids: Vec<_> = processes(&self.on().cgroup).into_iter().filter(named).collect();
        assert!(!pids.is_empty(), "no process is called {name}");
        for pid in pids {
            // One that has ended meanwhile needs no signal.
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }

    /// Whether a service of it has processes; none has on a machine that is off.
    pub fn has_processes_in(&self, service: &str) -> bool {
        self.power.as_ref().is_some_and(|power| !processes(&power.cgroup.join("system.slice").join(service)).is_empty())
    }

    /// The deployment that the boot loader would start now; none while that is being changed.
    pub fn next_deployment(&self) -> Option<PathBuf> {
        let entry = entry::default_of(&self.site.path("sysroot/boot/loader/entries")).ok()?;
        fs::read_link(self.site.path("sysroot").join(entry.deployment.trim_start_matches('/'))).ok()
    }

    /// Which boot this is, as the machine knows it.
    pub fn boot_id(&self) -> String {
        fs::read_to_string(self.path("proc/sys/kernel/random/boot_id")).unwrap().trim_end().to_owned()
    }

    /// The kernel command line.
    pub fn kernel_arguments(&self) -> String {
        fs::read_to_string(self.path("proc/cmdline")).unwrap().trim_end().to_owned()
    }

    /// What `journalctl` has to say, of all boots unless told otherwise.
    pub fn journal(&self, arguments: &[&str]) -> String {
        self.run("journalctl", &[&["--no-pager", "--output=short-monotonic"], arguments].concat())
    }

    /// Where it stands, and the registries it can reach.
    pub fn site(&self) -> &Site {
        &self.site
    }

    fn on(&self) -> &Power {
        self.power.as_ref().expect("the machine is off")
    }

    /// Boots the default deployment and waits until systemd says that boot is over.
    fn boot(&mut self) -> Result<(), String> {
        let start = Instant::now();
        self.launch(start)?;
        self.wait_for_systemd(start)?;
        eprintln!("boot {} took {:.2} s", self.boots, start.elapsed().as_secs_f32());
        Ok(())
    }

    fn launch(&mut self, start: Instant) -> Result<(), String> {
        let entry = entry::default_of(&self.site.path("sysroot/boot/loader/entries"))?;
        self.lend().map_err(|error| format!("cannot make room for a machine: {error}"))?;
        self.boots += 1;
        let cgroup = self.site.cgroup().join(format!("boot-{}", self.boots));
        fs::create_dir(&cgroup).map_err(|error| format!("cannot make {}: {error}", cgroup.display()))?;
        let mut launch = self.site.command_in(&cgroup, "unshare");
        launch.args(["-m", "-p", "-i", "-u", "-C", "-f", "--kill-child", "--propagation", "private"]);
        launch.args(["sh", "-c", BOOT, "boot", site::DIRECTORY, &entry.deployment, &entry.arguments]);
        launch.arg(programs()).arg(self.standins.clone().unwrap_or_default()).arg(os_root::path("/usr"));
        launch.stdout(Stdio::null());
        let launcher = launch.spawn().map_err(|error| format!("cannot start sh: {error}"))?;
        let power = self.power.insert(Power { launcher, leader: 0, cgroup });
        power.wait_for_leader(start)
    }

    /// Has the files ready that a machine gets beside its deployment.
    fn lend(&self) -> std::io::Result<()> {
        let [root, usr] = ["root", "usr"].map(|name| self.site.path(name));
        let _ = fs::remove_dir_all(&usr);
        fs::create_dir_all(root)?;
        succeed(Command::new("cp").arg("-r").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(SHIPPED)).arg(&usr));
        for (directory, name) in PROGRAMS {
            fs::create_dir_all(usr.join(directory))?;
            symlink(Path::new("/opt/ostler").join(name), usr.join(directory).join(name))?;
        }
        self.standins.as_deref().map_or(Ok(()), |standins| standins::install(standins, &usr))
    }

    fn wait_for_systemd(&mut self, start: Instant) -> Result<(), String> {
        while start.elapsed() < PATIENCE && self.is_on() {
            // Before it is systemd, its files are this machine's.
            let systemd =
                fs::read_to_string(format!("/proc/{}/comm", self.on().leader)).is_ok_and(|name| name == "systemd\n");
            let bus = systemd && self.path("run/dbus/system_bus_socket").exists();
            let over = |said: &[u8]| matches!(said.trim_ascii_end(), b"running" | b"degraded" | b"maintenance");
            let mut question = self.enter("systemctl");
            question.arg("is-system-running").stderr(Stdio::null());
            if bus && question.output().is_ok_and(|said| over(&said.stdout)) {
                return Ok(());
            }
            sleep(NAP);
        }
        Err(format!("systemd did not come up; {}", self.last_words()))
    }

    /// The end of the journal, where a machine that is not well has got far enough to have one.
    fn last_words(&mut self) -> String {
        if !self.is_on() {
            return "the machine is down".to_owned();
        }
        let said = self.enter("journalctl").args(["--no-pager", "--boot", "--lines=40"]).output();
        said.map_or_else(|error| error.to_string(), |said| String::from_utf8_lossy(&said.stdout).into_owned())
    }

    fn wait_for_end(&mut self) -> ExitStatus {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            let power = self.power.as_mut().expect("the machine is off");
            if let Some(status) = power.launcher.try_wait().unwrap() {
                self.power = None;
                eprintln!("the machine was down after {:.2} s", start.elapsed().as_secs_f32());
                return status;
            }
            sleep(NAP);
        }
        panic!("the machine does not go down; {}", self.last_words());
    }
}

impl Power {
    fn wait_for_leader(&mut self, start: Instant) -> Result<(), String> {
        let id = self.launcher.id();
        while start.elapsed() < PATIENCE {
            if let Ok(Some(status)) = self.launcher.try_wait() {
                return Err(format!("the machine ended at once: {status}"));
            }
            let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
            if let Some(leader) = children.split_whitespace().next().and_then(|pid| pid.parse().ok()) {
                self.leader = leader;
                return Ok(());
            }
            sleep(NAP);
        }
        Err("the machine has no first process".to_owned())
    }
}

impl Drop for Power {
    fn drop(&mut self) {
        // The first process of a pid namespace takes all others with it, and they their mounts.
        let _ = fs::write(self.cgroup.join("cgroup.kill"), "1");
        let _ = self.launcher.kill();
        let _ = self.launcher.wait();
        site::remove_cgroup(&self.cgroup);
    }
}

/// The processes of a control group and of those below it.
fn processes(cgroup: &Path) -> Vec<i32> {
    let listed = fs::read_to_string(cgroup.join("cgroup.procs")).unwrap_or_default();
    let below = fs::read_dir(cgroup).into_iter().flatten().flatten().map(|entry| entry.path());
    let own = listed.lines().filter_map(|pid| pid.parse().ok());
    own.chain(below.filter(|path| path.is_dir()).flat_map(|path| processes(&path))).collect()
}

/// Waits for something, and fails if it does not come.
pub fn wait_until(what: &str, done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < PATIENCE, "waited in vain: {what}");
        sleep(NAP);
    }
}

/// The directory with `ostler`, and `ostler-applier` if that was built.
fn programs() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_ostler")).parent().unwrap()
}
