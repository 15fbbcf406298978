//! What a transaction needs to know after a crash: a few named records, each old or new as a whole, or known damaged, and
//! the long texts that they name.
//!
//! Owns the records' format, their durability and that only one process writes them. Refuses to know what is in them.
//! Slots are independent: whoever opens a transaction clears [`Slot::Progress`] before it saves a new [`Slot::Plan`].

mod completed;
mod delta;
mod record;
#[cfg(test)]
mod tests;
mod texts;
mod view;

use std::io;
use std::thread::sleep;
use std::time::Duration;

use ostler_core::secret::Secret;

pub use self::completed::Completed;
pub use self::record::{Damage, MAX_PAYLOAD};
pub use self::texts::TextId;
pub use self::view::View;

use self::record::MAX_FILE;
use crate::batch::{Failure, MADE, Operation, remove_leftover};
use crate::disk::{self, Attributes, Disk, Kind, PathError, RootPath};

/// Where the journal is unless said otherwise.
pub const DEFAULT_DIRECTORY: &str = "/var/lib/ostler/journal";

const DIRECTORY: Attributes = Attributes { mode: 0o700, uid: 0, gid: 0 };
const RECORD: Attributes = Attributes { mode: 0o600, uid: 0, gid: 0 };

/// The file whose lock says who writes.
const LOCK: &str = "lock";

/// Somebody who only asks whether the journal is busy holds the lock for a moment too; that is waited for.
const LOCK_TRIES: usize = 10;
const LOCK_WAIT: Duration = Duration::from_millis(5);

/// What follows a record's name where it was moved out of the way.
pub(crate) const ASIDE: &str = ".damaged-";

/// Damaged records of one slot that are kept for a human to look at.
const KEPT_ASIDE: usize = 4;

/// A record's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Slot {
    /// Where the last transaction that was applied came from.
    Previous,
    /// The configuration that the open transaction leads to, by its text's name.
    Next,
    /// How to get from one to the other.
    Plan,
    /// Which of the plan's steps are done.
    Progress,
    /// Where the open transaction comes from, with all it takes to come back.
    Origin,
    /// How the last transaction ended.
    Last,
    /// The restart that was ordered last.
    Restart,
    /// Restarts that the machine owes.
    Owed,
    /// Operating systems that were tried here and given up.
    Failed,
    /// The configuration that the machine has yet to prove itself in.
    Trial,
    /// Configurations that were tried here and given up.
    Rejected,
    /// The configuration that was taken over from another agent.
    Charge,
    /// The rollback that a person asked for, until it is released.
    Hold,
    /// What was delivered of the cluster's certificates, and what the kubelet has yet to get of them.
    Certificates,
    /// What an abandoned transaction left, until a change has put it right.
    Abandoned,
    /// The deployment that was last compared with the whole configuration.
    Deployment,
}

impl Slot {
    /// Every slot there is.
    pub const ALL: [Self; 16] = [
        Self::Previous,
        Self::Next,
        Self::Plan,
        Self::Progress,
        Self::Origin,
        Self::Last,
        Self::Restart,
        Self::Owed,
        Self::Failed,
        Self::Trial,
        Self::Rejected,
        Self::Charge,
        Self::Hold,
        Self::Certificates,
        Self::Abandoned,
        Self::Deployment,
    ];

    /// Whether a transaction comes to an end, or can be abandoned, without what this slot holds. A disk that cannot read it
    /// must not keep the transaction open; what a person or an earlier boot decided is waited for instead.
    const fn can_be_missed(self) -> bool {
        match self {
            Self::Next | Self::Plan | Self::Progress | Self::Origin | Self::Last | Self::Deployment => true,
            Self::Previous
            | Self::Restart
            | Self::Owed
            | Self::Failed
            | Self::Trial
            | Self::Rejected
            | Self::Charge
            | Self::Hold
            | Self::Certificates
            | Self::Abandoned => false,
        }
    }

    /// The name that its file and its header have.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Previous => "previous",
            Self::Next => "next",
            Self::Plan => "plan",
            Self::Progress => "progress",
            Self::Origin => "origin",
            Self::Last => "last",
            Self::Restart => "restart",
            Self::Owed => "owed-restarts",
            Self::Failed => "failed",
            Self::Trial => "trial",
            Self::Rejected => "rejected",
            Self::Charge => "charge",
            Self::Hold => "hold",
            Self::Certificates => "certificates",
            Self::Abandoned => "abandoned",
            Self::Deployment => "deployment",
        }
    }
}

