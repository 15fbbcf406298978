//! `registries.conf`: whether a change of it can make a running workload pull something else.
//!
//! Owns the safety rules the machine-config-daemon applies before it reloads CRI-O without a drain. Refuses to judge
//! the file otherwise: CRI-O is its reader.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

use crate::malformed::Malformed;

/// Where the file lives.
pub const PATH: &str = "/etc/containers/registries.conf";

const DIGEST_ONLY: &str = "digest-only";

/// The parts of the file that decide which image is pulled from where.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Registries {
    #[serde(default)]
    pub(crate) unqualified_search_registries: Vec<String>,
    #[serde(default, rename = "registry")]
    pub(crate) registries: Vec<Registry>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct Registry {
    pub(crate) prefix: String,
    pub(crate) location: String,
    pub(crate) insecure: bool,
    pub(crate) blocked: bool,
    pub(crate) mirror_by_digest_only: bool,
    pub(crate) pull_from_mirror: String,
    #[serde(rename = "mirror")]
    pub(crate) mirrors: Vec<Mirror>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct Mirror {
    pub(crate) location: String,
    pub(crate) insecure: bool,
    pub(crate) pull_from_mirror: String,
}

/// Why the file cannot be judged.
#[derive(Debug, thiserror::Error)]
#[error("{PATH} is not a valid registries file")]
pub struct RegistriesError(#[source] Malformed);

/// Why a change needs the node drained. The names are of registries, never of credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hazard {
    /// An unqualified search registry was removed, replaced or moved.
    SearchOrder,
    /// A registry is gone.
    RegistryRemoved(String),
    /// A property of a registry changed.
    RegistryChanged(String, &'static str),
    /// A registry is new and not limited to digests.
    RegistryAdded(String),
    /// A mirror is gone from a registry.
    MirrorRemoved(String, String),
    /// A mirror of a registry is no longer limited as it was.
    MirrorChanged(String, String),
    /// A mirror of a registry is new and not limited to digests.
    MirrorAdded(String, String),
}

impl fmt::Display for Hazard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SearchOrder => write!(f, "an unqualified search registry was removed, replaced or moved"),
            Self::RegistryRemoved(scope) => write!(f, "registry {scope} was removed"),
            Self::RegistryChanged(scope, field) => write!(f, "{field} of registry {scope} changed"),
            Self::RegistryAdded(scope) => write!(f, "registry {scope} was added without being limited to digests"),
            Self::MirrorRemoved(scope, mirror) => write!(f, "mirror {mirror} of registry {scope} was removed"),
            Self::MirrorChanged(scope, mirror) => {
                write!(f, "pull-from-mirror of mirror {mirror} of registry {scope} changed and is not digest-only")
            }
            Self::MirrorAdded(scope, mirror) => {
                write!(f, "mirror {mirror} was added to registry {scope} without being limited to digests")
            }
        }
    }
}

impl Registries {
    /// Reads the file's text; a file that does not exist is an empty text.
    pub fn parse(text: &str) -> Result<Self, RegistriesError> {
        toml::from_str(text).map_err(|error| RegistriesError(Malformed::toml(text, &error)))
    }

    /// By scope: the prefix, or the location where there is none. The last of equal scopes counts.
    fn by_scope(&self) -> BTreeMap<&str, &Registry> {
        self.registries.iter().map(|registry| (registry.scope(), registry)).collect()
    }

    fn keeps_search_order_of(&self, old: &Self) -> bool {
        self.unqualified_search_registries.starts_with(&old.unqualified_search_registries)
    }
}

impl Registry {
    pub(crate) fn scope(&self) -> &str {
        if self.prefix.is_empty() { &self.location } else { &self.prefix }
    }

    fn mirror(&self, location: &str) -> Option<&Mirror> {
        self.mirrors.iter().find(|mirror| mirror.location == location)
    }

    /// For a registry that was not there before: the registry's own flag counts only when it has no mirrors.
    fn is_limited_to_digests(&self) -> bool {
        match self.mirrors.as_slice() {
            [] => self.mirror_by_digest_only,
            mirrors => mirrors.iter().all(Mirror::is_digest_only),
        }
    }
}

impl Mirror {
    fn is_digest_only(&self) -> bool {
        self.pull_from_mirror == DIGEST_ONLY
    }
}

/// The first reason, if there is one, why CRI-O must not simply reload the new file under running workloads.
pub fn hazard(old: &Registries, new: &Registries) -> Option<Hazard> {
    if !new.keeps_search_order_of(old) {
        return Some(Hazard::SearchOrder);
    }
    let (before, after) = (old.by_scope(), new.by_scope());
    if let Some(scope) = before.keys().find(|scope| !after.contains_key(*scope)) {
        return Some(Hazard::RegistryRemoved((*scope).to_owned()));
    }
    after.iter().find_map(|(scope, registry)| match before.get(scope) {
        Some(previous) if previous == registry => None,
        Some(previous) => hazard_in_registry(previous, registry),
        None if registry.is_limited_to_digests() => None,
        None => Some(Hazard::RegistryAdded((*scope).to_owned())),
    })
}

