//! Where an image is really asked for: what a cluster's mirror sets, or a `registries.conf`, make of its name.
//!
//! Owns the choice and order of places: the longest matching source counts, its mirrors are asked in their order, those
//! for digests only about digests, and the source itself last unless it must never be contacted. Refuses to ask anybody.

use std::collections::BTreeMap;

use ostler_core::malformed::Malformed;
use serde::Deserialize;

use crate::reference::Reference;

/// Which names a mirror answers for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Serves {
    /// Every name.
    #[default]
    #[serde(rename = "all", alias = "")]
    All,
    /// Names with a digest: ImageContentSourcePolicy and ImageDigestMirrorSet.
    #[serde(rename = "digest-only")]
    Digests,
    /// Names with a tag: ImageTagMirrorSet.
    #[serde(rename = "tag-only")]
    Tags,
}

/// What a mirror set says of its source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SourcePolicy {
    /// It is asked when no mirror has the image.
    #[default]
    AllowContactingSource,
    /// It is never asked.
    NeverContactSource,
}

/// All mirror rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mirrors {
    /// By prefix.
    sources: BTreeMap<String, Source>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Source {
    /// What stands in for the prefix when the source itself is asked; the name stays without one.
    location: Option<String>,
    insecure: bool,
    blocked: bool,
    mirrors: Vec<Mirror>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Mirror {
    location: String,
    insecure: bool,
    serves: Serves,
}

/// One place to ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) image: Reference,
    pub(crate) insecure: bool,
}

/// Why there is no place to ask.
#[derive(Debug, thiserror::Error)]
pub enum MirrorsError {
    /// Not a file of registries.
    #[error("not a valid registries.conf")]
    Malformed(#[source] Malformed),
    /// An entry without name.
    #[error("not a valid registries.conf: a registry has neither prefix nor location")]
    Nameless,
    /// A mirror makes something of a name that is none.
    #[error("mirror or location {location:?} makes a name of {image} that is none")]
    Rewritten {
        /// Of what.
        image: String,
        /// By what.
        location: String,
    },
    /// Every place is forbidden.
    #[error("{prefix} is blocked, and no mirror that is allowed serves {image}")]
    Blocked {
        /// What was asked for.
        image: String,
        /// What forbids it.
        prefix: String,
    },
}

#[derive(Deserialize)]
struct File {
    #[serde(default, rename = "registry")]
    registries: Vec<FileRegistry>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
struct FileRegistry {
    prefix: String,
    location: String,
    insecure: bool,
    blocked: bool,
    mirror_by_digest_only: bool,
    #[serde(rename = "mirror")]
    mirrors: Vec<FileMirror>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
struct FileMirror {
    location: String,
    insecure: bool,
    pull_from_mirror: Serves,
}

impl Mirrors {
    /// Reads a `registries.conf` of the second format.
    pub fn from_registries_conf(text: &str) -> Result<Self, MirrorsError> {
        let file: File =
            toml::from_str(text).map_err(|error| MirrorsError::Malformed(Malformed::toml(text, &error)))?;
        let mut mirrors = Self::default();
        for registry in file.registries {
            mirrors.read(registry)?;
        }
        Ok(mirrors)
    }

    fn read(&mut self, registry: FileRegistry) -> Result<(), MirrorsError> {
        let scope = if registry.prefix.is_empty() { &registry.location } else { &registry.prefix };
        if trimmed(scope).is_empty() {
            return Err(MirrorsError::Nameless);
        }
        let source = self.source(trimmed(scope));
        source.location = Some(trimmed(&registry.location).to_owned()).filter(|location| !location.is_empty());
        source.insecure |= registry.insecure;
        source.blocked |= registry.blocked;
        for mirror in registry.mirrors {
            let serves = if registry.mirror_by_digest_only { Serves::Digests } else { mirror.pull_from_mirror };
            source.push(Mirror { location: trimmed(&mirror.location).to_owned(), insecure: mirror.insecure, serves });
        }
        Ok(())
    }

