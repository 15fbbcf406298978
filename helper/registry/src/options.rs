//! What a caller decides before anything is asked: credentials, trust, ways, bounds and patience.
//!
//! Owns the values and their defaults. Refuses to read the environment or files: whoever has a command line does that.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use ostler_core::os::manifest::go_architecture;
use ostler_core::pinned::Credentials;
use ostler_core::secret::Secret;

use crate::cache::Cache;
use crate::mirrors::Mirrors;

/// Everything that a [`crate::Registry`] is made of.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// A pull secret or `auth.json`: the longest entry that a repository begins with counts.
    pub credentials: Credentials,
    /// Bundles of PEM certificates that are trusted beside those of this machine.
    pub authorities: Vec<Vec<u8>>,
    /// The same for single registries, by their names with their ports; what is no bundle there is left out.
    pub host_authorities: BTreeMap<String, Vec<u8>>,
    /// A directory like `/etc/containers/certs.d`: one directory for each registry.
    pub certificates: Option<PathBuf>,
    /// Proxies; without any, connections are direct.
    pub proxy: Proxy,
    /// Mirrors, blocked and insecure registries.
    pub mirrors: Mirrors,
    /// Whose image of a manifest list is meant.
    pub platform: Platform,
    /// Bounds of what is read.
    pub limits: Limits,
    /// Bounds of how long is waited.
    pub patience: Patience,
    /// What is known already.
    pub cache: Option<Cache>,
}

/// Proxies, in the words of the usual variables. Addresses may hold passwords.
#[derive(Clone, Debug, Default)]
pub struct Proxy {
    /// `HTTP_PROXY`.
    pub http: Option<Secret<String>>,
    /// `HTTPS_PROXY`.
    pub https: Option<Secret<String>>,
    /// `NO_PROXY`: names, domains, addresses and networks, with commas between.
    pub except: String,
}

/// What an image is for, in the words of Go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platform {
    /// `linux`.
    pub os: String,
    /// `amd64`, `arm64`, `ppc64le`, `s390x`.
    pub architecture: String,
}

/// Bounds of what is read of one image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one layer as it is stored.
    pub layer: u64,
    /// Bytes of all layers that are read, as they are stored.
    pub image: u64,
    /// Bytes of one layer when unpacked.
    pub unpacked: u64,
    /// Entries in one layer.
    pub entries: u64,
}

/// Bounds of how long is waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// For a connection.
    pub connect: Duration,
    /// For the next bytes of an answer.
    pub stall: Duration,
    /// For a whole small answer: a token, a manifest, a configuration.
    pub answer: Duration,
    /// For a whole layer.
    pub layer: Duration,
    /// How often something that may pass is tried again.
    pub retries: u32,
    /// The first pause between two tries; each is twice the one before.
    pub first_pause: Duration,
    /// The longest pause. A registry that asks for more is not asked again.
    pub longest_pause: Duration,
}

impl Default for Platform {
    /// This machine's.
    fn default() -> Self {
        Self { os: "linux".to_owned(), architecture: go_architecture(std::env::consts::ARCH).to_owned() }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { layer: 4 << 30, image: 16 << 30, unpacked: 16 << 30, entries: 2_000_000 }
    }
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            stall: Duration::from_secs(30),
            answer: Duration::from_secs(60),
            layer: Duration::from_secs(600),
            retries: 6,
            first_pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(30),
        }
    }
}
