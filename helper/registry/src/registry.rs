//! Images in registries: their labels, and single files of them.
//!
//! Owns what is asked in which order, and the verification of everything that is answered against the digest that asked
//! for it. Refuses to judge an image.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::time::Duration;

use bytes::{Buf, Bytes};
use futures_util::StreamExt;
use futures_util::stream;
use ostler_core::os::layer::name;
use ostler_core::os::manifest::{self, Blob, Entry, Image, Manifest, ManifestError};
use serde::Deserialize;
use tokio::sync::mpsc;

use crate::archive::Target;
use crate::cache::Cache;
use crate::failure::{Failure, InspectError};
use crate::layer;
use crate::mirrors::{Mirrors, Place};
use crate::options::{Limits, Options, Patience, Platform};
use crate::reference::Reference;
use crate::retry::persist;
use crate::session::{Part, Session, within};
use crate::trust::TrustError;

/// Pieces of a layer that were received and not yet unpacked.
const AHEAD: usize = 4;
/// Platforms of a list that are told when none fits.
const MOST_OFFERED: usize = 16;
const MOST_MANIFEST: u64 = manifest::MOST_BYTES as u64;

/// A reader of images.
pub struct Registry {
    session: Session,
    mirrors: Mirrors,
    platform: Platform,
    limits: Limits,
    patience: Patience,
    cache: Option<Cache>,
}

/// What is known of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspected {
    /// The digest of what the name stands for: an image's manifest, or a list of them.
    pub digest: String,
    /// The digest of the image's own manifest, which a list names for the platform.
    pub manifest: String,
    /// The labels in its configuration.
    pub labels: BTreeMap<String, String>,
}

/// How many images are read at a time, and how long all of them may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Images at a time.
    pub concurrency: usize,
    /// For all of them.
    pub deadline: Duration,
}

/// The manifest of one image, with where it came from.
struct Resolved {
    place: Place,
    digest: String,
    manifest: String,
    image: Image,
    /// Media types of the layers.
    kinds: Vec<String>,
}

#[derive(Deserialize)]
struct Kinds {
    #[serde(default)]
    layers: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    #[serde(default, rename = "mediaType")]
    media_type: String,
}

#[derive(Deserialize)]
struct Configuration {
    #[serde(default)]
    config: Option<Settings>,
}

#[derive(Default, Deserialize)]
struct Settings {
    #[serde(default, rename = "Labels")]
    labels: Option<BTreeMap<String, String>>,
}

impl Default for Pace {
    fn default() -> Self {
        Self { concurrency: 5, deadline: Duration::from_secs(300) }
    }
}

impl Registry {
    /// Asks nobody yet.
    pub fn new(options: Options) -> Result<Self, TrustError> {
        let session = Session::new(&options)?;
        let Options { mirrors, platform, limits, patience, cache, .. } = options;
        Ok(Self { session, mirrors, platform, limits, patience, cache })
    }

    /// The labels of an image, from its configuration.
    pub async fn labels(&self, image: &str) -> Result<Inspected, InspectError> {
        let reference = Reference::parse(image)?;
        if let Some((digest, labels)) = self.known(&reference, Cache::labels) {
            return Ok(Inspected { manifest: digest.clone(), digest, labels });
        }
        let inspected = self.anywhere(&reference, |place| self.labels_at(place)).await?;
        if let Some(cache) = self.cache.as_ref().filter(|_| inspected.digest == inspected.manifest) {
            cache.keep_labels(&inspected.digest, &inspected.labels);
        }
        Ok(inspected)
    }

