//! Layers of images: packed tar archives that are others' data until their digest is known.
//!
//! Owns unpacking within bounds and the verification of size and digest while a layer is read. A layer is read to its end
//! even when what is looked for came early: until then nobody knows whose bytes those were. Refuses to know what is in it
//! and where it comes from: whoever has a layer brings the bytes.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, DEFAULT_MAX_WINDOW_SIZE, FrameDecoder};
use sha2::{Digest, Sha256};

use super::manifest::Blob;

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
    /// It cannot be read.
    #[error("layer {digest} cannot be read")]
    Read {
        /// Which.
        digest: String,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// The name of some bytes: `sha256:` and the digits.
pub fn name(bytes: &[u8]) -> String {
    digits(&Sha256::digest(bytes))
}

fn digits(digest: &[u8]) -> String {
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// Gives the archive in a layer to a reader, at most `most` bytes of it. That the layer was another one than it should
/// be outweighs whatever the reader made of it.
pub fn read<T, E: From<LayerError>>(
    source: impl Read,
    blob: &Blob,
    most: u64,
    reader: impl FnOnce(&mut dyn Read) -> Result<T, E>,
) -> Result<T, E> {
    let unread = |source| LayerError::Read { digest: blob.digest.clone(), source };
    let mut measured = Measured { inner: source.take(blob.size.saturating_add(1)), hash: Sha256::new(), count: 0 };
    let result = match unpack(BufReader::with_capacity(BUFFER, &mut measured)) {
        Ok(archive) => reader(&mut Bounded { inner: archive, left: most }),
        Err(error) => Err(unread(error).into()),
    };
    io::copy(&mut measured, &mut io::sink()).map_err(unread)?;
    let found = digits(&measured.hash.finalize());
    if found != blob.digest || measured.count != blob.size {
        return Err(LayerError::Damaged { wanted: blob.digest.clone(), found, size: measured.count }.into());
    }
    result
}

/// By its first bytes: registries and builders disagree about media types.
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
        match self.left.checked_sub(u64::try_from(count).unwrap_or(u64::MAX)) {
            Some(left) => self.left = left,
            None => return Err(io::Error::new(ErrorKind::FileTooLarge, "the layer unpacks to too much")),
        }
        Ok(count)
    }
}

/// All frames of a zstd stream; those that are to be skipped hold the index of seekable layers.
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
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    use std::io::Write;

    fn blob(bytes: &[u8]) -> Blob {
        Blob { digest: name(bytes), size: u64::try_from(bytes.len()).unwrap() }
    }

    fn unpacked(bytes: &[u8], blob: &Blob, most: u64) -> Result<Vec<u8>, LayerError> {
        read(bytes, blob, most, |archive| {
            let mut all = Vec::new();
            archive.read_to_end(&mut all).map_err(|source| LayerError::Read { digest: String::new(), source })?;
            Ok(all)
        })
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn every_compression_gives_the_same() {
        let text = b"some text that is long enough ".repeat(10_000);
        let (first, second) = text.split_at(1000);
        let zstd = |bytes: &[u8]| compress_to_vec(bytes, CompressionLevel::Fastest);
        let skipped = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
        for layer in [
            text.clone(),
            gzip(&text),
            [gzip(first), gzip(second)].concat(),
            zstd(&text),
            [skipped.clone(), zstd(first), skipped.clone(), zstd(second), skipped].concat(),
        ] {
            assert!(unpacked(&layer, &blob(&layer), 1 << 20).unwrap() == text);
        }
    }

    #[test]
    fn a_damaged_layer_is_refused_whatever_it_unpacks_to() {
        let good = gzip(b"hello");
        let mut changed = good.clone();
        changed[12] ^= 1;
        let longer = [&good[..], b"x"].concat();
        for bytes in [&changed[..], &longer, &good[..good.len() - 1], b""] {
            assert!(matches!(unpacked(bytes, &blob(&good), 100), Err(LayerError::Damaged { .. })), "{bytes:?}");
        }
    }

    #[test]
    fn a_layer_that_unpacks_to_too_much_is_stopped() {
        let bomb = gzip(&vec![0; 1 << 20]);
        let error = unpacked(&bomb, &blob(&bomb), 1000).unwrap_err();
        assert!(matches!(error, LayerError::Read { source, .. } if source.kind() == ErrorKind::FileTooLarge));
    }

    #[test]
    fn a_window_that_would_take_all_memory_is_refused() {
        // A frame header that asks for a window of a gibibyte, and an empty last block.
        let frame = [ZSTD, &[0x00, 20 << 3, 0x01, 0x00, 0x00]].concat();
        let error = unpacked(&frame, &blob(&frame), 1 << 20).unwrap_err();
        assert!(matches!(error, LayerError::Read { .. }), "{error}");
    }
}
