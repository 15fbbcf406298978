//! Long texts that records name instead of holding: each is written once, however many records name it.
//!
//! A text's file is named by the digest of what is in it, so that its name alone tells whether it is whole. Owns what
//! that takes; refuses to know which texts are still named, which is for those to say who write the records.

use std::fmt::Write as _;

use ostler_core::secret::Secret;
use sha2::{Digest, Sha256};

use super::record::MAX_PAYLOAD;
use super::{Damage, Journal, JournalError, Loaded, RECORD, name_in};
use crate::batch::{Failure, Operation, remove_leftover};
use crate::disk::{Disk, Kind, RootPath};

const PREFIX: &str = "text-";
pub(super) const TEMPORARY: &str = ".text.new";

/// SHA-256 in hexadecimal.
const DIGITS: usize = 64;

/// The name of a text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextId(String);

impl TextId {
    /// The name that a text has.
    pub fn of(text: &[u8]) -> Self {
        let mut digits = String::with_capacity(DIGITS);
        for byte in Sha256::digest(text) {
            // Writing to a string does not fail.
            let _ = write!(digits, "{byte:02x}");
        }
        Self(digits)
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
    /// Keeps a text until a sweep spares it no longer. Its name is durable with the record that is saved next.
    pub fn keep(&self, text: &Secret<Vec<u8>>) -> Result<TextId, JournalError> {
        let length = text.expose().len();
        if length > MAX_PAYLOAD {
            return Err(JournalError::TextTooLarge { length });
        }
        let id = TextId::of(text.expose());
        let path = id.file(&self.directory)?;
        if holds(self.disk, &path, text.expose())? {
            return Ok(id);
        }
        let temporary = name_in(&self.directory, TEMPORARY)?;
        if let Err(failure) = self.replace(&path, &temporary, text.expose()) {
            // What cannot be removed now is removed when the journal is opened again.
            let _ = remove_leftover(self.disk, &temporary);
            return Err(failure.into());
        }
        Ok(id)
    }

    /// A text that was kept. Anything else in its place that can be moved is moved aside.
    pub fn text(&self, id: &TextId) -> Result<Loaded<Secret<Vec<u8>>>, JournalError> {
        match look(self.disk, &self.directory, id)? {
            Loaded::Damaged { aside, why } => {
                let aside = self.move_aside("text", &aside)?;
                Ok(Loaded::Damaged { aside, why })
            }
            loaded => Ok(loaded),
        }
    }

    /// Removes all texts but those. Not durable: one that comes back is removed by the next sweep.
    pub fn sweep(&self, spared: &[TextId]) -> Result<(), JournalError> {
        let names = self.disk.list(&self.directory).map_err(Failure::of(Operation::List, &self.directory))?;
        for name in names.iter().filter_map(|name| name.to_str()) {
            let Some(id) = name.strip_prefix(PREFIX).and_then(TextId::parse) else { continue };
            if !spared.contains(&id) {
                remove_leftover(self.disk, &id.file(&self.directory)?)?;
            }
        }
        Ok(())
    }
}

/// Whether a text's file is whole already. It is compared rather than believed: a record relies on it from now on.
fn holds(disk: &impl Disk, path: &RootPath, text: &[u8]) -> Result<bool, JournalError> {
    let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
    match disk.stat(path).map_err(Failure::of(Operation::Inspect, path))? {
        None => Ok(false),
        Some(stat) if stat.kind == Kind::File => {
            if stat.size != length || (stat.mode, stat.uid, stat.gid) != (RECORD.mode, RECORD.uid, RECORD.gid) {
                return Ok(false);
            }
            Ok(disk.holds(path, text).map_err(Failure::of(Operation::Read, path))?)
        }
        Some(stat) if stat.kind == Kind::Link => Ok(false),
        Some(_) => Err(JournalError::Blocked { path: path.clone(), wanted: "regular file" }),
    }
}

/// A text, or what is wrong with it where it is.
pub(super) fn look(
    disk: &impl Disk,
    directory: &RootPath,
    id: &TextId,
) -> Result<Loaded<Secret<Vec<u8>>>, JournalError> {
    let path = id.file(directory)?;
    let Some(read) = super::read_file(disk, &path, MAX_PAYLOAD as u64)? else { return Ok(Loaded::Absent) };
    Ok(match read {
        Ok(text) if TextId::of(&text) == *id => Loaded::Intact(Secret::new(text)),
        Ok(_) => Loaded::Damaged { aside: path, why: Damage::Checksum },
        Err(why) => Loaded::Damaged { aside: path, why },
    })
}
