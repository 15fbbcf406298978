//! Stream metadata of CoreOS: the boot images of a stream, by architecture and platform.
//!
//! Keys that nobody here knows are ignored; a known key of another type makes the whole document unusable, as it does for
//! the machine-config operator. Which image a machine should boot from is not decided here.

mod architecture;

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

pub use architecture::Architecture;

/// Largest document that is read: a ConfigMap cannot hold more.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Why stream metadata cannot be used. Nothing in it is secret, but all of it is long: only the place is told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    /// There is none.
    #[error("the stream metadata are empty")]
    Empty,
    /// More than any release ships.
    #[error("the stream metadata have more than {} MiB", MAX_BYTES / (1024 * 1024))]
    TooLarge,
    /// No JSON.
    #[error("the stream metadata are no JSON: line {line}, column {column}")]
    Json {
        /// Where.
        line: usize,
        /// Where in it.
        column: usize,
    },
    /// A known key of another type.
    #[error("the stream metadata are malformed at {at}")]
    Misshapen {
        /// The key.
        at: String,
    },
}

/// The boot images of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct StreamMetadata {
    /// What the stream is called by those who build it.
    pub stream: Option<String>,
    /// Images by architecture, as RPM calls it.
    pub architectures: Option<BTreeMap<String, ArchitectureImages>>,
}

/// The boot images for one architecture.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct ArchitectureImages {
    /// Images to download, by platform.
    pub artifacts: Option<BTreeMap<String, Artifacts>>,
    /// Images that are in clouds already.
    pub images: Option<CloudImages>,
    /// What only RHEL CoreOS has.
    pub rhel_coreos_extensions: Option<Extensions>,
}

/// Images of one platform to download.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Artifacts {
    /// Version of the OS.
    pub release: Option<String>,
    /// By format.
    pub formats: Option<BTreeMap<String, Files>>,
}

/// Files of one format.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Files {
    /// Image of a disk.
    pub disk: Option<Artifact>,
    /// Kernel.
    pub kernel: Option<Artifact>,
    /// Initial RAM disk.
    pub initramfs: Option<Artifact>,
    /// Root file system.
    pub rootfs: Option<Artifact>,
}

/// A file to download.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Artifact {
    /// Where.
    pub location: Option<String>,
    /// Digest of what is downloaded.
    pub sha256: Option<String>,
    /// Digest of what comes out of it.
    pub uncompressed_sha256: Option<String>,
}

/// Images that are in clouds already.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct CloudImages {
    /// AWS.
    pub aws: Option<Regions<RegionImage>>,
    /// Alibaba.
    pub aliyun: Option<Regions<RegionImage>>,
    /// Google.
    pub gcp: Option<GcpImage>,
    /// IBM Cloud.
    pub ibmcloud: Option<Regions<RegionObject>>,
    /// Power VS.
    pub powervs: Option<Regions<RegionObject>>,
    /// KubeVirt.
    pub kubevirt: Option<ContainerDisk>,
}

/// Something in each region.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Regions<T> {
    /// By region.
    pub regions: Option<BTreeMap<String, T>>,
}

impl<T> Default for Regions<T> {
    fn default() -> Self {
        Self { regions: None }
    }
}

impl<T> Regions<T> {
    /// What is in a region.
    pub fn region(&self, name: &str) -> Option<&T> {
        self.regions.as_ref()?.get(name)
    }
}

/// An image in a region.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct RegionImage {
    /// Version of the OS.
    pub release: Option<String>,
    /// What the cloud calls it.
    pub image: Option<String>,
}

/// An object in the store of a region.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct RegionObject {
    /// Version of the OS.
    pub release: Option<String>,
    /// Name.
    pub object: Option<String>,
    /// Bucket.
    pub bucket: Option<String>,
    /// Where to download it.
    pub url: Option<String>,
}

/// An image in Google's cloud.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct GcpImage {
    /// Version of the OS.
    pub release: Option<String>,
    /// Project it is in.
    pub project: Option<String>,
    /// Family of images.
    pub family: Option<String>,
    /// Name.
    pub name: Option<String>,
}

