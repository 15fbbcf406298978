//! Manifests and configurations of images, as far as they are needed before and without a pull.
//!
//! Owns the reading of both families of manifest, OCI's and Docker's second schema. Refuses the first schema, and to
//! fetch or hash anything.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::image::is_digest;

/// Larger manifests and configurations are refused by registries and by readers.
pub const MOST_BYTES: usize = 4 * 1024 * 1024;
/// Linux mounts fewer.
const MOST_LAYERS: usize = 1024;
const MOST_ENTRIES: usize = 256;

/// A manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Manifest {
    /// One image for each of several architectures.
    List(Vec<Entry>),
    /// An image.
    Image(Image),
}

/// One image of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The digest of its manifest.
    pub digest: String,
    /// What it is for, in the words of Go.
    pub architecture: String,
    /// What it is for.
    pub os: String,
}

/// An image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The digest of its configuration.
    pub config: String,
    /// Its layers, the lowest first.
    pub layers: Vec<Blob>,
}

/// Something that is found by its digest.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Blob {
    /// `sha256:` and 64 digits.
    pub digest: String,
    /// Bytes, as they are stored.
    pub size: u64,
}

/// Why a manifest is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// Not the shape it should have.
    #[error("the manifest is of no kind that is known")]
    Malformed,
    /// Nothing that could be verified.
    #[error("the manifest names something by another digest than SHA-256")]
    Digest,
    /// Too many layers or images.
    #[error("the manifest names more than {MOST_LAYERS} layers or {MOST_ENTRIES} images")]
    TooMany,
}

#[derive(Deserialize)]
struct Document {
    #[serde(rename = "schemaVersion")]
    schema: u32,
    #[serde(default)]
    manifests: Option<Vec<Listed>>,
    #[serde(default)]
    config: Option<Blob>,
    #[serde(default)]
    layers: Option<Vec<Blob>>,
}

#[derive(Deserialize)]
struct Listed {
    digest: String,
    #[serde(default)]
    platform: Platform,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Platform {
    architecture: String,
    os: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Configuration {
    config: Settings,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Settings {
    #[serde(rename = "Labels")]
    labels: Option<BTreeMap<String, String>>,
}

impl Manifest {
    /// Reads one.
    pub fn parse(bytes: &[u8]) -> Result<Self, ManifestError> {
        let document: Document = serde_json::from_slice(bytes).map_err(|_| ManifestError::Malformed)?;
        match (document.schema, document.manifests, document.config, document.layers) {
            (2, Some(listed), None, None) => list(listed),
            (2, None, Some(config), Some(layers)) => image(config, layers),
            _ => Err(ManifestError::Malformed),
        }
    }
}

fn list(listed: Vec<Listed>) -> Result<Manifest, ManifestError> {
    if listed.len() > MOST_ENTRIES {
        return Err(ManifestError::TooMany);
    }
    if !listed.iter().all(|entry| is_digest(&entry.digest)) {
        return Err(ManifestError::Digest);
    }
    let entry = |Listed { digest, platform: Platform { architecture, os } }| Entry { digest, architecture, os };
    Ok(Manifest::List(listed.into_iter().map(entry).collect()))
}

fn image(config: Blob, layers: Vec<Blob>) -> Result<Manifest, ManifestError> {
    if layers.len() > MOST_LAYERS {
        return Err(ManifestError::TooMany);
    }
    if !layers.iter().chain([&config]).all(|blob| is_digest(&blob.digest)) {
        return Err(ManifestError::Digest);
    }
    Ok(Manifest::Image(Image { config: config.digest, layers }))
}

/// The image of a list that is for an architecture, in the words of Rust.
pub fn entry_for<'e>(entries: &'e [Entry], architecture: &str) -> Option<&'e Entry> {
    let wanted = go_architecture(architecture);
    entries.iter().find(|entry| entry.os == "linux" && entry.architecture == wanted)
}

/// What Go, and hence every manifest, calls an architecture.
pub fn go_architecture(architecture: &str) -> &str {
    match architecture {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "powerpc64" => "ppc64le",
        other => other,
    }
}

/// The labels in an image's configuration; none in one that cannot be read.
pub fn labels(configuration: &[u8]) -> BTreeMap<String, String> {
    let configuration: Configuration = serde_json::from_slice(configuration).unwrap_or_default();
    configuration.config.labels.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(digit: char) -> String {
        format!("sha256:{}", digit.to_string().repeat(64))
    }

    #[test]
    fn images_and_lists_are_told_apart() {
        let text = format!(
            r#"{{"schemaVersion":2,"mediaType":"x","config":{{"digest":"{}","size":2}},"layers":[{{"digest":"{}","size":7,"annotations":{{}}}}]}}"#,
            digest('a'),
            digest('b')
        );
        let layers = vec![Blob { digest: digest('b'), size: 7 }];
        assert_eq!(Manifest::parse(text.as_bytes()), Ok(Manifest::Image(Image { config: digest('a'), layers })));

        let entry = |digit, arch: &str| {
            format!(r#"{{"digest":"{}","platform":{{"architecture":"{arch}","os":"linux"}}}}"#, digest(digit))
        };
        let text = format!(r#"{{"schemaVersion":2,"manifests":[{},{}]}}"#, entry('a', "amd64"), entry('b', "arm64"));
        let Ok(Manifest::List(entries)) = Manifest::parse(text.as_bytes()) else { panic!("{text}") };
        for (architecture, expected) in [("x86_64", Some(digest('a'))), ("aarch64", Some(digest('b'))), ("s390x", None)]
        {
            assert_eq!(entry_for(&entries, architecture).map(|entry| entry.digest.clone()), expected);
        }
    }

    #[test]
    fn anything_else_is_refused() {
        let blob = |digest: &str| format!(r#"{{"digest":"{digest}","size":1}}"#);
        let good = blob(&digest('a'));
        let layers = vec![good.clone(); MOST_LAYERS + 1].join(",");
        let image =
            |config: &str, layers: &str| format!(r#"{{"schemaVersion":2,"config":{config},"layers":[{layers}]}}"#);
        for (text, expected) in [
            (String::new(), ManifestError::Malformed),
            ("{}".to_owned(), ManifestError::Malformed),
            (r#"{"schemaVersion":1,"fsLayers":[]}"#.to_owned(), ManifestError::Malformed),
            (format!(r#"{{"schemaVersion":2,"manifests":[],"config":{good},"layers":[]}}"#), ManifestError::Malformed),
            (image(&blob("sha512:aa"), &good), ManifestError::Digest),
            (image(&good, &blob("sha256:../../x")), ManifestError::Digest),
            (image(&good, &layers), ManifestError::TooMany),
            (r#"{"schemaVersion":2,"manifests":[{"digest":"x"}]}"#.to_owned(), ManifestError::Digest),
        ] {
            assert_eq!(
                Manifest::parse(text.as_bytes()),
                Err(expected),
                "{}",
                text.chars().take(80).collect::<String>()
            );
        }
    }

    #[test]
    fn labels_are_read_where_there_are_any() {
        let text = br#"{"architecture":"amd64","config":{"Labels":{"a":"b"},"Env":[]}}"#;
        assert_eq!(labels(text), BTreeMap::from([("a".to_owned(), "b".to_owned())]));
        for none in [&b"{}"[..], br#"{"config":{"Labels":null}}"#, b"x"] {
            assert!(labels(none).is_empty());
        }
    }
}
