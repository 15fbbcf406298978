//! The rule of each platform: which boot image a provider spec names, which one it should, and what to change.
//!
//! Provider specs are edited as they are, so that fields nobody here knows survive. Images that somebody else made are
//! never replaced, and no cloud is asked whose an image is.

mod aws;
mod azure;
mod gcp;
mod reports;

use serde_json::Value;

use super::{Change, KnownImages, Platform, Verdict};
use crate::objects::Infrastructure;
use crate::stream_metadata::{Architecture, StreamMetadata};

pub(super) use aws::{assess_ami, target as aws_target};
pub(super) use azure::{Variant, release as azure_release, target as azure_target};
pub(super) use gcp::{OFFICIAL as GCP_OFFICIAL, target as gcp_target};
pub(super) use reports::{shipped, unmanaged};

/// What a rule needs to know.
#[derive(Clone, Copy)]
pub(super) struct Request<'a> {
    pub platform: Platform,
    pub stream: &'a StreamMetadata,
    pub architecture: Architecture,
    pub known: &'a KnownImages,
    pub infrastructure: &'a Infrastructure,
}

/// Applies the rule of the platform to a provider spec of the Machine API.
pub(super) fn assess(spec: &Value, request: &Request) -> Result<Change, Verdict> {
    if !spec.is_object() {
        return Err("its provider spec is no object".into());
    }
    match request.platform {
        Platform::Gcp => gcp::assess(spec, request),
        Platform::Aws => aws::assess(spec, request),
        Platform::Azure => azure::assess(spec, request),
        Platform::Vsphere => reports::vsphere(spec, request),
        other => Err(Verdict::Ignored(format!("boot images on {} are not updated", other.title()))),
    }
}

/// A merge patch of a provider spec that puts a boot image back, as a [`super::Change`] noted it; nothing where it is
/// there already.
pub fn restored(platform: Platform, spec: &Value, before: &Value) -> Result<Option<Value>, String> {
    match platform {
        Platform::Gcp => gcp::restored(spec, before),
        Platform::Aws => aws::restored(spec, before),
        Platform::Azure => azure::restored(spec, before),
        other => Err(format!("boot images on {} are not restored", other.title())),
    }
}

/// The boot image that a provider spec names, as a [`Change`] notes it.
pub fn noted(platform: Platform, spec: &Value) -> Value {
    match platform {
        Platform::Gcp => gcp::noted(spec),
        Platform::Aws => spec.get("ami").cloned().unwrap_or_default(),
        Platform::Azure => spec.get("image").cloned().unwrap_or_default(),
        _ => Value::Null,
    }
}

/// The boot image that a provider spec names, as people write it; empty where it cannot be told.
pub(super) fn told(platform: Platform, spec: &Value) -> String {
    match platform {
        Platform::Gcp => gcp::told(spec),
        Platform::Aws => aws::told(spec),
        Platform::Azure | Platform::AzureStack => azure::told(spec.get("image").unwrap_or(&Value::Null)),
        _ => reports::told(spec),
    }
}

/// A text at a pointer; empty where there is none.
fn text<'a>(value: &'a Value, pointer: &str) -> Result<&'a str, String> {
    match value.pointer(pointer) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(format!("{} in its provider spec is no text", dotted(pointer))),
    }
}

/// An object at a pointer; nothing where there is none.
fn object<'a>(value: &'a Value, pointer: &str) -> Result<Option<&'a Value>, String> {
    match value.pointer(pointer) {
        None | Some(Value::Null) => Ok(None),
        Some(object @ Value::Object(_)) => Ok(Some(object)),
        Some(_) => Err(format!("{} in its provider spec is no object", dotted(pointer))),
    }
}

fn dotted(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".")
}

fn no_architecture(architecture: Architecture) -> String {
    format!("the stream has no boot images for {}", architecture.rpm())
}
