//! The status of the host in bootc's form: `BootcHost` of `org.containers.bootc/v1`.
//!
//! On a sysroot that nobody booted bootc has nothing to say; the stand-in lists all deployments under
//! `otherDeployments` there, so that tests can read them.

use anyhow::Result;
use ostree_ext::container::{OstreeImageReference, SignatureSource, Transport};
use ostree_ext::ostree;
use serde::Serialize;

use crate::sysroot::facts::{self, DeploymentFacts, ImageFacts, Reference};
use crate::sysroot::image;

/// The host.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Host {
    api_version: &'static str,
    kind: &'static str,
    metadata: Metadata,
    pub spec: Spec,
    pub status: Status,
}

#[derive(Debug, Serialize)]
struct Metadata {
    name: &'static str,
}

/// What the host shall run.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Spec {
    pub image: Option<ImageReference>,
    boot_order: BootOrder,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
enum BootOrder {
    #[default]
    Default,
    Rollback,
}

/// What the host runs and will run.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    pub staged: Option<BootEntry>,
    pub booted: Option<BootEntry>,
    pub rollback: Option<BootEntry>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_deployments: Vec<BootEntry>,
    pub rollback_queued: bool,
    #[serde(rename = "type")]
    host_type: Option<&'static str>,
    usr_overlay: Option<()>,
}

/// One deployment.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BootEntry {
    pub image: Option<ImageStatus>,
    cached_update: Option<ImageStatus>,
    pub incompatible: bool,
    pinned: bool,
    soft_reboot_capable: bool,
    download_only: bool,
    store: &'static str,
    ostree: Ostree,
    composefs: Option<()>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Ostree {
    checksum: String,
    deploy_serial: u32,
    stateroot: String,
}

/// An image that is or was there.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageStatus {
    pub image: ImageReference,
    version: Option<String>,
    timestamp: Option<String>,
    pub image_digest: String,
    architecture: String,
}

/// The name of an image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImageReference {
    image: String,
    transport: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<Signature>,
}

/// How an image is verified; none means not at all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum Signature {
    OstreeRemote(String),
    ContainerPolicy,
}

impl From<OstreeImageReference> for ImageReference {
    fn from(reference: OstreeImageReference) -> Self {
        let signature = match reference.sigverify {
            SignatureSource::OstreeRemote(remote) => Some(Signature::OstreeRemote(remote)),
            SignatureSource::ContainerPolicy => Some(Signature::ContainerPolicy),
            SignatureSource::ContainerPolicyAllowInsecure => None,
        };
        let transport = match reference.imgref.transport {
            Transport::Registry => "registry".to_owned(),
            other => other.to_string().trim_end_matches([':', '/']).to_owned(),
        };
        Self { image: reference.imgref.name, transport, signature }
    }
}

impl Host {
    /// The host as `bootc status` shows it, without the other deployments where only the booted one is asked for.
    pub fn shown(mut self, only_booted: bool) -> Self {
        if only_booted {
            self.status.staged = None;
            self.status.rollback = None;
            self.status.other_deployments.clear();
        }
        self
    }
}

/// The status of the host whose sysroot this is.
pub fn read(sysroot: &ostree::Sysroot) -> Result<Host> {
    let deployments = facts::read_all(sysroot)?;
    let stateroot = deployments.iter().find(|one| one.booted).map(|booted| booted.osname.clone());
    let mut status = Status::default();
    let mut booted_seen = false;
    for deployment in &deployments {
        let entry = boot_entry(deployment)?;
        let related = stateroot.as_ref() == Some(&deployment.osname);
        if deployment.booted {
            booted_seen = true;
            status.booted = Some(entry);
        } else if related && deployment.staged && status.staged.is_none() {
            status.staged = Some(entry);
        } else if related && status.rollback.is_none() {
            status.rollback_queued = !booted_seen;
            status.rollback = Some(entry);
        } else {
            status.other_deployments.push(entry);
        }
    }
    let booted_image = status.booted.as_ref().is_some_and(|booted| booted.image.is_some());
    status.host_type = booted_image.then_some("bootcHost");
    let next = status.staged.as_ref().or(status.booted.as_ref()).or(status.other_deployments.first());
    let spec = match next.and_then(|entry| entry.image.as_ref()) {
        Some(image) => {
            let boot_order = if status.rollback_queued { BootOrder::Rollback } else { BootOrder::Default };
            Spec { image: Some(image.image.clone()), boot_order }
        }
        None => Spec::default(),
    };
    let metadata = Metadata { name: "host" };
    Ok(Host { api_version: "org.containers.bootc/v1", kind: "BootcHost", metadata, spec, status })
}

fn boot_entry(deployment: &DeploymentFacts) -> Result<BootEntry> {
    let incompatible = !deployment.requests.is_empty();
    let (image, cached_update) = match (&deployment.reference, &deployment.image) {
        (Some(Reference::Image(reference)), Some(facts)) if !incompatible => {
            let reference = ImageReference::from(image::parse(reference)?);
            let update = facts.update.as_ref().map(|update| image_status(&reference, update));
            (Some(image_status(&reference, facts)), update)
        }
        _ => (None, None),
    };
    Ok(BootEntry {
        image,
        cached_update,
        incompatible,
        pinned: deployment.pinned,
        soft_reboot_capable: false,
        download_only: deployment.locked,
        store: "ostreeContainer",
        ostree: Ostree {
            checksum: deployment.checksum.clone(),
            deploy_serial: u32::try_from(deployment.serial).unwrap_or(0),
            stateroot: deployment.osname.clone(),
        },
        composefs: None,
    })
}

fn image_status(reference: &ImageReference, facts: &ImageFacts) -> ImageStatus {
    ImageStatus {
        image: reference.clone(),
        version: facts.version.clone(),
        timestamp: facts.created.clone(),
        image_digest: facts.digest.clone(),
        architecture: facts.architecture.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_named_as_bootc_names_them() {
        let cases = [
            ("ostree-unverified-registry:quay.io/a/b:c", r#"{"image":"quay.io/a/b:c","transport":"registry"}"#),
            (
                "ostree-image-signed:docker://quay.io/a/b@sha256:1",
                r#"{"image":"quay.io/a/b@sha256:1","transport":"registry","signature":"containerPolicy"}"#,
            ),
            ("ostree-unverified-image:oci:/d:t", r#"{"image":"/d:t","transport":"oci"}"#),
            (
                "ostree-remote-image:fedora:docker://x",
                r#"{"image":"x","transport":"registry","signature":{"ostreeRemote":"fedora"}}"#,
            ),
        ];
        for (reference, expected) in cases {
            let reference = ImageReference::from(image::parse(reference).unwrap());
            assert_eq!(serde_json::to_string(&reference).unwrap(), expected);
        }
    }
}
