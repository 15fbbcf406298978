//! Names of images: a registry, a repository, and a tag or a digest.
//!
//! Owns what may stand in a name before it becomes part of an address. Refuses short names: which registry they mean is
//! a matter of this machine's settings, and images of a cluster have none.

use std::fmt;

use ostler_core::os::image::is_digest;

const MOST: usize = 512;
const MOST_TAG: usize = 128;
const MOST_SHOWN: usize = 120;

/// A full name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reference {
    repository: String,
    version: Version,
}

/// Which image of a repository.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Version {
    Tag(String),
    Digest(String),
}

/// Why a text is no name of an image.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// No registry in front.
    #[error("{image:?} does not begin with a registry: write it out, as in registry.example/repository")]
    Short {
        /// What was given.
        image: String,
    },
    /// Characters or parts that no name has.
    #[error("{image:?} is not a name of an image")]
    Malformed {
        /// What was given, or its beginning.
        image: String,
    },
}

impl Reference {
    /// Reads a name, `docker://` in front or not. A digest outweighs a tag beside it; without either it is `latest`.
    pub fn parse(image: &str) -> Result<Self, ReferenceError> {
        let malformed = || ReferenceError::Malformed { image: image.chars().take(MOST_SHOWN).collect() };
        let text = image.strip_prefix("docker://").unwrap_or(image);
        if text.len() > MOST {
            return Err(malformed());
        }
        let (name, digest) = match text.split_once('@') {
            Some((name, digest)) => (name, Some(digest)),
            None => (text, None),
        };
        let (repository, tag) = split_tag(name);
        let short = || ReferenceError::Short { image: image.chars().take(MOST_SHOWN).collect() };
        let (host, path) = repository.split_once('/').ok_or_else(short)?;
        if !host.contains(['.', ':']) && host != "localhost" {
            return Err(short());
        }
        if !is_host(host) || !path.split('/').all(is_component) || !tag.is_none_or(is_tag) {
            return Err(malformed());
        }
        let version = match digest {
            Some(digest) if is_digest(digest) => Version::Digest(digest.to_owned()),
            Some(_) => return Err(malformed()),
            None => Version::Tag(tag.unwrap_or("latest").to_owned()),
        };
        Ok(Self { repository: repository.to_owned(), version })
    }

    /// Registry and repository.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// The registry, with its port if it has one.
    pub fn host(&self) -> &str {
        self.repository.split_once('/').map_or(&self.repository, |(host, _)| host)
    }

    /// The repository within the registry.
    pub fn path(&self) -> &str {
        self.repository.split_once('/').map_or("", |(_, path)| path)
    }

    /// The digest, where the name has one.
    pub fn digest(&self) -> Option<&str> {
        match &self.version {
            Version::Digest(digest) => Some(digest),
            Version::Tag(_) => None,
        }
    }

    /// The tag or the digest.
    pub(crate) fn version(&self) -> &str {
        match &self.version {
            Version::Digest(text) | Version::Tag(text) => text,
        }
    }

    /// The same image in another repository, if that is one.
    pub(crate) fn moved(&self, repository: &str) -> Option<Self> {
        let (host, path) = repository.split_once('/')?;
        let sound = repository.len() <= MOST && is_host(host) && path.split('/').all(is_component);
        sound.then(|| Self { repository: repository.to_owned(), version: self.version.clone() })
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.version {
            Version::Tag(tag) => write!(formatter, "{}:{tag}", self.repository),
            Version::Digest(digest) => write!(formatter, "{}@{digest}", self.repository),
        }
    }
}

/// A colon after the last slash begins a tag; one before it begins a port.
fn split_tag(name: &str) -> (&str, Option<&str>) {
    match name.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') && repository.contains('/') => (repository, Some(tag)),
        _ => (name, None),
    }
}

pub(crate) fn is_host(host: &str) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        _ => (host, None),
    };
    let port = port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0));
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte));
    let name = match name.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')) {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => name.starts_with(|first: char| first.is_ascii_alphanumeric()) && plain(name),
    };
    port && name
}

fn is_component(part: &str) -> bool {
    let bytes = part.as_bytes();
    let end = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let inner = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(byte);
    end(bytes.first()) && end(bytes.last()) && bytes.iter().all(inner) && !part.contains("..")
}

fn is_tag(tag: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    tag.len() <= MOST_TAG
        && tag.bytes().next().is_some_and(word)
        && tag.bytes().all(|byte| word(byte) || b".-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn names_are_taken_apart() {
        for (text, host, path, version) in [
            ("quay.example/a/b:1.2", "quay.example", "a/b", "1.2"),
            ("docker://localhost:5000/os", "localhost:5000", "os", "latest"),
            ("[::1]:5000/os:x", "[::1]:5000", "os", "x"),
            (&format!("quay.example/a@{DIGEST}"), "quay.example", "a", DIGEST),
            (&format!("quay.example:443/a:tag@{DIGEST}"), "quay.example:443", "a", DIGEST),
        ] {
            let reference = Reference::parse(text).unwrap();
            assert_eq!((reference.host(), reference.path(), reference.version()), (host, path, version), "{text}");
        }
    }

    #[test]
    fn short_names_and_nonsense_are_told_apart() {
        for text in ["busybox", "library/busybox", "busybox:1", "user:word@a.b/c"] {
            assert!(matches!(Reference::parse(text), Err(ReferenceError::Short { .. })), "{text}");
        }
        for text in [
            "a.b/",
            "a.b//c",
            "a.b/C",
            "a.b/../c",
            "a.b/c:",
            "a.b/c: x",
            "a.b/c@sha256:12",
            "a.b/c@",
            "a.b:x/c",
            "a.b:0/c",
            "-a.b/c",
            "a.b/c?d",
            "a.b/c#d",
            "[::x]:1/c",
            "a.b/c\n",
            "a.b/%2e%2e/c",
        ] {
            assert!(matches!(Reference::parse(text), Err(ReferenceError::Malformed { .. })), "{text}");
        }
        assert!(Reference::parse(&format!("a.b/{}", "c".repeat(600))).is_err());
    }

    proptest! {
        #[test]
        fn what_is_read_is_shown_as_it_would_be_read_again(text in "\\PC{0,40}|[a-c.:/@-]{0,20}") {
            if let Ok(reference) = Reference::parse(&text) {
                prop_assert_eq!(Reference::parse(&reference.to_string()), Ok(reference));
            }
        }
    }
}