/// What a slot was found to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loaded<T> {
    /// Nothing.
    Absent,
    /// What was last saved.
    Intact(T),
    /// Something else, which is out of the way now: the slot holds nothing any more. Only what is
    /// [unreadable](Damage::Unreadable) is still in its place.
    Damaged {
        /// Where it was moved.
        aside: RootPath,
        /// What is wrong with it.
        why: Damage,
    },
}

/// Why the journal could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// Another process has it open.
    #[error("{path} is locked by another process, most likely a running ostler: wait for it to end")]
    Busy {
        /// The lock's file.
        path: RootPath,
    },
    /// Its path leaves no room for the names in it.
    #[error("{directory} cannot hold a journal")]
    Path {
        /// The directory asked for.
        directory: RootPath,
        /// What is wrong with a name in it.
        source: PathError,
    },
    /// Something that the journal can neither use nor move is in its place.
    #[error("{path} is not a {wanted}: move it away")]
    Blocked {
        /// Where it is.
        path: RootPath,
        /// What belongs there.
        wanted: &'static str,
    },
    /// More than a record may hold.
    #[error("the {} record would have {length} bytes, more than the {MAX_PAYLOAD} allowed", slot.name())]
    TooLarge {
        /// The slot it was for.
        slot: Slot,
        /// How long it is.
        length: usize,
    },
    /// More than a text may hold.
    #[error("a text for the journal has {length} bytes, more than the {MAX_PAYLOAD} allowed")]
    TextTooLarge {
        /// How long it is.
        length: usize,
    },
    /// The disk failed.
    #[error("could not {operation} {path}")]
    Disk {
        /// What was being done.
        operation: Operation,
        /// What it was done to.
        path: RootPath,
        /// What the disk answered.
        source: io::Error,
    },
}

impl From<Failure> for JournalError {
    fn from(Failure { operation, path, source }: Failure) -> Self {
        Self::Disk { operation, path, source }
    }
}

/// A record's payload, or what is wrong with the record.
type Checked = Result<Secret<Vec<u8>>, Damage>;

/// The open journal. No other process can open it until this is dropped.
pub struct Journal<'d, D: Disk> {
    disk: &'d D,
    directory: RootPath,
    _lock: D::Lock,
}

impl<'d, D: Disk> Journal<'d, D> {
    /// Opens the journal in a directory, which is made if it is not there.
    pub fn open(disk: &'d D, directory: &RootPath) -> Result<Self, JournalError> {
        let path = name_in(directory, LOCK)?;
        prepare(disk, directory, &path)?;
        let lock = take(disk, &path)?.ok_or(JournalError::Busy { path })?;
        let journal = Self { disk, directory: directory.clone(), _lock: lock };
        for slot in Slot::ALL {
            remove_leftover(disk, &journal.temporary(slot)?)?;
        }
        remove_leftover(disk, &name_in(directory, texts::TEMPORARY)?)?;
        // A process that was killed may have left a record that no power cut would have spared; what is read from it, and
        // done because of it, needs it to last.
        journal.settle()?;
        Ok(journal)
    }

    /// Replaces what a slot holds, durably.
    pub fn save(&self, slot: Slot, payload: &Secret<Vec<u8>>) -> Result<(), JournalError> {
        let length = payload.expose().len();
        if length > MAX_PAYLOAD {
            return Err(JournalError::TooLarge { slot, length });
        }
        let (path, temporary) = (self.path(slot)?, self.temporary(slot)?);
        let bytes = record::encode(slot, payload.expose());
        if let Err(failure) = self.replace(&path, &temporary, &bytes) {
            // What cannot be removed now is removed when the journal is opened again.
            let _ = remove_leftover(self.disk, &temporary);
            return Err(failure.into());
        }
        self.settle()
    }

    fn replace(&self, path: &RootPath, temporary: &RootPath, bytes: &[u8]) -> Result<(), Failure> {
        remove_leftover(self.disk, temporary)?;
        self.disk.create(temporary, bytes, RECORD).map_err(Failure::of(Operation::Write, path))?;
        self.disk.sync(temporary).map_err(Failure::of(Operation::Sync, path))?;
        self.disk.rename(temporary, path).map_err(Failure::of(Operation::Replace, path))
    }