    /// A file of an image, at most `limit` bytes long, from the uppermost layer that has it; nothing if none has.
    pub async fn file(&self, image: &str, path: &str, limit: u64) -> Result<Option<Vec<u8>>, InspectError> {
        let reference = Reference::parse(image)?;
        let fits = |contents: &Vec<u8>| u64::try_from(contents.len()).is_ok_and(|length| length <= limit);
        if let Some((_, contents)) = self.known(&reference, |cache, digest| cache.file(digest, path).filter(fits)) {
            return Ok(Some(contents));
        }
        let target = Target::new(path, limit, self.limits.entries);
        let (resolved, found) = self.anywhere(&reference, |place| self.file_at(place, target.clone())).await?;
        if let (Some(cache), Some(contents)) = (&self.cache, &found)
            && resolved.digest == resolved.manifest
        {
            cache.keep_file(&resolved.digest, path, contents);
        }
        Ok(found)
    }

    /// The labels of many images, in their order. Failures stand where the labels would, and stop nobody else.
    pub async fn inspect_many(&self, images: &[String], pace: Pace) -> Vec<Result<Inspected, InspectError>> {
        let end = tokio::time::Instant::now().checked_add(pace.deadline);
        let inspect = |(index, image): (usize, String)| async move {
            let late = || InspectError::Deadline { image: image.clone(), after: pace.deadline };
            let labels = self.labels(&image);
            let result = match end {
                Some(end) => tokio::time::timeout_at(end, labels).await.unwrap_or_else(|_| Err(late())),
                None => labels.await,
            };
            (index, result)
        };
        let asking = stream::iter(images.iter().cloned().enumerate()).map(inspect);
        let mut results: Vec<_> = asking.buffer_unordered(pace.concurrency.max(1)).collect().await;
        results.sort_by_key(|(index, _)| *index);
        results.into_iter().map(|(_, result)| result).collect()
    }

    fn known<T>(&self, image: &Reference, look: impl FnOnce(&Cache, &str) -> Option<T>) -> Option<(String, T)> {
        let (cache, digest) = (self.cache.as_ref()?, image.digest()?);
        Some((digest.to_owned(), look(cache, digest)?))
    }

    async fn anywhere<T, F, A>(&self, image: &Reference, ask: F) -> Result<T, InspectError>
    where
        F: Fn(Place) -> A,
        A: Future<Output = Result<T, Failure>>,
    {
        let places = self.mirrors.places(image)?;
        let answer = persist(&self.patience, places, ask).await;
        answer.map_err(|attempts| InspectError::Unread { image: image.to_string(), attempts })
    }

    async fn labels_at(&self, place: Place) -> Result<Inspected, Failure> {
        let Resolved { place, digest, manifest, image, .. } = self.resolve(place).await?;
        let bytes = self.session.small(&place, Part::Blob(&image.config), MOST_MANIFEST).await?;
        verified(&bytes, &image.config)?;
        let configuration: Configuration =
            serde_json::from_slice(&bytes).map_err(|error| Failure::Configuration(error.into()))?;
        let labels = configuration.config.unwrap_or_default().labels.unwrap_or_default();
        Ok(Inspected { digest, manifest, labels })
    }

    async fn file_at(&self, place: Place, target: Target) -> Result<(Resolved, Option<Vec<u8>>), Failure> {
        let resolved = self.resolve(place).await?;
        let mut left = self.limits.image;
        for (blob, kind) in resolved.image.layers.iter().zip(&resolved.kinds).rev() {
            layer::check_kind(blob, kind)?;
            let most = self.limits.layer.min(left);
            if blob.size > most {
                return Err(Failure::TooLarge { what: format!("layer {}", blob.digest), most });
            }
            left = left.saturating_sub(blob.size);
            let reading = self.layer(&resolved.place, blob.clone(), target.clone());
            if let Some(found) = within(self.patience.layer, reading).await? {
                return Ok((resolved, Some(found)));
            }
        }
        Ok((resolved, None))
    }

