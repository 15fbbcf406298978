//! `ostler-cluster streams discover`: images from everywhere, their labels, and what the core makes of them.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use ostler_cluster_core::documents;
use ostler_cluster_core::objects::{
    self, ClusterVersion, ConfigMap, ImageStream, MCO_NAMESPACE, OSImageStream, Resource,
};
use ostler_cluster_core::streams::{
    self, DefaultReason, Discovery, Filter, Flavour, NoStreams, Offer, Offered, Origin, Question, Remark, Version,
};
use serde_json::json;

use super::sets;
use crate::cli::{ClusterOptions, DiscoverFormat, DiscoverOptions, SourceOptions};
use crate::commands::{Outcome, Trouble};
use crate::input;
use crate::inspection::Inspector;
use crate::output;
use crate::source::Source;

/// Name of the ConfigMap with the images of a release.
const URL_CONFIG_MAP: &str = "machine-config-osimageurl";

/// Finds the streams and prints them.
pub async fn discover(cluster: &ClusterOptions, options: &DiscoverOptions) -> Result<Outcome> {
    if options.stream.is_some() && options.output != DiscoverFormat::Image {
        return Err(Trouble::input("--stream goes with -o image; the other formats have all streams").into());
    }
    let source = if is_offline(cluster, &options.sources) { None } else { Some(Source::open(cluster).await?) };
    let gathered = Gathered::read(source.as_ref(), &options.sources).await?;
    if let Some(source) = &source {
        source.notes().iter().for_each(|note| output::note(note));
    }
    let found = gathered.discover().await;
    let remarks = match &found {
        Ok(found) => found.remarks.iter(),
        Err(none) => none.remarks().iter(),
    };
    gathered.remarks.iter().chain(remarks).for_each(|remark| output::note(&remark.to_string()));
    let discovery = found.map_err(|none| Trouble::no_answer(none.to_string()))?;
    if discovery.reason == DefaultReason::Newest && options.output != DiscoverFormat::Text {
        output::note(&format!("{} is the default: {}", discovery.status.default_stream, discovery.reason));
    }
    show(&discovery, options)?;
    Ok(Outcome::Done)
}

/// A release that is named needs no cluster, and a cluster that is not named is not asked.
fn is_offline(cluster: &ClusterOptions, options: &SourceOptions) -> bool {
    let named = cluster.from_dir.is_some() || cluster.kubeconfig.is_some() || cluster.context.is_some();
    !named && (options.image_references.is_some() || options.release_image.is_some())
}

fn show(discovery: &Discovery, options: &DiscoverOptions) -> Result<()> {
    match options.output {
        DiscoverFormat::Text => output::text(&text(discovery)),
        DiscoverFormat::Json => output::json(&discovery.status),
        DiscoverFormat::Manifest => output::json(&json!({
            "apiVersion": format!("{}/{}", OSImageStream::GROUP, OSImageStream::VERSION), "kind": OSImageStream::KIND,
            "metadata": {"name": OSImageStream::NAME}, "spec": {"defaultStream": discovery.status.default_stream},
            "status": discovery.status,
        })),
        DiscoverFormat::Image => {
            let name = options.stream.as_ref().unwrap_or(&discovery.status.default_stream);
            let names = || discovery.status.names().join(", ");
            let set = discovery.status.set(name);
            let set =
                set.ok_or_else(|| Trouble::no_answer(format!("there is no stream {name}; there are: {}", names())))?;
            output::text(&format!("{}\n", output::printable(&set.os_image)))
        }
    }
}

fn text(discovery: &Discovery) -> String {
    let Discovery { status, reason, .. } = discovery;
    let why = output::printable(&format!("{} is the default: {reason}", status.default_stream));
    format!("{}\n{why}\n", sets::text(status, None))
}

/// All that streams are found from.
pub struct Gathered {
    offers: Vec<Offer>,
    existing: Option<OSImageStream>,
    installed: Option<Version>,
    flavour: Flavour,
    inspector: Inspector,
    /// Sources that could not be read.
    pub remarks: Vec<Remark>,
}

impl Gathered {
    /// Reads what the command line names, and the rest from the cluster, if there is one.
    pub async fn read(cluster: Option<&Source>, options: &SourceOptions) -> Result<Self> {
        let version = match cluster {
            Some(cluster) => cluster.get::<ClusterVersion>(None, ClusterVersion::NAME).await?,
            None => None,
        };
        let installed = installed(options, version.as_ref())?;
        let existing = existing(options, cluster).await?;
        let inspector = Inspector::open(&options.registry, cluster).await?;
        let mut gathered =
            Self { offers: Vec::new(), existing, installed, flavour: Flavour::Ocp, inspector, remarks: Vec::new() };
        gathered.offers.extend(command_line(options));
        gathered.url_config_map(options, cluster).await?;
        let named = gathered.release(options, version.as_ref()).await?;
        let versions = [Some(named), version.map(|version| version.status.desired.version)];
        if options.okd || versions.iter().flatten().any(|version| version.contains("-okd")) {
            gathered.flavour = Flavour::Okd;
        }
        Ok(gathered)
    }

