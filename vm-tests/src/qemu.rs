//! QEMU: one machine that is on, its line, its console and its monitor. Knows nothing of what runs in it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::disk::Export;
use crate::loader::Entry;
use crate::socket;
use crate::tools::Tools;

/// Who executes the guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accelerator {
    /// The processor itself.
    Kvm,
    /// QEMU, ten to fifty times slower.
    Tcg,
}

/// What a machine is made of.
pub struct Hardware<'a> {
    /// The emulator.
    pub tools: &'a Tools,
    /// Who executes.
    pub accelerator: Accelerator,
    /// The port of a registry on this machine; guests have it at [`REGISTRY`].
    pub registry: u16,
    /// The root disk and the boot disk.
    pub disks: [&'a Export; 2],
    /// A directory for its sockets and its console.
    pub work: &'a Path,
}

/// Where guests find this machine's loopback network.
#[cfg(feature = "cluster")]
pub const HOST: [u8; 4] = [10, 0, 2, 2];

/// Where guests find the registry, whatever its port is.
pub const REGISTRY: &str = "10.0.2.100:5000";

const MEMORY: &str = "768";
const PATIENCE: Duration = Duration::from_secs(120);
const NAP: Duration = Duration::from_millis(20);

/// A machine that is on. Loses its power with whoever has it.
pub struct Qemu {
    process: Child,
    work: PathBuf,
}

impl Qemu {
    /// Switches a machine on; one that [`Qemu::sleep`] left in a file has to be woken yet.
    pub fn start(hardware: &Hardware<'_>, entry: &Entry, asleep: Option<&Path>) -> Result<Self> {
        let work = hardware.work;
        for name in ["guest.sock", "monitor.sock"] {
            let _ = fs::remove_file(work.join(name));
        }
        let mut qemu = hardware.tools.qemu();
        let accelerated: &[&str] = match hardware.accelerator {
            Accelerator::Kvm => &["-accel", "kvm", "-cpu", "host"],
            Accelerator::Tcg => &["-accel", "tcg,thread=multi", "-cpu", "qemu64"],
        };
        qemu.args(["-machine", "q35", "-smp", "1", "-m", MEMORY, "-nodefaults", "-no-reboot", "-display", "none"]);
        qemu.args(accelerated).arg("-serial").arg(format!("file:{}", work.join("console").display()));
        for (name, disk) in ["root", "boot"].into_iter().zip(hardware.disks) {
            qemu.arg("-blockdev").arg(format!(
                "driver=nbd,node-name={name},server.type=unix,server.path={},discard=ignore",
                disk.path().display()
            ));
            qemu.arg("-device").arg(format!("virtio-blk-pci,drive={name},write-cache=on"));
        }
        let socket =
            |id: &str, name: &str| format!("socket,id={id},path={},server=on,wait=off", work.join(name).display());
        qemu.args(["-device", "virtio-serial-pci", "-device", "virtserialport,chardev=guest,name=ostler.guest"]);
        qemu.arg("-chardev").arg(socket("guest", "guest.sock"));
        qemu.arg("-chardev").arg(socket("monitor", "monitor.sock")).args(["-mon", "chardev=monitor,mode=control"]);
        let relay = format!("{} nc 127.0.0.1 {}", hardware.tools.busybox().display(), hardware.registry);
        qemu.arg("-netdev").arg(format!("user,id=net,guestfwd=tcp:{REGISTRY}-cmd:{relay}"));
        qemu.args(["-device", "virtio-net-pci,netdev=net", "-device", "virtio-rng-pci"]);
        qemu.arg("-kernel").arg(&entry.kernel).arg("-initrd").arg(&entry.initramfs).args(["-append", &entry.arguments]);
        if let Some(file) = asleep {
            qemu.arg("-incoming").arg(format!("file:{}", file.display()));
        }
        let log = fs::File::create(work.join("qemu.log"))?;
        qemu.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let process = qemu.spawn().context("cannot start QEMU")?;
        let mut machine = Self { process, work: work.to_owned() };
        machine.wait_for_sockets()?;
        Ok(machine)
    }

    fn wait_for_sockets(&mut self) -> Result<()> {
        let start = Instant::now();
        while !["guest.sock", "monitor.sock"].iter().all(|name| self.work.join(name).exists()) {
            if !self.is_on() || start.elapsed() > PATIENCE {
                bail!("QEMU does not start: {}", fs::read_to_string(self.work.join("qemu.log"))?);
            }
            sleep(NAP);
        }
        Ok(())
    }

    /// The socket of the guest's line.
    pub fn line(&self) -> PathBuf {
        self.work.join("guest.sock")
    }

    /// Whether it has not switched itself off; a reboot does that too.
    pub fn is_on(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    /// What it has written to its console.
    pub fn console(&self) -> String {
        fs::read(self.work.join("console")).map(|text| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default()
    }

    /// Takes the power away.
    pub fn cut(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Stops the machine and keeps all that it has in memory in a file.
    pub fn sleep(mut self, to: &Path) -> Result<()> {
        let mut monitor = Monitor::connect(&self.work)?;
        monitor.ask("stop", &json!({}))?;
        monitor.ask("migrate", &json!({"uri": format!("file:{}", to.display())}))?;
        monitor.wait_for("query-migrate", |state| state == "completed")?;
        self.end();
        Ok(())
    }

    /// Goes on with what it was doing when it fell asleep.
    pub fn wake(&self) -> Result<()> {
        let mut monitor = Monitor::connect(&self.work)?;
        monitor.wait_for("query-status", |state| state != "inmigrate")?;
        monitor.ask("cont", &json!({})).map(drop)
    }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        self.end();
    }
}

/// The monitor: a line of JSON in, a line of JSON out.
struct Monitor {
    reader: BufReader<UnixStream>,
}

impl Monitor {
    fn connect(work: &Path) -> Result<Self> {
        let stream = socket::connect(&work.join("monitor.sock"))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut monitor = Self { reader: BufReader::new(stream) };
        monitor.ask("qmp_capabilities", &json!({}))?;
        Ok(monitor)
    }

    fn ask(&mut self, command: &str, arguments: &Value) -> Result<Value> {
        let question = json!({"execute": command, "arguments": arguments});
        writeln!(self.reader.get_mut(), "{question}")?;
        loop {
            let mut line = String::new();
            if self.reader.read_line(&mut line)? == 0 {
                bail!("QEMU has ended");
            }
            let said: Value = serde_json::from_str(&line)?;
            if let Some(error) = said.get("error") {
                bail!("QEMU refuses to {command}: {error}");
            }
            if let Some(answer) = said.get("return") {
                return Ok(answer.clone());
            }
        }
    }

    fn wait_for(&mut self, question: &str, done: impl Fn(&str) -> bool) -> Result<()> {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            let answer = self.ask(question, &json!({}))?;
            match answer.get("status").and_then(Value::as_str) {
                Some("failed") => bail!("{question}: {answer}"),
                Some(state) if done(state) => return Ok(()),
                _ => sleep(NAP),
            }
        }
        bail!("{question} does not end")
    }
}
