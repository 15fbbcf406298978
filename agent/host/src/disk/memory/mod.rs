//! A disk in memory that fails where it is told to and loses at a power cut what POSIX lets it lose.
//!
//! Owns the model of durability and the drivers that try every point of failure. Exists for tests only, and refuses to
//! promise more than the weakest disk does: what is not synced may be lost, torn or kept, each change by itself.

mod driver;
mod fault;
mod fingerprint;
mod inode;
mod loss;
mod operations;
#[cfg(test)]
mod tests;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::errno::Errno;

pub use driver::{ERRNOS, Ending, Failure, Point, every_crash, every_error};
pub use fault::{Fault, PowerCut};
use fault::{Schedule, Space};
use inode::{Body, Contents, Ino, Inodes, Versions};
pub use loss::Loss;
pub use tree::Node;

use super::{Attributes, Obstacle, RootPath, Xattrs};

/// What a new file or directory looks like until it is given its attributes.
const BORN_FILE: Attributes = Attributes { mode: 0o600, uid: 0, gid: 0 };
const BORN_DIRECTORY: Attributes = Attributes { mode: 0o700, uid: 0, gid: 0 };
const PLAIN_DIRECTORY: Attributes = Attributes { mode: 0o755, uid: 0, gid: 0 };

/// A disk in memory. Its operations are numbered from 0; making a file or a directory is two effects, the name and then
/// what it has, so that a process can die between them.
#[derive(Debug)]
pub struct MemoryDisk {
    state: Mutex<State>,
    locks: Arc<Mutex<BTreeSet<Ino>>>,
}

/// Held while the lock on a file of a [`MemoryDisk`] is.
#[derive(Debug)]
pub struct MemoryLock {
    locks: Arc<Mutex<BTreeSet<Ino>>>,
    ino: Ino,
}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        held(&self.locks).remove(&self.ino);
    }
}

struct State {
    inodes: Inodes,
    effects: Schedule,
    reads: Schedule,
    stopped: bool,
    traits: DiskTraits,
    /// What the disk held before each effect, once that is asked for.
    history: Option<Vec<Inodes>>,
}

/// What a disk is like, and stays like over a crash.
#[derive(Clone)]
struct DiskTraits {
    leaves_halves: bool,
    /// Bytes and files that every filesystem says to have left.
    free: (u64, u64),
    obstacles: Vec<(RootPath, Obstacle)>,
}

impl std::fmt::Debug for State {
    /// Counts only: contents may be secrets, in tests of secrets too.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("effects", &self.effects).field("stopped", &self.stopped).finish_non_exhaustive()
    }
}

impl Default for MemoryDisk {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryDisk {
    /// An empty disk.
    pub fn new() -> Self {
        Self::of(Inodes::new(), DiskTraits { leaves_halves: false, free: (u64::MAX, u64::MAX), obstacles: Vec::new() })
    }

    /// A disk that durably holds files of path, contents and mode; a path that ends in `/` is a directory. Directories
    /// above them are made.
    pub fn with(files: &[(&str, &str, u32)]) -> io::Result<Self> {
        let disk = Self::new();
        for (path, contents, mode) in files {
            let attributes = Attributes { mode: *mode, uid: 0, gid: 0 };
            match path.strip_suffix('/') {
                Some(directory) => disk.put_directory(&root_path(directory)?, attributes)?,
                None => disk.put(&root_path(path)?, contents.as_bytes(), attributes)?,
            }
        }
        Ok(disk)
    }

    fn of(inodes: Inodes, traits: DiskTraits) -> Self {
        let (effects, reads) = (Schedule::default(), Schedule::default());
        let state = Mutex::new(State { inodes, effects, reads, stopped: false, traits, history: None });
        Self { state, locks: Arc::default() }
    }

    /// Durably puts a file at a path, in the place of any file or link there, behind the back of whoever uses the disk:
    /// no effect is counted and no fault met. Makes all else durable too.
    pub fn put(&self, path: &RootPath, contents: &[u8], attributes: Attributes) -> io::Result<()> {
        let contents = Contents { bytes: contents.into(), synced: true, forgotten: false };
        self.place(path, attributes, Body::File(contents))
    }

    /// Durably puts an empty directory at a path where nothing is, as [`MemoryDisk::put`] does a file.
    pub fn put_directory(&self, path: &RootPath, attributes: Attributes) -> io::Result<()> {
        self.place(path, attributes, Body::Directory(inode::Entries::default()))
    }

    /// Durably puts a symbolic link at a path, as [`MemoryDisk::put`] does a file.
    pub fn put_link(&self, path: &RootPath, target: &str) -> io::Result<()> {
        self.put_link_of(path, target, 0)
    }

    /// The same with an owner.
    pub fn put_link_of(&self, path: &RootPath, target: &str, uid: u32) -> io::Result<()> {
        self.place(path, Attributes { mode: 0o777, uid, gid: uid }, Body::Link(target.to_owned()))
    }

    /// Lets [`Disk::obstacle`] say that this is in the way: at the path, and for a kind or a mount of a filesystem below it
    /// too. Operations do not fail for it.
    ///
    /// [`Disk::obstacle`]: super::Disk::obstacle
    pub fn obstruct(&self, path: &RootPath, obstacle: Obstacle) {
        self.state().traits.obstacles.push((path.clone(), obstacle));
    }

    /// Durably gives a file extended attributes, as [`MemoryDisk::put`] puts one.
    pub fn put_xattrs(&self, path: &RootPath, xattrs: Xattrs) -> io::Result<()> {
        let mut state = self.state();
        let ino = state.inodes.locate(path)?.existing()?;
        let inode = state.inodes.get_mut(ino)?;
        inode.attributes = Versions::of(inode::Traits { xattrs, ..inode.attributes.now().clone() });
        Ok(())
    }

