//! One file out of a tar archive that may be hostile.
//!
//! Owns the search: the first entry with the name counts, names are compared without the dots and slashes they begin with,
//! and marks of removed files mean nothing, all as the machine-config-operator does it. Refuses what readers of archives
//! disagree about, whatever is a link, and anything without end.

use std::io::{self, Read};

use tar::{Archive, Entry, EntryType, PaxExtensions};

const MOST_NAME: u64 = 64 * 1024;
/// Headers that only announce something about the next entry, one after another.
const MOST_ANNOUNCED: u32 = 16;
const MOST_SHOWN: usize = 200;

/// What is looked for, and how much may be read for it.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    name: Vec<u8>,
    limit: u64,
    entries: u64,
}

/// Why an archive was not searched to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// Not an archive.
    #[error("it is no valid archive")]
    Malformed(#[source] io::Error),
    /// More than there could be.
    #[error("it has more {what} than {most}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many are read.
        most: u64,
    },
    /// Found, but too large.
    #[error("{name:?} has {size} bytes, which is more than {most}")]
    TooLarge {
        /// Which file.
        name: String,
        /// How large it is.
        size: u64,
        /// What is read.
        most: u64,
    },
    /// Found, but something else.
    #[error("{name:?} is {kind}, not a file")]
    NotAFile {
        /// Which name.
        name: String,
        /// What it is.
        kind: &'static str,
    },
    /// Something that readers do not agree on.
    #[error("it has an entry with {what}, of which readers make different things")]
    Ambiguous {
        /// What.
        what: &'static str,
    },
}

/// What is known of the next entry from those before it.
#[derive(Default)]
struct Announced {
    name: Option<Vec<u8>>,
    ambiguous: Option<&'static str>,
    count: u32,
}

impl Target {
    /// A path within an image, the most bytes it may have, and the most entries that are looked at.
    pub(crate) fn new(path: &str, limit: u64, entries: u64) -> Self {
        Self { name: bare(path.as_bytes()).to_owned(), limit, entries }
    }
}

/// Looks for a file.
pub(crate) fn find(archive: impl Read, target: &Target) -> Result<Option<Vec<u8>>, ArchiveError> {
    let mut archive = Archive::new(archive);
    let mut announced = Announced::default();
    let mut count = 0_u64;
    // Raw, because the reader itself would take in names of any length.
    for entry in archive.entries().map_err(ArchiveError::Malformed)?.raw(true) {
        let mut entry = entry.map_err(ArchiveError::Malformed)?;
        count = count.saturating_add(1);
        if count > target.entries {
            return Err(ArchiveError::TooMany { what: "entries", most: target.entries });
        }
        if announced.take(&mut entry)? {
            continue;
        }
        let Announced { name, ambiguous, .. } = std::mem::take(&mut announced);
        if let Some(what) = ambiguous {
            return Err(ArchiveError::Ambiguous { what });
        }
        let name = name.unwrap_or_else(|| entry.header().path_bytes().into_owned());
        if bare(&name) == target.name {
            return contents(&mut entry, &name, target.limit).map(Some);
        }
    }
    Ok(None)
}

impl Announced {
    /// Whether the entry only says something about the next one.
    fn take<R: Read>(&mut self, entry: &mut Entry<'_, R>) -> Result<bool, ArchiveError> {
        match entry.header().entry_type() {
            EntryType::GNULongName => self.name = Some(until_nul(bounded(entry)?)),
            EntryType::GNULongLink => drop(bounded(entry)?),
            EntryType::XHeader => self.pax(&bounded(entry)?)?,
            EntryType::XGlobalHeader => drop(bounded(entry)?),
            _ => return Ok(false),
        }
        self.count = self.count.saturating_add(1);
        if self.count > MOST_ANNOUNCED {
            return Err(ArchiveError::TooMany { what: "headers before one entry", most: u64::from(MOST_ANNOUNCED) });
        }
        Ok(true)
    }

    fn pax(&mut self, bytes: &[u8]) -> Result<(), ArchiveError> {
        for extension in PaxExtensions::new(bytes) {
            let extension = extension.map_err(ArchiveError::Malformed)?;
            match extension.key_bytes() {
                b"path" => self.name = Some(extension.value_bytes().to_owned()),
                b"size" => self.ambiguous = Some("its size elsewhere than in its header"),
                key if key.starts_with(b"GNU.sparse") => self.ambiguous = Some("holes"),
                _ => {}
            }
        }
        Ok(())
    }
}

fn contents<R: Read>(entry: &mut Entry<'_, R>, name: &[u8], most: u64) -> Result<Vec<u8>, ArchiveError> {
    let shown = || String::from_utf8_lossy(name).chars().take(MOST_SHOWN).collect();
    match entry.header().entry_type() {
        EntryType::Regular | EntryType::Continuous => {}
        other => return Err(ArchiveError::NotAFile { name: shown(), kind: kind(other) }),
    }
    let size = entry.header().entry_size().map_err(ArchiveError::Malformed)?;
    if size > most {
        return Err(ArchiveError::TooLarge { name: shown(), size, most });
    }
    let mut bytes = Vec::new();
    entry.take(size).read_to_end(&mut bytes).map_err(ArchiveError::Malformed)?;
    if u64::try_from(bytes.len()).ok() == Some(size) {
        return Ok(bytes);
    }
    let cut = io::Error::new(io::ErrorKind::UnexpectedEof, "it is cut off within the file");
    Err(ArchiveError::Malformed(cut))
}

fn bounded<R: Read>(entry: &mut Entry<'_, R>) -> Result<Vec<u8>, ArchiveError> {
    let mut bytes = Vec::new();
    entry.take(MOST_NAME.saturating_add(1)).read_to_end(&mut bytes).map_err(ArchiveError::Malformed)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length <= MOST_NAME) {
        return Ok(bytes);
    }
    Err(ArchiveError::TooMany { what: "bytes in the header of an entry", most: MOST_NAME })
}

fn until_nul(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    bytes.truncate(end);
    bytes
}

fn bare(name: &[u8]) -> &[u8] {
    let start = name.iter().position(|byte| !b"./".contains(byte)).unwrap_or(name.len());
    name.get(start..).unwrap_or_default()
}

const fn kind(entry: EntryType) -> &'static str {
    match entry {
        EntryType::Directory => "a directory",
        EntryType::Symlink => "a symbolic link",
        EntryType::Link => "a hard link",
        EntryType::Char | EntryType::Block => "a device",
        EntryType::Fifo => "a pipe",
        EntryType::GNUSparse => "a file with holes",
        _ => "something unknown",
    }
}

#[cfg(test)]
mod tests;
