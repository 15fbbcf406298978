//! Names of OS images. Only a digest says what will be booted, so only a name with one is an image to deploy.

use std::fmt;

/// Registries refuse longer names.
const MOST: usize = 512;

/// An image that cannot change under its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pinned {
    repository: String,
    digest: String,
}

/// Why a name is no image to deploy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// A tag can be moved to another image at any time.
    #[error("the OS image {reference:?} is not pinned by a digest, so it can change under its name")]
    Unpinned {
        /// The name.
        reference: String,
    },
    /// Not a name at all.
    #[error("{reference:?} is no name of an OS image")]
    Malformed {
        /// What was given, cut short.
        reference: String,
    },
}

impl Pinned {
    /// Reads `REGISTRY/REPOSITORY[:TAG]@sha256:DIGEST`; the tag means nothing beside a digest and is dropped.
    pub fn parse(reference: &str) -> Result<Self, ImageError> {
        let malformed = || ImageError::Malformed { reference: reference.chars().take(MOST).collect() };
        let plain = |character: char| character.is_ascii_alphanumeric() || "._-/:[]".contains(character);
        let (name, digest) = match reference.split_once('@') {
            Some((name, digest)) => (name, Some(digest)),
            None => (reference, None),
        };
        let slash = name.contains('/') && !name.starts_with('/') && !name.ends_with('/');
        if reference.len() > MOST || !slash || !name.chars().all(plain) || name.starts_with('-') {
            return Err(malformed());
        }
        let Some(digest) = digest else { return Err(ImageError::Unpinned { reference: reference.to_owned() }) };
        if !is_digest(digest) {
            return Err(malformed());
        }
        Ok(Self { repository: without_tag(name).to_owned(), digest: digest.to_owned() })
    }

    /// Registry and repository.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// `sha256:` and 64 digits.
    pub fn digest(&self) -> &str {
        &self.digest
    }
}

impl fmt::Display for Pinned {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}@{}", self.repository, self.digest)
    }
}

/// Whether a text is the digest of a manifest.
pub fn is_digest(text: &str) -> bool {
    text.strip_prefix("sha256:")
        .is_some_and(|hex| hex.len() == 64 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')))
}

/// An image that was asked for, with what its digest leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// As it was asked for.
    pub image: Pinned,
    /// The digest of its manifest for this architecture, where its own is that of an index.
    pub manifest: Option<String>,
}

impl Expected {
    /// Whether this is the digest of its manifest.
    pub fn is(&self, digest: Option<&str>) -> bool {
        digest.is_some() && (digest == Some(self.image.digest()) || digest == self.manifest.as_deref())
    }
}

/// A colon after the last slash begins a tag; one before it begins a port.
fn without_tag(name: &str) -> &str {
    match name.rsplit_once(':') {
        Some((before, tag)) if !tag.contains('/') => before,
        _ => name,
    }
}

/// What an ostree origin calls an image, without the words that say how it was fetched.
pub fn pull_specification(origin: &str) -> &str {
    const SCHEMES: &[&str] = &["ostree-image-signed:", "ostree-unverified-image:"];
    if let Some(rest) = origin.strip_prefix("ostree-unverified-registry:") {
        return rest;
    }
    let remote =
        ["ostree-remote-registry:", "ostree-remote-image:"].iter().find_map(|scheme| origin.strip_prefix(*scheme));
    let rest = match remote {
        Some(rest) => rest.split_once(':').map_or(rest, |(_, rest)| rest),
        None => SCHEMES.iter().find_map(|scheme| origin.strip_prefix(*scheme)).unwrap_or(origin),
    };
    ["docker://", "registry:", "containers-storage:"].iter().find_map(|kind| rest.strip_prefix(*kind)).unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn a_digest_makes_an_image() {
        for (name, repository) in [
            ("quay.example/os/rhcos", "quay.example/os/rhcos"),
            ("registry.example:5000/os:9.6", "registry.example:5000/os"),
            ("localhost/a", "localhost/a"),
        ] {
            let pinned = Pinned::parse(&format!("{name}@{DIGEST}")).unwrap();
            assert_eq!((pinned.repository(), pinned.digest()), (repository, DIGEST));
            assert_eq!(pinned.to_string(), format!("{repository}@{DIGEST}"));
        }
    }

    #[test]
    fn a_tag_alone_is_refused_by_name() {
        for name in ["quay.example/os:9.6", "quay.example/os"] {
            assert_eq!(Pinned::parse(name), Err(ImageError::Unpinned { reference: name.to_owned() }));
        }
    }

    #[test]
    fn what_is_no_name_is_refused() {
        let long = format!("a/{}@{DIGEST}", "b".repeat(600));
        for name in [
            "",
            "os",
            "/os",
            "os/",
            "-x/y",
            "a/b c",
            "a/b@sha256:12",
            "a/b@md5:00",
            "a/b@",
            "a/b\n",
            &long,
            "a/--option=x y",
            "a/b@sha256:0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef",
        ] {
            assert!(matches!(Pinned::parse(name), Err(ImageError::Malformed { .. })), "{name:?}");
        }
    }

    #[test]
    fn origins_name_the_same_image_in_many_ways() {
        for origin in [
            "quay.example/os@x",
            "docker://quay.example/os@x",
            "ostree-unverified-registry:quay.example/os@x",
            "ostree-image-signed:docker://quay.example/os@x",
            "ostree-image-signed:registry:quay.example/os@x",
            "ostree-unverified-image:docker://quay.example/os@x",
            "ostree-unverified-image:containers-storage:quay.example/os@x",
            "ostree-remote-registry:fedora:quay.example/os@x",
            "ostree-remote-image:fedora:docker://quay.example/os@x",
        ] {
            assert_eq!(pull_specification(origin), "quay.example/os@x", "{origin}");
        }
    }
}
