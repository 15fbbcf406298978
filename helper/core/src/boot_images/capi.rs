//! Machine resources of the Cluster API: their images are in templates that never change.
//!
//! A new image means a new template, named after what is in it, and a machine resource that refers to it. The old template
//! may go when nothing refers to it any more.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::platforms::{self, GCP_OFFICIAL, Request, Variant};
use super::{Change, Machine, Platform, TemplateClone, Verdict, guard, merge};
use crate::objects::Whole;
use crate::stream_metadata::Architecture;

/// Where the machines of a machine resource come from.
const REFERENCE: &[&str] = &["spec", "template", "spec", "infrastructureRef", "name"];
/// Marks templates that were made here.
pub const TEMPLATE_LABEL: &str = "ostler.dev/boot-image-template";
/// Annotation of a template that was made here: those it stands in for, newest first. They may be in use for a while yet.
const REPLACES: &str = "ostler.dev/replaces";
/// Most templates that one is said to stand in for.
const MAX_REPLACED: usize = 16;
/// Longest name of an object that other names are made of.
const MAX_NAME: usize = 63;

/// The template that a machine resource refers to.
pub fn reference(machine: &Machine) -> &str {
    machine.object.text("/spec/template/spec/infrastructureRef/name")
}

/// Templates that nothing needs any more: those that others stand in for which are in use, and those that were made here,
/// unless a machine resource refers to them.
pub fn orphans<'a>(templates: &'a [Whole], machines: &[Machine]) -> Vec<&'a Whole> {
    let used: BTreeSet<&str> = machines
        .iter()
        .filter(|machine| machine.kind.is_capi())
        .map(reference)
        .filter(|name| !name.is_empty())
        .collect();
    let name = |template: &'a Whole| template.metadata.name.as_str();
    let standing = templates.iter().filter(|template| used.contains(name(template)));
    let replaced: BTreeSet<&str> = standing.flat_map(replaced).collect();
    let ours = |template: &Whole| template.metadata.labels.contains_key(TEMPLATE_LABEL);
    let unused = templates.iter().filter(|template| !used.contains(name(template)));
    unused.filter(|template| ours(template) || replaced.contains(name(template))).collect()
}

fn replaced(template: &Whole) -> impl Iterator<Item = &str> {
    let names = template.metadata.annotations.get(REPLACES).map(String::as_str).unwrap_or_default();
    names.split(',').filter(|name| !name.is_empty()).take(MAX_REPLACED)
}

/// Finds the template of a machine resource, or says why there is none.
pub(super) fn template<'a>(
    machine: &Machine,
    templates: &'a [Whole],
    platform: Platform,
) -> Result<&'a Whole, Verdict> {
    let kind = match platform {
        Platform::Aws => "AWSMachineTemplate",
        Platform::Azure => "AzureMachineTemplate",
        Platform::Gcp => "GCPMachineTemplate",
        other => {
            let title = other.title();
            return Err(Verdict::Ignored(format!("boot images of the Cluster API on {title} are not updated")));
        }
    };
    let referred = machine.object.text("/spec/template/spec/infrastructureRef/kind");
    let name = reference(machine);
    if referred != kind || name.is_empty() {
        return Err(Verdict::Error(format!("its infrastructureRef names {referred:?} {name:?}, and no {kind}")));
    }
    let found = templates.iter().find(|template| template.metadata.name == name && template.text("/kind") == kind);
    found.ok_or_else(|| Verdict::Error(format!("the {kind} {name} that it refers to is not there")))
}

/// The boot image that is there, as people write it; empty where it cannot be told.
pub(super) fn told(machine: &Machine, templates: &[Whole]) -> String {
    let name = reference(machine);
    let spec = templates.iter().find(|template| template.metadata.name == name).and_then(machine_spec);
    let field = |at: &str| spec.and_then(|spec| spec.pointer(at)?.as_str()).unwrap_or_default();
    let marketplace = ["publisher", "offer", "sku", "version"].map(|name| field(&format!("/image/marketplace/{name}")));
    let images = [field("/image").to_owned(), field("/ami/id").to_owned(), marketplace.join(":")];
    images.into_iter().find(|image| !matches!(image.as_str(), "" | ":::")).unwrap_or_default()
}

