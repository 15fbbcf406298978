//! Platforms whose boot images are not changed here: what there is, what should be, and what a person does about it.

use serde_json::Value;

use super::super::{Change, Decision, Platform, Verdict};
use super::{Request, text};
use crate::stream_metadata::{
    Architecture, ArchitectureImages, Artifact, Artifacts, RegionObject, Regions, StreamMetadata,
};

/// vSphere has templates, which only vCenter can make; vCenter is not talked to.
pub(super) fn vsphere(spec: &Value, request: &Request) -> Result<Change, Verdict> {
    let Some(platform) = &request.infrastructure.spec.platform_spec.vsphere else {
        return Err(Verdict::Ignored("Infrastructure cluster says nothing about vSphere".to_owned()));
    };
    let architecture = request.architecture;
    let images = request.stream.architecture(architecture).ok_or_else(|| super::no_architecture(architecture))?;
    let vmware =
        images.artifacts("vmware").filter(|artifacts| artifacts.release.as_ref().is_some_and(|it| !it.is_empty()));
    let vmware = vmware.ok_or_else(|| format!("the stream has no vSphere image for {}", architecture.rpm()))?;
    let release = vmware.release.clone().unwrap_or_default();
    let template = text(spec, "/template")?;
    let (server, datacenter) = (text(spec, "/workspace/server")?, text(spec, "/workspace/datacenter")?);
    let domain = platform
        .failure_domains
        .iter()
        .find(|domain| domain.server == server && domain.topology.datacenter == datacenter);
    let name = match (template, domain) {
        ("", Some(domain)) => format!("{}-rhcos-{}", request.infrastructure.status.infrastructure_name, domain.name),
        (template, _) => template.to_owned(),
    };
    let ova = file(vmware, "ova");
    let steps = vec![
        format!("download {}{}", location(ova), digest(ova)),
        format!("import it as a template beside {name:?} in data centre {datacenter:?} of {server:?}"),
        format!("set spec.template.spec.providerSpec.value.template to its name, or give it the name {name:?}"),
    ];
    let reason = format!(
        "vSphere: only vCenter knows which version the template {name:?} has; this release ships {release}. The \
         machine-config operator imports it; this helper does not talk to vCenter"
    );
    Err(Verdict::Manual { decision: Decision::Skipped, reason, steps })
}

/// What there is to say about a platform that the machine-config operator does not update.
pub(in super::super) fn unmanaged(
    platform: Platform,
    stream: Option<&StreamMetadata>,
    architecture: Option<Architecture>,
) -> Verdict {
    let images = stream.zip(architecture).and_then(|(stream, architecture)| stream.architecture(architecture));
    let reason = format!(
        "the machine-config operator does not update boot images on {}; they are updated by hand",
        platform.title()
    );
    let steps = images.map(|images| steps(platform, images)).unwrap_or_default();
    Verdict::Manual { decision: Decision::Ignored, reason, steps }
}

fn steps(platform: Platform, images: &ArchitectureImages) -> Vec<String> {
    let clouds = images.images.as_ref();
    match platform {
        Platform::Openstack => downloaded(
            images.artifacts("openstack"),
            &["qcow2.gz", "qcow2"],
            "upload it with `openstack image create`, and name it in providerSpec.value.image or rootVolume.sourceUUID",
        ),
        Platform::Nutanix => downloaded(
            images.artifacts("nutanix"),
            &["qcow2"],
            "upload it to Prism Central, and name it in providerSpec.value.image",
        ),
        Platform::Baremetal => downloaded(
            images.artifacts("metal"),
            &["iso", "raw.gz"],
            "machines boot the image of the release already, unless spec.provisioningOSDownloadURL of the Provisioning \
             provisioning-configuration names another: clear it there",
        ),
        Platform::AzureStack => {
            let disk = images.rhel_coreos_extensions.as_ref().and_then(|extensions| extensions.azure_disk.as_ref());
            let url = disk.and_then(|disk| disk.url.clone());
            url.map(|url| vec![format!("upload {url}"), IMAGE_OF_SET.to_owned()]).unwrap_or_default()
        }
        Platform::IbmCloud => objects(clouds.and_then(|clouds| clouds.ibmcloud.as_ref())),
        Platform::PowerVs => objects(clouds.and_then(|clouds| clouds.powervs.as_ref())),
        Platform::Kubevirt => {
            let disk = clouds.and_then(|clouds| clouds.kubevirt.as_ref()).and_then(|disk| disk.digest_ref.as_ref());
            disk.map(|disk| vec![format!("import the container disk {disk}")]).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

const IMAGE_OF_SET: &str = "name the new image in the provider spec of the machine set";

fn downloaded(artifacts: Option<&Artifacts>, formats: &[&str], then: &str) -> Vec<String> {
    let Some(artifacts) = artifacts else { return Vec::new() };
    let file = formats.iter().find_map(|format| file(artifacts, format));
    let release = artifacts.release.as_deref().unwrap_or("of a version that the stream does not say");
    match file {
        Some(_) => vec![format!("download {} ({release}){}", location(file), digest(file)), then.to_owned()],
        None => Vec::new(),
    }
}

fn objects(regions: Option<&Regions<RegionObject>>) -> Vec<String> {
    let Some(regions) = regions.and_then(|regions| regions.regions.as_ref()) else { return Vec::new() };
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let object = |(region, object): (&String, &RegionObject)| {
        format!("in {region}: import {} from the bucket {}", text(&object.object), text(&object.bucket))
    };
    regions.iter().map(object).chain(std::iter::once(IMAGE_OF_SET.to_owned())).collect()
}

fn file<'a>(artifacts: &'a Artifacts, format: &str) -> Option<&'a Artifact> {
    artifacts.formats.as_ref()?.get(format)?.disk.as_ref()
}

fn location(file: Option<&Artifact>) -> &str {
    file.and_then(|file| file.location.as_deref()).unwrap_or("the image of the stream")
}

fn digest(file: Option<&Artifact>) -> String {
    let digest = file.and_then(|file| file.sha256.as_deref());
    digest.map(|digest| format!(", sha256 {digest}")).unwrap_or_default()
}
