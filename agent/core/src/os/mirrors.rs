//! Where an image is really pulled from: the places that `registries.conf` and its drop-ins make of its name.
//!
//! Owns containers-registries.conf(5) as skopeo, ostree and CRI-O follow it, which was compared with skopeo itself where
//! the manual is silent. Refuses the first format of that file, which no CoreOS ever had, and short names.

use std::collections::BTreeMap;

use super::image::Pinned;
use crate::registries::{Mirror, Registries, RegistriesError, Registry};

/// Where drop-ins live; those that end in `.conf` count, in the order of their names.
pub const DROP_INS: &str = "/etc/containers/registries.conf.d";

/// One place that is asked for an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The image as it is called there.
    pub image: Pinned,
    /// Whether it may be without TLS, or with a certificate that nobody vouches for.
    pub insecure: bool,
    /// The prefix whose `blocked` forbids to ask there.
    pub blocked: Option<String>,
    /// Whether it is a mirror and not the location itself.
    pub mirror: bool,
}

/// Why no image can be pulled with these files.
#[derive(Debug, thiserror::Error)]
pub enum MirrorsError {
    /// A file cannot be read.
    #[error("{path} is not a valid registries file")]
    Malformed {
        /// Which.
        path: String,
        /// Why.
        #[source]
        source: RegistriesError,
    },
    /// A file contradicts itself, and its readers throw all of it away.
    #[error("{path} is not a valid registries file: registry {scope:?} {fault}")]
    Registry {
        /// Which file.
        path: String,
        /// Which entry.
        scope: String,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// The name that comes out is none.
    #[error("mirror or location {location:?} makes a name of {image} that is none")]
    Rewritten {
        /// Of what.
        image: String,
        /// By what.
        location: String,
    },
}

/// Reads the main file (a missing one is an empty text) and drop-ins, given by path in the order of their names. A later
/// entry replaces an earlier one with the same prefix.
pub fn merge(main: &str, drop_ins: &[(String, String)]) -> Result<Registries, MirrorsError> {
    let mut merged = read(crate::registries::PATH, main)?;
    for (path, text) in drop_ins {
        let update = read(path, text)?;
        let all = merged.registries.into_iter().chain(update.registries);
        let by_scope: BTreeMap<String, Registry> =
            all.map(|registry| (trimmed(registry.scope()).to_owned(), registry)).collect();
        merged.registries = by_scope.into_values().collect();
        if !update.unqualified_search_registries.is_empty() {
            merged.unqualified_search_registries = update.unqualified_search_registries;
        }
    }
    Ok(merged)
}

fn read(path: &str, text: &str) -> Result<Registries, MirrorsError> {
    let registries =
        Registries::parse(text).map_err(|source| MirrorsError::Malformed { path: path.to_owned(), source })?;
    let bad = registries.registries.iter().find_map(|registry| {
        let fault = fault(registry).or_else(|| contradiction(registry, &registries.registries))?;
        Some((registry.scope().to_owned(), fault))
    });
    match bad {
        Some((scope, fault)) => Err(MirrorsError::Registry { path: path.to_owned(), scope, fault }),
        None => Ok(registries),
    }
}

fn fault(registry: &Registry) -> Option<&'static str> {
    let wildcard = registry.scope().strip_prefix("*.");
    if wildcard.is_some_and(|domain| domain.contains(['/', '@', ':'])) {
        return Some("has a wildcard with more than a domain");
    }
    if registry.location.is_empty() && wildcard.is_none() {
        return Some("has no location");
    }
    if !registry.pull_from_mirror.is_empty() {
        return Some("has pull-from-mirror, which is for mirrors only");
    }
    let locations = registry.mirrors.iter().map(|mirror| &mirror.location);
    if locations.clone().any(|location| trimmed(location).is_empty()) {
        return Some("has a mirror without location");
    }
    if locations.chain([&registry.location, &registry.prefix]).any(|location| has_scheme(location)) {
        return Some("has http:// or https:// before a location");
    }
    registry.mirrors.iter().find_map(|mirror| match mirror.pull_from_mirror.as_str() {
        "" => None,
        _ if registry.mirror_by_digest_only => Some("has mirror-by-digest-only beside pull-from-mirror"),
        "all" | "digest-only" | "tag-only" => None,
        _ => Some("has a pull-from-mirror that is not all, digest-only or tag-only"),
    })
}

fn contradiction(registry: &Registry, all: &[Registry]) -> Option<&'static str> {
    let mut same = all.iter().filter(|other| trimmed(&other.location) == trimmed(&registry.location));
    same.any(|other| (other.insecure, other.blocked) != (registry.insecure, registry.blocked))
        .then_some("has another insecure or blocked in another entry with its location")
}

