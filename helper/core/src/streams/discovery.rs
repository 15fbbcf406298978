//! From images and their labels to streams: paired within each source, merged over the sources, with one default.
//!
//! Best effort, and every drop is told. The result is whole or there is none: a default that is not among the streams means
//! that there is no answer.

use std::collections::BTreeMap;

use super::default::{DefaultReason, Flavour, wanted};
use super::labels::{Labels, Origin, Part, Unlabelled, classify};
use super::remark::Remark;
use super::tags::{Offer, Offered};
use super::version::Version;
use crate::objects::{OSImageStream, OSImageStreamStatus, StreamSet};

/// What is to be answered.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Images of the sources. Later origins count more, in whatever order they are given.
    pub offers: &'a [Offer],
    /// What is known of their labels.
    pub labels: &'a BTreeMap<String, Labels>,
    /// The object that is there already.
    pub existing: Option<&'a OSImageStream>,
    /// The version the cluster was installed with.
    pub installed: Option<&'a Version>,
    /// Whose release it is.
    pub flavour: Flavour,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discovery {
    /// The streams by name, and the default.
    pub status: OSImageStreamStatus,
    /// Why it is the default.
    pub reason: DefaultReason,
    /// What was left out or replaced.
    pub remarks: Vec<Remark>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoStreams {
    /// No source has a complete stream.
    #[error("no source has a stream with both of its images")]
    Nothing {
        /// What was left out.
        remarks: Vec<Remark>,
    },
    /// The default would be a stream that is not there.
    #[error(
        "stream {wanted} would be the default ({reason}), but there are only: {}",
        available.join(", ")
    )]
    DefaultMissing {
        /// The stream that is not there.
        wanted: String,
        /// Why it would be the default.
        reason: DefaultReason,
        /// The streams that are there.
        available: Vec<String>,
        /// What was left out.
        remarks: Vec<Remark>,
    },
}

impl NoStreams {
    /// What was left out or replaced.
    pub fn remarks(&self) -> &[Remark] {
        match self {
            Self::Nothing { remarks } | Self::DefaultMissing { remarks, .. } => remarks,
        }
    }
}

/// Finds the streams and the default among them.
pub fn discover(question: &Question<'_>) -> Result<Discovery, NoStreams> {
    let mut remarks = Vec::new();
    let mut offers: Vec<&Offer> = question.offers.iter().collect();
    offers.sort_by_key(|offer| offer.origin);
    let mut merged: BTreeMap<String, (Origin, StreamSet)> = BTreeMap::new();
    for offer in offers {
        for set in group(offer, question.labels, &mut remarks) {
            let before = merged.insert(set.name.clone(), (offer.origin, set.clone()));
            if let Some((by, before)) = before
                && before != set
            {
                remarks.push(Remark::Overridden { stream: set.name, by, origin: offer.origin });
            }
        }
    }
    let streams: Vec<StreamSet> = merged.into_values().map(|(_, set)| set).collect();
    if streams.is_empty() {
        return Err(NoStreams::Nothing { remarks });
    }
    let (default, reason) = wanted(&streams, question.existing, question.installed, question.flavour);
    if !streams.iter().any(|set| set.name == default) {
        let available = streams.into_iter().map(|set| set.name).collect();
        return Err(NoStreams::DefaultMissing { wanted: default, reason, available, remarks });
    }
    let status = OSImageStreamStatus { available_streams: streams, default_stream: default };
    Ok(Discovery { status, reason, remarks })
}

/// The complete streams of one source, by name.
fn group(offer: &Offer, labels: &BTreeMap<String, Labels>, remarks: &mut Vec<Remark>) -> Vec<StreamSet> {
    let origin = offer.origin;
    let mut sets: BTreeMap<String, StreamSet> = BTreeMap::new();
    for Offered { image, called } in &offer.images {
        let found = match labels.get(image) {
            Some(Labels::Found(found)) => found,
            unreachable => {
                let reason = match unreachable {
                    Some(Labels::Unreachable(reason)) => reason.clone(),
                    _ => "its labels are not known".to_owned(),
                };
                let (image, called) = (image.clone(), called.clone());
                remarks.push(Remark::Unreachable { origin, image, called, reason });
                continue;
            }
        };
        match classify(found) {
            Ok((stream, part)) => {
                let set = sets.entry(stream.to_owned()).or_default();
                set.name = stream.to_owned();
                remarks.extend(place(origin, set, part, image));
            }
            Err(Unlabelled::Stream) => {
                remarks.push(Remark::NoStream { origin, image: image.clone(), called: called.clone() });
            }
            Err(Unlabelled::Part) => {
                let stream = super::labels::stream_class(found).unwrap_or_default().to_owned();
                remarks.push(Remark::NoPart { origin, image: image.clone(), stream });
            }
        }
    }
    sets.into_values().filter(|set| whole(origin, set, remarks)).collect()
}

/// Puts an image in its place; the later one of two counts.
fn place(origin: Origin, set: &mut StreamSet, part: Part, image: &str) -> Option<Remark> {
    let seat = match part {
        Part::Os => &mut set.os_image,
        Part::Extensions => &mut set.os_extensions_image,
    };
    let old = std::mem::replace(seat, image.to_owned());
    let replaced = !old.is_empty() && old != image;
    replaced.then(|| Remark::Replaced { origin, stream: set.name.clone(), part, old, new: image.to_owned() })
}

fn whole(origin: Origin, set: &StreamSet, remarks: &mut Vec<Remark>) -> bool {
    let (present, image) = match (set.os_image.as_str(), set.os_extensions_image.as_str()) {
        ("", image) => (Part::Extensions, image),
        (image, "") => (Part::Os, image),
        _ => return true,
    };
    remarks.push(Remark::Half { origin, stream: set.name.clone(), present, image: image.to_owned() });
    false
}

#[cfg(test)]
mod tests;
