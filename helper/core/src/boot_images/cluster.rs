//! What was read of a cluster, and whether anything is to be done to it at the moment.

use serde::Serialize;

use super::stub::UserData;
use super::{Enrolment, HotLoop, KnownImages, Machine, Platform, ShippedImages, platforms};
use crate::objects::{ClusterVersion, Infrastructure, MachineConfiguration, Whole};
use crate::stream_metadata::Architecture;

/// Who updates boot images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The machine-config operator; what it does and why is told.
    #[default]
    Observe,
    /// This helper, as nobody else does.
    Own,
}

/// What was read of a cluster. `Err` is what could not be read, and why.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// Boot images of the release.
    pub shipped: Result<Option<ShippedImages>, String>,
    /// The platform.
    pub infrastructure: Result<Option<Infrastructure>, String>,
    /// The release.
    pub version: Result<Option<ClusterVersion>, String>,
    /// The administrator's choice.
    pub configuration: Result<Option<MachineConfiguration>, String>,
    /// Architecture of the control plane.
    pub control_plane: Option<Architecture>,
    /// AMIs that are known.
    pub known: KnownImages,
    /// What new machines start with.
    pub user_data: UserData,
    /// The machine resources.
    pub machines: Vec<Machine>,
    /// Templates of the Cluster API.
    pub templates: Vec<Whole>,
    /// Changes that were made before.
    pub attempts: HotLoop,
    /// Who updates boot images.
    pub mode: Mode,
    /// Whether all of the Cluster API are enrolled.
    pub with_capi: bool,
}

impl Default for Cluster {
    fn default() -> Self {
        Self {
            shipped: Ok(None),
            infrastructure: Ok(None),
            version: Ok(None),
            configuration: Ok(None),
            control_plane: None,
            known: KnownImages::default(),
            user_data: UserData::default(),
            machines: Vec::new(),
            templates: Vec::new(),
            attempts: HotLoop::default(),
            mode: Mode::Observe,
            with_capi: false,
        }
    }
}

impl Cluster {
    /// The platform, where it can be told.
    pub fn platform(&self) -> Option<Platform> {
        let infrastructure = self.infrastructure.as_ref().ok()?.as_ref()?;
        Platform::of(infrastructure).ok()
    }

    /// The administrator's choice, where there is one.
    pub fn choice(&self) -> Option<&MachineConfiguration> {
        self.configuration.as_ref().ok().and_then(Option::as_ref)
    }

    /// Which machine resources are enrolled.
    pub fn enrolment(&self, platform: Platform) -> Enrolment {
        let mut enrolment = match self.mode {
            Mode::Observe => Enrolment::of(self.choice(), platform),
            Mode::Own => Enrolment::owned(self.choice(), platform),
        };
        enrolment.with_capi = self.with_capi;
        enrolment
    }

    /// The boot images that the release ships for the platform.
    pub fn ships(&self) -> Vec<Shipment> {
        let (Ok(Some(shipped)), Some(platform)) = (&self.shipped, self.platform()) else { return Vec::new() };
        let status = self.infrastructure.as_ref().ok().and_then(Option::as_ref).map(|object| &object.status);
        let aws = status.and_then(|status| status.platform_status.as_ref()?.aws.as_ref());
        let region = aws.map(|aws| aws.region.as_str()).unwrap_or_default();
        let mut found = Vec::new();
        for (name, stream) in shipped.by_name() {
            for architecture in Architecture::ALL {
                let images = stream.architecture(architecture);
                let image = images.and_then(|images| platforms::shipped(platform, images, region));
                found.extend(image.map(|(release, image)| Shipment {
                    stream: name.to_owned(),
                    architecture,
                    release,
                    image,
                }));
            }
        }
        found
    }
}

/// A boot image that a release ships.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shipment {
    /// The stream.
    pub stream: String,
    /// The architecture.
    pub architecture: Architecture,
    /// Version of the OS in it.
    pub release: String,
    /// What it is called on the platform; empty where that depends on a region that is not known.
    pub image: String,
}

/// Whether anything is to be done at the moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gate {
    /// It is.
    Open,
    /// It is not, and why.
    Waiting(String),
}

/// Nothing is done while the cluster is being installed or updated, or while the operator has not read what the
/// administrator asks for. A dump without the objects that say so keeps nothing back.
pub fn gate(cluster: &Cluster) -> Gate {
    if let Ok(Some(version)) = &cluster.version {
        match version.status.history.first() {
            None => return Gate::Waiting("the cluster is being installed (ClusterVersion has no history)".to_owned()),
            Some(latest) if latest.state != "Completed" => {
                return Gate::Waiting(format!("the cluster is being updated to {}", latest.version));
            }
            Some(_) => {}
        }
    }
    if let Ok(Some(configuration)) = &cluster.configuration
        && let (Some(is), Some(seen)) = (configuration.metadata.generation, configuration.status.observed_generation)
        && is != seen
    {
        return Gate::Waiting(format!(
            "MachineConfiguration cluster is of generation {is}, and the machine-config operator has seen {seen}: see \
             whether it runs"
        ));
    }
    Gate::Open
}
