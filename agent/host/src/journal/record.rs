//! One record as bytes: a header line that says what follows, then the payload as it was given.
//!
//! The checksum is SHA-256. A CRC would find torn writes too, but here a wrong "intact" means running a wrong plan as
//! root, and the records are small enough that the stronger sum costs nothing that can be measured.

use std::fmt::Write as _;

use ostler_core::secret::Secret;
use sha2::{Digest, Sha256};

use super::Slot;

const MAGIC: &str = "ostler-journal";
const VERSION: &str = "2";
const MAX_HEADER: usize = 128;

/// Bytes of payload that a record may have.
pub const MAX_PAYLOAD: usize = 64 << 20;

/// Bytes that a record's file may have.
pub(super) const MAX_FILE: u64 = (MAX_PAYLOAD + MAX_HEADER) as u64;

/// Why a record was not trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// Not a regular file.
    #[error("it is not a regular file")]
    NotAFile,
    /// Longer than any record.
    #[error("it is longer than any record")]
    TooLarge,
    /// No header line, or not one of ours.
    #[error("it does not start as a journal record does")]
    Foreign,
    /// A format this version does not know.
    #[error("its format version is not known")]
    Version,
    /// A record of another slot.
    #[error("it was written for another slot")]
    Slot,
    /// Shorter or longer than its header says.
    #[error("its header says {stated} bytes, it has {found}")]
    Length {
        /// According to the header.
        stated: usize,
        /// In fact.
        found: usize,
    },
    /// Not what was written.
    #[error("its checksum does not match")]
    Checksum,
    /// The disk does not give its bytes. Another time it may, so it stays where it is.
    #[error("the disk cannot read it")]
    Unreadable,
    /// Intact, but not what the slot holds.
    #[error("its payload is not what the slot holds")]
    Payload,
}

/// The header of a payload, without the line end.
fn header(slot: Slot, payload: &[u8]) -> String {
    let mut line = format!("{MAGIC} {VERSION} {} {} ", slot.name(), payload.len());
    for byte in Sha256::digest(payload) {
        // Writing to a string does not fail.
        let _ = write!(line, "{byte:02x}");
    }
    line
}

/// A payload as it is stored.
pub(super) fn encode(slot: Slot, payload: &[u8]) -> Vec<u8> {
    let mut bytes = header(slot, payload).into_bytes();
    bytes.push(b'\n');
    bytes.extend_from_slice(payload);
    bytes
}

/// The payload of a stored record, if every byte is what [`encode`] would have written.
pub(super) fn decode(slot: Slot, bytes: &[u8]) -> Result<Secret<Vec<u8>>, Damage> {
    let end = bytes.iter().take(MAX_HEADER).position(|byte| *byte == b'\n').ok_or(Damage::Foreign)?;
    let (line, rest) = bytes.split_at_checked(end).ok_or(Damage::Foreign)?;
    let payload = rest.strip_prefix(b"\n").ok_or(Damage::Foreign)?;
    let line = std::str::from_utf8(line).map_err(|_| Damage::Foreign)?;
    let mut fields = line.split(' ');
    if fields.next() != Some(MAGIC) {
        return Err(Damage::Foreign);
    }
    if fields.next() != Some(VERSION) {
        return Err(Damage::Version);
    }
    if fields.next() != Some(slot.name()) {
        return Err(Damage::Slot);
    }
    let stated: usize = fields.next().and_then(|length| length.parse().ok()).ok_or(Damage::Foreign)?;
    if stated != payload.len() {
        return Err(Damage::Length { stated, found: payload.len() });
    }
    // The whole line, so that no second spelling of the same header passes either.
    if line != header(slot, payload) {
        return Err(Damage::Checksum);
    }
    Ok(Secret::new(payload.to_vec()))
}
