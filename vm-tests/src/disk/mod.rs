//! A virtual machine's disk with a volatile write cache: what was not flushed can be lost in a power cut.
//!
//! It is a raw image that is never written, and blocks on top of it in memory. `nbd` serves it to QEMU. A power cut keeps what
//! was flushed and, of the rest, whichever blocks chance has it keep: a disk writes its cache in any order.

mod nbd;

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use anyhow::{Context, Result};

use crate::chance::Chance;

pub use nbd::Export;

/// The unit of what is kept or lost.
const BLOCK: usize = 4096;
/// How a record of the agent's journal begins; a file begins with a block.
const RECORD: &[u8] = b"ostler-journal ";

type Block = Box<[u8]>;

/// The disk, shared with whoever serves it.
#[derive(Clone)]
pub struct Disk(Arc<Mutex<State>>);

struct State {
    image: File,
    size: u64,
    flushed: HashMap<u64, Block>,
    cached: HashMap<u64, Block>,
    seen: Seen,
    stop: Option<Stop>,
    frozen: bool,
}

/// What has happened on a disk since it was last asked to count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Flushes.
    pub flushes: u64,
    /// Blocks that begin a record of the agent's journal.
    pub records: u64,
}

/// When a disk is to stop by itself: so many flushes after a record of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The record, from 1.
    pub record: u64,
    /// Flushes after it; with 0 not even the record is written.
    pub flushes: u64,
}

/// What becomes of what was not flushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    /// All of it is lost.
    Lost,
    /// Any part of it is lost.
    Torn,
    /// None: the disk writes it with its last strength.
    Written,
}

impl Disk {
    /// A disk that has what an image has.
    pub fn new(image: &Path) -> Result<Self> {
        let image = File::open(image).with_context(|| format!("cannot open {}", image.display()))?;
        let size = image.metadata()?.len();
        let (flushed, cached) = (HashMap::new(), HashMap::new());
        Ok(Self(Arc::new(Mutex::new(State {
            image,
            size,
            flushed,
            cached,
            seen: Seen::default(),
            stop: None,
            frozen: false,
        }))))
    }

    /// A panic of another thread is no reason to lose a disk.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Bytes that it has.
    pub fn size(&self) -> u64 {
        self.state().size
    }

    /// From now on it answers nothing: the power is gone.
    pub fn freeze(&self) {
        self.state().frozen = true;
    }

    /// Whether it has stopped.
    pub fn is_frozen(&self) -> bool {
        self.state().frozen
    }

    /// Counts anew, and stops as told.
    pub fn count(&self, stop: Option<Stop>) {
        let mut state = self.state();
        state.seen = Seen::default();
        state.stop = stop;
    }

    /// What has happened since.
    pub fn seen(&self) -> Seen {
        self.state().seen
    }

    /// The power is back: what was not flushed is there, gone or torn.
    pub fn recover(&self, cache: Cache, chance: &mut Chance) {
        let mut state = self.state();
        let mut cached: Vec<_> = std::mem::take(&mut state.cached).into_iter().collect();
        cached.sort_by_key(|(number, _)| *number);
        for (number, block) in cached {
            let written = match cache {
                Cache::Lost => false,
                Cache::Torn => chance.below(2) == 0,
                Cache::Written => true,
            };
            if written {
                state.flushed.insert(number, block);
            }
        }
        state.frozen = false;
        state.stop = None;
    }

    /// Writes what a power cut of now would leave at best into an image, sparsely.
    pub fn save(&self, image: &Path, to: &Path) -> Result<()> {
        crate::command::answer(std::process::Command::new("cp").arg("--sparse=always").arg(image).arg(to))?;
        let mut file = OpenOptions::new().write(true).open(to)?;
        let state = self.state();
        for (number, block) in state.flushed.iter().chain(&state.cached) {
            file.seek(SeekFrom::Start(number * BLOCK as u64))?;
            file.write_all(block)?;
        }
        Ok(())
    }
}

impl State {
    fn block(&self, number: u64) -> Result<Block> {
        if let Some(block) = self.cached.get(&number).or_else(|| self.flushed.get(&number)) {
            return Ok(block.clone());
        }
        let mut block = vec![0; BLOCK].into_boxed_slice();
        self.image.read_exact_at(&mut block, number * BLOCK as u64)?;
        Ok(block)
    }

