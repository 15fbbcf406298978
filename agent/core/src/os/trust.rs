//! What `policy.json` asks of an image before anything on this machine may use it.
//!
//! Owns the reading of containers-policy.json(5), as strictly as its other readers: what they would reject as a whole is
//! rejected here, before a node is drained. Refuses to verify a signature, which is skopeo's and ostree's work, and to
//! say how the file should be changed: Ostler never writes it.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};

use super::image::Pinned;
use crate::malformed::Malformed;

/// Where the file lives.
pub const PATH: &str = "/etc/containers/policy.json";

/// What is asked of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// Nothing.
    AcceptsAnything,
    /// Signatures.
    Signed {
        /// Every file that has to be there for them to be verified, sorted.
        keys: Vec<String>,
    },
    /// It is refused whatever it is.
    Rejected,
}

/// A requirement and where it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// What is asked.
    pub requirement: Requirement,
    /// The scope of the `docker` transport that says so; none where it is the default of the whole file.
    pub scope: Option<String>,
}

/// Why the file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// Not the shape it should have.
    #[error("{PATH} is not a valid signature policy")]
    Malformed(#[source] Malformed),
    /// A rule that nothing could follow.
    #[error("{PATH} is not a valid signature policy: a rule for {scope:?} {fault}")]
    Rule {
        /// Where it stands.
        scope: String,
        /// What is wrong with it.
        fault: &'static str,
    },
}

/// The file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    default: Vec<Rule>,
    docker: BTreeMap<String, Vec<Rule>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    default: Vec<Rule>,
    #[serde(default)]
    transports: Unique<Unique<Vec<Rule>>>,
}

/// One requirement. Contents of keys are read past and never kept.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", deny_unknown_fields)]
enum Rule {
    #[serde(rename = "insecureAcceptAnything")]
    Accept {},
    #[serde(rename = "reject")]
    Reject {},
    #[serde(rename = "signedBy")]
    SignedBy(SignedBy),
    #[serde(rename = "sigstoreSigned")]
    SigstoreSigned(SigstoreSigned),
    /// Known to every reader and fulfilled by none.
    #[serde(rename = "signedBaseLayer")]
    SignedBaseLayer {
        #[serde(rename = "baseLayerIdentity")]
        identity: Identity,
    },
}

/// Whom a signature has to speak of. Which one it is decides nothing here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum Identity {
    MatchExact,
    MatchRepoDigestOrExact,
    MatchRepository,
    ExactReference,
    ExactRepository,
    #[serde(rename = "remapIdentity")]
    Remap,
}

/// That something is there, and not what it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Present(bool);

