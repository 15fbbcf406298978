//! File contents: decoded, decompressed, bounded, and never formatted.
//!
//! `verification.hash` is left alone. Ignition compares it with the decompressed bytes when a node is installed; the
//! machine-config-daemon never looks at it, so a config with a stale hash that nodes run today has to stay applicable.

use std::io::{self, Read as _};

use flate2::bufread::MultiGzDecoder;

use super::{DataUrlError, Resource, data_url};
use crate::secret::Secret;

/// Bounds on what one file may decode to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes a file may hold.
    pub bytes: usize,
    /// Most bytes one compressed byte may become. Files of up to one MiB are exempt.
    pub ratio: usize,
}

/// Small files compress well without being bombs: a MiB of zeros is no danger, whatever it was packed into.
const RATIO_EXEMPT: usize = 1 << 20;

impl Default for Limits {
    /// 64 MiB is far beyond any MachineConfig, which is at most a few MiB of etcd value, and far below the memory of
    /// a node. Deflate cannot exceed a ratio of about 1032, so 1100 only stops what is not deflate at work.
    fn default() -> Self {
        Self { bytes: 64 << 20, ratio: 1100 }
    }
}

/// Why contents cannot be had from a resource.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContentsError {
    /// The source is no decodable data URL.
    #[error("the source is not a valid data URL")]
    DataUrl(#[from] DataUrlError),
    /// The source would have to be fetched.
    #[error("the source is a remote {scheme} URL, which a running node cannot fetch; embed the contents as a data URL")]
    Remote {
        /// The scheme, which is all of the URL that may be shown.
        scheme: &'static str,
    },
    /// A compression that Ignition does not have.
    #[error("the compression is not supported; use gzip or none")]
    Compression,
    /// Compressed contents end too soon.
    #[error("the gzip data is cut short")]
    GzipTruncated,
    /// Compressed contents are no gzip, or do not match their checksum.
    #[error("the gzip data is corrupt")]
    GzipCorrupt,
    /// The contents exceed what one file may hold.
    #[error("the contents exceed {limit} bytes")]
    TooLarge {
        /// The most allowed.
        limit: usize,
    },
    /// The contents unpack to implausibly much.
    #[error("the gzip data expands to more than {ratio} times its size")]
    Expansion {
        /// The most allowed.
        ratio: usize,
    },
}

impl Resource {
    /// The bytes the file shall hold.
    pub fn decode(&self, limits: Limits) -> Result<Secret<Vec<u8>>, ContentsError> {
        let contents = match self.embedded()? {
            Embedded::Nothing => Vec::new(),
            Embedded::Raw(source) => decoded(source, limits)?,
            Embedded::Gzip(source) => gunzip(&decoded(source, limits)?, limits)?,
        };
        Ok(Secret::new(contents))
    }

    /// How many bytes the file shall hold. Fails exactly when decoding fails, and decodes only what is compressed.
    pub fn size(&self, limits: Limits) -> Result<usize, ContentsError> {
        match self.embedded()? {
            Embedded::Nothing => Ok(0),
            Embedded::Raw(source) => match data_url::size(source)? {
                size if size > limits.bytes => Err(ContentsError::TooLarge { limit: limits.bytes }),
                size => Ok(size),
            },
            Embedded::Gzip(source) => Ok(gunzip(&decoded(source, limits)?, limits)?.len()),
        }
    }

    fn embedded(&self) -> Result<Embedded<'_>, ContentsError> {
        let Some(source) = &self.source else {
            return Ok(Embedded::Nothing);
        };
        let source = source.expose();
        if let Some(scheme) = remote_scheme(source) {
            return Err(ContentsError::Remote { scheme });
        }
        match self.compression.as_deref() {
            None | Some("") => Ok(Embedded::Raw(source)),
            Some("gzip") => Ok(Embedded::Gzip(source)),
            Some(_) => Err(ContentsError::Compression),
        }
    }
}

/// What a resource carries, before it is decoded.
enum Embedded<'a> {
    Nothing,
    Raw(&'a str),
    Gzip(&'a str),
}

fn remote_scheme(source: &str) -> Option<&'static str> {
    let (scheme, _) = source.split_once(':')?;
    ["http", "https", "tftp", "s3", "gs", "arn"].into_iter().find(|known| scheme.eq_ignore_ascii_case(known))
}

fn decoded(source: &str, limits: Limits) -> Result<Vec<u8>, ContentsError> {
    data_url::decode(source, limits.bytes).map_err(|error| match error {
        DataUrlError::TooLarge { limit } => ContentsError::TooLarge { limit },
        error => ContentsError::DataUrl(error),
    })
}