fn has_scheme(location: &str) -> bool {
    location.starts_with("http://") || location.starts_with("https://")
}

fn trimmed(location: &str) -> &str {
    location.trim_end_matches('/')
}

/// Every place where an image is looked for, in order, blocked ones included.
pub fn places(registries: &Registries, image: &Pinned) -> Result<Vec<Place>, MirrorsError> {
    let Some((registry, rest)) = find(registries, image.repository()) else {
        return Ok(vec![Place { image: image.clone(), insecure: false, blocked: None, mirror: false }]);
    };
    let mirrors = registry.mirrors.iter().filter(|mirror| serves_digests(mirror));
    let ends = mirrors.map(|mirror| (mirror.location.as_str(), mirror.insecure, true));
    let ends = ends.chain([(registry.location.as_str(), registry.insecure, false)]);
    ends.map(|(location, insecure, mirror)| {
        let image = rewritten(image, location, rest)?;
        // What counts is the name that is asked for in the end: a blocked registry with mirrors is pulled from them.
        let blocked = find(registries, image.repository()).map(|(registry, _)| registry);
        let blocked = blocked.filter(|registry| registry.blocked).map(|registry| registry.scope().to_owned());
        Ok(Place { image, insecure, blocked, mirror })
    })
    .collect()
}

fn serves_digests(mirror: &Mirror) -> bool {
    mirror.pull_from_mirror != "tag-only"
}

/// A wildcard needs no location: then the name stays.
fn rewritten(image: &Pinned, location: &str, rest: &str) -> Result<Pinned, MirrorsError> {
    let location = trimmed(location);
    if location.is_empty() {
        return Ok(image.clone());
    }
    let name = format!("{location}{rest}");
    // The port of a host that a wildcard took away would end up in the middle of the name.
    let port = name.split_once('/').is_some_and(|(_, path)| path.contains(':'));
    let parsed = Pinned::parse(&format!("{name}@{}", image.digest())).ok().filter(|_| !port);
    parsed.ok_or_else(|| MirrorsError::Rewritten { image: image.to_string(), location: location.to_owned() })
}

/// The entry with the longest prefix, the first of equal ones, and what its location is put before.
fn find<'r, 'n>(registries: &'r Registries, repository: &'n str) -> Option<(&'r Registry, &'n str)> {
    let mut best: Option<(&Registry, &str)> = None;
    for registry in &registries.registries {
        let scope = trimmed(registry.scope());
        let longer = best.is_none_or(|(found, _)| scope.len() > trimmed(found.scope()).len());
        if let Some(rest) = after(repository, scope).filter(|_| longer) {
            best = Some((registry, rest));
        }
    }
    best
}

