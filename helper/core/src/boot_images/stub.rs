//! The Ignition config that new machines start with, and get everything else through.
//!
//! A boot image of today reads spec 3 only. A config of spec 2 is converted with the machine-config operator's rules. It
//! holds keys and tokens: nothing of it is ever shown.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ostler_core::ignition;
use ostler_core::secret::Secret as Hidden;
use serde_json::Value;

use super::StubAdvice;
use crate::objects::Secret;

/// Annotation of a secret: the version its config was raised to.
pub const UPGRADED_TO: &str = "machineconfiguration.openshift.io/stub-ignition-upgraded-to";
/// Annotation of a secret: when.
pub const UPGRADED_AT: &str = "machineconfiguration.openshift.io/stub-ignition-upgraded-at";

/// Largest config that is read.
const MAX_BYTES: usize = 1024 * 1024;

/// User data that were read, by namespace and name of their secret.
#[derive(Clone, Debug, Default)]
pub struct UserData {
    secrets: BTreeMap<(String, String), Result<Secret, String>>,
    complete: bool,
}

impl UserData {
    /// Those that were read; `complete` where a secret that is not among them does not exist.
    pub fn new(secrets: Vec<Secret>, complete: bool) -> Self {
        let key = |secret: &Secret| (secret.metadata.namespace.clone(), secret.metadata.name.clone());
        Self { secrets: secrets.into_iter().map(|secret| (key(&secret), Ok(secret))).collect(), complete }
    }

    /// Adds one that could not be read, and why.
    pub fn unreadable(&mut self, namespace: &str, name: &str, why: String) {
        self.secrets.insert((namespace.to_owned(), name.to_owned()), Err(why));
    }

    /// One that was read.
    pub fn secret(&self, namespace: &str, name: &str) -> Option<&Secret> {
        match self.find(namespace, name) {
            Found::Secret(secret) => Some(secret),
            _ => None,
        }
    }

    pub(super) fn find(&self, namespace: &str, name: &str) -> Found<'_> {
        let in_ = |namespace: &str| self.secrets.get(&(namespace.to_owned(), name.to_owned()));
        // Files that people write by hand often leave the namespace out.
        match in_(namespace).or_else(|| in_("")) {
            Some(Ok(secret)) => Found::Secret(secret),
            Some(Err(why)) => Found::Unreadable(why),
            None if self.complete => Found::Missing,
            None => Found::NotRead,
        }
    }
}

pub(super) enum Found<'a> {
    Secret(&'a Secret),
    Unreadable(&'a str),
    Missing,
    NotRead,
}

/// Why user data will not do. What they hold is not told.
#[derive(Debug, thiserror::Error)]
pub enum StubError {
    /// No such key.
    #[error("the secret {secret} does not have the key {key}")]
    NoKey {
        /// The secret.
        secret: String,
        /// The key.
        key: String,
    },
    /// No base64.
    #[error("the key {key} of the secret {secret} is no base64")]
    NoBase64 {
        /// The secret.
        secret: String,
        /// The key.
        key: String,
    },
    /// Too large.
    #[error("the user data in the secret {secret} have more than {} KiB", MAX_BYTES / 1024)]
    TooLarge {
        /// The secret.
        secret: String,
    },
    /// No JSON object.
    #[error("the user data in the secret {secret} are no Ignition config: they are no JSON object")]
    NoObject {
        /// The secret.
        secret: String,
    },
    /// The version is no text.
    #[error("the Ignition config in the secret {secret} has an ignition.version that is no text")]
    NoVersion {
        /// The secret.
        secret: String,
    },
    /// It cannot be raised.
    #[error(
        "the Ignition config in the secret {secret}, of version {version:?}, cannot be raised to {}",
        ignition::STUB_VERSION
    )]
    Conversion {
        /// The secret.
        secret: String,
        /// The version it is in.
        version: String,
        /// Why.
        #[source]
        cause: Box<ignition::ParseError>,
    },
}

/// The config in a secret.
pub fn config(secret: &Secret, keys: &[&str]) -> Result<Hidden<Value>, StubError> {
    let name = || secret.metadata.name.clone();
    let (_, bytes) = bytes(secret, keys)?;
    if bytes.expose().len() > MAX_BYTES {
        return Err(StubError::TooLarge { secret: name() });
    }
    match serde_json::from_slice::<Value>(bytes.expose()) {
        Ok(config @ Value::Object(_)) => Ok(Hidden::new(config)),
        _ => Err(StubError::NoObject { secret: name() }),
    }
}

/// What has to be done about a secret before a new boot image can use it; nothing where it is of spec 3.
pub fn check(secret: &Secret, keys: &[&str]) -> Result<Option<StubAdvice>, StubError> {
    let name = || secret.metadata.name.clone();
    let config = config(secret, keys)?;
    let version = match config.expose().pointer("/ignition/version") {
        None | Some(Value::Null) => "",
        Some(Value::String(version)) => version,
        Some(_) => return Err(StubError::NoVersion { secret: name() }),
    };
    if version.starts_with('3') {
        return Ok(None);
    }
    let from: String = version.chars().take(32).collect();
    let raised = ignition::raise_stub(config.expose().clone());
    let upgraded = raised.map_err(|cause| StubError::Conversion {
        secret: name(),
        version: from.clone(),
        cause: Box::new(cause),
    })?;
    Ok(Some(StubAdvice {
        namespace: secret.metadata.namespace.clone(),
        secret: name(),
        key: bytes(secret, keys)?.0,
        from,
        to: ignition::STUB_VERSION,
        upgraded: Hidden::new(upgraded.to_string()),
    }))
}

fn bytes(secret: &Secret, keys: &[&str]) -> Result<(String, Hidden<Vec<u8>>), StubError> {
    let name = || secret.metadata.name.clone();
    for key in keys {
        if let Some(plain) = secret.string_data.get(*key) {
            return Ok(((*key).to_owned(), Hidden::new(plain.expose().as_bytes().to_vec())));
        }
        if let Some(encoded) = secret.data.get(*key) {
            let packed: Vec<u8> = encoded.expose().bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
            let bytes = STANDARD.decode(packed);
            let bytes = bytes.map_err(|_| StubError::NoBase64 { secret: name(), key: (*key).to_owned() })?;
            return Ok(((*key).to_owned(), Hidden::new(bytes)));
        }
    }
    Err(StubError::NoKey { secret: name(), key: keys.first().copied().unwrap_or_default().to_owned() })
}

/// The pool that a config asks the machine-config server for.
pub fn pool(config: &Value) -> Option<String> {
    let sources = ["/ignition/config/merge", "/ignition/config/append"].iter().filter_map(|at| config.pointer(at));
    let sources = sources.filter_map(Value::as_array).flatten();
    let replaced = config.pointer("/ignition/config/replace");
    let mut urls = sources.chain(replaced).filter_map(|source| source.get("source")?.as_str());
    urls.find_map(|url| {
        let (_, pool) = url.split_once("/config/")?;
        let pool = pool.split(['?', '#', '/']).next().unwrap_or_default();
        (!pool.is_empty()).then(|| pool.to_owned())
    })
}
