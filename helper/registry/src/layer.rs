//! What is looked for in layers of images.
//!
//! Owns which layers are archives, and the search. Refuses to unpack and to verify, which [`ostler_core::os::layer`] does
//! for all that read layers.

use std::io::Read;

use ostler_core::os::layer;
use ostler_core::os::manifest::Blob;

use crate::archive::{self, ArchiveError, Target};

/// Why a layer cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LayerError {
    /// It is not the layer that the manifest names, or cannot be unpacked.
    #[error(transparent)]
    Bytes(#[from] layer::LayerError),
    /// It is no archive.
    #[error("layer {digest} is of the kind {kind:?}, which is no archive that is known")]
    Kind {
        /// Which layer.
        digest: String,
        /// Its media type.
        kind: String,
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

/// Looks for a file in a layer, which is read to its end.
pub(crate) fn find(
    source: impl Read,
    blob: &Blob,
    unpacked: u64,
    target: &Target,
) -> Result<Option<Vec<u8>>, LayerError> {
    layer::read(source, blob, unpacked, |archive| {
        archive::find(archive, target).map_err(|source| LayerError::Archive { digest: blob.digest.clone(), source })
    })
}

/// Whether a layer of this kind is an archive at all. How it is packed is seen in its first bytes.
pub(crate) fn check_kind(blob: &Blob, kind: &str) -> Result<(), LayerError> {
    let unpacked = ["+gzip", "+zstd", ".gzip", ".zstd", ".gz"].iter().find_map(|end| kind.strip_suffix(end));
    if kind.is_empty() || unpacked.unwrap_or(kind).ends_with(".tar") {
        return Ok(());
    }
    Err(LayerError::Kind { digest: blob.digest.clone(), kind: kind.chars().take(100).collect() })
}

#[cfg(test)]
mod tests;