    /// Looks at the images and decides.
    pub async fn discover(&self) -> Result<Discovery, NoStreams> {
        let images: BTreeSet<String> =
            self.offers.iter().flat_map(|offer| &offer.images).map(|offered| offered.image.clone()).collect();
        let labels = self.inspector.labels(&images).await;
        streams::discover(&Question {
            offers: &self.offers,
            labels: &labels,
            existing: self.existing.as_ref(),
            installed: self.installed.as_ref(),
            flavour: self.flavour,
        })
    }

    async fn url_config_map(&mut self, options: &SourceOptions, cluster: Option<&Source>) -> Result<()> {
        let origin = Origin::UrlConfigMap;
        let map = match (&options.url_config_map, cluster) {
            (Some(path), _) => Some(input::object::<ConfigMap>(path)?),
            (None, Some(cluster)) => match cluster.get(Some(MCO_NAMESPACE), URL_CONFIG_MAP).await {
                Ok(map) => map,
                Err(error) => {
                    self.remarks.push(Remark::Source { origin, reason: error.to_string() });
                    None
                }
            },
            (None, None) => None,
        };
        match map.as_ref().map(streams::url_images) {
            Some(Ok(offer)) => self.offers.push(offer),
            Some(Err(key)) => self.remarks.push(Remark::Source { origin, reason: format!("it has no key {key}") }),
            None => {}
        }
        Ok(())
    }

    /// Takes in the release, and tells what it calls itself. One that cannot be read leaves the other sources to count.
    async fn release(&mut self, options: &SourceOptions, version: Option<&ClusterVersion>) -> Result<String> {
        let filter = if options.all_tags { Filter::Union } else { Filter::Operator };
        if let Some(path) = &options.image_references {
            let stream: ImageStream = input::object(path)?;
            let offer = streams::release_images(&stream, filter);
            self.offers.push(offer.context(Trouble::input(format!("cannot use {}", path.display())))?);
            return Ok(stream.metadata.name);
        }
        let wanted = version.map(|version| version.status.desired.image.clone());
        let release = options.release_image.clone().or(wanted).filter(|image| !image.is_empty());
        let Some(release) = release else {
            return Err(Trouble::no_answer(
                "no release is known: the ClusterVersion names no image; give --release-image or --image-references",
            )
            .into());
        };
        match self.references(&release, filter).await {
            Ok((offer, name)) => {
                self.offers.push(offer);
                Ok(name)
            }
            Err(reason) => {
                self.remarks.push(Remark::Source { origin: Origin::Release, reason });
                Ok(String::new())
            }
        }
    }

    async fn references(&self, release: &str, filter: Filter) -> Result<(Offer, String), String> {
        let bytes = self.inspector.image_references(release).await?;
        let documents = documents::parse(&bytes).map_err(|error| format!("image-references of {release}: {error}"))?;
        let document =
            documents.into_iter().next().ok_or_else(|| format!("image-references of {release} are empty"))?;
        let stream: ImageStream =
            objects::read(document).map_err(|error| format!("image-references of {release}: {error}"))?;
        let offer = streams::release_images(&stream, filter)
            .map_err(|error| format!("image-references of {release}: {error}"))?;
        Ok((offer, stream.metadata.name))
    }
}

fn command_line(options: &SourceOptions) -> Option<Offer> {
    let (os, extensions) = (options.os_image.as_ref()?, options.extensions_image.as_ref()?);
    let offered = |image: &String, called: &str| Offered { image: image.clone(), called: called.to_owned() };
    let images = vec![offered(os, "--os-image"), offered(extensions, "--extensions-image")];
    Some(Offer { origin: Origin::CommandLine, images })
}

fn installed(options: &SourceOptions, version: Option<&ClusterVersion>) -> Result<Option<Version>> {
    if let Some(text) = &options.install_version {
        let version = Version::parse(text).context(Trouble::input("--install-version cannot be used"))?;
        return Ok(Some(version));
    }
    let installed = version.map(streams::install_version).transpose();
    installed.context(Trouble::no_answer("which release was installed is not known; give --install-version"))
}

async fn existing(options: &SourceOptions, cluster: Option<&Source>) -> Result<Option<OSImageStream>> {
    match (&options.existing, cluster) {
        (Some(path), _) => {
            let object = input::optional_object(path)?;
            if object.is_none() {
                output::note(&format!("{} is empty: taken as no OSImageStream", path.display()));
            }
            Ok(object)
        }
        (None, Some(cluster)) => match cluster.get(None, OSImageStream::NAME).await {
            Err(error) if error.is_unknown_kind() => Ok(None),
            read => Ok(read?),
        },
        (None, None) => Ok(None),
    }
}
