//! Which boot image counts, and who vouches for it.

use serde::Serialize;

use super::version::OcpVersion;
use crate::boot_images::{Enrolment, Kind, Platform};
use crate::objects::{ClusterVersion, Infrastructure, MachineConfiguration, RecordedBootImage, SkewEnforcement};

/// Where an enforcement comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SkewOrigin {
    /// The status of the `MachineConfiguration`.
    Status,
    /// Worked out as the operator would.
    Derived,
}

/// How skew is enforced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Enforcement {
    /// `Automatic`, `Manual` or `None`.
    pub mode: String,
    /// The boot image that counts.
    pub recorded: RecordedBootImage,
    /// Where this comes from.
    pub origin: SkewOrigin,
    /// Why it is so.
    pub because: &'static str,
}

impl Enforcement {
    /// What is in force. `legacy_metal` says that bare metal machines do not get their OS from the release.
    pub fn of(
        configuration: Option<&MachineConfiguration>,
        infrastructure: Option<&Infrastructure>,
        version: Option<&ClusterVersion>,
        legacy_metal: bool,
    ) -> Self {
        let status = configuration.and_then(|object| object.status.boot_image_skew_enforcement_status.as_ref());
        if let Some(status) = status.filter(|status| !status.mode.is_empty()) {
            return Self::given(status, SkewOrigin::Status, "the status of MachineConfiguration cluster says so");
        }
        let platform = infrastructure.and_then(|object| Platform::of(object).ok());
        let enrolled = platform.map(|platform| Enrolment::of(configuration, platform));
        Self::derived(configuration, infrastructure, version, legacy_metal, enrolled.as_ref())
    }

    /// What the operator would put into the status: what the administrator asks for, or else what is usual.
    pub(super) fn derived(
        configuration: Option<&MachineConfiguration>,
        infrastructure: Option<&Infrastructure>,
        version: Option<&ClusterVersion>,
        legacy_metal: bool,
        enrolment: Option<&Enrolment>,
    ) -> Self {
        let asked = configuration.and_then(|object| object.spec.boot_image_skew_enforcement.as_ref());
        if let Some(asked) = asked.filter(|asked| !asked.mode.is_empty()) {
            return Self::given(asked, SkewOrigin::Derived, "MachineConfiguration cluster asks for it");
        }
        Self::usual(infrastructure, version, legacy_metal, enrolment)
    }

    fn given(given: &SkewEnforcement, origin: SkewOrigin, because: &'static str) -> Self {
        let recorded = match given.mode.as_str() {
            "Automatic" => given.automatic.clone(),
            "Manual" => given.manual.clone(),
            _ => None,
        };
        Self { mode: given.mode.clone(), recorded: recorded.unwrap_or_default(), origin, because }
    }

    fn usual(
        infrastructure: Option<&Infrastructure>,
        version: Option<&ClusterVersion>,
        legacy_metal: bool,
        enrolment: Option<&Enrolment>,
    ) -> Self {
        let platform = infrastructure.and_then(|object| Platform::of(object).ok());
        let single = infrastructure.is_some_and(|object| object.status.control_plane_topology == "SingleReplica");
        let enrolled = platform.is_some_and(Platform::is_managed)
            && enrolment.is_some_and(|enrolment| enrolment.mode(Kind::MachineSet) == "All");
        let (mode, because) = match platform {
            Some(Platform::Baremetal) if !legacy_metal => ("None", "bare metal machines boot the image of the release"),
            _ if single => ("None", "a control plane of a single node is not scaled"),
            _ if enrolled => ("Automatic", "boot images of all machine sets are updated"),
            _ => ("Manual", "boot images are not updated by the cluster"),
        };
        let recorded = match mode {
            "None" => RecordedBootImage::default(),
            _ => RecordedBootImage { ocp_version: Some(install_version(version).to_string()), ..Default::default() },
        };
        Self { mode: mode.to_owned(), recorded, origin: SkewOrigin::Derived, because }
    }
}

/// The release that the cluster was installed with: the oldest that was completed, or else the oldest; the history is
/// newest first. Zeroes where nobody knows.
pub fn install_version(version: Option<&ClusterVersion>) -> OcpVersion {
    let history = version.map(|version| version.status.history.as_slice()).unwrap_or_default();
    let completed = history.iter().rev().find(|entry| entry.state == "Completed");
    let oldest = completed.or_else(|| history.last());
    oldest.and_then(|entry| OcpVersion::parse(&entry.version)).unwrap_or_default()
}
