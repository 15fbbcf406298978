//! Azure: the provider spec names an image of the marketplace, or one that the installer uploaded.

use serde_json::{Map, Value, json};

use super::super::{Change, Verdict};
use super::{Request, object, text};
use crate::stream_metadata::{Architecture, ArchitectureImages, AzureImage, AzureImages, AzureMarketplace};

/// Fields that name an image, with the type the last.
const FIELDS: [&str; 6] = ["offer", "publisher", "resourceID", "sku", "type", "version"];
const WITHOUT_PLAN: &str = "MarketplaceNoPlan";
const WITH_PLAN: &str = "MarketplaceWithPlan";

/// What is paid for with an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Variant {
    Free,
    Ocp,
    Opp,
    Oke,
    OcpEmea,
    OppEmea,
    OkeEmea,
}

impl Variant {
    /// By who publishes an image, and what is offered.
    pub(in super::super) fn of(publisher: &str, offer: &str) -> Option<Self> {
        Some(match (publisher, offer) {
            ("azureopenshift", _) => Self::Free,
            ("redhat", "rh-ocp-worker") => Self::Ocp,
            ("redhat", "rh-opp-worker") => Self::Opp,
            ("redhat", "rh-oke-worker") => Self::Oke,
            ("redhat-limited", "rh-ocp-worker") => Self::OcpEmea,
            ("redhat-limited", "rh-opp-worker") => Self::OppEmea,
            ("redhat-limited", "rh-oke-worker") => Self::OkeEmea,
            _ => return None,
        })
    }

    const fn images(self, marketplace: &AzureMarketplace) -> Option<&AzureImages> {
        match self {
            Self::Free => marketplace.no_purchase_plan.as_ref(),
            Self::Ocp => marketplace.ocp.as_ref(),
            Self::Opp => marketplace.opp.as_ref(),
            Self::Oke => marketplace.oke.as_ref(),
            Self::OcpEmea => marketplace.ocp_emea.as_ref(),
            Self::OppEmea => marketplace.opp_emea.as_ref(),
            Self::OkeEmea => marketplace.oke_emea.as_ref(),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Free => "no-purchase-plan",
            Self::Ocp => "ocp",
            Self::Opp => "opp",
            Self::Oke => "oke",
            Self::OcpEmea => "ocp-emea",
            Self::OppEmea => "opp-emea",
            Self::OkeEmea => "oke-emea",
        }
    }

    /// Whether anything is.
    pub(in super::super) fn is_paid(self) -> bool {
        self != Self::Free
    }
}

/// The image that a stream has.
pub(in super::super) fn target(
    images: &ArchitectureImages,
    variant: Variant,
    second: bool,
) -> Result<AzureImage, Verdict> {
    let extensions = images.rhel_coreos_extensions.as_ref();
    let extensions = extensions.ok_or("the stream has no rhel-coreos-extensions, and so nothing for Azure")?;
    let marketplace = extensions.marketplace.as_ref().and_then(|marketplace| marketplace.azure.as_ref());
    let Some(marketplace) = marketplace else {
        return Err(Verdict::Skipped(
            "the stream has no images in the Azure marketplace, as that of OKD has none: name an image of this release \
             in it by hand"
                .to_owned(),
        ));
    };
    let images = variant.images(marketplace);
    let images = images.ok_or_else(|| format!("the stream has no {} images for Azure", variant.name()))?;
    let (image, generation) = if second { (&images.second, 2) } else { (&images.first, 1) };
    let missing = || format!("the stream has no {} image for Hyper-V generation {generation}", variant.name());
    Ok(image.clone().ok_or_else(missing)?)
}