    /// Makes a directory and what is below it a filesystem of its own, to which nothing else can be renamed.
    pub fn mount(&self, directory: &RootPath) -> io::Result<()> {
        let mut state = self.state();
        let ino = state.inodes.locate(directory)?.existing()?;
        state.inodes.mount(ino)
    }

    /// Lets the effect with this number, counted from 0, meet a fault. More than one can be planned.
    pub fn fail_at(&self, effect: u64, fault: Fault) {
        self.state().effects.plan(effect, fault);
    }

    /// Lets the read with this number, counted from 0, meet a fault.
    pub fn fail_read_at(&self, read: u64, fault: Fault) {
        self.state().reads.plan(read, fault);
    }

    /// Takes back all faults that are planned or last; a stopped machine stays stopped.
    pub fn heal(&self) {
        let mut state = self.state();
        state.effects.clear();
        state.reads.clear();
    }

    /// From now on a file that could not be written whole stays there half written, as if removing it failed too.
    pub fn leave_halves(&self) {
        self.state().traits.leaves_halves = true;
    }

    /// From now on every filesystem says to have this many bytes left. Nothing but what [`Disk::free`] says changes.
    ///
    /// [`Disk::free`]: super::Disk::free
    pub fn set_free(&self, bytes: u64) {
        self.state().traits.free.0 = bytes;
    }

    /// The same of files, which take an inode each.
    pub fn set_free_files(&self, files: u64) {
        self.state().traits.free.1 = files;
    }

    /// Effects so far, those that met a fault included.
    pub fn effects(&self) -> u64 {
        self.state().effects.count()
    }

    /// Reads so far, those that met a fault included.
    pub fn reads(&self) -> u64 {
        self.state().reads.count()
    }

    /// The disk as found after a power cut now, or at the crash that happened. Counts begin again, no fault is planned.
    pub fn crash(&self, loss: &mut Loss) -> Self {
        let state = self.state();
        // Every entry has its inode, by construction; an empty disk would fail any test that looks at it.
        let inodes = loss::survivors(&state.inodes, loss).unwrap_or_else(|_| Inodes::new());
        Self::of(inodes, state.traits.clone())
    }

    /// [`MemoryDisk::crash`] with the loss of a seed.
    pub fn reboot(&self, seed: u64) -> Self {
        self.crash(&mut Loss::seeded(seed))
    }

    /// The disk as found after only the process died: nothing is lost, but what was not synced still may be later.
    pub fn kill(&self) -> Self {
        let state = self.state();
        Self::of(state.inodes.clone(), state.traits.clone())
    }

    /// From now on keeps what the disk holds before each effect, for [`MemoryDisk::history`].
    pub fn remember(&self) {
        self.state().history = Some(Vec::new());
    }

    /// The disk as it was before each effect since [`MemoryDisk::remember`], in order, and as it is: each as a kill then
    /// would have left it.
    pub fn history(&self) -> Vec<Self> {
        let state = self.state();
        let before = state.history.iter().flatten();
        before.chain([&state.inodes]).map(|inodes| Self::of(inodes.clone(), state.traits.clone())).collect()
    }

    /// The same number for disks that nothing can tell apart, not even a power cut, and practically never for others.
    pub fn fingerprint(&self) -> u128 {
        fingerprint::fingerprint(&self.state().inodes)
    }

    /// Everything on the disk as operations see it.
    pub fn tree(&self) -> BTreeMap<String, Node> {
        tree::tree(&self.state().inodes).unwrap_or_default()
    }

    /// Everything that no power cut can take.
    pub fn durable_tree(&self) -> BTreeMap<String, Node> {
        self.crash(&mut Loss::everything()).tree()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        held(&self.state)
    }

    fn place(&self, path: &RootPath, attributes: Attributes, body: Body) -> io::Result<()> {
        let mut state = self.state();
        let inodes = &mut state.inodes;
        for directory in path.ancestors() {
            let place = inodes.locate(&directory)?;
            if place.found.is_none() {
                inodes.add(&place, Versions::settled(PLAIN_DIRECTORY), Body::Directory(inode::Entries::default()))?;
            }
        }
        let place = inodes.locate(path)?;
        match (place.found.map(|ino| inodes.names(ino).is_ok()), &body) {
            (Some(_), Body::Directory(_)) => return Err(Errno::EEXIST.into()),
            (Some(true), _) => return Err(Errno::EISDIR.into()),
            _ => {}
        }
        let ino = inodes.add(&place, Versions::settled(attributes), body)?;
        let filesystem = inodes.get(ino)?.filesystem;
        inodes.sync_filesystem(filesystem);
        inodes.sync_filesystem(0);
        Ok(())
    }
}

impl State {
    fn running(&self) -> io::Result<()> {
        if self.stopped { Err(io::Error::other(PowerCut)) } else { Ok(()) }
    }

    fn read(&mut self) -> io::Result<()> {
        self.running()?;
        let fault = self.reads.next(Space::Spares);
        self.meet(fault)
    }

    fn effect(&mut self, space: Space) -> io::Result<()> {
        self.running()?;
        if let Some(history) = &mut self.history {
            history.push(self.inodes.clone());
        }
        let fault = self.effects.next(space);
        self.meet(fault)
    }

    fn meet(&mut self, fault: Option<Fault>) -> io::Result<()> {
        match fault {
            None => Ok(()),
            Some(Fault::Error(errno) | Fault::ErrorFrom(errno)) => Err(errno.into()),
            Some(Fault::Crash) => {
                self.stopped = true;
                self.running()
            }
        }
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn root_path(path: &str) -> io::Result<RootPath> {
    RootPath::new(path).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))
}
