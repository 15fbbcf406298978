//! Everything a run of cases shares: the image, the registry, who executes, and a machine that sleeps in the configuration `old`
//! so that a case begins in seconds.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::command::on_path;
use crate::furnish::furnish;
use crate::image::{Image, NAMES, Programs};
use crate::keep::{self, Key};
use crate::machine::{Machine, PATIENCE, Room};
use crate::node::Node;
use crate::qemu::{Accelerator, REGISTRY};
use crate::registry::Registry;
use crate::tools::Tools;

/// A processor that can do it boots the guest in a tenth of this.
const KVM_PATIENCE: Duration = Duration::from_secs(45);
const PROGRAMS: [&str; 10] =
    ["mmdebstrap", "ostree", "skopeo", "systemctl", "mke2fs", "debugfs", "unshare", "strip", "xz", "cp"];

/// What a run has.
pub struct Lab {
    tools: Tools,
    image: Image,
    registry: Registry,
    accelerator: Accelerator,
}

/// Why this machine cannot make images, if it cannot.
pub fn obstacle() -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    if !fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0) {
        return Some("images are made by root".to_owned());
    }
    if std::env::consts::ARCH != "x86_64" {
        return Some("the guest is of x86_64".to_owned());
    }
    PROGRAMS.into_iter().find(|name| !on_path(name)).map(|name| format!("there is no {name}"))
}

impl Lab {
    /// Has everything ready but the machine that sleeps.
    pub fn open(programs: &Programs) -> Result<Self> {
        let tools = Tools::provide()?;
        let image = Image::provide(programs, &tools)?;
        let registry = Registry::start(&image.registry())?;
        let mut lab = Self { tools, image, registry, accelerator: Accelerator::Tcg };
        lab.accelerator = lab.detect()?;
        println!("vm: {:?} executes", lab.accelerator);
        Ok(lab)
    }

    fn room(&self) -> Room<'_> {
        Room { tools: &self.tools, accelerator: self.accelerator, registry: self.registry.port() }
    }

    fn images(&self) -> Result<Vec<String>> {
        NAMES.iter().map(|name| Ok(format!("{REGISTRY}/os@{}", self.image.digest(name)?))).collect()
    }

    /// A machine that was just installed, and is off.
    pub fn installed(&self) -> Result<Node<'_>> {
        let machine = Machine::new(self.room(), ["root", "boot"].map(|name| self.image.disk(name)))?;
        Ok(Node::new(machine, self.images()?))
    }

    /// A node in the configuration `old`, with an agent that has seen so.
    pub fn node(&self) -> Result<Node<'_>> {
        self.woken(&self.asleep()?)
    }

    /// A node that was put to sleep in a directory.
    pub fn woken(&self, from: &Path) -> Result<Node<'_>> {
        Ok(Node::new(Machine::wake(self.room(), from)?, self.images()?))
    }

    /// Where it sleeps; brought there first where nobody has.
    fn asleep(&self) -> Result<PathBuf> {
        let made_by = [include_str!("furnish.rs"), include_str!("qemu.rs")];
        let key = made_by.into_iter().fold(Key::default().text(self.image.key()), Key::text);
        let key = key.text(&format!("{:?}", self.accelerator)).name();
        keep::provide("asleep", &key, |work| self.bring_to_sleep(work))
    }

    fn bring_to_sleep(&self, work: &Path) -> Result<()> {
        let mut node = self.installed()?;
        let start = Instant::now();
        node.machine.power_on()?;
        node.machine.wait_for_guest(PATIENCE)?;
        println!("vm: a boot took {:.0} s", start.elapsed().as_secs_f64());
        furnish(&mut node)?;
        println!("vm: furnished after {:.0} s", start.elapsed().as_secs_f64());
        node.machine.run("sync")?;
        node.machine.put_to_sleep(work)
    }

    /// The registry, to be stopped and resumed.
    pub fn registry(&mut self) -> &mut Registry {
        &mut self.registry
    }

    /// Whether the processor executes a guest can only be seen by letting it. What was seen holds until the next boot of this
    /// machine.
    fn detect(&self) -> Result<Accelerator> {
        // A machine whose KVM is a paravirtual one has no processor for a guest's kernel as distributions make it.
        if !Path::new("/dev/kvm").exists() || Path::new("/sys/module/kvm_pvm").exists() {
            return Ok(Accelerator::Tcg);
        }
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
        let at = keep::directory()?.join(format!("accelerator-{}", boot.trim()));
        let seen = fs::read_to_string(&at).unwrap_or_default();
        let works = match seen.as_str() {
            "" => {
                let room = Room { accelerator: Accelerator::Kvm, ..self.room() };
                let mut machine = Machine::new(room, ["root", "boot"].map(|name| self.image.disk(name)))?;
                machine.power_on().and_then(|()| machine.wait_for_guest(KVM_PATIENCE)).is_ok()
            }
            seen => seen == "works",
        };
        fs::write(at, if works { "works" } else { "does not" })?;
        Ok(if works { Accelerator::Kvm } else { Accelerator::Tcg })
    }
}