impl<'de> Deserialize<'de> for Present {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde::de::IgnoredAny::deserialize(deserializer).map(|_| Self(true))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct SignedBy {
    key_type: String,
    key_path: Option<String>,
    key_paths: Option<Vec<String>>,
    key_data: Present,
    signed_identity: Option<Identity>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct SigstoreSigned {
    key_path: Option<String>,
    key_paths: Option<Vec<String>>,
    key_data: Present,
    key_datas: Present,
    fulcio: Option<Fulcio>,
    pki: Option<Pki>,
    rekor_public_key_path: Option<String>,
    rekor_public_key_paths: Vec<String>,
    rekor_public_key_data: Present,
    rekor_public_key_datas: Present,
    signed_identity: Option<Identity>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Fulcio {
    #[serde(rename = "caPath")]
    ca_path: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Pki {
    #[serde(rename = "caRootsPath")]
    roots: Option<String>,
    #[serde(rename = "caIntermediatesPath")]
    intermediates: Option<String>,
}

impl Rule {
    fn keys(&self) -> Vec<&String> {
        match self {
            Self::Accept {} | Self::Reject {} | Self::SignedBaseLayer { .. } => Vec::new(),
            Self::SignedBy(rule) => rule.key_path.iter().chain(rule.key_paths.iter().flatten()).collect(),
            Self::SigstoreSigned(rule) => rule.files(),
        }
    }

    /// What makes readers throw the whole file away although it is well formed.
    fn fault(&self) -> Option<&'static str> {
        let sources = match self {
            Self::Accept {} | Self::Reject {} | Self::SignedBaseLayer { .. } => return None,
            Self::SignedBy(rule) if rule.key_type != "GPGKeys" => return Some("has another keyType than GPGKeys"),
            Self::SignedBy(rule) => vec![named(&rule.key_path), rule.key_paths.is_some(), rule.key_data.0],
            Self::SigstoreSigned(rule) => vec![
                named(&rule.key_path),
                rule.key_paths.is_some(),
                rule.key_data.0,
                rule.key_datas.0,
                rule.fulcio.is_some(),
                rule.pki.is_some(),
            ],
        };
        (sources.into_iter().filter(|given| *given).count() != 1).then_some("does not name keys in exactly one way")
    }
}

fn named(file: &Option<String>) -> bool {
    file.as_ref().is_some_and(|file| !file.is_empty())
}

impl SigstoreSigned {
    fn files(&self) -> Vec<&String> {
        let fulcio = self.fulcio.iter().filter_map(|fulcio| fulcio.ca_path.as_ref());
        let pki = self.pki.iter().flat_map(|pki| pki.roots.iter().chain(&pki.intermediates));
        let own = self.key_path.iter().chain(self.key_paths.iter().flatten());
        let log = self.rekor_public_key_path.iter().chain(&self.rekor_public_key_paths);
        own.chain(log).chain(fulcio).chain(pki).collect()
    }
}

impl Policy {
    /// Reads the file's text.
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        let document = read(text).map_err(PolicyError::Malformed)?;
        let mut transports = document.transports.0;
        check("default", &document.default)?;
        let scopes = transports.values().flat_map(|scopes| &scopes.0);
        scopes.into_iter().try_for_each(|(scope, rules)| check(scope, rules))?;
        let docker = transports.remove("docker").map(|scopes| scopes.0).unwrap_or_default();
        Ok(Self { default: document.default, docker })
    }

    /// What is asked of an image. Its own name counts, not that of the mirror it is pulled from.
    pub fn ruling(&self, image: &Pinned) -> Ruling {
        let named = scopes(image).into_iter().find_map(|scope| self.docker.get_key_value(&scope));
        let (scope, rules) = match named {
            Some((scope, rules)) => (Some(scope.clone()), rules),
            None => (None, &self.default),
        };
        Ruling { requirement: requirement(rules), scope }
    }

    /// Whether rpm-ostree and bootc are told to insist on signatures. They then refuse every image if the default of the
    /// file accepts anything, whatever the scope of the image asks for; the rules of its scope hold either way.
    pub fn insists_on_signatures(&self, image: &Pinned) -> bool {
        requirement(&self.default) != Requirement::AcceptsAnything
            && matches!(self.ruling(image).requirement, Requirement::Signed { .. })
    }
}

fn check(scope: &str, rules: &[Rule]) -> Result<(), PolicyError> {
    let none = rules.is_empty().then_some("is missing: the list is empty");
    match none.or_else(|| rules.iter().find_map(Rule::fault)) {
        Some(fault) => Err(PolicyError::Rule { scope: scope.to_owned(), fault }),
        None => Ok(()),
    }
}

fn read(text: &str) -> Result<Document, Malformed> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let document = serde_path_to_error::deserialize(&mut reader)
        .map_err(|error| Malformed::new(error.path().to_string(), &error.inner().to_string()))?;
    reader.end()?;
    Ok(document)
}

/// All rules of a scope have to be met.
fn requirement(rules: &[Rule]) -> Requirement {
    if rules.iter().any(|rule| matches!(rule, Rule::Reject {} | Rule::SignedBaseLayer { .. })) {
        return Requirement::Rejected;
    }
    if rules.iter().all(|rule| matches!(rule, Rule::Accept {})) {
        return Requirement::AcceptsAnything;
    }
    let mut keys: Vec<String> = rules.iter().flat_map(Rule::keys).cloned().collect();
    keys.sort();
    keys.dedup();
    Requirement::Signed { keys }
}

/// Every scope that an image falls into, the narrowest first: itself, its repository, the namespaces around it, its host
/// with the port, the domains around the host without it, and everything.
fn scopes(image: &Pinned) -> Vec<String> {
    let mut scopes = vec![image.to_string()];
    let mut name = image.repository();
    scopes.push(name.to_owned());
    while let Some((outer, _)) = name.rsplit_once('/') {
        scopes.push(outer.to_owned());
        name = outer;
    }
    let mut domain = name.split_once(':').map_or(name, |(host, _)| host);
    while let Some((_, outer)) = domain.split_once('.') {
        scopes.push(format!("*.{outer}"));
        domain = outer;
    }
    scopes.push(String::new());
    scopes
}

/// A map in which no key stands twice: of two rules for one scope nobody could say which is meant.
struct Unique<V>(BTreeMap<String, V>);

impl<V> Default for Unique<V> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Unique<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(UniqueVisitor(PhantomData))
    }
}

