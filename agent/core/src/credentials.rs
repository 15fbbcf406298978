//! The kubelet's way into its cluster as one document: what its kubeconfig names is put in place of the names.
//!
//! Owns what of a kubeconfig is used, which files it may name and what is refused. Refuses to read any of them. No error
//! quotes what is in a file.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use serde_json::{Map, Value, json};
use x509_cert::certificate::{CertificateInner, Raw};
use x509_cert::der::Decode;

use crate::document;
use crate::protocol::Sealed;
use crate::root_path::{PathError, RootPath};
use crate::secret::Secret;

/// Where the kubelet keeps its kubeconfig.
pub const KUBECONFIG: &str = "/var/lib/kubelet/kubeconfig";
/// Where the files are that it may name. They may be links themselves; what is below them is not to lead out.
pub const PLACES: [&str; 2] = ["/var/lib/kubelet", "/etc/kubernetes"];
/// Largest file of them; a bundle of certificates has some KiB.
pub const MOST_BYTES: u64 = 1 << 20;

/// What a file is put in place of: the name that it goes by, what its contents go by, and whether those are text as it is.
const FILES: [(&str, &str, bool); 4] = [
    ("certificate-authority", "certificate-authority-data", false),
    ("client-certificate", "client-certificate-data", false),
    ("client-key", "client-key-data", false),
    ("tokenFile", "token", true),
];
/// What else is used of a cluster and of a user.
const CLUSTER: [&str; 2] = ["server", "tls-server-name"];
const SKIPS_VERIFICATION: &str = "insecure-skip-tls-verify";
/// What would have a program run.
const PROGRAMS: [&str; 2] = ["exec", "auth-provider"];

/// Why a kubeconfig cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unusable {
    /// Neither YAML nor JSON.
    #[error("it is neither YAML nor JSON")]
    Unreadable,
    /// Says nothing of whom to ask as whom.
    #[error("its current context names no cluster with a server, or no user")]
    NoContext,
    /// Shows credentials to the network.
    #[error(
        "its server is not an https address, so the network could read the node's credentials and answer in its place"
    )]
    NotHttps,
    /// Shows credentials to anybody who answers.
    #[error("it has \"{SKIPS_VERIFICATION}\", so anybody could answer as the API server")]
    Unverified,
    /// Wants a program run.
    #[error("its user has \"{key}\", for which a program would have to be run; only certificates and tokens are used")]
    Program {
        /// What wants it.
        key: &'static str,
    },
    /// Names a file in a way that is not followed.
    #[error("it names {path:?}, which is not followed")]
    Name {
        /// The name.
        path: String,
        /// Why.
        #[source]
        source: PathError,
    },
    /// Names a file that is none of the kubelet's.
    #[error("it names {path}, which is neither below {} nor below {}", PLACES[0], PLACES[1])]
    Elsewhere {
        /// The name.
        path: String,
    },
    /// A token that is no text.
    #[error("the token in {path} is not text")]
    Token {
        /// Where it is.
        path: String,
    },
    /// A file that was not given.
    #[error("{path} was not read")]
    Missing {
        /// Which.
        path: String,
    },
}

impl Unusable {
    /// What a person can do about it.
    pub const fn remedy(&self) -> &'static str {
        match self {
            Self::NotHttps => "write an https:// address as \"server\" into the kubelet's kubeconfig",
            Self::Unverified => {
                "remove \"insecure-skip-tls-verify\" from the kubelet's kubeconfig and name a certificate-authority there"
            }
            Self::Program { .. } => "give the kubelet's kubeconfig a client certificate or a token",
            Self::Name { .. } | Self::Elsewhere { .. } => {
                "keep the files that the kubelet's kubeconfig names below /var/lib/kubelet or /etc/kubernetes"
            }
            Self::Unreadable | Self::NoContext | Self::Token { .. } | Self::Missing { .. } => KUBELET_WRITES,
        }
    }
}

/// The remedy where the kubelet has to do its part.
pub const KUBELET_WRITES: &str = "see \"systemctl status kubelet\"; it writes them when it has joined the cluster";

