//! A disk and a service manager with one fault that begins at an effect and lasts until it is ended.

use std::cell::{Cell, RefCell};
use std::ffi::OsString;
use std::io;
use std::rc::Rc;

use nix::errno::Errno;

use crate::disk::memory::{MemoryDisk, MemoryLock};
use crate::disk::{Attributes, Disk, Free, Obstacle, RootPath, Stat, Xattrs};
use crate::machine::{Manager, ManagerError, Presence};
use crate::systemd::offline::Wish;

/// What does not work any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// These calls to systemd fail.
    Calls(&'static [&'static str]),
    /// These calls to systemd do not end in time.
    Hangs(&'static [&'static str]),
    /// There is no such unit.
    Missing(&'static str),
    /// systemd cannot be asked anything.
    Bus,
    /// One path cannot be replaced, removed or changed.
    Path(Errno, &'static str),
    /// Nothing in a directory can.
    Below(Errno, &'static str),
    /// Nothing can be changed on the disk.
    Everything(Errno),
    /// Nothing more fits on the disk.
    Space(Errno),
    /// What stands at one path cannot be read; all texts of the journal count as one.
    Read(Errno, &'static str),
    /// Nothing can be read.
    Reads(Errno),
    /// A directory, and files in it, cannot be made durable.
    Sync(Errno, &'static str),
    /// Nothing can be made durable.
    Syncs(Errno),
    /// Deployments cannot be read.
    Libostree,
}

impl Fault {
    /// Whether no transaction can be closed, not even by who abandons it.
    pub(super) fn keeps_the_journal_from_being_used(self) -> bool {
        matches!(self, Self::Everything(_) | Self::Space(_) | Self::Reads(_) | Self::Syncs(_))
    }

    /// Whether nobody knows any more what stood before the change.
    pub(super) fn loses_the_origin(self) -> bool {
        matches!(self, Self::Read(_, path) if path.ends_with("/origin") || path.ends_with("/text-"))
    }

    /// Whether a configuration gets by without what is faulty.
    pub(super) fn spares(self, config: &str) -> bool {
        match self {
            Self::Everything(_) | Self::Space(_) | Self::Bus | Self::Reads(_) | Self::Syncs(_) => false,
            // Nobody knows who owns files without the accounts.
            Self::Path(_, path) | Self::Read(_, path) => !path.ends_with("currentconfig") && path != "/etc/passwd",
            Self::Sync(_, directory) => directory != "/etc",
            Self::Calls(calls) => !calls.contains(&"daemon-reload") || config == "other",
            Self::Hangs(_) | Self::Missing(_) | Self::Below(..) | Self::Libostree => true,
        }
    }
}

#[derive(Default)]
struct Plan {
    fault: Cell<Option<Fault>>,
    from: Cell<u64>,
    count: Cell<u64>,
    /// Effects at the time of the turn back, once it has come.
    turn: Cell<Option<u64>>,
    after_turn: Cell<Option<(Fault, u64)>>,
    refused: RefCell<Option<&'static str>>,
}

/// The faults of one machine, counted over all its parts.
#[derive(Clone, Default)]
pub(super) struct Faults(Rc<Plan>);

impl Faults {
    pub(super) fn plan(&self, fault: Fault, from: u64) {
        self.0.fault.set(Some(fault));
        self.0.from.set(self.0.count.get() + from);
    }

    pub(super) fn plan_after_turn(&self, fault: Fault, from: u64) {
        self.0.after_turn.set(Some((fault, from)));
    }

    pub(super) fn refuse_once(&self, call: &'static str) {
        *self.0.refused.borrow_mut() = Some(call);
    }

    pub(super) fn end(&self) {
        self.0.fault.set(None);
        self.0.after_turn.set(None);
    }

    pub(super) fn count(&self) -> u64 {
        self.0.count.get()
    }

    pub(super) fn count_after_turn(&self) -> u64 {
        self.0.turn.get().map_or(0, |turn| self.0.count.get() - turn)
    }

    fn fault(&self) -> Option<Fault> {
        self.0.fault.get().filter(|_| self.0.count.get() >= self.0.from.get())
    }

    fn next(&self) -> Option<Fault> {
        let fault = self.fault();
        self.0.count.set(self.0.count.get() + 1);
        fault
    }

    pub(super) fn strikes_os(&self) -> bool {
        self.next() == Some(Fault::Libostree)
    }

    fn call(&self, unit: &str, call: &str) -> Result<(), ManagerError> {
        let fault = self.next();
        let refused = self.0.refused.borrow_mut().take_if(|refused| *refused == call).is_some();
        if refused {
            let count = self.0.count.get();
            self.0.turn.set(Some(count));
            if let Some((fault, from)) = self.0.after_turn.get() {
                self.0.fault.set(Some(fault));
                self.0.from.set(count + from);
            }
        }
        let transient = match fault {
            _ if refused => false,
            Some(Fault::Calls(calls)) if calls.contains(&call) => false,
            Some(Fault::Hangs(calls)) if calls.contains(&call) => true,
            Some(Fault::Missing(missing)) if missing == unit && !call.starts_with("Disable") => false,
            Some(Fault::Bus) => true,
            _ => return Ok(()),
        };
        Err(ManagerError { action: "call", unit: unit.to_owned(), transient, source: call.to_owned().into() })
    }

    /// One reading of a path. Those that the planned fault is not about are not counted.
    fn reading(&self, path: &RootPath) -> io::Result<()> {
        let planned = match self.0.fault.get() {
            Some(Fault::Read(_, faulty)) if faulty.ends_with("/text-") => path.as_str().starts_with(faulty),
            Some(Fault::Read(_, faulty)) => path.as_str() == faulty,
            Some(Fault::Reads(_)) => true,
            _ => false,
        };
        match planned.then(|| self.next()).flatten() {
            Some(Fault::Read(errno, _) | Fault::Reads(errno)) => Err(errno.into()),
            _ => Ok(()),
        }
    }

    /// One request to make a file or directory durable; `None` is the root directory, or a whole filesystem.
    fn syncing(&self, path: Option<&RootPath>) -> io::Result<()> {
        let planned = match self.0.fault.get() {
            Some(Fault::Sync(_, directory)) => {
                path.is_some_and(|path| path.as_str() == directory || path.directory() == directory)
            }
            Some(Fault::Syncs(_)) => true,
            _ => false,
        };
        match planned.then(|| self.next()).flatten() {
            Some(Fault::Sync(errno, _) | Fault::Syncs(errno)) => Err(errno.into()),
            _ => Ok(()),
        }
    }

    /// One effect on a path, which takes space or does not.
    fn effect(&self, path: &RootPath, takes_space: bool) -> io::Result<()> {
        match self.next() {
            Some(Fault::Path(errno, faulty)) if path.as_str() == faulty => Err(errno.into()),
            Some(Fault::Below(errno, directory)) if path.directory() == directory => Err(errno.into()),
            Some(Fault::Everything(errno)) => Err(errno.into()),
            Some(Fault::Space(errno)) if takes_space => Err(errno.into()),
            _ => Ok(()),
        }
    }
}

/// The service manager.
pub(super) struct Services(pub(super) Faults);

impl Manager for Services {
    fn set(&self, unit: &str, wish: Wish) -> Result<(), ManagerError> {
        self.0.call(unit, &format!("{wish:?} {unit}"))
    }

    fn daemon_reload(&self) -> Result<(), ManagerError> {
        self.0.call("systemd", "daemon-reload")
    }

    fn reload(&self, unit: &str) -> Result<(), ManagerError> {
        self.0.call(unit, &format!("reload {unit}"))
    }

    fn restart(&self, unit: &str) -> Result<(), ManagerError> {
        self.0.call(unit, &format!("restart {unit}"))
    }

    fn state(&self, _unit: &str) -> Result<Option<String>, ManagerError> {
        Ok(None)
    }

    fn presence(&self, unit: &str) -> Result<Presence, ManagerError> {
        match self.0.fault() {
            Some(Fault::Missing(missing)) if missing == unit => Ok(Presence::Missing),
            Some(Fault::Bus) => self.0.call(unit, "look up").map(|()| Presence::Active),
            _ => Ok(Presence::Active),
        }
    }

    fn is_booting(&self) -> Result<bool, ManagerError> {
        self.0.call("systemd", "is booting").map(|()| false)
    }
}

/// A disk in memory.
pub(super) struct FaultyDisk {
    memory: MemoryDisk,
    faults: Faults,
}

impl FaultyDisk {
    pub(super) fn new(memory: MemoryDisk, faults: &Faults) -> Self {
        Self { memory, faults: faults.clone() }
    }

    pub(super) const fn memory(&self) -> &MemoryDisk {
        &self.memory
    }
}

impl Disk for FaultyDisk {
    type Lock = MemoryLock;

    fn stat(&self, path: &RootPath) -> io::Result<Option<Stat>> {
        self.memory.stat(path)
    }

    fn read(&self, path: &RootPath, most: u64) -> io::Result<Vec<u8>> {
        self.faults.reading(path)?;
        self.memory.read(path, most)
    }

    fn read_link(&self, path: &RootPath) -> io::Result<OsString> {
        self.faults.reading(path)?;
        self.memory.read_link(path)
    }

    fn list(&self, directory: &RootPath) -> io::Result<Vec<OsString>> {
        self.faults.reading(directory)?;
        self.memory.list(directory)
    }

    fn make_directory(&self, path: &RootPath, attributes: Attributes) -> io::Result<()> {
        self.faults.effect(path, true)?;
        self.memory.make_directory(path, attributes)
    }

    fn create(&self, path: &RootPath, contents: &[u8], attributes: Attributes) -> io::Result<()> {
        self.faults.effect(path, true)?;
        self.memory.create(path, contents, attributes)
    }

    fn link(&self, path: &RootPath, target: &str) -> io::Result<()> {
        self.faults.effect(path, true)?;
        self.memory.link(path, target)
    }

    fn set_attributes(&self, path: &RootPath, attributes: Attributes) -> io::Result<()> {
        self.faults.effect(path, false)?;
        self.memory.set_attributes(path, attributes)
    }

    fn label(&self, path: &RootPath) -> io::Result<Option<String>> {
        self.memory.label(path)
    }

    fn set_label(&self, path: &RootPath, label: &str) -> io::Result<()> {
        self.faults.effect(path, true)?;
        self.memory.set_label(path, label)
    }

    fn resolve(&self, path: &RootPath) -> io::Result<RootPath> {
        self.memory.resolve(path)
    }

    fn obstacle(&self, path: &RootPath) -> io::Result<Option<Obstacle>> {
        self.memory.obstacle(path)
    }

    fn xattrs(&self, path: &RootPath) -> io::Result<Xattrs> {
        self.faults.reading(path)?;
        self.memory.xattrs(path)
    }

    fn set_xattrs(&self, path: &RootPath, xattrs: &Xattrs) -> io::Result<()> {
        self.faults.effect(path, true)?;
        self.memory.set_xattrs(path, xattrs)
    }

    fn rename(&self, from: &RootPath, to: &RootPath) -> io::Result<()> {
        self.faults.effect(to, false)?;
        self.memory.rename(from, to)
    }

    fn remove(&self, path: &RootPath) -> io::Result<()> {
        self.faults.effect(path, false)?;
        self.memory.remove(path)
    }

    fn remove_directory(&self, path: &RootPath) -> io::Result<()> {
        self.faults.effect(path, false)?;
        self.memory.remove_directory(path)
    }

    fn sync(&self, path: &RootPath) -> io::Result<()> {
        self.faults.syncing(Some(path))?;
        self.memory.sync(path)
    }

    fn sync_directory(&self, directory: Option<&RootPath>) -> io::Result<()> {
        self.faults.syncing(directory)?;
        self.memory.sync_directory(directory)
    }

    fn sync_filesystem(&self, path: &RootPath) -> io::Result<()> {
        self.faults.syncing(None)?;
        self.memory.sync_filesystem(path)
    }

    fn filesystem(&self, path: &RootPath) -> io::Result<u64> {
        self.memory.filesystem(path)
    }

    fn free(&self, directory: Option<&RootPath>) -> io::Result<Free> {
        self.memory.free(directory)
    }

    fn lock(&self, path: &RootPath) -> io::Result<Option<Self::Lock>> {
        self.memory.lock(path)
    }
}
