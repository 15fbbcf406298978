//! AMIs that are known to be RHEL CoreOS as Red Hat publishes it.
//!
//! Who owns an AMI only AWS can say, and AWS is not asked here. An AMI that some stream metadata name is known; every other
//! one may be somebody's own, and is left alone.

use std::collections::BTreeSet;

use super::ShippedImages;
use crate::objects::ConfigMap;
use crate::stream_metadata::StreamMetadata;

/// Most AMIs that are kept: some thirty regions, two architectures and a hundred releases make a tenth of it.
const MAX_IMAGES: usize = 200_000;

/// AMIs that are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownImages {
    amis: BTreeSet<String>,
}

/// A list of images that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    /// Neither stream metadata, nor a ConfigMap with them, nor a list.
    #[error("it holds neither stream metadata, nor a ConfigMap with them, nor a list of AMIs")]
    Nothing,
    /// A line is no AMI.
    #[error("line {line} is no AMI: write one such as ami-0123456789abcdef0 to a line")]
    Line {
        /// Which, from 1.
        line: usize,
    },
}

impl KnownImages {
    /// Adds those of shipped images.
    pub fn learn(&mut self, shipped: &ShippedImages) {
        shipped.streams().for_each(|stream| self.learn_stream(stream));
    }

    fn learn_stream(&mut self, stream: &StreamMetadata) {
        self.extend(stream.amis().into_iter().map(ToOwned::to_owned));
    }

    fn extend(&mut self, amis: impl Iterator<Item = String>) {
        for ami in amis {
            if self.amis.len() >= MAX_IMAGES {
                return;
            }
            self.amis.insert(ami);
        }
    }

    /// Adds those of a file: stream metadata, a ConfigMap with them as YAML or JSON, a JSON list, or one AMI to a line.
    pub fn learn_file(&mut self, text: &str) -> Result<(), ListError> {
        if let Ok(list) = serde_json::from_str::<Vec<String>>(text) {
            return self.learn_list(list.iter().map(String::as_str));
        }
        if let Ok(stream) = StreamMetadata::parse(text)
            && stream.architectures.is_some()
        {
            self.learn_stream(&stream);
            return Ok(());
        }
        let documents = crate::documents::parse(text.as_bytes()).unwrap_or_default();
        let maps = documents.into_iter().flat_map(crate::documents::unfold);
        let maps = maps.filter_map(|map| crate::objects::read::<ConfigMap>(map).ok());
        let shipped: Vec<_> = maps.map(|map| ShippedImages::of(&map)).collect();
        if shipped.iter().any(|shipped| shipped.streams().next().is_some()) {
            shipped.iter().for_each(|shipped| self.learn(shipped));
            return Ok(());
        }
        if text.trim_start().starts_with(['{', '[']) {
            return Err(ListError::Nothing);
        }
        self.learn_list(text.lines().map(|line| line.split('#').next().unwrap_or_default().trim()))
    }

    fn learn_list<'a>(&mut self, lines: impl Iterator<Item = &'a str>) -> Result<(), ListError> {
        for (at, ami) in lines.enumerate().filter(|(_, ami)| !ami.is_empty()) {
            let digits = ami.strip_prefix("ami-").filter(|digits| !digits.is_empty());
            if !digits.is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_alphanumeric())) {
                return Err(ListError::Line { line: at.saturating_add(1) });
            }
            self.extend(std::iter::once(ami.to_owned()));
        }
        Ok(())
    }

    /// Whether an AMI is known.
    pub fn has(&self, ami: &str) -> bool {
        self.amis.contains(ami)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_learnt_from_files_of_every_shape() {
        let stream = r#"{"architectures": {"x86_64": {"images": {"aws": {"regions": {"r": {"image": "ami-1"}}}}}}}"#;
        let map = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x}}\ndata:\n  stream: '{stream}'\n");
        for text in [stream, &map, "[\"ami-1\", \"ami-2\"]", "# known\nami-1\n\n ami-3 # another\n"] {
            let mut known = KnownImages::default();
            known.learn_file(text).unwrap();
            assert!(known.has("ami-1") && !known.has("ami-9"), "{text}");
        }
        let mut known = KnownImages::default();
        assert_eq!(known.learn_file("ami-1\nhello"), Err(ListError::Line { line: 2 }));
        assert_eq!(known.learn_file("{\"a\": 1}"), Err(ListError::Nothing));
    }
}
