//! AWS: the provider spec names an AMI, which belongs to a region.

use serde_json::{Map, Value, json};

use super::super::{Change, Verdict};
use super::{Request, object, text};
use crate::stream_metadata::RegionImage;

/// Ways to name an image, of which one may be used.
const REFERENCES: [&str; 3] = ["arn", "filters", "id"];

pub(super) fn assess(spec: &Value, request: &Request) -> Result<Change, Verdict> {
    let region = text(spec, "/placement/region")?;
    object(spec, "/ami")?;
    let ami = text(spec, "/ami/id")?;
    if ami.is_empty() {
        return Err(Verdict::Skipped(
            "it names its image by something else than ami.id, as the installer does for an image that it copied: update \
             it by hand"
                .to_owned(),
        ));
    }
    if region.is_empty() {
        return Err("its provider spec does not say which region (placement.region)".into());
    }
    let target = target(request, region).map_err(Verdict::Skipped)?;
    assess_ami(ami, target, request, |image| leaf(spec, image))
}

/// The AMI of a region, for every API that has one.
pub(in super::super) fn assess_ami(
    ami: &str,
    (target, release): (String, String),
    request: &Request,
    leaf: impl FnOnce(&str) -> (Value, Value),
) -> Result<Change, Verdict> {
    if ami == target {
        return Err(Verdict::Current { image: target });
    }
    if !request.known.has(ami) {
        return Err(Verdict::Skipped(format!(
            "{ami} is in no stream metadata at hand: it may be somebody's own, or of the AWS Marketplace. Only AWS can \
             say whose it is (aws ec2 describe-images --image-ids {ami}: owner 531415883065 publishes RHCOS, owner \
             679593333241 is the Marketplace). If it is RHCOS, name it in a file with --known; else update it by hand"
        )));
    }
    let (leaf, before) = leaf(&target);
    Ok(Change { leaf, before, current: ami.to_owned(), target, release })
}

/// The AMI that the stream has for a region, and its version.
pub(in super::super) fn target(request: &Request, region: &str) -> Result<(String, String), String> {
    let architecture = request.architecture;
    let images = request.stream.architecture(architecture).ok_or_else(|| super::no_architecture(architecture))?;
    let regions = images.images.as_ref().and_then(|images| images.aws.as_ref());
    let image: Option<&RegionImage> = regions.and_then(|regions| regions.region(region));
    let name = image.and_then(|image| image.image.clone()).filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| {
        let architecture = architecture.rpm();
        format!("the stream has no {architecture} AMI in the region {region}: copy one there, and name it by hand")
    })?;
    Ok((name, image.and_then(|image| image.release.clone()).unwrap_or_default()))
}

/// As people write it.
pub(super) fn told(spec: &Value) -> String {
    let field = |pointer: &str| spec.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    match (field("/ami/id").or_else(|| field("/ami/arn")), spec.pointer("/ami/filters")) {
        (Some(name), _) => name.to_owned(),
        (None, Some(Value::Array(filters))) if !filters.is_empty() => "(by filters)".to_owned(),
        _ => String::new(),
    }
}

/// Only one way of naming an image may be used: the others have to go.
fn leaf(spec: &Value, image: &str) -> (Value, Value) {
    let ami = spec.get("ami").cloned().unwrap_or_default();
    (json!({"ami": replaced(&ami, &json!({"id": image}))}), ami)
}

/// A merge patch that makes the reference to an image another one.
fn replaced(ami: &Value, wanted: &Value) -> Value {
    let mut patch = Map::new();
    for key in REFERENCES {
        let of = |value: &Value| value.get(key).filter(|value| !value.is_null()).cloned();
        let (there, wanted) = (of(ami), of(wanted));
        if there != wanted {
            patch.insert(key.to_owned(), wanted.unwrap_or_default());
        }
    }
    Value::Object(patch)
}

pub(super) fn restored(spec: &Value, before: &Value) -> Result<Option<Value>, String> {
    if !before.is_object() {
        return Err("the record of its boot image names no AMI".to_owned());
    }
    let ami = spec.get("ami").cloned().unwrap_or_default();
    let patch = replaced(&ami, before);
    let differs = patch.as_object().is_some_and(|patch| !patch.is_empty());
    Ok(differs.then(|| json!({"ami": patch})))
}