/// Whether a server may be shown credentials: over TLS, by a certificate that is verified.
pub fn check_server(server: &str, skips_verification: bool) -> Result<(), Unusable> {
    let https = server.split_once("://").is_some_and(|(scheme, _)| scheme.eq_ignore_ascii_case("https"));
    match (https, skips_verification) {
        (true, false) => Ok(()),
        (false, _) => Err(Unusable::NotHttps),
        (true, true) => Err(Unusable::Unverified),
    }
}

/// What a kubeconfig says of whom to ask as whom, with files still to be read.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    cluster: Secret<Map<String, Value>>,
    user: Secret<Map<String, Value>>,
}

impl Named {
    /// Reads a kubeconfig.
    pub fn parse(text: &[u8]) -> Result<Self, Unusable> {
        // The cause stays here: it may quote the file.
        let document = document::parse(text).map_err(|_| Unusable::Unreadable)?;
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let current = text(document.get("current-context")).ok_or(Unusable::NoContext)?;
        let context = entry(&document, "contexts", &current, "context").ok_or(Unusable::NoContext)?;
        let part = |list, key, of| text(context.get(key)).and_then(|name| entry(&document, list, &name, of));
        let (cluster, user) = (part("clusters", "cluster", "cluster"), part("users", "user", "user"));
        let (Some(cluster), Some(user)) = (cluster, user) else { return Err(Unusable::NoContext) };
        let server = cluster.get("server").and_then(Value::as_str).ok_or(Unusable::NoContext)?;
        let skipped = |value: &Value| !matches!(value, Value::Null | Value::Bool(false));
        check_server(server, cluster.get(SKIPS_VERIFICATION).is_some_and(skipped))?;
        let wants = |key: &&&str| user.get(**key).is_some_and(|value| !value.is_null());
        if let Some(key) = PROGRAMS.iter().find(wants) {
            return Err(Unusable::Program { key });
        }
        Ok(Self { cluster: Secret::new(cluster.clone()), user: Secret::new(user.clone()) })
    }

    /// The files that have to be read.
    pub fn files(&self) -> Result<BTreeSet<RootPath>, Unusable> {
        let parts = [&self.cluster, &self.user];
        let named = parts.into_iter().flat_map(|part| FILES.iter().filter_map(|file| reference(part.expose(), file)));
        named.map(place).collect()
    }

    /// The document, with these files in it.
    pub fn with(self, files: &BTreeMap<RootPath, Secret<Vec<u8>>>) -> Result<Sealed, Unusable> {
        let cluster = whole(self.cluster.expose(), &CLUSTER, files)?;
        let user = whole(self.user.expose(), &[], files)?;
        Ok(Sealed::new(json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "kubelet",
            "contexts": [{"name": "kubelet", "context": {"cluster": "node", "user": "kubelet"}}],
            "clusters": [{"name": "node", "cluster": cluster}],
            "users": [{"name": "kubelet", "user": user}],
        })))
    }
}

/// The entry of a list that has a name.
fn entry<'d>(document: &'d Value, list: &str, name: &str, of: &str) -> Option<&'d Map<String, Value>> {
    let entries = document.get(list)?.as_array()?;
    let named = entries.iter().find(|entry| entry.get("name").and_then(Value::as_str) == Some(name))?;
    named.get(of)?.as_object()
}

/// The file that has to be read for a part: contents that are there already go before it, but for a token's, as clients do.
fn reference<'p>(part: &'p Map<String, Value>, file: &(&str, &str, bool)) -> Option<&'p str> {
    let (name, data, text) = *file;
    let filled = |key: &str| part.get(key).and_then(Value::as_str).filter(|value| !value.is_empty());
    filled(name).filter(|_| text || filled(data).is_none())
}

/// Where a named file is; a name without a directory is beside the kubeconfig.
fn place(name: &str) -> Result<RootPath, Unusable> {
    let absolute = if name.starts_with('/') { name.to_owned() } else { format!("{}/{name}", PLACES[0]) };
    let path = RootPath::new(absolute).map_err(|source| Unusable::Name { path: name.to_owned(), source })?;
    if is_below(path.as_str(), &PLACES) { Ok(path) } else { Err(Unusable::Elsewhere { path: name.to_owned() }) }
}

