//! What the target release is made of: from files that the command line names, or from its image.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use ostler_cluster_core::boot_images::ShippedImages;
use ostler_cluster_core::objects::{ConfigMap, ImageStream, Resource};
use ostler_cluster_core::preflight::{Reading, ReleaseImages};
use ostler_cluster_core::streams::{self, Filter, Flavour, Labels};
use ostler_cluster_core::{documents, objects};
use tokio::time::{Instant, timeout_at};

use crate::cli::{RegistryOptions, ReleaseOptions};
use crate::commands::Trouble;
use crate::input;
use crate::inspection::Inspector;
use crate::source::Source;

/// What is known of a target release.
#[derive(Clone, Debug)]
pub struct Release {
    /// Its images.
    pub images: Reading<ReleaseImages>,
    /// Its boot images.
    pub boot_images: Reading<ShippedImages>,
}

/// Reads what the command line names, for each of the targets. What has to be asked of a registry is asked for a while
/// only, and what it does not say is not known; a file that cannot be used is the caller's to correct.
pub async fn releases(
    options: &ReleaseOptions,
    targets: usize,
    source: &Source,
    until: Instant,
) -> Result<Vec<Release>> {
    for (flag, given) in [
        ("--target-release-image", options.target_release_image.len()),
        ("--target-image-references", options.target_image_references.len()),
        ("--target-bootimages", options.target_bootimages.len()),
        ("--target-image-labels", options.target_image_labels.len()),
    ] {
        if given != 0 && given != targets {
            return Err(Trouble::input(format!("{flag} is given {given} times for {targets} releases")).into());
        }
    }
    let mut releases = Vec::new();
    for at in 0..targets {
        releases.push(release(options, at, source, until).await?);
    }
    Ok(releases)
}

async fn release(options: &ReleaseOptions, at: usize, source: &Source, until: Instant) -> Result<Release> {
    let boot_images = match options.target_bootimages.get(at) {
        Some(path) => Reading::Read(ShippedImages::of(&manifest(path)?)),
        None => failed("nothing says which boot images the target has; give --target-bootimages"),
    };
    let labels = options.target_image_labels.get(at);
    if let Some(path) = options.target_image_references.get(at) {
        let stream: ImageStream = input::object(path)?;
        let words = || Trouble::input(format!("cannot use {}", path.display()));
        let images = Known::new(&stream).with_context(words)?;
        return Ok(Release { images: images.looked_at(labels, source, until).await?, boot_images });
    }
    let Some(image) = options.target_release_image.get(at) else {
        let reason = "nothing says which images the target has; give --target-release-image or \
                      --target-image-references";
        return Ok(Release { images: failed(reason), boot_images });
    };
    let images = match asked(image, source, until).await {
        Ok(known) => known.looked_at(labels, source, until).await?,
        Err(reason) => failed(&reason),
    };
    Ok(Release { images, boot_images })
}

async fn asked(image: &str, source: &Source, until: Instant) -> Result<Known, String> {
    let inspector = registry(source, until).await?;
    let references = timeout_at(until, inspector.image_references(image)).await;
    references_of(&references.unwrap_or_else(|_| Err(format!("{image} could not be read in time")))?)
}

/// Registries as the cluster reaches them. That they cannot be reached is no reason to say nothing at all.
async fn registry(source: &Source, until: Instant) -> Result<Inspector, String> {
    match timeout_at(until, Inspector::open(&RegistryOptions::default(), Some(source))).await {
        Ok(opened) => opened.map_err(|error| format!("{error:#}")),
        Err(_) => Err("how registries are reached could not be read in time".to_owned()),
    }
}

fn failed<T>(reason: &str) -> Reading<T> {
    Reading::Failed { reason: reason.to_owned() }
}

/// The ConfigMap of a manifest, which may hold other documents beside it.
fn manifest(path: &Path) -> Result<ConfigMap> {
    let words = || Trouble::input(format!("cannot use {}: it holds no ConfigMap", path.display()));
    let documents = documents::parse(&input::bytes(path)?).with_context(words)?;
    let map = documents
        .into_iter()
        .flat_map(documents::unfold)
        .find(|document| document.get("kind").is_some_and(|kind| kind == ConfigMap::KIND));
    objects::read(map.ok_or_else(words)?).with_context(words)
}

fn references_of(bytes: &[u8]) -> Result<Known, String> {
    let told = |error: &dyn std::fmt::Display| format!("the target's image-references: {error}");
    let documents = documents::parse(bytes).map_err(|error| told(&error))?;
    let document = documents.into_iter().next().ok_or_else(|| told(&"they are empty"))?;
    let stream: ImageStream = objects::read(document).map_err(|error| told(&error))?;
    Known::new(&stream).map_err(|error| told(&error))
}

/// Images of a release before anybody has looked at them.
struct Known {
    offer: streams::Offer,
    flavour: Flavour,
}

impl Known {
    fn new(stream: &ImageStream) -> Result<Self, streams::NotAnImageStream> {
        let okd = stream.metadata.name.contains("-okd");
        Ok(Self {
            offer: streams::release_images(stream, Filter::Operator)?,
            flavour: if okd { Flavour::Okd } else { Flavour::Ocp },
        })
    }

    /// With labels from a file, or else from a registry.
    async fn looked_at(
        self,
        labels: Option<&PathBuf>,
        source: &Source,
        until: Instant,
    ) -> Result<Reading<ReleaseImages>> {
        let wanted: BTreeSet<String> = self.offer.images.iter().map(|offered| offered.image.clone()).collect();
        let inspector = match labels {
            Some(path) => Inspector::Given(input::labels(path)?),
            None => match registry(source, until).await {
                Ok(inspector) => inspector,
                Err(reason) => return Ok(failed(&reason)),
            },
        };
        let late = || {
            let late = |image: &String| (image.clone(), Labels::Unreachable("the time was over".to_owned()));
            wanted.iter().map(late).collect()
        };
        let labels = timeout_at(until, inspector.labels(&wanted)).await.unwrap_or_else(|_| late());
        Ok(Reading::Read(ReleaseImages { offer: self.offer, labels, flavour: self.flavour }))
    }
}
