//! Layers of images: packed tar archives that are others' data until their digest is known.
//!
//! Owns unpacking within bounds, and the verification of size and digest. A layer is hashed to its end even when what is
//! looked for came early: until then nobody knows whose bytes those were. Refuses to know what is in the archive.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};

use flate2::bufread::MultiGzDecoder;
use ostler_core::os::manifest::Blob;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, DEFAULT_MAX_WINDOW_SIZE, FrameDecoder};
use sha2::{Digest, Sha256};

use crate::archive::{self, ArchiveError, Target};

const BUFFER: usize = 64 * 1024;
const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// Without the first byte, of which the lower half is anybody's.
const ZSTD_SKIPPED: &[u8] = &[0x2a, 0x4d, 0x18];

/// Why a layer cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LayerError {
    /// It is not the layer that the manifest names.
    #[error("layer {wanted} is damaged: it has the digest {found} and {size} bytes")]
    Damaged {
        /// What it should be.
        wanted: String,
        /// What it is.
        found: String,
        /// How long it is, as far as it was read.
        size: u64,
    },
    /// It is no archive.
    #[error("layer {digest} is of the kind {kind:?}, which is no archive that is known")]
    Kind {
        /// Which layer.
        digest: String,
        /// Its media type.
        kind: String,
    },
    /// It cannot be unpacked.
    #[error("layer {digest} cannot be unpacked")]
    Packing {
        /// Which.
        digest: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// What it holds.
    #[error("layer {digest} cannot be searched")]
    Archive {
        /// Which.
        digest: String,
        /// Why.
        #[source]
        source: ArchiveError,
    },
}

/// Looks for a file in a layer, which is read to its end. That it was another layer than it should be outweighs whatever
/// was found in it.
pub(crate) fn find(
    source: impl Read,
    blob: &Blob,
    unpacked: u64,
    target: &Target,
) -> Result<Option<Vec<u8>>, LayerError> {
    let broken = |source| LayerError::Packing { digest: blob.digest.clone(), source };
    let mut measured = Measured { inner: source.take(blob.size.saturating_add(1)), hash: Sha256::new(), count: 0 };
    let found = match unpack(BufReader::with_capacity(BUFFER, &mut measured)) {
        Ok(archive) => archive::find(Bounded { inner: archive, left: unpacked }, target)
            .map_err(|source| LayerError::Archive { digest: blob.digest.clone(), source }),
        Err(error) => Err(broken(error)),
    };
    io::copy(&mut measured, &mut io::sink()).map_err(broken)?;
    let hash = name(&measured.hash.finalize());
    if hash != blob.digest || measured.count != blob.size {
        return Err(LayerError::Damaged { wanted: blob.digest.clone(), found: hash, size: measured.count });
    }
    found
}

/// Whether a layer of this kind is an archive at all. How it is packed is seen in its first bytes: builders and registries
/// disagree about what to call that.
pub(crate) fn check_kind(blob: &Blob, kind: &str) -> Result<(), LayerError> {
    let unpacked = ["+gzip", "+zstd", ".gzip", ".zstd", ".gz"].iter().find_map(|end| kind.strip_suffix(end));
    if kind.is_empty() || unpacked.unwrap_or(kind).ends_with(".tar") {
        return Ok(());
    }
    Err(LayerError::Kind { digest: blob.digest.clone(), kind: kind.chars().take(100).collect() })
}

/// `sha256:` and the digits.
pub(crate) fn name(digest: &[u8]) -> String {
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

fn unpack<'s>(mut source: BufReader<impl Read + 's>) -> io::Result<Box<dyn Read + 's>> {
    let start = source.fill_buf()?;
    if start.starts_with(GZIP) {
        return Ok(Box::new(MultiGzDecoder::new(source)));
    }
    let skipped = start.split_first().is_some_and(|(first, rest)| first >> 4 == 5 && rest.starts_with(ZSTD_SKIPPED));
    if skipped || start.starts_with(ZSTD) {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(DEFAULT_MAX_WINDOW_SIZE);
        return Ok(Box::new(Frames { source, decoder, inside: false }));
    }
    Ok(Box::new(source))
}

/// What has been read so far, and its digest.
struct Measured<R> {
    inner: R,
    hash: Sha256,
    count: u64,
}

impl<R: Read> Read for Measured<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.hash.update(buffer.get(..count).unwrap_or_default());
        self.count = self.count.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        Ok(count)
    }
}

/// An archive that must not go on for ever.
struct Bounded<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        let left = self.left.checked_sub(u64::try_from(count).unwrap_or(u64::MAX));
        self.left = left.ok_or_else(|| io::Error::new(ErrorKind::FileTooLarge, "it unpacks to too much"))?;
        Ok(count)
    }
}

/// All frames of a zstd stream; those to be skipped hold the index of seekable layers.
struct Frames<R> {
    source: R,
    decoder: FrameDecoder,
    inside: bool,
}

impl<R: BufRead> Frames<R> {
    /// Whether there is another frame with data.
    fn enter(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.source) {
                Ok(()) => {
                    self.inside = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    io::copy(&mut self.source.by_ref().take(u64::from(length)), &mut io::sink())?;
                }
                Err(error) => return Err(io::Error::new(ErrorKind::InvalidData, error.to_string())),
            }
        }
        Ok(false)
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.inside && !self.enter()? {
                return Ok(0);
            }
            if self.decoder.can_collect() > 0 {
                return self.decoder.read(buffer);
            }
            if self.decoder.is_finished() {
                self.inside = false;
            } else {
                let decoded = self.decoder.decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1));
                decoded.map_err(|error| io::Error::new(ErrorKind::InvalidData, error.to_string()))?;
            }
        }
    }
}

#[cfg(test)]
mod tests;
