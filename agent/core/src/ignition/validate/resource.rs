//! Sources of contents: their URL, compression, hash and request headers.

use ignition_config::v3_6 as spec;

use super::report::{Place, Report};
use super::url::{Url, check_source};
use super::{filled, items};

pub(super) fn check(report: &mut Report, at: Place<'_>, resource: &spec::Resource) {
    if !matches!(resource.compression.as_deref(), None | Some("" | "gzip")) {
        report.add(at.field("compression"), "is not supported; use gzip or leave it out");
    }
    if let Some(hash) = resource.verification.as_ref().and_then(|verification| verification.hash.as_deref())
        && let Some(fault) = hash_fault(hash, resource.source.is_some(), report.minor)
    {
        report.add(at.field("verification").field("hash"), fault);
    }
    if let Some(source) = filled(&resource.source)
        && let Err(fault) = check_source(source, report.minor)
    {
        report.add(at.field("source"), fault);
    }
    let headers = items(&resource.http_headers);
    if !headers.is_empty() {
        check_headers(report, at.field("httpHeaders"), headers, resource.source.as_deref());
    }
}

/// Checks a list of resources each of which has to have a source, and another one than the rest.
pub(super) fn check_all(report: &mut Report, at: Place<'_>, resources: &[spec::Resource]) {
    for (index, resource) in resources.iter().enumerate() {
        if filled(&resource.source).is_none() {
            report.add(at.item(index).field("source"), "is missing");
        }
        check(report, at.item(index), resource);
    }
    let sources = resources.iter().map(|resource| resource.source.as_deref().unwrap_or_default());
    report.unique(at, sources, "has the same source as an earlier entry");
}

/// The digits are not looked at, only counted.
fn hash_fault(hash: &str, has_source: bool, minor: u64) -> Option<&'static str> {
    if !has_source {
        return Some("is given without a source");
    }
    let digits = match hash.split_once('-') {
        Some(("sha512", digits)) => digits.len() == 128,
        Some(("sha256", digits)) if minor >= 1 => digits.len() == 64,
        Some(_) => return Some("has an unknown function; use sha512 or, from spec 3.1 on, sha256"),
        None => return Some("is malformed; write it as sha512-<hexadecimal digits>"),
    };
    (!digits).then_some("has the wrong number of digits: sha512 has 128, sha256 has 64")
}

fn check_headers(report: &mut Report, at: Place<'_>, headers: &[spec::HttpHeadersItem], source: Option<&str>) {
    if !source.and_then(Url::parse).is_some_and(|url| url.is_any(&["http", "https"])) {
        report.add(at, "need an http or https source");
    }
    for (index, header) in headers.iter().enumerate() {
        if header.name.is_empty() {
            report.add(at.item(index).field("name"), "is empty");
        }
        if header.value.as_deref() == Some("") {
            report.add(at.item(index).field("value"), "is empty; leave it out to remove a header");
        }
    }
    report.unique(at, headers.iter().map(|header| header.name.as_str()), "has the name of an earlier header");
}
