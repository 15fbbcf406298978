//! A virtual machine with its disks, through restarts and power cuts: what is on is QEMU, what stays is the disks.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::chance::Chance;
use crate::cuts::DETAILS;
use crate::disk::{Cache, Disk, Export};
use crate::fsck;
use crate::guest::{Guest, Said};
use crate::loader::{self, Entry};
use crate::qemu::{Accelerator, Hardware, Qemu};
use crate::tools::Tools;

/// How long a boot, a command or a shutdown may take where every instruction is emulated and others want the processor too.
pub const PATIENCE: Duration = Duration::from_secs(1200);

/// Where the boot partition of a machine is kept that does not boot.
const UNBOOTABLE: &str = "boot.img";

/// The names of the disks; the root comes first.
const DISKS: [&str; 2] = ["root", "boot"];

/// What all machines of a run have in common.
#[derive(Clone, Copy)]
pub struct Room<'t> {
    /// The emulator.
    pub tools: &'t Tools,
    /// Who executes.
    pub accelerator: Accelerator,
    /// The port of the registry.
    pub registry: u16,
}

/// The machine.
pub struct Machine<'t> {
    room: Room<'t>,
    /// What the disks were when it was made.
    images: [PathBuf; 2],
    disks: [Disk; 2],
    exports: [Export; 2],
    work: tempfile::TempDir,
    entry: Option<Entry>,
    on: Option<(Qemu, Guest)>,
    greeted: bool,
}

impl<'t> Machine<'t> {
    /// A machine that is off, with disks as in these images: the root and the boot partition.
    pub fn new(room: Room<'t>, images: [PathBuf; 2]) -> Result<Self> {
        let work = tempfile::tempdir()?;
        let [root, boot] = &images;
        let disks = [Disk::new(root)?, Disk::new(boot)?];
        let [root, boot] = &disks;
        let socket = |name: &str| work.path().join(format!("{name}.nbd"));
        let exports = [Export::new(root, &socket("root"))?, Export::new(boot, &socket("boot"))?];
        Ok(Self { room, images, disks, exports, work, entry: None, on: None, greeted: false })
    }

    /// The disk with the sysroot.
    pub fn root(&self) -> &Disk {
        let [root, _] = &self.disks;
        root
    }