fn hazard_in_registry(old: &Registry, new: &Registry) -> Option<Hazard> {
    let scope = || new.scope().to_owned();
    let fields = [
        ("prefix", old.prefix != new.prefix),
        ("location", old.location != new.location),
        ("blocked", old.blocked != new.blocked),
        ("insecure", old.insecure != new.insecure),
    ];
    if let Some((field, _)) = fields.into_iter().find(|(_, changed)| *changed) {
        return Some(Hazard::RegistryChanged(scope(), field));
    }
    if let Some(gone) = old.mirrors.iter().find(|mirror| new.mirror(&mirror.location).is_none()) {
        return Some(Hazard::MirrorRemoved(scope(), gone.location.clone()));
    }
    new.mirrors.iter().find_map(|mirror| match old.mirror(&mirror.location) {
        _ if mirror.is_digest_only() => None,
        Some(previous) if previous.pull_from_mirror == mirror.pull_from_mirror => None,
        Some(_) => Some(Hazard::MirrorChanged(scope(), mirror.location.clone())),
        None if new.mirror_by_digest_only => None,
        None => Some(Hazard::MirrorAdded(scope(), mirror.location.clone())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registries(text: &str) -> Registries {
        Registries::parse(text).unwrap()
    }

    fn registry(location: &str, rest: &str) -> String {
        format!("[[registry]]\nlocation = \"{location}\"\n{rest}\n")
    }

    fn mirror(location: &str, pull: &str) -> String {
        format!("[[registry.mirror]]\nlocation = \"{location}\"\npull-from-mirror = \"{pull}\"\n")
    }

    #[test]
    fn search_registries_may_only_be_appended() {
        let list = |names: &str| registries(&format!("unqualified-search-registries = [{names}]"));
        for (old, new, safe) in [
            (r#""a""#, r#""a", "b""#, true),
            ("", r#""a""#, true),
            (r#""a", "b""#, r#""a""#, false),
            (r#""a", "b""#, r#""b", "a""#, false),
        ] {
            assert_eq!(hazard(&list(old), &list(new)).is_none(), safe, "{old} -> {new}");
        }
    }

    #[test]
    fn a_new_registry_must_be_limited_to_digests() {
        for (new, safe) in [
            (registry("r", ""), false),
            (registry("r", "mirror-by-digest-only = true"), true),
            (registry("r", &mirror("m", "digest-only")), true),
            (registry("r", &mirror("m", "tag-only")), false),
            (registry("r", &format!("mirror-by-digest-only = true\n{}", mirror("m", "all"))), false),
        ] {
            assert_eq!(hazard(&Registries::default(), &registries(&new)).is_none(), safe, "{new}");
        }
    }

    #[test]
    fn a_changed_registry_is_judged_field_by_field() {
        let plain = registry("r", "");
        for (old, new, expected) in [
            (plain.clone(), String::new(), Some("registry r was removed")),
            (plain.clone(), registry("r", "blocked = true"), Some("blocked of registry r changed")),
            (plain.clone(), registry("r", "insecure = true"), Some("insecure of registry r changed")),
            (plain.clone(), registry("r", "prefix = \"r\""), Some("prefix of registry r changed")),
            (registry("a", "prefix = \"p\""), registry("b", "prefix = \"p\""), Some("location of registry p changed")),
            (plain.clone(), registry("r", "mirror-by-digest-only = true"), None),
            (plain.clone(), registry("r", &mirror("m", "digest-only")), None),
            (
                plain,
                registry("r", &mirror("m", "all")),
                Some("mirror m was added to registry r without being limited to digests"),
            ),
            (registry("r", &mirror("m", "all")), registry("r", ""), Some("mirror m of registry r was removed")),
            (registry("r", &mirror("m", "all")), registry("r", &mirror("m", "digest-only")), None),
            (
                registry("r", &mirror("m", "digest-only")),
                registry("r", &mirror("m", "all")),
                Some("pull-from-mirror of mirror m of registry r changed and is not digest-only"),
            ),
        ] {
            let found = hazard(&registries(&old), &registries(&new)).map(|hazard| hazard.to_string());
            assert_eq!(found.as_deref(), expected, "{old} -> {new}");
        }
    }

    #[test]
    fn the_registry_flag_covers_new_mirrors_of_an_old_registry_only() {
        let flagged = |rest: &str| registries(&registry("r", &format!("mirror-by-digest-only = true\n{rest}")));
        assert_eq!(hazard(&flagged(""), &flagged(&mirror("m", "all"))), None);
    }

    #[test]
    fn the_last_of_two_registries_with_one_scope_counts() {
        let twice = format!("{}{}", registry("r", "blocked = true"), registry("r", ""));
        assert_eq!(hazard(&registries(&twice), &registries(&registry("r", ""))), None);
    }

    #[test]
    fn unknown_keys_are_ignored_and_bad_text_is_refused_without_being_quoted() {
        assert!(Registries::parse("short-name-mode = \"enforcing\"\n[x]\ny = 1\n").is_ok());
        let RegistriesError(error) = Registries::parse("\nregistry = \"hunter2\"").unwrap_err();
        assert_eq!(error.to_string(), "line 2: must be a list, not a string");
        assert!(Registries::parse("[[registry").is_err());
    }
}
