//! What the target release is made of: from files that the command line names, or from its image.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use ostler_cluster_core::boot_images::ShippedImages;
use ostler_cluster_core::objects::{ConfigMap, ImageStream, Resource};
use ostler_cluster_core::preflight::{Reading, ReleaseImages};
use ostler_cluster_core::streams::{self, Filter, Flavour, Labels};
use ostler_cluster_core::{documents, objects};
use tokio::time::{Instant, timeout_at};

use crate::cli::{RegistryOptions, ReleaseOptions};
use crate::commands::Trouble;
use crate::inspection::Inspector;
use crate::source::Source;
use crate::{input, output};

/// What is known of a target release.
#[derive(Clone, Debug)]
pub struct Release {
    /// Its images.
    pub images: Reading<ReleaseImages>,
    /// Its boot images.
    pub boot_images: Reading<ShippedImages>,
    /// Whether the time was over before registries had answered.
    pub late: bool,
    asked: bool,
}

impl Release {
    /// Whether registries were asked for something that they did not tell, and may tell another time.
    pub fn is_lacking(&self) -> bool {
        let missing = match &self.images {
            Reading::Read(images) => images.labels.values().any(|labels| matches!(labels, Labels::Unreachable(_))),
            _ => true,
        };
        self.asked && (missing || !matches!(self.boot_images, Reading::Read(_)))
    }
}

/// Reads what the command line names for its only target.
pub async fn of_one(options: &ReleaseOptions, source: &Source, until: Instant) -> Result<Release> {
    once_each(options, 1)?;
    release(options, 0, source, until).await
}

/// Reads what the command line names, for each of the targets. What has to be asked of a registry is asked for a while
/// only, and what it does not say is not known; a file that cannot be used is the caller's to correct.
pub async fn releases(
    options: &ReleaseOptions,
    targets: usize,
    source: &Source,
    until: Instant,
) -> Result<Vec<Release>> {
    once_each(options, targets)?;
    let mut releases = Vec::new();
    for at in 0..targets {
        releases.push(release(options, at, source, until).await?);
    }
    Ok(releases)
}

/// With several targets, each has files of its own.
fn once_each(options: &ReleaseOptions, targets: usize) -> Result<()> {
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
    Ok(())
}

async fn release(options: &ReleaseOptions, at: usize, source: &Source, until: Instant) -> Result<Release> {
    let given = options.target_bootimages.get(at).map(|path| of_file(path)).transpose()?;
    let labels = options.target_image_labels.get(at).map(|path| input::labels(path)).transpose()?;
    let references = options.target_image_references.get(at).map(|path| known(path)).transpose()?;
    let image = options.target_release_image.get(at);
    let mut enquiry = Enquiry { source, until, inspector: None };
    let found = match (references, image) {
        (Some(known), _) => Ok(known),
        (None, Some(image)) => enquiry.references(image).await,
        (None, None) => Err("nothing says which images the target has; give --target-release-image or \
                             --target-image-references"
            .to_owned()),
    };
    let images = match found {
        Ok(known) => known.labelled(labels, &mut enquiry).await,
        Err(reason) => Reading::Failed { reason },
    };
    let boot_images = match (given, image) {
        (Some(map), _) => Ok(map),
        (None, Some(image)) => enquiry.boot_images(image).await,
        (None, None) => Err("nothing says which boot images the target has; give --target-bootimages".to_owned()),
    };
    let boot_images = match boot_images {
        Ok(map) => Reading::Read(ShippedImages::of(&map)),
        Err(reason) => Reading::Failed { reason },
    };
    Ok(Release { images, boot_images, late: enquiry.is_late(), asked: enquiry.inspector.is_some() })
}

/// What is asked of registries, as the cluster reaches them. That they cannot be reached is no reason to say nothing at all.
struct Enquiry<'a> {
    source: &'a Source,
    until: Instant,
    inspector: Option<Result<Inspector, String>>,
}