    /// What a slot holds. Anything else that can be moved is moved aside.
    pub fn load(&self, slot: Slot) -> Result<Loaded<Secret<Vec<u8>>>, JournalError> {
        let path = self.path(slot)?;
        match read(self.disk, slot, &path)? {
            None => Ok(Loaded::Absent),
            Some(Ok(payload)) => Ok(Loaded::Intact(payload)),
            Some(Err(why @ Damage::Unreadable)) => Ok(Loaded::Damaged { aside: path, why }),
            Some(Err(why)) => Ok(Loaded::Damaged { aside: self.move_aside(slot.name(), &path)?, why }),
        }
    }

    /// Empties a slot, durably.
    pub fn clear(&self, slot: Slot) -> Result<(), JournalError> {
        let path = self.path(slot)?;
        if self.disk.stat(&path).map_err(Failure::of(Operation::Inspect, &path))?.is_some() {
            self.disk.remove(&path).map_err(Failure::of(Operation::Remove, &path))?;
        }
        self.settle()
    }

    /// The steps that are done, from [`Slot::Progress`].
    pub fn completed(&self) -> Result<Loaded<Completed>, JournalError> {
        let payload = match self.load(Slot::Progress)? {
            Loaded::Absent => return Ok(Loaded::Absent),
            Loaded::Damaged { aside, why } => return Ok(Loaded::Damaged { aside, why }),
            Loaded::Intact(payload) => payload,
        };
        match Completed::decode(payload.expose()) {
            Ok(completed) => Ok(Loaded::Intact(completed)),
            Err(why) => {
                let path = self.path(Slot::Progress)?;
                Ok(Loaded::Damaged { aside: self.move_aside(Slot::Progress.name(), &path)?, why })
            }
        }
    }

    /// Notes durably that one more step is done; `completed` says so only when the disk does.
    pub fn complete(&self, completed: &mut Completed, step: u32) -> Result<(), JournalError> {
        let more = completed.with(step);
        self.save(Slot::Progress, &more.encode())?;
        *completed = more;
        Ok(())
    }

    /// Keeps a damaged record under the next free number, and only so many of them.
    fn move_aside(&self, what: &str, path: &RootPath) -> Result<RootPath, JournalError> {
        let prefix = format!("{what}{ASIDE}");
        let names = self.disk.list(&self.directory).map_err(Failure::of(Operation::List, &self.directory))?;
        let number = |name: &str| name.strip_prefix(&prefix).and_then(|number| number.parse::<u32>().ok());
        let mut kept: Vec<(u32, &str)> =
            names.iter().filter_map(|name| name.to_str()).filter_map(|name| Some((number(name)?, name))).collect();
        kept.sort_unstable();
        let next = kept.last().map_or(1, |(number, _)| number.saturating_add(1));
        let aside = name_in(&self.directory, &format!("{prefix}{next}"))?;
        self.disk.rename(path, &aside).map_err(Failure::of(Operation::SetAside, path))?;
        let surplus = kept.len().saturating_sub(KEPT_ASIDE - 1);
        for (_, name) in kept.into_iter().take(surplus) {
            remove_leftover(self.disk, &name_in(&self.directory, name)?)?;
        }
        self.settle()?;
        Ok(aside)
    }

    /// Damaged records that were moved out of the way.
    pub fn set_aside(&self) -> Result<Vec<RootPath>, JournalError> {
        set_aside(self.disk, &self.directory)
    }

    /// Removes them, durably: what they were about has ended.
    pub fn remove_set_aside(&self) -> Result<(), JournalError> {
        let found = self.set_aside()?;
        for path in &found {
            remove_leftover(self.disk, path)?;
        }
        if found.is_empty() { Ok(()) } else { self.settle() }
    }

    fn path(&self, slot: Slot) -> Result<RootPath, JournalError> {
        name_in(&self.directory, slot.name())
    }

    fn temporary(&self, slot: Slot) -> Result<RootPath, JournalError> {
        name_in(&self.directory, &format!(".{}.new", slot.name()))
    }

    fn settle(&self) -> Result<(), JournalError> {
        Ok(self.disk.sync(&self.directory).map_err(Failure::of(Operation::Sync, &self.directory))?)
    }
}