    fn hardware(&self) -> Hardware<'_> {
        let [root, boot] = &self.exports;
        let Room { tools, accelerator, registry } = self.room;
        Hardware { tools, accelerator, registry, disks: [root, boot], work: self.work.path() }
    }

    /// Switches the machine on: the boot loader's default entry of now. Does not wait for anything.
    pub fn power_on(&mut self) -> Result<()> {
        if self.on.is_some() {
            bail!("the machine is on");
        }
        let ([_, image], [_, disk]) = (&self.images, &self.disks);
        let boot = self.work.path().join("boot.img");
        disk.save(image, &boot)?;
        let entry = loader::default_of(&boot, self.work.path()).with_context(|| {
            let kept = std::fs::create_dir_all(DETAILS)
                .and_then(|()| std::fs::copy(&boot, Path::new(DETAILS).join(UNBOOTABLE)));
            format!("the machine does not boot, its boot partition is {DETAILS}/{UNBOOTABLE} ({kept:?})")
        })?;
        let qemu = Qemu::start(&self.hardware(), &entry, None)?;
        let guest = Guest::connect(&qemu.line())?;
        self.entry = Some(entry);
        self.on = Some((qemu, guest));
        self.greeted = false;
        Ok(())
    }

    /// Whether the guest has said hello since the machine was switched on.
    pub fn has_guest(&self) -> bool {
        self.greeted
    }

    /// Waits until the guest says hello, within a time, and gives the boot that it is in.
    pub fn wait_for_guest(&mut self, within: Duration) -> Result<String> {
        let start = Instant::now();
        while start.elapsed() < within {
            let (qemu, guest) = self.on.as_mut().context("the machine is off")?;
            if let Some(boot) = guest.hello().with_context(|| last(&qemu.console()))? {
                self.greeted = true;
                return Ok(boot);
            }
        }
        let console = self.on.as_ref().map(|(qemu, _)| qemu.console()).unwrap_or_default();
        bail!("the guest does not come up within {within:?}; its last words:\n{}", last(&console))
    }

    /// Whether it has not gone down by itself.
    pub fn is_on(&mut self) -> bool {
        self.on.as_mut().is_some_and(|(qemu, _)| qemu.is_on())
    }

    /// Restarts the machine if it has gone down by itself; says whether it had.
    pub fn keep_on(&mut self) -> Result<bool> {
        if self.is_on() {
            return Ok(false);
        }
        self.on = None;
        self.power_on()?;
        Ok(true)
    }

    /// Takes the power away, and with it what the disks have in their caches, or a part of it.
    pub fn power_cut(&mut self, cache: Cache, chance: &mut Chance) -> Result<()> {
        for disk in &self.disks {
            disk.freeze();
        }
        let (qemu, _) = self.on.take().context("the machine is off")?;
        qemu.cut();
        for disk in &self.disks {
            disk.recover(cache, chance);
        }
        Ok(())
    }

    /// Checks the root disk of a machine that is off.
    pub fn check_disk(&self) -> Result<()> {
        if self.on.is_some() {
            bail!("the machine is on");
        }
        let ([image, _], [disk, _]) = (&self.images, &self.disks);
        let copy = self.work.path().join("root.img");
        disk.save(image, &copy)?;
        fsck::check(&copy, self.work.path())
    }

    /// Runs a command in the guest, whatever becomes of it.
    pub fn ask(&mut self, command: &str) -> Result<Said> {
        let (_, guest) = self.on.as_mut().context("the machine is off")?;
        guest.run(command, PATIENCE)
    }

    /// What a command in the guest prints; fails if that does not succeed.
    pub fn run(&mut self, command: &str) -> Result<String> {
        let said = self.ask(command)?;
        if said.status != 0 {
            bail!("{command}: exit status {}\n{}", said.status, said.text);
        }
        Ok(said.text)
    }

    /// Stops the machine, and puts it in a directory as it is.
    pub fn put_to_sleep(mut self, into: &Path) -> Result<()> {
        let (qemu, _) = self.on.take().context("the machine is off")?;
        qemu.sleep(&into.join("memory"))?;
        for ((name, disk), image) in DISKS.into_iter().zip(&self.disks).zip(&self.images) {
            disk.save(image, &into.join(format!("{name}.img")))?;
        }
        let entry = self.entry.context("it was never switched on")?;
        std::fs::copy(entry.kernel, into.join("linux"))?;
        std::fs::copy(entry.initramfs, into.join("initrd"))?;
        Ok(std::fs::write(into.join("arguments"), entry.arguments)?)
    }

    /// Takes a machine out of such a directory again, and goes on with it.
    pub fn wake(room: Room<'t>, from: &Path) -> Result<Self> {
        let images = DISKS.map(|name| from.join(format!("{name}.img")));
        let mut machine = Self::new(room, images)?;
        let arguments = std::fs::read_to_string(from.join("arguments"))?;
        let entry = Entry { kernel: from.join("linux"), initramfs: from.join("initrd"), arguments };
        let qemu = Qemu::start(&machine.hardware(), &entry, Some(&from.join("memory")))?;
        // The guest is not to see that its line was ever cut.
        let mut guest = Guest::connect(&qemu.line())?;
        qemu.wake()?;
        guest.attract(PATIENCE)?;
        machine.on = Some((qemu, guest));
        machine.greeted = true;
        machine.entry = Some(entry);
        Ok(machine)
    }
}

/// The end of a text.
fn last(text: &str) -> String {
    let mut lines: Vec<_> = text.lines().rev().take(15).collect();
    lines.reverse();
    lines.join("\n")
}