    fn read(&self, offset: u64, length: usize) -> Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(length);
        let mut at = offset;
        while bytes.len() < length {
            let (number, within) = split(at);
            let block = self.block(number)?;
            let part = block.get(within..).unwrap_or_default();
            let part = part.get(..part.len().min(length - bytes.len())).unwrap_or_default();
            bytes.extend_from_slice(part);
            at += part.len() as u64;
        }
        Ok(bytes)
    }

    /// Whether the disk still works after it.
    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<bool> {
        let (mut at, mut rest) = (offset, bytes);
        while !rest.is_empty() {
            let (number, within) = split(at);
            let (part, more) = rest.split_at(rest.len().min(BLOCK - within));
            if within == 0 && part.starts_with(RECORD) {
                self.seen.records += 1;
                if self.must_stop() {
                    return Ok(false);
                }
            }
            let mut block = self.block(number)?;
            if let Some(place) = block.get_mut(within..within + part.len()) {
                place.copy_from_slice(part);
            }
            self.cached.insert(number, block);
            at += part.len() as u64;
            rest = more;
        }
        Ok(true)
    }

    /// Whether the disk still works after it.
    fn flush(&mut self) -> bool {
        self.seen.flushes += 1;
        self.flushed.extend(std::mem::take(&mut self.cached));
        if let Some(stop) = self.stop.as_mut().filter(|stop| stop.record <= self.seen.records) {
            stop.flushes = stop.flushes.saturating_sub(1);
        }
        !self.must_stop()
    }

    fn must_stop(&mut self) -> bool {
        let now = self.stop.is_some_and(|stop| stop.record <= self.seen.records && stop.flushes == 0);
        self.frozen |= now;
        now
    }
}

/// The block of an offset, and where that is in it.
fn split(offset: u64) -> (u64, usize) {
    let size = BLOCK as u64;
    (offset / size, usize::try_from(offset % size).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk() -> (tempfile::NamedTempFile, Disk) {
        let image = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(image.path(), vec![b'.'; 4 * BLOCK]).unwrap();
        let disk = Disk::new(image.path()).unwrap();
        (image, disk)
    }

    fn read(disk: &Disk, offset: u64) -> u8 {
        disk.state().read(offset, 1).unwrap()[0]
    }

    #[test]
    fn what_was_flushed_stays_and_the_rest_goes_as_told() {
        for (cache, left) in [(Cache::Lost, b'.'), (Cache::Written, b'b')] {
            let (_image, disk) = disk();
            disk.state().write(10, b"a").unwrap();
            assert!(disk.state().flush());
            disk.state().write(BLOCK as u64 + 10, b"b").unwrap();
            disk.freeze();
            disk.recover(cache, &mut Chance::from_seed(1));
            assert_eq!((read(&disk, 10), read(&disk, BLOCK as u64 + 10)), (b'a', left), "{cache:?}");
            assert!(!disk.is_frozen());
        }
    }

    #[test]
    fn a_torn_cache_is_neither_whole_nor_gone() {
        let image = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(image.path(), vec![b'.'; 64 * BLOCK]).unwrap();
        let disk = Disk::new(image.path()).unwrap();
        disk.state().write(0, &vec![b'a'; 64 * BLOCK]).unwrap();
        disk.recover(Cache::Torn, &mut Chance::from_seed(1));
        let kept = (0..64).filter(|number| read(&disk, number * BLOCK as u64) == b'a').count();
        assert!((1..64).contains(&kept), "{kept}");
    }

    #[test]
    fn writes_that_cross_blocks_are_read_as_they_were_written() {
        let (_image, disk) = disk();
        let bytes: Vec<u8> = (0..=255).cycle().take(BLOCK + 100).collect();
        disk.state().write(BLOCK as u64 - 50, &bytes).unwrap();
        assert_eq!(disk.state().read(BLOCK as u64 - 50, bytes.len()).unwrap(), bytes);
        assert_eq!(read(&disk, BLOCK as u64 - 51), b'.');
    }

    #[test]
    fn a_disk_stops_at_the_record_that_it_was_told() {
        let (_image, disk) = disk();
        disk.count(Some(Stop { record: 2, flushes: 1 }));
        let mut state = disk.state();
        assert!(state.write(0, b"ostler-journal 2 plan").unwrap() && state.flush());
        assert!(state.write(BLOCK as u64, b"ostler-journal 2 progress").unwrap());
        assert!(!state.flush());
        drop(state);
        assert!(disk.is_frozen());
        disk.count(Some(Stop { record: 1, flushes: 0 }));
        assert!(!disk.state().write(0, b"ostler-journal 2 last").unwrap());
    }
}
