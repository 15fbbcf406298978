//! Google's cloud: every boot disk names an image.

use serde_json::{Value, json};

use super::super::{Change, Decision, Report, Verdict};
use super::Request;
use crate::stream_metadata::{Architecture, StreamMetadata};

/// Where Red Hat publishes; anything else is somebody's own.
pub(in super::super) const OFFICIAL: &str = "projects/rhcos-cloud/global/images";

/// The image and its version.
pub(in super::super) fn target(
    stream: &StreamMetadata,
    architecture: Architecture,
) -> Result<(String, String), String> {
    let images = stream.architecture(architecture).ok_or_else(|| super::no_architecture(architecture))?;
    let image = images.images.as_ref().and_then(|images| images.gcp.as_ref());
    let named = image.and_then(|image| Some((image.project.as_deref()?, image.name.as_deref()?)));
    let named = named.filter(|(project, name)| !project.is_empty() && !name.is_empty());
    let (project, name) = named.ok_or_else(|| format!("the stream names no GCP image for {}", architecture.rpm()))?;
    let release = image.and_then(|image| image.release.clone()).unwrap_or_default();
    Ok((format!("projects/{project}/global/images/{name}"), release))
}

/// One disk with a foreign image is enough to leave them all alone.
pub(super) fn assess(spec: &Value, request: &Request) -> Result<Change, Verdict> {
    let disks = disks(spec)?;
    let (target, release) = target(request.stream, request.architecture)?;
    let mut changed = disks.to_vec();
    let mut before = vec![Value::Null; disks.len()];
    let mut current = None;
    let mut bootable = false;
    for (disk, before) in changed.iter_mut().zip(&mut before) {
        let Some(image) = boot_image(disk)?.map(ToOwned::to_owned) else { continue };
        bootable = true;
        if image == target {
            continue;
        }
        if !image.starts_with(OFFICIAL) {
            return Err(Verdict::Skipped(format!(
                "its boot image {image:?} is not one that Red Hat publishes ({OFFICIAL}): update it by hand"
            )));
        }
        set_image(disk, &target);
        *before = Value::from(image.as_str());
        current.get_or_insert(image);
    }
    match current {
        Some(current) => {
            Ok(Change { leaf: json!({"disks": changed}), before: before.into(), current, target, release })
        }
        None if bootable => Err(Verdict::Current { image: target }),
        None => Err(Verdict::Manual(no_boot_disk())),
    }
}

/// Nothing to change, and no image to call the right one either.
fn no_boot_disk() -> Report {
    Report {
        decision: Decision::Current,
        reason: "machines boot from none of its disks: there is no boot image to update".to_owned(),
        release: String::new(),
        steps: Vec::new(),
    }
}

/// The record has an image for every disk that was changed, and null for the others.
pub(super) fn restored(spec: &Value, before: &Value) -> Result<Option<Value>, String> {
    let images = before.as_array().ok_or("the record of its boot image names no images of disks")?;
    let disks = disks(spec)?;
    if images.len() != disks.len() {
        return Err("it has more or fewer disks than when its boot image was recorded: put it back by hand".to_owned());
    }
    let mut changed = disks.to_vec();
    for (disk, image) in changed.iter_mut().zip(images) {
        if let (Some(_), Some(image)) = (boot_image(disk)?, image.as_str()) {
            set_image(disk, image);
        }
    }
    Ok((changed != disks).then(|| json!({"disks": changed})))
}

pub(super) fn noted(spec: &Value) -> Value {
    let disks = disks(spec).unwrap_or_default();
    let image = |disk| boot_image(disk).ok().flatten().map(Value::from).unwrap_or_default();
    disks.iter().map(image).collect()
}

/// As people write it: that of the first disk that machines boot from.
pub(super) fn told(spec: &Value) -> String {
    let disks = disks(spec).unwrap_or_default();
    disks.iter().find_map(|disk| boot_image(disk).ok().flatten()).unwrap_or_default().to_owned()
}

fn disks(spec: &Value) -> Result<&[Value], String> {
    match spec.get("disks") {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(disks)) => Ok(disks),
        Some(_) => Err("disks in its provider spec is no list".to_owned()),
    }
}

/// The image of a disk that machines boot from; nothing for any other disk.
fn boot_image(disk: &Value) -> Result<Option<&str>, String> {
    let malformed = |what: &str| Err(format!("a disk in its provider spec {what}"));
    let fields = match disk {
        Value::Null => return Ok(None),
        Value::Object(fields) => fields,
        _ => return malformed("is no object"),
    };
    let image = match fields.get("image") {
        None | Some(Value::Null) => "",
        Some(Value::String(image)) => image,
        Some(_) => return malformed("has an image that is no text"),
    };
    match fields.get("boot") {
        None | Some(Value::Null | Value::Bool(false)) => Ok(None),
        Some(Value::Bool(true)) => Ok(Some(image)),
        Some(_) => malformed("does not say by yes or no whether machines boot from it"),
    }
}

fn set_image(disk: &mut Value, image: &str) {
    if let Some(fields) = disk.as_object_mut() {
        fields.insert("image".to_owned(), image.into());
    }
}
