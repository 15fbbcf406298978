//! Platforms whose boot images are not changed here: what there is, what should be, and what a person does about it.

use serde_json::Value;

use super::super::{Change, Decision, Platform, Report, Verdict};
use super::{Request, text};
use crate::objects::FailureDomain;
use crate::stream_metadata::{
    Architecture, ArchitectureImages, Artifact, Artifacts, CloudImages, RegionImage, RegionObject, Regions,
    StreamMetadata,
};

/// Where provider specs of the other platforms name their image.
const IMAGES: [&str; 10] = [
    "/template",
    "/rootVolume/sourceUUID",
    "/image",
    "/image/name",
    "/image/uuid",
    "/image/id",
    "/image/url",
    "/imageId",
    "/template_name",
    "/sourcePvcName",
];

/// The boot image that a provider spec names, as people write it.
pub(super) fn told(spec: &Value) -> String {
    let named = IMAGES.iter().filter_map(|at| spec.pointer(at)?.as_str()).find(|name| !name.is_empty());
    named.unwrap_or_default().to_owned()
}

/// vSphere has templates, which only vCenter can make; vCenter is not talked to.
pub(super) fn vsphere(spec: &Value, request: &Request) -> Result<Change, Verdict> {
    let Some(platform) = &request.infrastructure.spec.platform_spec.vsphere else {
        return Err(Verdict::Ignored(
            "Infrastructure cluster has no spec.platformSpec.vsphere, without which the machine-config operator does not \
             look for templates"
                .to_owned(),
        ));
    };
    let architecture = request.architecture;
    let images = request.stream.architecture(architecture).ok_or_else(|| super::no_architecture(architecture))?;
    let release = images.artifacts("vmware").and_then(|artifacts| artifacts.release.clone()).unwrap_or_default();
    if release.is_empty() {
        return Err(format!("the stream has no vSphere image for {}", architecture.rpm()).into());
    }
    let name = template(spec, &platform.failure_domains, &request.infrastructure.status.infrastructure_name)?;
    let ova = images.artifacts("vmware").and_then(|artifacts| file(artifacts, "ova"));
    let (server, datacenter) = (text(spec, "/workspace/server")?, text(spec, "/workspace/datacenter")?);
    let steps = vec![
        format!("compare: the template {name:?} is current if vCenter shows its product version as {release}"),
        format!("download {}{}", location(ova), digest(ova)),
        format!("import it as a template beside {name:?} in data centre {datacenter:?} of {server:?}"),
        format!("set spec.template.spec.providerSpec.value.template to its name, or give it the name {name:?}"),
    ];
    let reason = format!(
        "vSphere: only vCenter knows which version the template {name:?} has; this release ships {release}. The \
         machine-config operator imports it; this helper does not talk to vCenter"
    );
    Err(Verdict::Manual(Report { decision: Decision::Skipped, reason, release, steps }))
}

/// The template that is named, or else the one that the installer makes for the failure domain.
fn template(spec: &Value, domains: &[FailureDomain], infrastructure: &str) -> Result<String, String> {
    let named = text(spec, "/template")?;
    if !named.is_empty() {
        return Ok(named.to_owned());
    }
    let (server, datacenter) = (text(spec, "/workspace/server")?, text(spec, "/workspace/datacenter")?);
    let datastore = text(spec, "/workspace/datastore")?;
    let fits = |domain: &&FailureDomain| {
        domain.server == server
            && domain.topology.datacenter == datacenter
            && (domain.topology.datastore == datastore || datastore.is_empty())
    };
    match domains.iter().find(fits) {
        Some(domain) => Ok(format!("{infrastructure}-rhcos-{}", domain.name)),
        None => Err(format!(
            "it names no template, and no failure domain of Infrastructure cluster has its server {server:?}, data \
             centre {datacenter:?} and data store {datastore:?}"
        )),
    }
}

/// What there is to say about a platform that the machine-config operator does not update.
pub(in super::super) fn unmanaged(
    platform: Platform,
    stream: Option<&StreamMetadata>,
    architecture: Option<Architecture>,
) -> Verdict {
    let title = platform.title();
    let reason =
        format!("the machine-config operator does not update boot images on {title}; they are updated by hand");
    let images = stream.zip(architecture).and_then(|(stream, architecture)| stream.architecture(architecture));
    let release = images.and_then(|images| shipped(platform, images, "")).map(|(release, _)| release);
    let mut steps = images.map(|images| steps(platform, images)).unwrap_or_default();
    if steps.is_empty() {
        steps.push(format!(
            "ConfigMap coreos-bootimages has no image for {title}: get one of this release the way the cluster was \
             installed, and name it in the machine resource"
        ));
    }
    Verdict::Manual(Report { decision: Decision::Ignored, reason, release: release.unwrap_or_default(), steps })
}