struct UniqueVisitor<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for UniqueVisitor<V> {
    type Value = Unique<V>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut entries = BTreeMap::new();
        while let Some((key, value)) = access.next_entry::<String, V>()? {
            if entries.insert(key, value).is_some() {
                return Err(A::Error::custom("a scope or transport is named twice"));
            }
        }
        Ok(Unique(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn image(name: &str) -> Pinned {
        Pinned::parse(&format!("{name}@{DIGEST}")).unwrap()
    }

    fn policy(scopes: &str) -> Policy {
        let text = format!(r#"{{"default":[{{"type":"reject"}}],"transports":{{"docker":{{{scopes}}}}}}}"#);
        Policy::parse(&text).unwrap()
    }

    const ACCEPT: &str = r#"[{"type":"insecureAcceptAnything"}]"#;

    #[test]
    fn the_narrowest_scope_counts() {
        let all = [
            format!("a.b.example:5000/os/rhcos@{DIGEST}"),
            "a.b.example:5000/os/rhcos".to_owned(),
            "a.b.example:5000/os".to_owned(),
            "a.b.example:5000".to_owned(),
            "*.b.example".to_owned(),
            "*.example".to_owned(),
            String::new(),
        ];
        for (at, scope) in all.iter().enumerate() {
            let rest: Vec<String> = all.iter().skip(at).map(|scope| format!(r#""{scope}":{ACCEPT}"#)).collect();
            let ruling = policy(&rest.join(",")).ruling(&image("a.b.example:5000/os/rhcos"));
            assert_eq!(ruling.scope.as_ref(), Some(scope));
        }
    }

    #[test]
    fn a_scope_is_no_prefix_of_text() {
        for scope in [
            "a.b.example",
            "a.b.example:5000/o",
            "a.b.example:5000/os/rhcos:9.6",
            "*.a.b.example",
            "b.example",
            "*.b.example:5000",
        ] {
            let policy = policy(&format!(r#""{scope}":{ACCEPT}"#));
            let ruling = policy.ruling(&image("a.b.example:5000/os/rhcos"));
            assert_eq!(ruling, Ruling { requirement: Requirement::Rejected, scope: None }, "{scope}");
        }
    }

    #[test]
    fn rules_of_a_scope_hold_together() {
        let gpg = r#"{"type":"signedBy","keyType":"GPGKeys","keyPath":"/k/gpg"}"#;
        let many = r#"{"type":"signedBy","keyType":"GPGKeys","keyPaths":["/k/2","/k/1"],"signedIdentity":{"type":"matchRepository"}}"#;
        let data = r#"{"type":"signedBy","keyType":"GPGKeys","keyData":"aHVudGVyMg=="}"#;
        let cosign = r#"{"type":"sigstoreSigned","keyPath":"/k/pub","rekorPublicKeyPath":"/k/rekor"}"#;
        let fulcio = r#"{"type":"sigstoreSigned","fulcio":{"caPath":"/k/ca","oidcIssuer":"x","subjectEmail":"y"},"rekorPublicKeyPaths":["/k/r1"]}"#;
        let pki = r#"{"type":"sigstoreSigned","pki":{"caRootsPath":"/k/roots","caIntermediatesPath":"/k/mid","subjectEmail":"y"}}"#;
        let base = r#"{"type":"signedBaseLayer","baseLayerIdentity":{"type":"exactReference","dockerReference":"x"}}"#;
        let accept = r#"{"type":"insecureAcceptAnything"}"#;
        let reject = r#"{"type":"reject"}"#;
        let signed = |keys: &[&str]| Requirement::Signed { keys: keys.iter().map(|&key| key.to_owned()).collect() };
        for (rules, expected) in [
            (vec![accept], Requirement::AcceptsAnything),
            (vec![accept, reject], Requirement::Rejected),
            (vec![gpg, reject], Requirement::Rejected),
            (vec![accept, gpg], signed(&["/k/gpg"])),
            (vec![many, gpg, many], signed(&["/k/1", "/k/2", "/k/gpg"])),
            (vec![base], Requirement::Rejected),
            (vec![data], signed(&[])),
            (vec![cosign], signed(&["/k/pub", "/k/rekor"])),
            (vec![fulcio], signed(&["/k/ca", "/k/r1"])),
            (vec![pki], signed(&["/k/mid", "/k/roots"])),
        ] {
            let policy = policy(&format!(r#""q.example":[{}]"#, rules.join(",")));
            assert_eq!(policy.ruling(&image("q.example/os")).requirement, expected, "{rules:?}");
        }
    }

    #[test]
    fn signatures_are_insisted_on_where_the_default_does_not_accept_anything() {
        let signed = r#"[{"type":"signedBy","keyType":"GPGKeys","keyPath":"/k/gpg"}]"#;
        let reject = r#"[{"type":"reject"}]"#;
        for (default, scope, expected) in [
            (ACCEPT, signed, false),
            (ACCEPT, ACCEPT, false),
            (reject, signed, true),
            (reject, ACCEPT, false),
            (signed, signed, true),
            (signed, ACCEPT, false),
        ] {
            let text = format!(r#"{{"default":{default},"transports":{{"docker":{{"q.example":{scope}}}}}}}"#);
            let policy = Policy::parse(&text).unwrap();
            assert_eq!(policy.insists_on_signatures(&image("q.example/os")), expected, "{text}");
        }
    }

    /// Compared with skopeo 1.9.3, text by text.
    #[test]
    fn what_other_readers_reject_is_rejected() {
        let with = |rule: &str| format!(r#"{{"default":[{rule}]}}"#);
        let accept = r#"{"type":"insecureAcceptAnything"}"#;
        for text in [
            String::new(),
            "[]".to_owned(),
            "{}".to_owned(),
            r#"{"default":[]}"#.to_owned(),
            with(r#"{"type":"trustMe"}"#),
            with(r#"{"type":"reject","why":"x"}"#),
            with(r#"{"type":"signedBy","keyType":"GPGKeys"}"#),
            with(r#"{"type":"signedBy","keyType":"X509","keyPath":"/k"}"#),
            with(r#"{"type":"signedBy","keyType":"GPGKeys","keyPath":"/k","keyData":"eA=="}"#),
            with(r#"{"type":"signedBy","keyType":"GPGKeys","keyPath":""}"#),
            with(r#"{"type":"signedBy","keyType":"GPGKeys","keyPath":"/k","signedIdentity":{"type":"anybody"}}"#),
            with(r#"{"type":"sigstoreSigned","keyPath":"/k","fulcio":{}}"#),
            format!(r#"{{"default":[{accept}],"transports":null}}"#),
            format!(r#"{{"default":[{accept}],"transports":{{"dir":{{"":[]}}}}}}"#),
            format!(r#"{{"default":[{accept}],"default":[{accept}]}}"#),
            format!(r#"{{"default":[{accept}],"more":1}}"#),
            format!(r#"{{"default":[{accept}],"transports":{{"docker":{{"a":[{accept}],"a":[{accept}]}}}}}}"#),
            format!(r#"{{"default":[{accept}],"transports":{{"docker":{{"a":[]}}}}}}"#),
            format!(r#"{{"default":[{accept}]}} x"#),
        ] {
            assert!(Policy::parse(&text).is_err(), "{text}");
        }
        assert!(Policy::parse(&with(accept)).is_ok());
    }

    #[test]
    fn keys_in_the_file_are_in_no_message() {
        let text = r#"{"default":[{"type":"signedBy","keyType":"GPGKeys","keyData":"hunter2"}]}"#;
        assert!(!format!("{:?}", Policy::parse(text)).contains("hunter2"));
        let wrong = r#"{"default":[{"type":"signedBy","keyType":"GPGKeys","keyPath":["hunter2"]}]}"#;
        let PolicyError::Malformed(error) = Policy::parse(wrong).unwrap_err() else { panic!() };
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}