    /// Adds one rule of a mirror set. Rules with one source add up, in the order they are added.
    pub fn add(&mut self, serves: Serves, source: &str, mirrors: &[String], policy: SourcePolicy) {
        let source = self.source(trimmed(source));
        source.blocked |= policy == SourcePolicy::NeverContactSource;
        for mirror in mirrors {
            source.push(Mirror { location: trimmed(mirror).to_owned(), insecure: false, serves });
        }
    }

    /// Forbids to ask a registry, or a part of one, directly.
    pub fn block(&mut self, prefix: &str) {
        self.source(trimmed(prefix)).blocked = true;
    }

    /// Lets a registry, or a part of one, be without TLS or with a certificate that nobody vouches for.
    pub fn allow_insecure(&mut self, prefix: &str) {
        self.source(trimmed(prefix)).insecure = true;
    }

    fn source(&mut self, prefix: &str) -> &mut Source {
        self.sources.entry(prefix.to_owned()).or_default()
    }

    /// Every place that may be asked for an image, in order; at least one.
    pub(crate) fn places(&self, image: &Reference) -> Result<Vec<Place>, MirrorsError> {
        let mut places: Vec<Place> = Vec::new();
        let mut blocked = None;
        for (location, insecure, rest) in self.ends(image) {
            let moved = match location {
                Some(location) => rewritten(image, location, rest)?,
                None => image.clone(),
            };
            let own = self.find(moved.repository());
            if let Some(found) = own.as_ref().filter(|found| found.source.blocked) {
                blocked = Some(found.prefix.to_owned());
                continue;
            }
            let insecure = insecure || own.is_some_and(|found| found.source.insecure);
            if !places.iter().any(|place| place.image == moved) {
                places.push(Place { image: moved, insecure });
            }
        }
        match blocked {
            Some(prefix) if places.is_empty() => Err(MirrorsError::Blocked { image: image.to_string(), prefix }),
            _ => Ok(places),
        }
    }

    /// What stands in for the matching prefix, whether that may be insecure, and what follows the prefix.
    fn ends<'s>(&'s self, image: &'s Reference) -> Vec<(Option<&'s str>, bool, &'s str)> {
        let Some(Found { source, rest, .. }) = self.find(image.repository()) else { return vec![(None, false, "")] };
        let serving = |mirror: &&Mirror| match mirror.serves {
            Serves::All => true,
            Serves::Digests => image.digest().is_some(),
            Serves::Tags => image.digest().is_none(),
        };
        let mirrors = source.mirrors.iter().filter(serving);
        let mirrors = mirrors.map(|mirror| (Some(mirror.location.as_str()), mirror.insecure, rest));
        mirrors.chain([(source.location.as_deref(), source.insecure, rest)]).collect()
    }

    /// The source with the longest prefix.
    fn find<'s>(&'s self, repository: &'s str) -> Option<Found<'s>> {
        let found = |(prefix, source): (&'s String, &'s Source)| {
            Some(Found { prefix, source, rest: after(repository, prefix)? })
        };
        self.sources.iter().filter_map(found).max_by_key(|found| found.prefix.len())
    }
}

/// A source that a name belongs to, and what of the name follows the prefix.
struct Found<'s> {
    prefix: &'s str,
    source: &'s Source,
    rest: &'s str,
}

impl Source {
    fn push(&mut self, mirror: Mirror) {
        if !mirror.location.is_empty() && !self.mirrors.contains(&mirror) {
            self.mirrors.push(mirror);
        }
    }
}

fn rewritten(image: &Reference, location: &str, rest: &str) -> Result<Reference, MirrorsError> {
    let unnamed = || MirrorsError::Rewritten { image: image.to_string(), location: location.to_owned() };
    image.moved(&format!("{location}{rest}")).ok_or_else(unnamed)
}

/// What follows a prefix in a name. `*.` stands for every subdomain.
fn after<'n>(repository: &'n str, prefix: &str) -> Option<&'n str> {
    let Some(domain) = prefix.strip_prefix('*').filter(|domain| domain.starts_with('.')) else {
        let rest = repository.strip_prefix(prefix)?;
        return (rest.is_empty() || rest.starts_with(['/', ':'])).then_some(rest);
    };
    let host = repository.split_once('/').map_or(repository, |(host, _)| host);
    let name = host.split_once(':').map_or(host, |(name, _)| name);
    name.strip_suffix(domain)?;
    repository.strip_prefix(name)
}