impl Enquiry<'_> {
    /// Whether something was asked, and the time was over before it was answered.
    fn is_late(&self) -> bool {
        self.inspector.is_some() && Instant::now() >= self.until
    }

    async fn inspector(&mut self) -> Result<&Inspector, String> {
        if self.inspector.is_none() {
            let options = RegistryOptions::default();
            let opened = match timeout_at(self.until, Inspector::open(&options, Some(self.source))).await {
                Ok(opened) => opened.map_err(|error| format!("{error:#}")),
                Err(_) => Err("how registries are reached could not be read in time".to_owned()),
            };
            self.inspector = Some(opened);
        }
        match &self.inspector {
            Some(Ok(inspector)) => Ok(inspector),
            Some(Err(reason)) => Err(reason.clone()),
            None => Err("no registry was asked".to_owned()),
        }
    }

    async fn references(&mut self, image: &str) -> Result<Known, String> {
        output::note(&format!("asking the registry what {image} is made of"));
        let until = self.until;
        let read = timeout_at(until, self.inspector().await?.image_references(image)).await;
        references_of(&read.unwrap_or_else(|_| Err(format!("{image} could not be read in time")))?)
    }

    async fn boot_images(&mut self, image: &str) -> Result<ConfigMap, String> {
        let until = self.until;
        let read = timeout_at(until, self.inspector().await?.boot_images(image)).await;
        let bytes = read.unwrap_or_else(|_| Err(format!("boot images of {image} could not be read in time")))?;
        config_map(&bytes).map_err(|why| format!("boot images of {image}: {why}"))
    }

    async fn labels(&mut self, images: &BTreeSet<String>) -> Result<BTreeMap<String, Labels>, String> {
        let count = images.len();
        output::note(&format!(
            "asking registries for the labels of {count} images; a file of --target-image-labels spares that"
        ));
        let until = self.until;
        let late = |image: &String| (image.clone(), Labels::Unreachable("the time was over".to_owned()));
        let found = timeout_at(until, self.inspector().await?.labels(images)).await;
        Ok(found.unwrap_or_else(|_| images.iter().map(late).collect()))
    }
}

/// Images of a file.
fn known(path: &Path) -> Result<Known> {
    let stream: ImageStream = input::object(path)?;
    Known::new(&stream).with_context(|| Trouble::input(format!("cannot use {}", path.display())))
}

/// Boot images of a file.
fn of_file(path: &Path) -> Result<ConfigMap> {
    let bytes = input::bytes(path)?;
    let words = |why| Trouble::input(format!("cannot use {}: {why}", path.display()));
    config_map(&bytes).map_err(|why| words(why).into())
}

/// The ConfigMap of a manifest, which may hold other documents beside it.
fn config_map(bytes: &[u8]) -> Result<ConfigMap, String> {
    let documents = documents::parse(bytes).map_err(|error| error.to_string())?;
    let map = documents
        .into_iter()
        .flat_map(documents::unfold)
        .find(|document| document.get("kind").is_some_and(|kind| kind == ConfigMap::KIND));
    objects::read(map.ok_or("there is no ConfigMap in it")?).map_err(|error| error.to_string())
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
    async fn labelled(
        self,
        given: Option<BTreeMap<String, Labels>>,
        enquiry: &mut Enquiry<'_>,
    ) -> Reading<ReleaseImages> {
        let wanted: BTreeSet<String> = self.offer.images.iter().map(|offered| offered.image.clone()).collect();
        let labels = match given {
            Some(labels) => Ok(labels),
            None if wanted.is_empty() => Ok(BTreeMap::new()),
            None => enquiry.labels(&wanted).await,
        };
        match labels {
            Ok(labels) => Reading::Read(ReleaseImages { offer: self.offer, labels, flavour: self.flavour }),
            Err(reason) => Reading::Failed { reason },
        }
    }
}
