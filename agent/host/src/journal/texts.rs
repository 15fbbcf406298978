//! Long texts that records name instead of holding: each is written once, however many records name it.
//!
//! A text's file is named by the digest of the text, so that its name alone tells whether what it gives is right. It holds
//! the text, or only what another one that is kept does not have. Owns what that takes; refuses to know which texts are
//! still named, which is for those to say who write the records.

use ostler_core::secret::Secret;

use super::delta::{self, Delta};
use super::record::MAX_PAYLOAD;
use super::{Damage, Journal, JournalError, Loaded, RECORD, name_in};
use crate::batch::{Failure, Operation, remove_leftover};
use crate::disk::{self, Disk, Kind, RootPath};

const PREFIX: &str = "text-";
pub(super) const TEMPORARY: &str = ".text.new";

/// BLAKE3 in hexadecimal: a text of megabytes is hashed with every update of a single line.
const DIGITS: usize = blake3::OUT_LEN * 2;

/// How a text is kept.
enum Kept {
    /// As a whole.
    Whole,
    /// By a file that holds a delta.
    Delta(Vec<u8>),
}

/// The name of a text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextId(String);

impl TextId {
    /// The name that a text has.
    pub fn of(text: &[u8]) -> Self {
        Self(blake3::hash(text).to_hex().to_string())
    }

    /// A name as it was stored; `None` when it cannot be one.
    pub fn parse(name: &str) -> Option<Self> {
        let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (name.len() == DIGITS && name.bytes().all(digit)).then(|| Self(name.to_owned()))
    }

    /// As it is stored.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn file(&self, directory: &RootPath) -> Result<RootPath, JournalError> {
        name_in(directory, &format!("{PREFIX}{}", self.0))
    }
}

impl<D: Disk> Journal<'_, D> {
    /// Keeps two texts until a sweep spares them no longer. The second most likely has much in common with the first, and
    /// then takes little room. Their names are durable with the record that is saved next.
    pub fn keep_both(&self, text: &Secret<Vec<u8>>, alike: &Secret<Vec<u8>>) -> Result<(TextId, TextId), JournalError> {
        let (text, alike) = (text.expose().as_slice(), alike.expose().as_slice());
        let (id, other) = (TextId::of(text), TextId::of(alike));
        let kept = self.keep(&id, text)?;
        if self.kept(&other, alike)?.is_none() {
            let delta = match &kept {
                Kept::Whole => delta::encode(&id, text, alike),
                // What a delta rests on is written as a whole, and never as one that would rest on itself.
                Kept::Delta(file) => Delta::decode(file)
                    .filter(|delta| delta.base != other)
                    .and_then(|delta| delta::encode_through(&delta, text, alike)),
            };
            self.put(&other, delta.as_deref().unwrap_or(alike))?;
        }
        Ok((id, other))
    }

    fn keep(&self, id: &TextId, text: &[u8]) -> Result<Kept, JournalError> {
        if let Some(kept) = self.kept(id, text)? {
            return Ok(kept);
        }
        self.put(id, text)?;
        Ok(Kept::Whole)
    }

    fn put(&self, id: &TextId, bytes: &[u8]) -> Result<(), JournalError> {
        let temporary = name_in(&self.directory, TEMPORARY)?;
        self.replace(&id.file(&self.directory)?, &temporary, bytes).map_err(|failure| {
            // What cannot be removed now is removed when the journal is opened again.
            let _ = remove_leftover(self.disk, &temporary);
            failure.into()
        })
    }

    /// How a text is kept. `None` when it is not, which is compared rather than believed: a record relies on it from now
    /// on.
    fn kept(&self, id: &TextId, text: &[u8]) -> Result<Option<Kept>, JournalError> {
        let length = text.len();
        if length > MAX_PAYLOAD {
            return Err(JournalError::TextTooLarge { length });
        }
        let path = id.file(&self.directory)?;
        if !is_ours(self.disk, &path)? {
            return Ok(None);
        }
        match self.disk.holds(&path, text) {
            Ok(true) => return Ok(Some(Kept::Whole)),
            Ok(false) => {}
            Err(error) if disk::is_unreadable(&error) => return Ok(None),
            Err(error) => return Err(Failure::of(Operation::Read, &path)(error).into()),
        }
        let Some(file) = read_delta(self.disk, &path)? else { return Ok(None) };
        let Some(delta) = Delta::decode(&file) else { return Ok(None) };
        let base = read_base(self.disk, &self.directory, &delta)?;
        let made = base.is_some_and(|base| delta.makes(&base, text));
        Ok(made.then_some(Kept::Delta(file)))
    }

    /// A text that was kept. Anything else in its place that can be moved is moved aside.
    pub fn text(&self, id: &TextId) -> Result<Loaded<Secret<Vec<u8>>>, JournalError> {
        match look(self.disk, &self.directory, id)? {
            unreadable @ Loaded::Damaged { why: Damage::Unreadable, .. } => Ok(unreadable),
            Loaded::Damaged { aside, why } => {
                let aside = self.move_aside("text", &aside)?;
                Ok(Loaded::Damaged { aside, why })
            }
            loaded => Ok(loaded),
        }
    }

    /// Removes all texts but those. Not durable: one that comes back is removed by the next sweep.
    pub fn sweep(&self, spared: &[TextId]) -> Result<(), JournalError> {
        let mut bases = Vec::new();
        for id in spared {
            let file = read_delta(self.disk, &id.file(&self.directory)?)?;
            bases.extend(file.and_then(|file| Some(Delta::decode(&file)?.base)));
        }
        let names = self.disk.list(&self.directory).map_err(Failure::of(Operation::List, &self.directory))?;
        for name in names.iter().filter_map(|name| name.to_str()) {
            let Some(id) = name.strip_prefix(PREFIX).and_then(TextId::parse) else { continue };
            if !spared.contains(&id) && !bases.contains(&id) {
                remove_leftover(self.disk, &id.file(&self.directory)?)?;
            }
        }
        Ok(())
    }
}