fn trimmed(location: &str) -> &str {
    location.trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest() -> String {
        format!("sha256:{}", "0".repeat(64))
    }

    /// `+` after an insecure place.
    fn asked(mirrors: &Mirrors, image: &str) -> Vec<String> {
        let places = mirrors.places(&Reference::parse(image).unwrap()).unwrap();
        let shown = |place: &Place| format!("{}{}", place.image.repository(), if place.insecure { "+" } else { "" });
        places.iter().map(shown).collect()
    }

    fn strings(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    fn mirrors() -> Mirrors {
        let mut mirrors = Mirrors::default();
        let allow = SourcePolicy::AllowContactingSource;
        mirrors.add(
            Serves::Digests,
            "quay.example/release",
            &strings(&["one.example:5000/r/", "two.example/r"]),
            allow,
        );
        mirrors.add(Serves::Digests, "quay.example/release/", &strings(&["two.example/r", "three.example"]), allow);
        mirrors.add(Serves::Tags, "quay.example/release", &strings(&["tags.example/r"]), allow);
        mirrors.add(Serves::Digests, "quay.example", &strings(&["all.example"]), SourcePolicy::NeverContactSource);
        mirrors.add(Serves::All, "*.wild.example", &strings(&["tame.example/x"]), allow);
        mirrors.allow_insecure("two.example");
        mirrors.block("blocked.example");
        mirrors
    }

    #[test]
    fn the_longest_source_counts_and_its_mirrors_come_first() {
        for (name, by_digest, by_tag) in [
            ("other.example/os", &["other.example/os"][..], &["other.example/os"][..]),
            (
                "quay.example/release/os",
                &["one.example:5000/r/os", "two.example/r/os+", "three.example/os", "quay.example/release/os"],
                &["tags.example/r/os", "quay.example/release/os"],
            ),
            ("quay.example/releases/os", &["all.example/releases/os"], &[]),
            (
                "a.wild.example/os",
                &["tame.example/x/os", "a.wild.example/os"],
                &["tame.example/x/os", "a.wild.example/os"],
            ),
            ("wild.example/os", &["wild.example/os"], &["wild.example/os"]),
            ("blocked.example/os", &[], &[]),
        ] {
            for (image, expected) in [(format!("{name}@{}", digest()), by_digest), (format!("{name}:1"), by_tag)] {
                if expected.is_empty() {
                    let error = mirrors().places(&Reference::parse(&image).unwrap()).unwrap_err();
                    assert!(matches!(error, MirrorsError::Blocked { .. }), "{image}: {error}");
                } else {
                    assert_eq!(asked(&mirrors(), &image), expected, "{image}");
                }
            }
        }
    }

    #[test]
    fn a_name_that_cannot_be_moved_is_an_error() {
        let image = Reference::parse("a.wild.example:5000/os:1").unwrap();
        assert!(matches!(mirrors().places(&image), Err(MirrorsError::Rewritten { .. })));
    }

    #[test]
    fn a_file_says_the_same() {
        let text = r#"
            unqualified-search-registries = ["x.example"]
            [[registry]]
            prefix = ""
            location = "quay.example/release"
            mirror-by-digest-only = true
            [[registry.mirror]]
            location = "one.example"
            insecure = true
            [[registry]]
            prefix = "moved.example"
            location = "elsewhere.example/b"
            [[registry.mirror]]
            location = "tags.example"
            pull-from-mirror = "tag-only"
        "#;
        let mirrors = Mirrors::from_registries_conf(text).unwrap();
        let by_digest = format!("quay.example/release/os@{}", digest());
        assert_eq!(asked(&mirrors, &by_digest), ["one.example/os+", "quay.example/release/os"]);
        assert_eq!(asked(&mirrors, "quay.example/release/os:1"), ["quay.example/release/os"]);
        assert_eq!(asked(&mirrors, "moved.example/os:1"), ["tags.example/os", "elsewhere.example/b/os"]);
        for text in ["[[registry]]\n", "registry = 1", "[[registry]]\nlocation=\"a\"\nblocked=\"x\""] {
            assert!(Mirrors::from_registries_conf(text).is_err(), "{text}");
        }
    }
}