/// Unpacks every member of the stream, as Go does, and gives up at the first byte beyond the limits.
pub(crate) fn gunzip(packed: &[u8], limits: Limits) -> Result<Vec<u8>, ContentsError> {
    let plausible = packed.len().saturating_mul(limits.ratio).max(RATIO_EXEMPT);
    let most = plausible.min(limits.bytes);
    let beyond = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    let mut contents = Vec::with_capacity(packed.len().saturating_mul(4).min(most));
    MultiGzDecoder::new(packed).take(beyond).read_to_end(&mut contents).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => ContentsError::GzipTruncated,
        _ => ContentsError::GzipCorrupt,
    })?;
    match contents.len() {
        size if size > limits.bytes => Err(ContentsError::TooLarge { limit: limits.bytes }),
        size if size > plausible => Err(ContentsError::Expansion { ratio: limits.ratio }),
        _ => Ok(contents),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use base64::Engine as _;
    use base64::prelude::BASE64_STANDARD;
    use flate2::{Compression, write::GzEncoder};
    use proptest::prelude::*;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn packed(bytes: &[u8]) -> Resource {
        Resource {
            compression: Some("gzip".into()),
            ..plain(&format!("data:;base64,{}", BASE64_STANDARD.encode(bytes)))
        }
    }

    fn plain(source: &str) -> Resource {
        Resource { source: Some(Secret::new(source.to_owned())), ..Resource::default() }
    }

    fn decode(resource: &Resource) -> Result<Vec<u8>, ContentsError> {
        resource.decode(Limits::default()).map(Secret::into_exposed)
    }

    #[test]
    fn an_absent_source_is_an_empty_file_and_an_empty_one_is_an_error() {
        assert_eq!(decode(&Resource::default()), Ok(vec![]));
        assert_eq!(decode(&plain("")), Err(ContentsError::DataUrl(DataUrlError::NotData)));
    }

    #[test]
    fn remote_sources_are_refused_by_their_scheme_alone() {
        for (source, scheme) in [
            ("http://user:hunter2@host/file", "http"),
            ("HTTPS://hunter2/file", "https"),
            ("tftp://hunter2/file", "tftp"),
            ("s3://hunter2/file", "s3"),
            ("gs://hunter2/file", "gs"),
            ("arn:aws:s3:::hunter2/file", "arn"),
        ] {
            let error = decode(&plain(source)).unwrap_err();
            assert_eq!(error, ContentsError::Remote { scheme }, "{source}");
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{source}");
        }
    }

    #[test]
    fn compression_is_gzip_or_nothing() {
        for (compression, expected) in [
            (None, Ok(b"x".to_vec())),
            (Some(""), Ok(b"x".to_vec())),
            (Some("xz"), Err(ContentsError::Compression)),
            (Some("GZIP"), Err(ContentsError::Compression)),
            (Some("gzip"), Err(ContentsError::GzipTruncated)),
        ] {
            let resource = Resource { compression: compression.map(str::to_owned), ..plain("data:,x") };
            assert_eq!(decode(&resource), expected, "{compression:?}");
        }
    }

    #[test]
    fn every_member_of_a_gzip_stream_counts() {
        let stream = [gzip(b"one "), gzip(b""), gzip(b"two")].concat();
        assert_eq!(decode(&packed(&stream)), Ok(b"one two".to_vec()));
    }

    #[test]
    fn broken_gzip_is_refused() {
        let whole = gzip(b"some text that is long enough");
        for length in 0..whole.len() {
            assert_eq!(decode(&packed(&whole[..length])), Err(ContentsError::GzipTruncated), "{length}");
        }
        let mut flipped = whole.clone();
        let crc = flipped.len() - 8;
        flipped[crc] ^= 1;
        for stream in
            [flipped, [&whole[..], b"garbage after"].concat(), [&whole[..], &[0; 16]].concat(), vec![b'x'; 64]]
        {
            assert_eq!(decode(&packed(&stream)), Err(ContentsError::GzipCorrupt));
        }
    }

    #[test]
    fn a_bomb_stops_at_the_limit_on_size() {
        let limits = Limits { bytes: 2 << 20, ratio: 1100 };
        let exact = packed(&gzip(&vec![0; 2 << 20]));
        assert_eq!(exact.decode(limits).map(|bytes| bytes.expose().len()), Ok(2 << 20));
        let bomb = packed(&gzip(&vec![0; (2 << 20) + 1]));
        assert_eq!(bomb.decode(limits).unwrap_err(), ContentsError::TooLarge { limit: 2 << 20 });
        let limits = Limits { bytes: 3, ratio: 1100 };
        assert_eq!(plain("data:,1234").decode(limits).unwrap_err(), ContentsError::TooLarge { limit: 3 });
    }

    #[test]
    fn a_bomb_stops_at_the_limit_on_expansion_once_it_is_large() {
        let limits = Limits { bytes: 64 << 20, ratio: 10 };
        assert!(packed(&gzip(&vec![0; 1 << 20])).decode(limits).is_ok());
        let bomb = packed(&gzip(&vec![0; (1 << 20) + 1]));
        assert_eq!(bomb.decode(limits).unwrap_err(), ContentsError::Expansion { ratio: 10 });
    }

    #[test]
    fn a_hash_that_does_not_match_is_ignored() {
        let resource = Resource { hash: Some(format!("sha256-{}", "0".repeat(64))), ..plain("data:,x") };
        assert_eq!(decode(&resource), Ok(b"x".to_vec()));
    }

    proptest! {
        #[test]
        fn packing_is_undone(bytes in prop::collection::vec(any::<u8>(), 0..500)) {
            prop_assert_eq!(decode(&packed(&gzip(&bytes))), Ok(bytes));
        }

        #[test]
        fn decoding_never_panics(source in any::<String>(), rest in "[ -~]{0,40}", bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = decode(&plain(&source));
            let _ = decode(&plain(&format!("data:{rest}")));
            let _ = decode(&packed(&bytes));
            let _ = decode(&packed(&[&gzip(b"x")[..10], &bytes].concat()));
        }
    }
}