/// What follows a prefix in a name; none where it is no prefix. A domain with a wildcard stands for its subdomains, and a
/// prefix without port matches a host with one, as every reader of these files has it.
fn after<'n>(repository: &'n str, scope: &str) -> Option<&'n str> {
    let rest = match scope.strip_prefix('*') {
        Some(domain) if domain.starts_with('.') => {
            let (host, _) = repository.split_once(domain)?;
            let rest = repository.strip_prefix(host)?.strip_prefix(domain)?;
            (!host.contains('/')).then_some(rest)?
        }
        _ => repository.strip_prefix(scope)?,
    };
    (rest.is_empty() || rest.starts_with([':', '/'])).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn image(name: &str) -> Pinned {
        Pinned::parse(&format!("{name}@{DIGEST}")).unwrap()
    }

    /// `+` before an insecure place, `!` before a blocked one.
    fn asked(registries: &Registries, name: &str) -> Vec<String> {
        let text = |place: &Place| {
            let mark = if place.insecure { "+" } else { "" };
            let blocked = if place.blocked.is_some() { "!" } else { "" };
            format!("{blocked}{mark}{}", place.image.repository())
        };
        places(registries, &image(name)).unwrap().iter().map(text).collect()
    }

    const MIRRORED: &str = r#"
        [[registry]]
        prefix = "quay.example/release"
        location = "quay.example/release"
        [[registry.mirror]]
        location = "one.example:5000/r/"
        pull-from-mirror = "digest-only"
        [[registry.mirror]]
        location = "tags.example/r"
        pull-from-mirror = "tag-only"
        [[registry.mirror]]
        location = "two.example"
        insecure = true
        [[registry]]
        location = "quay.example"
        blocked = true
        [[registry]]
        prefix = "*.wild.example"
        [[registry.mirror]]
        location = "tame.example/x"
        [[registry]]
        prefix = "moved.example/a"
        location = "elsewhere.example/b"
        blocked = true
        [[registry]]
        location = "blocked.example/a"
        blocked = true
        [[registry.mirror]]
        location = "one.example:5000/a"
        [[registry.mirror]]
        location = "quay.example/a"
    "#;

    #[test]
    fn an_image_is_looked_for_at_its_mirrors_and_then_at_home() {
        let registries = merge(MIRRORED, &[]).unwrap();
        for (name, expected) in [
            ("other.example/os", &["other.example/os"][..]),
            ("quay.example/release/os", &["one.example:5000/r/os", "+two.example/os", "quay.example/release/os"]),
            ("quay.example/releases/os", &["!quay.example/releases/os"]),
            ("quay.example:8443/os", &["!quay.example:8443/os"]),
            ("quay.examples/os", &["quay.examples/os"]),
            ("a.wild.example/os/x", &["tame.example/x/os/x", "a.wild.example/os/x"]),
            ("wild.example/os", &["wild.example/os"]),
            ("host.example/a.wild.example/os", &["host.example/a.wild.example/os"]),
            ("moved.example/a/os", &["elsewhere.example/b/os"]),
            ("blocked.example/a/os", &["one.example:5000/a/os", "!quay.example/a/os", "!blocked.example/a/os"]),
        ] {
            assert_eq!(asked(&registries, name), expected, "{name}");
        }
    }

    #[test]
    fn a_wildcard_does_not_carry_a_port_into_a_mirror() {
        let registries = merge(MIRRORED, &[]).unwrap();
        let error = places(&registries, &image("a.wild.example:5000/os")).unwrap_err();
        assert!(matches!(error, MirrorsError::Rewritten { location, .. } if location == "tame.example/x"));
    }

    #[test]
    fn drop_ins_replace_entries_with_their_prefix_and_add_others() {
        let entry =
            |prefix: &str, location: &str| format!("[[registry]]\nprefix = \"{prefix}\"\nlocation = \"{location}\"\n");
        let drop_ins = [
            (
                "/d/1.conf".to_owned(),
                format!("{}{}", entry("a.example", "two.example"), entry("b.example", "two.example")),
            ),
            ("/d/2.conf".to_owned(), entry("b.example/", "three.example")),
        ];
        let main = entry("a.example", "one.example");
        let registries = merge(&main, &drop_ins).unwrap();
        assert_eq!(asked(&registries, "a.example/x"), ["two.example/x"]);
        assert_eq!(asked(&registries, "b.example/x"), ["three.example/x"]);
        let twice = format!("{main}{}", entry("a.example", "two.example"));
        assert_eq!(asked(&merge(&twice, &[]).unwrap(), "a.example/x"), ["one.example/x"]);
        assert_eq!(
            asked(&merge(&twice, &[("/d/1.conf".to_owned(), String::new())]).unwrap(), "a.example/x"),
            ["two.example/x"]
        );
    }

    #[test]
    fn what_other_readers_throw_away_is_refused_by_file_and_entry() {
        for (text, wanted) in [
            ("prefix = \"a.example\"", "has no location"),
            ("location = \"https://a.example\"", "has http:// or https:// before a location"),
            ("prefix = \"*.a.example/b\"", "has a wildcard with more than a domain"),
            ("location = \"a.example\"\npull-from-mirror = \"all\"", "has pull-from-mirror, which is for mirrors only"),
            ("location = \"a.example\"\n[[registry.mirror]]\ninsecure = true", "has a mirror without location"),
            (
                "location = \"a.example\"\n[[registry.mirror]]\nlocation = \"m\"\npull-from-mirror = \"never\"",
                "has a pull-from-mirror that is not all, digest-only or tag-only",
            ),
            (
                "location = \"a.example\"\nmirror-by-digest-only = true\n[[registry.mirror]]\nlocation = \"m\"\npull-from-mirror = \"all\"",
                "has mirror-by-digest-only beside pull-from-mirror",
            ),
            (
                "location = \"a.example\"\n[[registry]]\nprefix = \"b.example\"\nlocation = \"a.example\"\nblocked = true",
                "has another insecure or blocked in another entry with its location",
            ),
        ] {
            let drop_in = ("/d/x.conf".to_owned(), format!("[[registry]]\n{text}\n"));
            let error = merge("", &[drop_in]).unwrap_err();
            assert!(
                matches!(&error, MirrorsError::Registry { path, fault, .. } if path == "/d/x.conf" && *fault == wanted),
                "{error}"
            );
        }
        assert!(matches!(merge("registry = 1", &[]), Err(MirrorsError::Malformed { .. })));
    }

    #[test]
    fn a_digest_only_registry_uses_its_mirrors() {
        let text = "[[registry]]\nlocation = \"a.example\"\nmirror-by-digest-only = true\n[[registry.mirror]]\nlocation = \"m.example\"\n";
        assert_eq!(asked(&merge(text, &[]).unwrap(), "a.example/x"), ["m.example/x", "a.example/x"]);
    }
}