/// A disk in a container image.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct ContainerDisk {
    /// Version of the OS.
    pub release: Option<String>,
    /// Image by tag.
    pub image: Option<String>,
    /// Image by digest.
    pub digest_ref: Option<String>,
}

/// What only RHEL CoreOS has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Extensions {
    /// The disk that older installers uploaded to Azure.
    pub azure_disk: Option<AzureDisk>,
    /// Images in marketplaces.
    pub marketplace: Option<Marketplace>,
    /// AWS images for Windows.
    pub aws_winli: Option<Regions<RegionImage>>,
}

/// The disk that older installers uploaded to Azure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct AzureDisk {
    /// Version of the OS.
    pub release: Option<String>,
    /// Where it is.
    pub url: Option<String>,
}

/// Images in marketplaces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Marketplace {
    /// Azure's.
    pub azure: Option<AzureMarketplace>,
}

/// Images in Azure's marketplace, by what is paid for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct AzureMarketplace {
    /// Nothing.
    pub no_purchase_plan: Option<AzureImages>,
    /// OpenShift Container Platform.
    pub ocp: Option<AzureImages>,
    /// OpenShift Platform Plus.
    pub opp: Option<AzureImages>,
    /// OpenShift Kubernetes Engine.
    pub oke: Option<AzureImages>,
    /// OpenShift Container Platform in Europe, the Middle East and Africa.
    pub ocp_emea: Option<AzureImages>,
    /// OpenShift Platform Plus there.
    pub opp_emea: Option<AzureImages>,
    /// OpenShift Kubernetes Engine there.
    pub oke_emea: Option<AzureImages>,
}

/// Images for both generations of Hyper-V machines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct AzureImages {
    /// For the first.
    #[serde(rename = "hyperVGen1")]
    pub first: Option<AzureImage>,
    /// For the second.
    #[serde(rename = "hyperVGen2")]
    pub second: Option<AzureImage>,
}

/// An image in Azure's marketplace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct AzureImage {
    /// Publisher.
    pub publisher: Option<String>,
    /// Offer.
    pub offer: Option<String>,
    /// Stock keeping unit.
    pub sku: Option<String>,
    /// Version.
    pub version: Option<String>,
}

impl StreamMetadata {
    /// Reads a document.
    pub fn parse(text: &str) -> Result<Self, MetadataError> {
        if text.trim().is_empty() {
            return Err(MetadataError::Empty);
        }
        if text.len() > MAX_BYTES {
            return Err(MetadataError::TooLarge);
        }
        // Structs could be read from lists too; no stream metadata are one.
        if text.trim_start().starts_with('[') {
            return Err(MetadataError::Misshapen { at: ".".to_owned() });
        }
        let mut reader = serde_json::Deserializer::from_str(text);
        let read: Option<Self> = serde_path_to_error::deserialize(&mut reader).map_err(|error| told(&error))?;
        reader.end().map_err(|error| MetadataError::Json { line: error.line(), column: error.column() })?;
        Ok(read.unwrap_or_default())
    }

    /// The images for an architecture.
    pub fn architecture(&self, architecture: Architecture) -> Option<&ArchitectureImages> {
        self.architectures.as_ref()?.get(architecture.rpm())
    }

    /// Every AMI, of any architecture and region.
    pub fn amis(&self) -> BTreeSet<&str> {
        let clouds = self.architectures.iter().flatten().filter_map(|(_, images)| images.images.as_ref());
        let regions = clouds.filter_map(|clouds| clouds.aws.as_ref()?.regions.as_ref()).flatten();
        regions.filter_map(|(_, image)| image.image.as_deref()).collect()
    }
}

impl ArchitectureImages {
    /// Images of a platform to download.
    pub fn artifacts(&self, platform: &str) -> Option<&Artifacts> {
        self.artifacts.as_ref()?.get(platform)
    }
}

fn told(error: &serde_path_to_error::Error<serde_json::Error>) -> MetadataError {
    match error.inner().classify() {
        serde_json::error::Category::Data => MetadataError::Misshapen { at: error.path().to_string() },
        _ => MetadataError::Json { line: error.inner().line(), column: error.inner().column() },
    }
}

#[cfg(test)]
mod tests;