/// Whether a path is below one of some places.
pub fn is_below(path: &str, places: &[impl AsRef<str>]) -> bool {
    places.iter().any(|place| path.strip_prefix(place.as_ref()).is_some_and(|rest| rest.starts_with('/')))
}

fn whole(
    part: &Map<String, Value>,
    keys: &[&str],
    files: &BTreeMap<RootPath, Secret<Vec<u8>>>,
) -> Result<Map<String, Value>, Unusable> {
    let kept = keys.iter().chain(FILES.iter().map(|(_, data, _)| data));
    let mut made: Map<String, Value> =
        kept.filter_map(|key| part.get(*key).map(|value| ((*key).to_owned(), value.clone()))).collect();
    for file in &FILES {
        let Some(name) = reference(part, file) else { continue };
        let contents = files.get(&place(name)?).ok_or_else(|| Unusable::Missing { path: name.to_owned() })?;
        let data = if file.2 {
            let text = std::str::from_utf8(contents.expose()).map_err(|_| Unusable::Token { path: name.to_owned() })?;
            text.trim().to_owned()
        } else {
            STANDARD.encode(contents.expose())
        };
        made.insert(file.1.to_owned(), Value::String(data));
    }
    Ok(made)
}

/// When the client certificate in such a document ends, in seconds since 1970; nothing where there is none.
pub fn expiry(document: &Value) -> Option<u64> {
    let data = document.pointer("/users/0/user/client-certificate-data")?.as_str()?;
    let pem = STANDARD.decode(data.trim()).ok()?;
    let der = CertificateDer::pem_slice_iter(&pem).next()?.ok()?;
    let certificate = CertificateInner::<Raw>::from_der(&der).ok()?;
    Some(certificate.tbs_certificate().validity().not_after.to_unix_duration().as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificates::samples::OLD;

    const YAML: &str = "\
apiVersion: v1
kind: Config
current-context: default
contexts:
- {name: other, context: {cluster: b, user: b}}
- {name: default, context: {cluster: local, user: default-auth}}
clusters:
- {name: b, cluster: {server: 'https://other'}}
- name: local
  cluster: {server: 'https://api-int:6443', certificate-authority: /etc/kubernetes/ca.crt, proxy-url: 'http://proxy'}
users:
- name: default-auth
  user:
    client-certificate: /var/lib/kubelet/pki/kubelet-client-current.pem
    client-key: pki/kubelet-client-current.pem
";

    fn read(named: &Named) -> BTreeMap<RootPath, Secret<Vec<u8>>> {
        let paths = named.files().unwrap().into_iter();
        paths.map(|path| (path.clone(), Secret::new(format!(" {}\n", path.name()).into_bytes()))).collect()
    }

    /// The kubeconfig with another user.
    fn with_user(user: &str) -> String {
        YAML.split_once("users:").unwrap().0.to_owned() + &format!("users: [{{name: default-auth, user: {user}}}]\n")
    }

    #[test]
    fn the_files_of_the_current_context_are_put_in_place_of_their_names() {
        let named = Named::parse(YAML.as_bytes()).unwrap();
        let files = read(&named);
        let names: Vec<_> = files.keys().map(RootPath::as_str).collect();
        assert_eq!(names, ["/etc/kubernetes/ca.crt", "/var/lib/kubelet/pki/kubelet-client-current.pem"]);
        let document = named.with(&files).unwrap().open();
        let (ca, pem) = (STANDARD.encode(" ca.crt\n"), STANDARD.encode(" kubelet-client-current.pem\n"));
        assert_eq!(
            document["clusters"][0]["cluster"],
            json!({"server": "https://api-int:6443", "certificate-authority-data": ca})
        );
        assert_eq!(document["users"][0]["user"], json!({"client-certificate-data": pem, "client-key-data": pem}));
    }

    #[test]
    fn what_is_in_the_document_already_is_kept_and_a_file_of_a_token_goes_before_it() {
        for (user, files, expected) in [
            ("{token: canary}", 0, json!({"token": "canary"})),
            ("{token: old, tokenFile: token}", 1, json!({"token": "token"})),
            (
                "{client-certificate-data: YQ==, client-certificate: /elsewhere, client-key-data: Yg==, username: x}",
                0,
                json!({"client-certificate-data": "YQ==", "client-key-data": "Yg=="}),
            ),
            ("{exec: null, token: canary}", 0, json!({"token": "canary"})),
        ] {
            let named = Named::parse(with_user(user).as_bytes()).unwrap();
            assert_eq!(named.files().unwrap().len(), files + 1, "{user}");
            let files = read(&named);
            assert_eq!(named.with(&files).unwrap().open()["users"][0]["user"], expected, "{user}");
        }
    }

    #[test]
    fn programs_and_files_of_others_are_refused_by_name() {
        let refusal =
            |text: &str| Named::parse(text.as_bytes()).and_then(|named| named.files()).unwrap_err().to_string();
        for (user, words) in [
            ("{exec: {command: /bin/sh}}", "has \"exec\""),
            ("{auth-provider: {name: x}}", "has \"auth-provider\""),
            ("{client-key: /etc/shadow}", "it names /etc/shadow, which is neither below"),
            ("{client-key: /var/lib/kubelet-other/x}", "/var/lib/kubelet-other/x"),
            ("{client-key: ../../../etc/shadow}", "it names \"../../../etc/shadow\", which is not followed"),
            ("{tokenFile: /var/lib/kubelet/../x}", "not followed"),
            ("{tokenFile: \"a\\0b\"}", "not followed"),
        ] {
            assert!(refusal(&with_user(user)).contains(words), "{user}: {}", refusal(&with_user(user)));
        }
        for text in ["", "{", "a: 1", "current-context: default", &YAML.replace("user: default-auth", "user: nobody")] {
            assert!(Named::parse(text.as_bytes()).is_err(), "{text}");
        }
        let no_server = YAML.replace("server: 'https://api-int:6443', ", "");
        assert_eq!(Named::parse(no_server.as_bytes()).unwrap_err(), Unusable::NoContext);
    }

    #[test]
    fn a_server_is_shown_credentials_only_over_verified_tls() {
        let of = |cluster: &str| {
            let text = YAML.replace("server: 'https://api-int:6443'", cluster);
            Named::parse(text.as_bytes()).map(drop)
        };
        for server in
            ["http://api-int:6443", "HTTP://api-int", "api-int:6443", "", "unix:///run/x", "httpss://a", "https:/a"]
        {
            let refusal = of(&format!("server: '{server}'")).unwrap_err();
            assert_eq!(refusal, Unusable::NotHttps, "{server}");
            assert!(refusal.remedy().contains("https://"), "{refusal}");
        }
        for value in ["true", "'true'", "'false'", "1", "{}"] {
            let refusal = of(&format!("server: 'https://api-int', insecure-skip-tls-verify: {value}")).unwrap_err();
            assert_eq!(refusal, Unusable::Unverified, "{value}");
        }
        for good in ["server: 'HTTPS://api-int'", "server: 'https://a', insecure-skip-tls-verify: false"] {
            of(good).unwrap();
        }
    }

    #[test]
    fn neither_keys_nor_tokens_format() {
        let named = Named::parse(with_user("{token: canary, client-key-data: canary}").as_bytes()).unwrap();
        let files = read(&named);
        let shown = format!("{named:?} {files:?} {:?}", named.clone().with(&files).unwrap());
        assert!(!shown.contains("canary") && !shown.contains("api-int"), "{shown}");
        let file = with_user("{tokenFile: token}");
        let named = Named::parse(file.as_bytes()).unwrap();
        let binary = named.files().unwrap().into_iter().map(|path| (path, Secret::new(vec![0xff]))).collect();
        assert_eq!(named.clone().with(&binary).unwrap_err(), Unusable::Token { path: "token".to_owned() });
        assert!(matches!(named.with(&BTreeMap::new()), Err(Unusable::Missing { .. })));
    }

    #[test]
    fn the_end_of_the_client_certificate_is_known() {
        let of = |data: &str| expiry(&json!({"users": [{"user": {"client-certificate-data": data}}]}));
        // 2126-10-23 15:11:44 UTC, as openssl tells it.
        assert_eq!(of(&STANDARD.encode(format!("{OLD}-----BEGIN EC PRIVATE KEY-----\n"))), Some(4_948_441_904));
        assert_eq!([of("!"), of(""), of(&STANDARD.encode("text")), expiry(&json!({}))], [None; 4]);
    }
}