    /// Looks into a layer while it arrives. When this is given up, the thread that unpacks sees the end and ends too.
    async fn layer(&self, place: &Place, blob: Blob, target: Target) -> Result<Option<Vec<u8>>, Failure> {
        let mut response = self.session.get(place, Part::Blob(&blob.digest)).await?;
        let (sender, receiver) = mpsc::channel(AHEAD);
        let unpacked = self.limits.unpacked;
        let unpacking = tokio::task::spawn_blocking(move || {
            layer::find(Arriving { receiver, piece: Bytes::new() }, &blob, unpacked, &target)
        });
        let receiving = async move {
            while let Some(piece) = self.session.next(&mut response).await? {
                if sender.send(piece).await.is_err() {
                    break;
                }
            }
            Ok::<_, Failure>(())
        };
        let (received, found) = futures_util::future::join(receiving, unpacking).await;
        // A layer that broke off is also a damaged one, but only the former may be better next time.
        received?;
        Ok(found.map_err(|error| Failure::Unpack(io::Error::other(error)))??)
    }

    /// The manifest of the image that a name stands for on the platform.
    async fn resolve(&self, place: Place) -> Result<Resolved, Failure> {
        let (digest, bytes) = self.manifest(&place, place.image.version()).await?;
        let (manifest, bytes, image) = match Manifest::parse(&bytes).map_err(Failure::Manifest)? {
            Manifest::Image(image) => (digest.clone(), bytes, image),
            Manifest::List(entries) => {
                let entry = self.choose(&entries)?;
                let (manifest, bytes) = self.manifest(&place, &entry.digest).await?;
                match Manifest::parse(&bytes).map_err(Failure::Manifest)? {
                    Manifest::Image(image) => (manifest, bytes, image),
                    Manifest::List(_) => return Err(Failure::Nested),
                }
            }
        };
        let kinds: Kinds = serde_json::from_slice(&bytes).map_err(|_| Failure::Manifest(ManifestError::Malformed))?;
        let kinds = kinds.layers.into_iter().map(|layer| layer.media_type).collect();
        Ok(Resolved { place, digest, manifest, image, kinds })
    }

    /// A manifest and its digest, which is the one that was asked for if one was.
    async fn manifest(&self, place: &Place, version: &str) -> Result<(String, Vec<u8>), Failure> {
        let bytes = self.session.small(place, Part::Manifest(version), MOST_MANIFEST).await?;
        let digest = name(&bytes);
        if version.contains(':') && version != digest {
            return Err(Failure::Digest { wanted: version.to_owned(), found: digest });
        }
        Ok((digest, bytes))
    }

    fn choose<'e>(&self, entries: &'e [Entry]) -> Result<&'e Entry, Failure> {
        let Platform { os, architecture } = &self.platform;
        let found = entries.iter().find(|entry| entry.os == *os && entry.architecture == *architecture);
        found.ok_or_else(|| {
            let each = |entry: &Entry| format!("{}/{}", shown(&entry.os), shown(&entry.architecture));
            let offered: Vec<String> = entries.iter().take(MOST_OFFERED).map(each).collect();
            Failure::Platform { wanted: format!("{os}/{architecture}"), offered: offered.join(", ") }
        })
    }
}

/// Others' text, harmless and short.
fn shown(text: &str) -> String {
    text.chars().take(20).flat_map(char::escape_debug).collect()
}

fn verified(bytes: &[u8], wanted: &str) -> Result<(), Failure> {
    let found = name(bytes);
    if found == wanted { Ok(()) } else { Err(Failure::Digest { wanted: wanted.to_owned(), found }) }
}

/// What arrives of a layer, for a thread that may wait for it.
struct Arriving {
    receiver: mpsc::Receiver<Bytes>,
    piece: Bytes,
}

impl Read for Arriving {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            match self.receiver.blocking_recv() {
                Some(piece) => self.piece = piece,
                None => return Ok(0),
            }
        }
        let count = self.piece.len().min(buffer.len());
        self.piece.copy_to_slice(buffer.get_mut(..count).unwrap_or_default());
        Ok(count)
    }
}
