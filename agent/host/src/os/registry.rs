//! Registries, asked for images without pulling them.
//!
//! Owns the questions and the verification of what comes back: a manifest and a configuration count only when they have
//! the digest they were asked for by. Refuses to try again, and to choose between places.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

use ostler_core::os::complaint::{self, Complaint};
use ostler_core::os::image::Pinned;
use ostler_core::os::layer;
use ostler_core::os::manifest::{self, Blob, Image, Manifest, ManifestError};
use ostler_core::os::mirrors::Place;
use ostler_core::os::preflight::Answer;
use ostler_core::pinned;

use super::skopeo::{Mirrors, Skopeo};
use crate::command::CommandError;

/// How long one question may take.
const LIMIT: Duration = Duration::from_secs(60);

/// What a place says of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The digest of the manifest for this machine's architecture.
    pub manifest: String,
    /// Its layers, the lowest first.
    pub layers: Vec<Blob>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
}

/// Why a place did not say.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// It could not be asked.
    #[error("skopeo could not be used")]
    Command(#[from] CommandError),
    /// It, or the way there, said no.
    #[error("{reason}")]
    Said {
        /// What, without secrets.
        reason: String,
        /// Whether it will say so again.
        permanent: bool,
    },
    /// It sent something else than it was asked for.
    #[error("it sent {found} when it was asked for {wanted}")]
    Other {
        /// What it sent.
        found: String,
        /// What was asked for.
        wanted: String,
    },
    /// It sent something unusable.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The image is for other machines.
    #[error("it has the image for other architectures, but not for {architecture}")]
    Architecture {
        /// Of this machine.
        architecture: &'static str,
    },
}

impl RegistryError {
    /// What that means for whoever wants the image.
    pub fn answer(&self) -> Answer {
        let permanent = match self {
            Self::Command(error) => matches!(error, CommandError::TooMuch { .. }),
            Self::Said { permanent, .. } => *permanent,
            Self::Other { .. } | Self::Manifest(_) | Self::Architecture { .. } => true,
        };
        let source = std::error::Error::source(self).map(|source| format!(": {source}")).unwrap_or_default();
        let reason = format!("{self}{source}");
        if permanent { Answer::Refused(reason) } else { Answer::Unreachable(reason) }
    }
}

/// Asks a place, and no other, what it has.
pub fn describe(skopeo: &Skopeo, place: &Place) -> Result<Description, RegistryError> {
    let architecture = std::env::consts::ARCH;
    let (digest, image) = match fetch(skopeo, place, place.image.digest())? {
        Manifest::Image(image) => (place.image.digest().to_owned(), image),
        Manifest::List(entries) => {
            let entry = manifest::entry_for(&entries, architecture);
            let entry = entry.ok_or(RegistryError::Architecture { architecture })?;
            (entry.digest.clone(), instance(skopeo, place, &entry.digest)?)
        }
    };
    let configuration = inspect(skopeo, place, &digest, &["--raw", "--config"])?;
    verify(&configuration, &image.config)?;
    Ok(Description { manifest: digest, layers: image.layers, labels: manifest::labels(&configuration) })
}

fn instance(skopeo: &Skopeo, place: &Place, digest: &str) -> Result<Image, RegistryError> {
    match fetch(skopeo, place, digest)? {
        Manifest::Image(image) => Ok(image),
        // A list within a list is nothing that anybody pulls.
        Manifest::List(_) => Err(ManifestError::Malformed.into()),
    }
}

fn fetch(skopeo: &Skopeo, place: &Place, digest: &str) -> Result<Manifest, RegistryError> {
    let bytes = inspect(skopeo, place, digest, &["--raw"])?;
    verify(&bytes, digest)?;
    Ok(Manifest::parse(&bytes)?)
}

fn inspect(skopeo: &Skopeo, place: &Place, digest: &str, options: &[&str]) -> Result<Vec<u8>, RegistryError> {
    let name = format!("docker://{}@{digest}", place.image.repository());
    let tls = place.insecure.then(|| OsString::from("--tls-verify=false"));
    let command = skopeo.call(Mirrors::Forgotten, LIMIT, manifest::MOST_BYTES).arguments(["inspect"]);
    let command = command.arguments(skopeo.auth_options()).arguments(tls).arguments(options).arguments([name]);
    command.run().map(|output| output.stdout).map_err(said)
}

/// The manifest that a pinned image has where it is really pulled from, mirrors included.
pub(super) fn manifest_of(skopeo: &Skopeo, image: &Pinned) -> Result<Manifest, RegistryError> {
    let bytes = raw(skopeo, &image.to_string())?;
    verify(&bytes, image.digest())?;
    Ok(Manifest::parse(&bytes)?)
}

/// The layers that this machine would pull for an image, from where it is really pulled, mirrors included.
pub fn layers(skopeo: &Skopeo, image: &Pinned) -> Result<Vec<Blob>, RegistryError> {
    let architecture = std::env::consts::ARCH;
    let manifest = manifest_of(skopeo, image)?;
    let entry = match pinned::layers_of(&manifest, architecture) {
        Ok(layers) => return Ok(layers.to_vec()),
        Err(entry) => entry.ok_or(RegistryError::Architecture { architecture })?,
    };
    let bytes = raw(skopeo, &format!("{}@{}", image.repository(), entry.digest))?;
    verify(&bytes, &entry.digest)?;
    match pinned::layers_of(&Manifest::parse(&bytes)?, architecture) {
        Ok(layers) => Ok(layers.to_vec()),
        // A list within a list is nothing that anybody pulls.
        Err(_) => Err(ManifestError::Malformed.into()),
    }
}

/// The digest that a name with a tag means now, for the words of a refusal.
pub fn resolve(skopeo: &Skopeo, reference: &str) -> Result<String, RegistryError> {
    let bytes = raw(skopeo, reference)?;
    Manifest::parse(&bytes)?;
    Ok(digest_of(&bytes))
}

fn raw(skopeo: &Skopeo, reference: &str) -> Result<Vec<u8>, RegistryError> {
    let command = skopeo.call(Mirrors::Followed, LIMIT, manifest::MOST_BYTES).arguments(["inspect", "--raw"]);
    let command = command.arguments(skopeo.auth_options()).arguments([format!("docker://{reference}")]);
    command.run().map(|output| output.stdout).map_err(said)
}

pub(super) fn said(error: CommandError) -> RegistryError {
    match error {
        CommandError::Failed { stderr, .. } => {
            let reason = complaint::reason(&stderr);
            let permanent = Complaint::of(&reason) == Complaint::Lasting;
            RegistryError::Said { reason, permanent }
        }
        other => RegistryError::Command(other),
    }
}

pub(super) fn digest_of(bytes: &[u8]) -> String {
    layer::name(bytes)
}

fn verify(bytes: &[u8], wanted: &str) -> Result<(), RegistryError> {
    let found = digest_of(bytes);
    if found == wanted { Ok(()) } else { Err(RegistryError::Other { found, wanted: wanted.to_owned() }) }
}
