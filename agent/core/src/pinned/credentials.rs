//! Who lets us in where, from a file of registry credentials as Docker and podman write it.
//!
//! Owns the reading and the lookup: the longest entry that a name begins with counts. An entry that cannot be read is as
//! if it were not there; it is others' and must not keep us from ours.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;

use crate::os::mirrors::Place;
use crate::secret::Secret;

/// A name and a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// The name.
    pub user: String,
    /// The password.
    pub password: Secret<String>,
}

/// All credentials of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Credentials {
    logins: BTreeMap<String, Login>,
    /// Entries that cannot be read, by name.
    pub unreadable: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct File {
    auths: BTreeMap<String, Value>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Entry {
    auth: String,
    username: String,
    password: String,
}

impl Credentials {
    /// Reads a file; one that is no such file has no credentials in it.
    pub fn parse(bytes: &[u8]) -> Self {
        let mut credentials = Self::default();
        let file: File = serde_json::from_slice(bytes).unwrap_or_default();
        for (name, value) in file.auths {
            match serde_json::from_value::<Entry>(value).ok().and_then(|entry| entry.login()) {
                Some(login) => drop(credentials.logins.insert(scope(&name).to_owned(), login)),
                None => credentials.unreadable.push(name),
            }
        }
        credentials
    }

    /// What may let us in at the places where an image is looked for, in their order and each once. Those of a mirror come
    /// before those of the image's own registry, since that is who is asked first.
    pub fn for_places(&self, places: &[Place]) -> Vec<&Login> {
        let mut found: Vec<&Login> = Vec::new();
        for login in places.iter().filter_map(|place| self.for_repository(place.image.repository())) {
            if !found.contains(&login) {
                found.push(login);
            }
        }
        found
    }

    /// The entry for a repository, else for what is above it, up to its registry.
    pub fn for_repository(&self, repository: &str) -> Option<&Login> {
        let mut names = std::iter::successors(Some(repository), |&name| name.rsplit_once('/').map(|(above, _)| above));
        names.find_map(|name| self.logins.get(name))
    }
}

impl Entry {
    fn login(self) -> Option<Login> {
        if self.auth.is_empty() {
            let login = Login { user: self.username, password: Secret::new(self.password) };
            return (!login.user.is_empty()).then_some(login);
        }
        let text = STANDARD.decode(self.auth.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok())?;
        let (user, password) = text.split_once(':')?;
        let password = password.trim_end_matches('\0').to_owned();
        (!user.is_empty()).then(|| Login { user: user.to_owned(), password: Secret::new(password) })
    }
}

/// Docker wrote whole addresses once, with the version of a protocol at their end.
fn scope(name: &str) -> &str {
    let name = name.strip_prefix("https://").or_else(|| name.strip_prefix("http://")).unwrap_or(name);
    let name = name.trim_end_matches('/');
    let name = name.strip_suffix("/v1").or_else(|| name.strip_suffix("/v2")).unwrap_or(name);
    if name == "index.docker.io" { "docker.io" } else { name }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::os::image::Pinned;
    use crate::os::mirrors;

    fn auth(user: &str) -> Value {
        json!({"auth": STANDARD.encode(format!("{user}:pass:word")), "email": "x"})
    }

    fn credentials() -> Credentials {
        let file = json!({"auths": {
            "quay.example": auth("host"), "quay.example/team": auth("team"), "quay.example/team/app": auth("app"),
            "https://index.docker.io/v1/": auth("hub"), "mirror.example:5000": auth("mirror"),
            "plain.example": {"username": "plain", "password": "p"},
            "broken.example": {"auth": "!"}, "empty.example": {}, "colonless.example": {"auth": STANDARD.encode("x")},
            "strange.example": 7,
        }});
        Credentials::parse(file.to_string().as_bytes())
    }

    #[test]
    fn the_longest_entry_counts_and_broken_ones_hinder_nobody() {
        let credentials = credentials();
        for (repository, expected) in [
            ("quay.example/other", Some("host")),
            ("quay.example/team/x", Some("team")),
            ("quay.example/team/app", Some("app")),
            ("quay.example/team/app/y", Some("app")),
            ("quay.example/teams/x", Some("host")),
            ("quay.example:443/x", None),
            ("docker.io/library/x", Some("hub")),
            ("mirror.example:5000/x", Some("mirror")),
            ("plain.example/x", Some("plain")),
            ("broken.example/x", None),
            ("empty.example/x", None),
        ] {
            let found = credentials.for_repository(repository).map(|login| login.user.as_str());
            assert_eq!(found, expected, "{repository}");
        }
        assert_eq!(credentials.unreadable, ["broken.example", "colonless.example", "empty.example", "strange.example"]);
        assert_eq!(credentials.for_repository("quay.example/x").unwrap().password.expose(), "pass:word");
    }

    #[test]
    fn mirrors_come_first_and_the_registry_itself_last() {
        let text = "[[registry]]\nlocation = \"quay.example/team\"\n[[registry.mirror]]\nlocation = \"mirror.example:5000\"\n\
                    [[registry.mirror]]\nlocation = \"unknown.example\"\n";
        let registries = mirrors::merge(text, &[]).unwrap();
        let image = Pinned::parse(&format!("quay.example/team/app@sha256:{}", "0".repeat(64))).unwrap();
        let places = mirrors::places(&registries, &image).unwrap();
        let credentials = credentials();
        let users: Vec<&str> = credentials.for_places(&places).into_iter().map(|login| login.user.as_str()).collect();
        assert_eq!(users, ["mirror", "app"]);
    }

    #[test]
    fn what_is_no_file_of_credentials_has_none_and_nothing_is_shown() {
        for bytes in [&b""[..], b"[]", b"{\"auths\":[]}", b"\xff"] {
            assert_eq!(Credentials::parse(bytes), Credentials::default());
        }
        let shown = format!("{:?}", credentials());
        assert!(!shown.contains("pass:word"), "{shown}");
    }
}