/// What a template says of its machines.
pub(super) fn machine_spec(template: &Whole) -> Option<&Value> {
    template.raw.pointer("/spec/template/spec").filter(|spec| spec.is_object())
}

/// Applies the rule of the platform to a template.
pub(super) fn assess(template: &Whole, request: &Request) -> Result<Change, Verdict> {
    let Some(spec) = machine_spec(template) else {
        return Err(Verdict::Error(format!("the template {} describes no machine", template.metadata.name)));
    };
    match request.platform {
        Platform::Gcp => gcp(spec, request),
        Platform::Aws => aws(spec, request),
        Platform::Azure => azure(spec, request),
        other => Err(Verdict::Ignored(format!("boot images on {} are not updated", other.title()))),
    }
}

fn gcp(spec: &Value, request: &Request) -> Result<Change, Verdict> {
    let (target, release) = platforms::gcp_target(request.stream, request.architecture)?;
    match spec.get("image").and_then(Value::as_str) {
        None => {
            Err(Verdict::Skipped("its template names no image, but perhaps a family: update it by hand".to_owned()))
        }
        Some(image) if image == target => Err(Verdict::Current { image: target }),
        Some(image) if !image.starts_with(GCP_OFFICIAL) => Err(Verdict::Skipped(format!(
            "its boot image {image:?} is not one that Red Hat publishes ({GCP_OFFICIAL}): update it by hand"
        ))),
        Some(image) => Ok(Change {
            leaf: json!({"image": target}),
            before: image.into(),
            current: image.to_owned(),
            target,
            release,
        }),
    }
}

/// A template does not say which region; the cluster has one.
fn aws(spec: &Value, request: &Request) -> Result<Change, Verdict> {
    let Some(ami) = spec.pointer("/ami/id").and_then(Value::as_str) else {
        return Err(Verdict::Skipped("its template names no AMI by its id: update it by hand".to_owned()));
    };
    let status = request.infrastructure.status.platform_status.as_ref().and_then(|status| status.aws.as_ref());
    let region = status.map(|aws| aws.region.as_str()).filter(|region| !region.is_empty());
    let region = region.ok_or("Infrastructure cluster does not say which AWS region this is")?;
    let target = platforms::aws_target(request, region).map_err(Verdict::Skipped)?;
    let before = spec.get("ami").cloned().unwrap_or_default();
    let others = before.as_object().cloned().unwrap_or_default();
    platforms::assess_ami(ami, target, request, |image| {
        let mut patch: Map<String, Value> = others.into_iter().map(|(key, _)| (key, Value::Null)).collect();
        patch.insert("id".to_owned(), image.into());
        (json!({"ami": patch}), before)
    })
}

fn azure(spec: &Value, request: &Request) -> Result<Change, Verdict> {
    if matches!(request.architecture, Architecture::Ppc64le | Architecture::S390x) {
        return Err(Verdict::Ignored(format!("Azure has no boot images for {}", request.architecture.rpm())));
    }
    let security = spec.pointer("/securityProfile/securityType").and_then(Value::as_str).unwrap_or_default();
    if !security.is_empty() {
        return Err(Verdict::Ignored(format!("its machines have the security type {security}, which is not updated")));
    }
    let Some(image) = spec.pointer("/image/marketplace").filter(|image| image.is_object()) else {
        return Err(Verdict::Skipped("its template names no image of the marketplace: update it by hand".to_owned()));
    };
    let field = |name: &str| image.get(name).and_then(Value::as_str).unwrap_or_default();
    let variant = Variant::of(field("publisher"), field("offer"));
    let variant = variant.ok_or("its image is of the marketplace and none of Red Hat's")?;
    let second = match variant.is_paid() {
        false => field("sku").contains("v2") || request.architecture == Architecture::Aarch64,
        true => !field("sku").contains("gen1"),
    };
    let images = request.stream.architecture(request.architecture);
    let images = images.ok_or_else(|| format!("the stream has no boot images for {}", request.architecture.rpm()))?;
    let target = platforms::azure_target(images, variant, second)?;
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let wanted = json!({
        "offer": text(&target.offer), "publisher": text(&target.publisher), "sku": text(&target.sku),
        "thirdPartyImage": variant.is_paid(), "version": text(&target.version),
    });
    changed_image(image, wanted, platforms::azure_release(images, &target))
}

