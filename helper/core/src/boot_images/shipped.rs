//! The ConfigMap with the boot images that the release ships.

use std::collections::BTreeMap;

use serde_json::Value;

use super::DEFAULT_STREAM;
use crate::objects::ConfigMap;
use crate::stream_metadata::{MetadataError, StreamMetadata};

/// Name of the ConfigMap, in the namespace of the machine-config operator.
pub const BOOT_IMAGES: &str = "coreos-bootimages";

/// Most streams that are read.
const MAX_STREAMS: usize = 64;

/// Boot images that a release ships.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShippedImages {
    /// The release.
    pub release_version: String,
    /// Which version of the operator has vouched for them, if any has.
    pub stamp: Option<String>,
    /// Generation of the ConfigMap, where it has one.
    pub generation: Option<i64>,
    /// Version of the ConfigMap, opaque.
    pub resource_version: String,
    default: Option<Result<StreamMetadata, MetadataError>>,
    named: BTreeMap<String, Result<StreamMetadata, MetadataError>>,
    unusable: Option<String>,
}

impl ShippedImages {
    /// Reads the ConfigMap. What is malformed in it is told when it is asked for.
    pub fn of(map: &ConfigMap) -> Self {
        let text = |key: &str| map.data.get(key).map(String::as_str);
        let (named, unusable) = match text("streams").map(named) {
            None => (BTreeMap::new(), None),
            Some(Ok(named)) => (named, None),
            Some(Err(problem)) => (BTreeMap::new(), Some(problem)),
        };
        Self {
            release_version: text("releaseVersion").unwrap_or_default().to_owned(),
            stamp: text("MCOReleaseImageVersion").map(ToOwned::to_owned),
            generation: map.metadata.generation,
            resource_version: map.metadata.resource_version.clone(),
            default: text("stream").map(StreamMetadata::parse),
            named,
            unusable,
        }
    }

    /// The images of a stream. Older releases ship those of the default stream only, without its name.
    pub fn stream(&self, name: &str) -> Result<&StreamMetadata, String> {
        let named = self.named.get(name);
        let default = self.default.as_ref().filter(|_| name == DEFAULT_STREAM);
        let why = |error: &MetadataError| format!("ConfigMap {BOOT_IMAGES}: {error}");
        match (named, default) {
            (Some(Ok(stream)), _) | (_, Some(Ok(stream))) => Ok(stream),
            (Some(Err(error)), _) | (None, Some(Err(error))) => Err(why(error)),
            (None, None) => match &self.unusable {
                Some(problem) => Err(format!("ConfigMap {BOOT_IMAGES}: {problem}")),
                None => Err(format!("ConfigMap {BOOT_IMAGES} has no boot images for the stream {name}")),
            },
        }
    }

    /// Every stream that can be read, by name. The one without a name is the default.
    pub fn by_name(&self) -> BTreeMap<&str, &StreamMetadata> {
        let named = self.named.iter().filter_map(|(name, stream)| Some((name.as_str(), stream.as_ref().ok()?)));
        let mut streams: BTreeMap<&str, &StreamMetadata> = named.collect();
        if let Some(Ok(default)) = &self.default {
            streams.entry(DEFAULT_STREAM).or_insert(default);
        }
        streams
    }

    /// Every stream that can be read.
    pub fn streams(&self) -> impl Iterator<Item = &StreamMetadata> {
        self.default.iter().chain(self.named.values()).filter_map(|stream| stream.as_ref().ok())
    }
}

fn named(text: &str) -> Result<BTreeMap<String, Result<StreamMetadata, MetadataError>>, String> {
    let malformed = || "the key \"streams\" holds no object of streams by name".to_owned();
    let streams: BTreeMap<String, Value> = serde_json::from_str(text).map_err(|_| malformed())?;
    if streams.len() > MAX_STREAMS {
        return Err(format!("the key \"streams\" holds more than {MAX_STREAMS} streams"));
    }
    // Some writers put the documents in as text.
    let document = |value: Value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    Ok(streams.into_iter().map(|(name, value)| (name, StreamMetadata::parse(&document(value)))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(entries: &[(&str, &str)]) -> ConfigMap {
        let data = entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        ConfigMap { data, ..ConfigMap::default() }
    }

    #[test]
    fn a_stream_is_found_by_its_name_or_else_where_older_releases_keep_it() {
        let (nine, ten) = (r#"{"stream": "nine"}"#, r#"{"stream": "ten"}"#);
        let both = format!(r#"{{"rhel-9": {nine}, "rhel-10": {ten}}}"#);
        let quoted = serde_json::json!({"rhel-10": ten}).to_string();
        let name = |shipped: &ShippedImages, stream: &str| {
            shipped.stream(stream).map(|stream| stream.stream.clone().unwrap_or_default())
        };
        let old = ShippedImages::of(&map(&[("stream", r#"{"stream": "old"}"#)]));
        assert_eq!(name(&old, "rhel-9").unwrap(), "old");
        assert!(name(&old, "rhel-10").unwrap_err().contains("no boot images for the stream rhel-10"));
        let new = ShippedImages::of(&map(&[("stream", r#"{"stream": "old"}"#), ("streams", &both)]));
        assert_eq!(
            (name(&new, "rhel-9").unwrap(), name(&new, "rhel-10").unwrap()),
            ("nine".to_owned(), "ten".to_owned())
        );
        assert_eq!(name(&ShippedImages::of(&map(&[("streams", &quoted)])), "rhel-10").unwrap(), "ten");
        assert_eq!(new.streams().count(), 3);
    }

    #[test]
    fn what_is_malformed_hurts_only_those_who_need_it() {
        let broken = ShippedImages::of(&map(&[("stream", "{}"), ("streams", "3")]));
        assert!(broken.stream("rhel-9").is_ok());
        assert!(broken.stream("rhel-10").unwrap_err().contains("no object of streams"));
        let broken = ShippedImages::of(&map(&[("stream", "{"), ("streams", r#"{"rhel-10": {"stream": 3}}"#)]));
        assert!(broken.stream("rhel-9").unwrap_err().contains("no JSON"));
        assert!(broken.stream("rhel-10").unwrap_err().contains("malformed at stream"));
        assert!(ShippedImages::of(&map(&[])).stream("rhel-9").is_err());
    }
}