/// What a slot's file holds; `None` when there is none.
fn read(disk: &impl Disk, slot: Slot, path: &RootPath) -> Result<Option<Checked>, JournalError> {
    let bytes = match read_file(disk, path, MAX_FILE) {
        Err(error) if slot.can_be_missed() && is_unreadable(&error) => Some(Err(Damage::Unreadable)),
        read => read?,
    };
    Ok(bytes.map(|bytes| record::decode(slot, &bytes?)))
}

/// Whether a file of the journal is there and the disk cannot read it.
fn is_unreadable(error: &JournalError) -> bool {
    matches!(error, JournalError::Disk { operation: Operation::Read, source, .. } if disk::is_unreadable(source))
}

/// The bytes of a file of the journal; `None` when there is none.
fn read_file(disk: &impl Disk, path: &RootPath, most: u64) -> Result<Option<Result<Vec<u8>, Damage>>, JournalError> {
    let Some(stat) = disk.stat(path).map_err(Failure::of(Operation::Inspect, path))? else {
        return Ok(None);
    };
    match stat.kind {
        // The disk renames neither.
        Kind::Directory | Kind::Special => {
            return Err(JournalError::Blocked { path: path.clone(), wanted: "regular file" });
        }
        Kind::Link => return Ok(Some(Err(Damage::NotAFile))),
        Kind::File => {}
    }
    match disk.read(path, most) {
        Ok(bytes) => Ok(Some(Ok(bytes))),
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Ok(Some(Err(Damage::TooLarge))),
        Err(source) => Err(Failure::of(Operation::Read, path)(source).into()),
    }
}

/// The damaged records that were moved out of the way in a journal, which need not be there.
fn set_aside(disk: &impl Disk, directory: &RootPath) -> Result<Vec<RootPath>, JournalError> {
    let stat = disk.stat(directory).map_err(Failure::of(Operation::Inspect, directory))?;
    if stat.is_none_or(|stat| stat.kind != Kind::Directory) {
        return Ok(Vec::new());
    }
    let names = disk.list(directory).map_err(Failure::of(Operation::List, directory))?;
    let damaged = names.iter().filter_map(|name| name.to_str()).filter(|name| name.contains(ASIDE));
    damaged.map(|name| name_in(directory, name)).collect()
}

fn name_in(directory: &RootPath, name: &str) -> Result<RootPath, JournalError> {
    directory.join(name).map_err(|source| JournalError::Path { directory: directory.clone(), source })
}

fn take<D: Disk>(disk: &D, path: &RootPath) -> Result<Option<D::Lock>, Failure> {
    for _ in 1..LOCK_TRIES {
        if let Some(lock) = disk.lock(path).map_err(Failure::of(Operation::Lock, path))? {
            return Ok(Some(lock));
        }
        sleep(LOCK_WAIT);
    }
    disk.lock(path).map_err(Failure::of(Operation::Lock, path))
}

/// Makes the directory, for root alone, and what is missing above it, for all as is usual there.
fn prepare(disk: &impl Disk, directory: &RootPath, lock: &RootPath) -> Result<(), JournalError> {
    for above in directory.ancestors() {
        if disk.stat(&above).map_err(Failure::of(Operation::Inspect, &above))?.is_none() {
            make_directory(disk, &above, MADE)?;
        }
    }
    match disk.stat(directory).map_err(Failure::of(Operation::Inspect, directory))? {
        None => make_directory(disk, directory, DIRECTORY)?,
        Some(stat) if stat.kind != Kind::Directory => {
            return Err(JournalError::Blocked { path: directory.clone(), wanted: "directory" });
        }
        Some(stat) if stat.mode != DIRECTORY.mode => {
            let closed = Attributes { mode: DIRECTORY.mode, uid: stat.uid, gid: stat.gid };
            disk.set_attributes(directory, closed).map_err(Failure::of(Operation::Restrict, directory))?;
        }
        Some(_) => {}
    }
    // Without a lock file nobody has come further than this, so the directories may be new. Those that are lie on one
    // filesystem, with the names above them.
    if disk.stat(lock).map_err(Failure::of(Operation::Inspect, lock))?.is_none() {
        disk.sync_filesystem(directory).map_err(Failure::of(Operation::Sync, directory))?;
    }
    Ok(())
}

/// Another process may open the journal at the same time; which of them has it, the lock decides.
fn make_directory(disk: &impl Disk, path: &RootPath, attributes: Attributes) -> Result<(), Failure> {
    match disk.make_directory(path, attributes) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map_err(Failure::of(Operation::MakeDirectory, path)),
    }
}