fn changed_image(image: &Value, wanted: Value, release: String) -> Result<Change, Verdict> {
    let told = |image: &Value| {
        let field = |name: &str| image.get(name).and_then(Value::as_str).unwrap_or_default();
        ["publisher", "offer", "sku", "version"].map(field).join(":")
    };
    let third_party = |image: &Value| image.get("thirdPartyImage").and_then(Value::as_bool).unwrap_or_default();
    if told(image) == told(&wanted) && third_party(image) == third_party(&wanted) {
        return Err(Verdict::Current { image: told(image) });
    }
    let (current, target) = (told(image), told(&wanted));
    let leaf = json!({"image": {"marketplace": wanted}});
    Ok(Change { leaf, before: image.clone(), current, target, release })
}

/// The boot image that a template names, as a [`Change`] notes it.
pub fn noted(template: &Whole, platform: Platform) -> Value {
    let at = match platform {
        Platform::Gcp => "/image",
        Platform::Aws => "/ami",
        Platform::Azure => "/image/marketplace",
        _ => return Value::Null,
    };
    machine_spec(template).and_then(|spec| spec.pointer(at)).cloned().unwrap_or_default()
}

/// The template to make to put a boot image back, and the patch that refers to it.
pub fn restored(
    machine: &Machine,
    template: &Whole,
    platform: Platform,
    before: &Value,
) -> Option<(TemplateClone, Value)> {
    let leaf = match platform {
        Platform::Gcp => json!({"image": before}),
        Platform::Aws => json!({"ami": before}),
        Platform::Azure => json!({"image": {"marketplace": before}}),
        _ => return None,
    };
    (!before.is_null()).then(|| cloned(machine, template, &leaf))
}

/// The template to make, and the patch that refers to it.
pub(super) fn cloned(machine: &Machine, template: &Whole, leaf: &Value) -> (TemplateClone, Value) {
    let patch = merge::nested(&["spec", "template", "spec"], leaf.clone());
    let changed = merge::applied(&template.raw, &patch);
    let spec = changed.get("spec").cloned().unwrap_or_default();
    let digest: String = guard::digest(&spec).chars().take(8).collect();
    let base: String = machine.name().chars().take(MAX_NAME.saturating_sub(digest.len() + 1)).collect();
    let name = format!("{}-{digest}", base.trim_end_matches(['-', '.']));
    let mut labels = template.metadata.labels.clone();
    labels.insert(TEMPLATE_LABEL.to_owned(), String::new());
    let earlier = replaced(template).filter(|earlier| *earlier != name);
    let replaces: Vec<&str> =
        std::iter::once(template.metadata.name.as_str()).chain(earlier).take(MAX_REPLACED).collect();
    let create = json!({
        "apiVersion": template.raw.get("apiVersion"), "kind": template.raw.get("kind"),
        "metadata": {"name": name, "namespace": template.metadata.namespace, "labels": labels,
            "annotations": {REPLACES: replaces.join(",")}},
        "spec": spec,
    });
    let clone = TemplateClone { create, replaces: template.metadata.name.clone() };
    (clone, merge::nested(REFERENCE, name.into()))
}