/// Whether a file stands at a path that nobody else could have written; an error where something stands that could not be
/// replaced.
fn is_ours(disk: &impl Disk, path: &RootPath) -> Result<bool, JournalError> {
    match disk.stat(path).map_err(Failure::of(Operation::Inspect, path))? {
        None => Ok(false),
        Some(stat) if stat.kind == Kind::File => {
            Ok((stat.mode, stat.uid, stat.gid) == (RECORD.mode, RECORD.uid, RECORD.gid))
        }
        Some(stat) if stat.kind == Kind::Link => Ok(false),
        Some(_) => Err(JournalError::Blocked { path: path.clone(), wanted: "regular file" }),
    }
}

/// A file that may hold a delta.
fn read_delta(disk: &impl Disk, path: &RootPath) -> Result<Option<Vec<u8>>, JournalError> {
    Ok(super::read_file(disk, path, delta::MOST as u64)?.and_then(Result::ok))
}

/// A text, or what is wrong with it where it is.
pub(super) fn look(
    disk: &impl Disk,
    directory: &RootPath,
    id: &TextId,
) -> Result<Loaded<Secret<Vec<u8>>>, JournalError> {
    let path = id.file(directory)?;
    Ok(match read_text(disk, directory, id, &path) {
        Err(error) if super::is_unreadable(&error) => Loaded::Damaged { aside: path, why: Damage::Unreadable },
        read => match read? {
            None => Loaded::Absent,
            Some(Ok(text)) => Loaded::Intact(Secret::new(text)),
            Some(Err(why)) => Loaded::Damaged { aside: path, why },
        },
    })
}

/// The bytes of a text; `None` when there is none.
fn read_text(
    disk: &impl Disk,
    directory: &RootPath,
    id: &TextId,
    path: &RootPath,
) -> Result<Option<Result<Vec<u8>, Damage>>, JournalError> {
    let is_it = |text: &Vec<u8>| TextId::of(text) == *id;
    Ok(match super::read_file(disk, path, MAX_PAYLOAD as u64)? {
        Some(Ok(file)) if !is_it(&file) => Some(made(disk, directory, &file)?.filter(is_it).ok_or(Damage::Checksum)),
        read => read,
    })
}

/// What a delta makes of its base; `None` for what is no delta, or has lost its base.
fn made(disk: &impl Disk, directory: &RootPath, file: &[u8]) -> Result<Option<Vec<u8>>, JournalError> {
    let Some(delta) = Delta::decode(file) else { return Ok(None) };
    Ok(read_base(disk, directory, &delta)?.and_then(|base| delta.text(&base, MAX_PAYLOAD)))
}

/// What stands in place of the text that a delta was made from. Whether it still is that text, the text that is made of it
/// tells: of the base, a delta needs only what it copies.
fn read_base(disk: &impl Disk, directory: &RootPath, delta: &Delta<'_>) -> Result<Option<Vec<u8>>, JournalError> {
    let base = super::read_file(disk, &delta.base.file(directory)?, MAX_PAYLOAD as u64)?;
    Ok(base.and_then(Result::ok))
}