pub(super) fn assess(spec: &Value, request: &Request) -> Result<Change, Verdict> {
    if let Some(reason) = out_of_scope(spec, request.architecture)? {
        return Err(Verdict::Ignored(reason));
    }
    object(spec, "/image")?;
    let field = |name: &str| text(spec, &format!("/image/{name}"));
    let (uploaded, sku) = (field("resourceID")?, field("sku")?);
    let (publisher, offer) = (field("publisher")?, field("offer")?);
    let variant = match uploaded.is_empty() {
        false => Some(Variant::Free),
        true => Variant::of(publisher, offer),
    };
    let unknown = || {
        format!(
            "its image is of the publisher {publisher:?} with the offer {offer:?}, which is none of Red Hat's: update it by hand"
        )
    };
    let variant = variant.ok_or_else(unknown)?;
    let second = match (uploaded.is_empty(), field("type")?) {
        (false, _) => uploaded.contains("gen2"),
        (true, WITHOUT_PLAN) => sku.contains("v2") || request.architecture == Architecture::Aarch64,
        (true, _) => !sku.contains("gen1"),
    };
    let images = request.stream.architecture(request.architecture);
    let images = images.ok_or_else(|| super::no_architecture(request.architecture))?;
    let image = target(images, variant, second)?;
    compare(spec, &wanted(&image, variant), release(images, &image))
}

/// The version of the OS in an image. The marketplace has versions of its own.
pub(in super::super) fn release(images: &ArchitectureImages, image: &AzureImage) -> String {
    let artifacts = images.artifacts("azure").and_then(|artifacts| artifacts.release.clone());
    artifacts.or_else(|| image.version.clone()).unwrap_or_default()
}

/// Neither counts as a machine resource whose boot image is behind.
fn out_of_scope(spec: &Value, architecture: Architecture) -> Result<Option<String>, String> {
    if matches!(architecture, Architecture::Ppc64le | Architecture::S390x) {
        return Ok(Some(format!("Azure has no boot images for {}", architecture.rpm())));
    }
    object(spec, "/securityProfile")?;
    let security = text(spec, "/securityProfile/settings/securityType")?;
    Ok((!security.is_empty()).then(|| format!("its machines have the security type {security}, which is not updated")))
}

fn wanted(image: &AzureImage, variant: Variant) -> Value {
    let kind = if variant.is_paid() { WITH_PLAN } else { WITHOUT_PLAN };
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    json!({
        "offer": text(&image.offer), "publisher": text(&image.publisher), "resourceID": "", "sku": text(&image.sku),
        "type": kind, "version": text(&image.version),
    })
}

fn compare(spec: &Value, wanted: &Value, release: String) -> Result<Change, Verdict> {
    let mut same = true;
    for name in FIELDS {
        same &= text(spec, &format!("/image/{name}"))? == wanted.get(name).and_then(Value::as_str).unwrap_or_default();
    }
    if same {
        return Err(Verdict::Current { image: told(wanted) });
    }
    let before = spec.get("image").cloned().unwrap_or_default();
    let leaf = json!({"image": replaced(&before, wanted)});
    Ok(Change { leaf, current: told(&before), before, target: told(wanted), release })
}

/// A merge patch that makes the image another one.
fn replaced(there: &Value, wanted: &Value) -> Value {
    let mut patch = Map::new();
    for name in FIELDS {
        let of = |value: &Value| value.get(name).filter(|value| !value.is_null()).cloned();
        let (there, wanted) = (of(there), of(wanted));
        if there != wanted {
            patch.insert(name.to_owned(), wanted.unwrap_or_default());
        }
    }
    Value::Object(patch)
}

/// As `az` writes images; empty where there is none.
pub(super) fn told(image: &Value) -> String {
    let field = |name: &str| image.get(name).and_then(Value::as_str).unwrap_or_default();
    match field("resourceID") {
        "" => match ["publisher", "offer", "sku", "version"].map(field).join(":").as_str() {
            ":::" => String::new(),
            image => image.to_owned(),
        },
        uploaded => uploaded.to_owned(),
    }
}

pub(super) fn restored(spec: &Value, before: &Value) -> Result<Option<Value>, String> {
    if !before.is_object() {
        return Err("the record of its boot image names no image".to_owned());
    }
    let patch = replaced(spec.get("image").unwrap_or(&Value::Null), before);
    let differs = patch.as_object().is_some_and(|patch| !patch.is_empty());
    Ok(differs.then(|| json!({"image": patch})))
}