/// Which boot image a stream has for a platform: the version of the OS, and what it is called there.
pub(in super::super) fn shipped(
    platform: Platform,
    images: &ArchitectureImages,
    region: &str,
) -> Option<(String, String)> {
    let clouds = images.images.as_ref();
    let pair = |release: Option<&String>, name: Option<&String>| {
        release.map(|release| (release.clone(), name.cloned().unwrap_or_default()))
    };
    let download = |name: &str, formats: &[&str]| {
        let artifacts = images.artifacts(name)?;
        let file = formats.iter().find_map(|format| file(artifacts, format));
        pair(artifacts.release.as_ref(), file.and_then(|file| file.location.as_ref()))
    };
    match platform {
        Platform::Aws => {
            of_region(clouds?.aws.as_ref()?, region, |image| pair(image.release.as_ref(), image.image.as_ref()))
        }
        Platform::Alibaba => {
            of_region(clouds?.aliyun.as_ref()?, region, |image| pair(image.release.as_ref(), image.image.as_ref()))
        }
        Platform::Gcp => clouds?.gcp.as_ref().and_then(|image| pair(image.release.as_ref(), image.name.as_ref())),
        Platform::IbmCloud => objects_of(clouds?.ibmcloud.as_ref()?, region),
        Platform::PowerVs => objects_of(clouds?.powervs.as_ref()?, region),
        Platform::Kubevirt => {
            clouds?.kubevirt.as_ref().and_then(|disk| pair(disk.release.as_ref(), disk.digest_ref.as_ref()))
        }
        Platform::Azure => azure(images),
        Platform::AzureStack => {
            let disk = images.rhel_coreos_extensions.as_ref()?.azure_disk.as_ref()?;
            pair(disk.release.as_ref(), disk.url.as_ref())
        }
        Platform::Vsphere => download("vmware", &["ova"]),
        Platform::Openstack => download("openstack", QCOW),
        Platform::Nutanix => download("nutanix", QCOW),
        Platform::Baremetal | Platform::Equinix | Platform::External | Platform::None => download("metal", METAL),
        Platform::Ovirt => None,
    }
}

const QCOW: &[&str] = &["qcow2.gz", "qcow2"];
const METAL: &[&str] = &["iso", "raw.gz"];

fn azure(images: &ArchitectureImages) -> Option<(String, String)> {
    let marketplace = images.rhel_coreos_extensions.as_ref()?.marketplace.as_ref()?.azure.as_ref()?;
    let free = marketplace.no_purchase_plan.as_ref()?;
    let image = free.second.as_ref().or(free.first.as_ref())?;
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    let name = [&image.publisher, &image.offer, &image.sku, &image.version].map(text).join(":");
    Some((super::azure_release(images, image), name))
}

/// That of a region; where it is not known which, the version is that of any.
fn of_region<T>(
    regions: &Regions<T>,
    region: &str,
    pair: impl Fn(&T) -> Option<(String, String)>,
) -> Option<(String, String)> {
    match regions.region(region) {
        Some(there) => pair(there),
        None => {
            let (_, any) = regions.regions.as_ref()?.first_key_value()?;
            pair(any).map(|(release, _)| (release, String::new()))
        }
    }
}

fn objects_of(regions: &Regions<RegionObject>, region: &str) -> Option<(String, String)> {
    of_region(regions, region, |object| Some((object.release.clone()?, object.object.clone().unwrap_or_default())))
}

fn steps(platform: Platform, images: &ArchitectureImages) -> Vec<String> {
    let clouds = images.images.as_ref();
    match platform {
        Platform::Openstack => downloaded(
            images.artifacts("openstack"),
            QCOW,
            "upload it with `openstack image create`, and name it in providerSpec.value.image or rootVolume.sourceUUID",
        ),
        Platform::Nutanix => downloaded(
            images.artifacts("nutanix"),
            QCOW,
            "upload it to Prism Central, and name it in providerSpec.value.image",
        ),
        Platform::Baremetal => downloaded(
            images.artifacts("metal"),
            METAL,
            "machines boot the image of the release already, unless spec.provisioningOSDownloadURL of the Provisioning \
             provisioning-configuration names another: clear it there",
        ),
        Platform::Equinix | Platform::External | Platform::None => {
            downloaded(images.artifacts("metal"), METAL, "install new machines from it")
        }
        Platform::AzureStack => {
            let disk = images.rhel_coreos_extensions.as_ref().and_then(|extensions| extensions.azure_disk.as_ref());
            let url = disk.and_then(|disk| disk.url.clone());
            url.map(|url| vec![format!("upload {url}"), IMAGE_OF_SET.to_owned()]).unwrap_or_default()
        }
        Platform::IbmCloud => objects(clouds.and_then(|clouds| clouds.ibmcloud.as_ref())),
        Platform::PowerVs => objects(clouds.and_then(|clouds| clouds.powervs.as_ref())),
        Platform::Alibaba => region_images(clouds.and_then(|clouds| clouds.aliyun.as_ref())),
        Platform::Kubevirt => container_disk(clouds),
        Platform::Aws | Platform::Azure | Platform::Gcp | Platform::Vsphere | Platform::Ovirt => Vec::new(),
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

fn region_images(regions: Option<&Regions<RegionImage>>) -> Vec<String> {
    let Some(regions) = regions.and_then(|regions| regions.regions.as_ref()) else { return Vec::new() };
    let named = |(region, image): (&String, &RegionImage)| Some(format!("in {region}: use {}", image.image.as_ref()?));
    regions.iter().filter_map(named).chain(std::iter::once(IMAGE_OF_SET.to_owned())).collect()
}

fn container_disk(clouds: Option<&CloudImages>) -> Vec<String> {
    let disk = clouds.and_then(|clouds| clouds.kubevirt.as_ref());
    let disk = disk.and_then(|disk| disk.digest_ref.as_ref().or(disk.image.as_ref()));
    disk.map(|disk| vec![format!("import the container disk {disk}"), IMAGE_OF_SET.to_owned()]).unwrap_or_default()
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
